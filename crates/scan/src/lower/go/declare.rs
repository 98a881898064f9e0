//! Imports, constants, variables, types and functions.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{field, maybe, node, text_of};
use crate::lower::fields::Fields as _;
use crate::lower::{in_field, named, unquoted};
use crate::tree::{Builder, Id, Kind, Param};

/// One node for each import.
pub(super) fn imports<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    for child in named(at) {
        if child.kind() == "import_spec_list" {
            for spec in named(child) {
                import(b, spec, all);
            }
        } else {
            import(b, child, all);
        }
    }
}

fn import<'s>(b: &mut Builder<'s>, at: Syntax<'_>, out: &mut Vec<Id>) {
    let Some(path) = text_of(b, at, "path") else { return };
    let module = Cow::Borrowed(unquoted(path));
    let name = text_of(b, at, "name");
    let all = name == Some(".");
    let alias = name.filter(|_| !all);
    out.push(b.add(at, Kind::Import { module, item: None, alias, all }));
}

/// One node for each line of `const`, `var` or `type`.
pub(super) fn declarations<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    for child in named(at) {
        match child.kind() {
            "const_spec" | "var_spec" => all.push(variable(b, child)),
            "var_spec_list" => declarations(b, child, all),
            "type_spec" => all.push(class(b, child)),
            _ => all.push(node(b, child)),
        }
    }
}

fn variable<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let target = names(b, at);
    let ty = text_of(b, at, "type");
    let value = maybe(b, at, "value");
    b.add(at, Kind::Let { target, ty, value, constant: at.kind() == "const_spec" })
}

fn names<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let names: Vec<_> = in_field(at, "name").into_iter().map(|name| node(b, name)).collect();
    match names[..] {
        [only] => only,
        _ => b.add(at, Kind::List(names)),
    }
}

/// A struct with its fields, an interface with its methods. What a struct embeds is its base.
fn class<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let name = text_of(b, at, "name");
    let Some(ty) = at.child_in("type") else {
        return b.add(at, Kind::Other(Vec::new()));
    };
    let mut bases = Vec::new();
    let mut members = Vec::new();
    match ty.kind() {
        "struct_type" => {
            for child in named(ty).into_iter().flat_map(named) {
                if in_field(child, "name").is_empty() {
                    bases.extend(maybe(b, child, "type"));
                    continue;
                }
                let target = names(b, child);
                let ty = text_of(b, child, "type");
                members.push(b.add(child, Kind::Let { target, ty, value: None, constant: false }));
            }
        }
        "interface_type" => {
            for child in named(ty) {
                if child.kind() == "method_elem" {
                    let name = text_of(b, child, "name");
                    members.push(function(b, child, name));
                } else {
                    bases.push(node(b, child));
                }
            }
        }
        _ => bases.push(node(b, ty)),
    }
    let body = b.add(ty, Kind::Block(members));
    b.add(at, Kind::Class { name, bases, decorators: Vec::new(), body })
}

/// A function; without a body, of an interface, its body is [`Kind::Other`].
pub(super) fn function<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: Option<&'s str>) -> Id {
    let params = params(b, at, "parameters");
    let body = field(b, at, "body");
    named_results(b, at, body);
    b.add(at, Kind::Function { name, params, body, decorators: Vec::new(), is_async: false })
}

fn params<'s>(b: &Builder<'s>, at: Syntax<'_>, list: &'static str) -> Vec<Param<'s>> {
    let mut all = Vec::new();
    for child in at.child_in(list).map(named).unwrap_or_default() {
        let ty = text_of(b, child, "type");
        for name in in_field(child, "name") {
            all.push(Param { name: b.text(name), default: None, ty });
        }
    }
    all
}

/// `return` alone gives the results that have names.
fn named_results<'s>(b: &mut Builder<'s>, at: Syntax<'_>, body: Id) {
    let names: Vec<_> = params(b, at, "result").iter().map(|param| param.name).collect();
    if names.is_empty() {
        return;
    }
    let mut bare = Vec::new();
    b.rewrite(
        body,
        |kind| matches!(kind, Kind::Function { .. }),
        |id, kind| {
            if matches!(kind, Kind::Return(None)) {
                bare.push(id);
            }
            None
        },
    );
    for id in bare {
        let span = b.span(id);
        let all: Vec<_> = names.iter().map(|name| b.add_at(span, Kind::Name(name))).collect();
        let value = match all[..] {
            [only] => only,
            _ => b.add_at(span, Kind::List(all)),
        };
        b.replace(id, Kind::Return(Some(value)));
    }
}

/// A method, in a class of its receiver's type.
pub(super) fn method<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let receiver = at.child_in("receiver");
    let receiver = receiver.and_then(|list| named(list).first().copied());
    let name = text_of(b, at, "name");
    let function = function(b, at, name);
    if let Some(receiver) = receiver.and_then(|receiver| text_of(b, receiver, "name")) {
        b.rewrite(
            function,
            |_| false,
            |_, kind| match kind {
                Kind::Name(name) if *name == receiver => Some(Kind::Name("self")),
                _ => None,
            },
        );
    }
    let name = receiver.and_then(|receiver| receiver.child_in("type")).and_then(|ty| {
        let mut ty = ty;
        while matches!(ty.kind(), "pointer_type" | "generic_type" | "parenthesized_type") {
            ty = *named(ty).first()?;
        }
        Some(b.text(ty))
    });
    let body = b.add(at, Kind::Block(vec![function]));
    b.add(at, Kind::Class { name, bases: Vec::new(), decorators: Vec::new(), body })
}
