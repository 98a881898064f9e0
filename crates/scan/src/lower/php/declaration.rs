//! Imports, variables, functions, classes, attributes.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::super::named;
use super::{arguments, body, each_child, field, maybe, node, statement};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Id, Kind, Param};

/// `use A\B\C as D, E`, `use A\{B, C}`.
pub(super) fn imports<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let before = named(at).into_iter().find(|part| part.kind() == "namespace_name");
    let before = before.map(|part| b.text(part));
    let group = at.child_in("body").map(named).unwrap_or_default();
    for clause in named(at).into_iter().chain(group) {
        if clause.kind() != "namespace_use_clause" {
            continue;
        }
        let Some(name) = named(clause).into_iter().find(|part| part.kind().ends_with("name"))
        else {
            continue;
        };
        let path = b.text(name).trim_start_matches('\\');
        let (module, item) = match path.rsplit_once('\\') {
            Some((module, item)) => (module, item),
            None => ("", path),
        };
        let module = match before {
            Some(before) if module.is_empty() => Cow::Borrowed(before),
            Some(before) => Cow::Owned(format!("{before}\\{module}")),
            None => Cow::Borrowed(module),
        };
        let alias = clause.child_in("alias").map(|alias| b.text(alias));
        all.push(b.add(clause, Kind::Import { module, item: Some(item), alias, all: false }));
    }
}

/// `const A = 1`, `public int $a = 1`, `static $a = 1`.
pub(super) fn variables<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let decorators = attributes(b, at);
    if !decorators.is_empty() {
        all.push(b.add(at, Kind::Other(decorators)));
    }
    let parts = named(at);
    let constant = at.kind() == "const_declaration"
        || parts.iter().any(|part| part.kind() == "readonly_modifier");
    let ty = at.child_in("type").map(|ty| b.text(ty));
    for part in parts {
        let (name, value) = match part.kind() {
            "const_element" => {
                let inner = named(part);
                (inner.first().copied(), inner.get(1).copied())
            }
            "property_element" => (part.child_in("name"), part.child_in("default_value")),
            "static_variable_declaration" => (part.child_in("name"), part.child_in("value")),
            "property_hook_list" => {
                all.push(node(b, part));
                continue;
            }
            _ => continue,
        };
        let Some(name) = name else { continue };
        let target = node(b, name);
        let value = value.map(|value| node(b, value));
        all.push(b.add(part, Kind::Let { target, ty, value, constant }));
    }
}

/// What is in `#[…]`.
fn attributes<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    let groups = at.child_in("attributes").map(named).unwrap_or_default();
    groups.into_iter().flat_map(|group| each_child(b, group, node)).collect()
}

/// `A` is its name, `A(1)` a call.
pub(super) fn attribute<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let callee = match named(at).first() {
        Some(name) => node(b, *name),
        None => b.add(at, Kind::Other(Vec::new())),
    };
    let list = at.child_in("parameters");
    if list.is_none() {
        return callee;
    }
    let args = arguments(b, list);
    b.add(at, Kind::Call { callee, args, new: false })
}

/// Any function. The fields of promoted parameters are set first.
pub(super) fn function<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = attributes(b, at);
    let name = at.child_in("name").map(|name| b.text(name));
    let (mut params, mut set) = (Vec::new(), Vec::new());
    for part in at.child_in("parameters").map(named).unwrap_or_default() {
        let Some(holder) = part.child_in("name") else { continue };
        let name = b.text(holder).trim_start_matches(['&', '$', ' ']);
        let ty = part.child_in("type").map(|ty| b.text(ty));
        let default = maybe(b, part, "default_value");
        if part.kind() == "property_promotion_parameter" {
            let of = b.add(part, Kind::Name("this"));
            let target = b.add(part, Kind::Field { of, name });
            let value = b.add(part, Kind::Name(name));
            set.push(b.add(part, Kind::Assign { op: None, target, value }));
        }
        params.push(Param { name, default, ty });
    }
    let body = match at.child_in("body") {
        Some(inner) if inner.kind() == "compound_statement" => b.deeper(inner, |b| {
            let mut all = set;
            for child in named(inner) {
                statement(b, child, &mut all);
            }
            b.add(inner, Kind::Block(all))
        }),
        Some(inner) => node(b, inner),
        None => b.add(at, Kind::Block(set)),
    };
    b.add(at, Kind::Function { name, params, body, decorators, is_async: false })
}

/// A class, an interface, a trait, an `enum`, or what is in `new class { … }`.
pub(super) fn class<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = attributes(b, at);
    let name = at.child_in("name").map(|name| b.text(name));
    let mut bases = Vec::new();
    for part in named(at) {
        if matches!(part.kind(), "base_clause" | "class_interface_clause") {
            bases.extend(each_child(b, part, node));
        }
    }
    let body = match at.child_in("body") {
        Some(inner) => b.deeper(inner, |b| {
            let mut all = Vec::new();
            for child in named(inner) {
                if child.kind() == "enum_case" {
                    let target = field(b, child, "name");
                    let value = maybe(b, child, "value");
                    all.push(b.add(child, Kind::Let { target, ty: None, value, constant: true }));
                } else {
                    statement(b, child, &mut all);
                }
            }
            b.add(inner, Kind::Block(all))
        }),
        None => body(b, at, "body"),
    };
    b.add(at, Kind::Class { name, bases, decorators, body })
}

/// `new A(1)`, `new class(1) extends A { … }`.
pub(super) fn construction<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let parts = named(at);
    let anonymous = parts.iter().find(|part| part.kind() == "anonymous_class").copied();
    let list = anonymous.map_or(parts.clone(), named);
    let list = list.into_iter().find(|part| part.kind() == "arguments");
    let mut args = arguments(b, list);
    let callee = match parts.first() {
        Some(name) if anonymous.is_none() && name.kind() != "arguments" => node(b, *name),
        _ => b.add(at, Kind::Name("class")),
    };
    if let Some(anonymous) = anonymous {
        let value = b.deeper(anonymous, |b| class(b, anonymous));
        args.push(Arg { name: None, value, spread: false });
    }
    b.add(at, Kind::Call { callee, args, new: true })
}
