//! Usings, variables, functions and types.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{arguments, bare, child, each, field, last, maybe, node, parts, text_of};
use crate::lower::fields::Fields as _;
use crate::lower::{has_word, named};
use crate::tree::{Arg, Builder, Id, Kind, Param};

/// Statements or members in order.
pub(super) fn block<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut all = Vec::new();
    for child in parts(at) {
        statement(b, child, &mut all);
    }
    b.add(at, Kind::Block(all))
}

/// A statement or member, which may be several.
pub(super) fn statement<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    match at.kind() {
        "using_directive" => all.extend(import(b, at)),
        "global_statement" => {
            for inner in named(at) {
                // The grammar does not nest these: one level is all there is.
                if inner.kind() == "global_statement" {
                    all.push(node(b, inner));
                } else {
                    statement(b, inner, all);
                }
            }
        }
        "local_declaration_statement" | "field_declaration" => {
            let constant = has_modifier(b, at, "const") || has_modifier(b, at, "readonly");
            if let Some(inner) = child(at, "variable_declaration") {
                variables(b, inner, constant, all);
            }
        }
        "labeled_statement" => {
            let inside = parts(at);
            for (index, part) in inside.iter().enumerate() {
                if index == 0 {
                    all.push(b.add(*part, Kind::Label(b.text(*part))));
                } else if matches!(part.kind(), "local_declaration_statement") {
                    statement(b, *part, all);
                } else {
                    all.push(node(b, *part));
                }
            }
        }
        "property_declaration" => property(b, at, all),
        "namespace_declaration" => all.push(field(b, at, "body")),
        "file_scoped_namespace_declaration" | "empty_statement" | "shebang_directive" => {}
        _ => all.push(node(b, at)),
    }
}

fn import<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Option<Id> {
    let alias = text_of(b, at, "name");
    let module = Cow::Borrowed(b.text(*named(at).last()?));
    Some(b.add(at, Kind::Import { module, item: None, alias, all: alias.is_none() }))
}

fn has_modifier(b: &Builder<'_>, at: Syntax<'_>, word: &str) -> bool {
    named(at).into_iter().any(|part| part.kind() == "modifier" && b.text(part) == word)
}

/// The type as written; `var` is none.
pub(super) fn type_of<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<&'s str> {
    let ty = at.child_in("type").filter(|ty| ty.kind() != "implicit_type");
    ty.map(|ty| b.text(ty))
}

/// One node for each variable of a declaration.
pub(super) fn variables<'s>(
    b: &mut Builder<'s>,
    at: Syntax<'_>,
    constant: bool,
    all: &mut Vec<Id>,
) {
    let ty = type_of(b, at);
    for part in named(at).into_iter().filter(|part| part.kind() == "variable_declarator") {
        let inside = parts(part);
        let target = match inside.first() {
            Some(target) => node(b, *target),
            None => b.add(part, Kind::Other(Vec::new())),
        };
        let value = inside.last().filter(|_| inside.len() > 1 && has_word(part, "="));
        let value = value.map(|value| node(b, *value));
        all.push(b.add(part, Kind::Let { target, ty, value, constant }));
    }
}

/// Attributes: names or calls.
fn decorators<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    let mut all = Vec::new();
    for list in named(at).into_iter().filter(|part| part.kind() == "attribute_list") {
        for attribute in named(list).into_iter().filter(|part| part.kind() == "attribute") {
            let callee = field(b, attribute, "name");
            all.push(match child(attribute, "attribute_argument_list") {
                None => callee,
                Some(list) => {
                    let args = arguments(b, list);
                    b.add(attribute, Kind::Call { callee, args, new: false })
                }
            });
        }
    }
    all
}

/// `int P { get; set; } = 1`, `int P => 1`.
fn property<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let target = field(b, at, "name");
    let ty = type_of(b, at);
    let value = maybe(b, at, "value");
    let accessors = at.child_in("accessors").map(named).unwrap_or_default();
    let mut constant = true;
    for accessor in &accessors {
        let word = text_of(b, *accessor, "name").unwrap_or_default();
        constant &= word == "get";
    }
    all.push(b.add(at, Kind::Let { target, ty, value, constant }));
    for accessor in accessors {
        if accessor.child_in("body").is_some() {
            let body = field(b, accessor, "body");
            let name = text_of(b, at, "name");
            let (params, decorators) = (Vec::new(), Vec::new());
            let kind = Kind::Function { name, params, body, decorators, is_async: false };
            all.push(b.add(accessor, kind));
        }
    }
}

/// What ends in `_declaration`, and local functions.
pub(super) fn declaration<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    match at.kind() {
        "method_declaration"
        | "local_function_statement"
        | "constructor_declaration"
        | "destructor_declaration" => {
            let name = text_of(b, at, "name");
            function(b, at, name)
        }
        "operator_declaration" | "conversion_operator_declaration" => {
            function(b, at, Some("operator"))
        }
        "class_declaration"
        | "struct_declaration"
        | "record_declaration"
        | "interface_declaration"
        | "enum_declaration" => class(b, at),
        "enum_member_declaration" => {
            let target = field(b, at, "name");
            let value = maybe(b, at, "value");
            b.add(at, Kind::Let { target, ty: None, value, constant: true })
        }
        "property_declaration" | "field_declaration" | "variable_declaration" => {
            let mut all = Vec::new();
            if at.kind() == "variable_declaration" {
                variables(b, at, false, &mut all);
            } else {
                statement(b, at, &mut all);
            }
            match all[..] {
                [only] => only,
                _ => b.add(at, Kind::Other(all)),
            }
        }
        "namespace_declaration" => field(b, at, "body"),
        _ => {
            let all = each(b, at);
            b.add(at, Kind::Other(all))
        }
    }
}

fn function<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: Option<&'s str>) -> Id {
    let decorators = decorators(b, at);
    let params = params(b, at);
    let body = field(b, at, "body");
    let body = match child(at, "constructor_initializer") {
        Some(first) => {
            let word = if has_word(first, "base") { "base" } else { "this" };
            let callee = b.add(first, Kind::Name(word));
            let args = child(first, "argument_list");
            let args = args.map(|list| arguments(b, list)).unwrap_or_default();
            let call = b.add(first, Kind::Call { callee, args, new: false });
            b.add(at, Kind::Block(vec![call, body]))
        }
        None => body,
    };
    let is_async = has_modifier(b, at, "async");
    b.add(at, Kind::Function { name, params, body, decorators, is_async })
}

/// `x => …`, `async (a, b) => …`, `delegate (int a) { … }`.
pub(super) fn lambda<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = decorators(b, at);
    let params = params(b, at);
    let body = match at.child_in("body") {
        Some(body) => node(b, body),
        None => last(b, at),
    };
    let is_async = has_modifier(b, at, "async");
    b.add(at, Kind::Function { name: None, params, body, decorators, is_async })
}

fn params<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Param<'s>> {
    let list = at.child_in("parameters").or_else(|| child(at, "parameter_list"));
    let Some(list) = list else { return Vec::new() };
    if list.kind() == "implicit_parameter" {
        return vec![Param { name: b.text(list), default: None, ty: None }];
    }
    let mut all = Vec::new();
    for part in named(list).into_iter().filter(|part| part.kind() == "parameter") {
        let name = text_of(b, part, "name").unwrap_or_default();
        let default = named(part).into_iter().next_back().filter(|_| has_word(part, "="));
        let default = default.map(|value| node(b, value));
        all.push(Param { name, default, ty: type_of(b, part) });
    }
    // `params T[] x`, which the grammar puts in the list itself.
    if let Some(name) = text_of(b, list, "name") {
        all.push(Param { name, default: None, ty: type_of(b, list) });
    }
    all
}

fn class<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = decorators(b, at);
    let name = at.child_in("name").map(|name| bare(b, name));
    let mut bases: Vec<Id> = Vec::new();
    for base in child(at, "base_list").map(named).unwrap_or_default() {
        match (base.kind(), bases.last().copied()) {
            // `: C(q)`: the arguments stand behind the base.
            ("argument_list", Some(callee)) => {
                let args = arguments(b, base);
                bases.pop();
                bases.push(b.add(base, Kind::Call { callee, args, new: false }));
            }
            ("primary_constructor_base_type", _) => {
                let callee = field(b, base, "type");
                let args = child(base, "argument_list");
                let args: Vec<Arg<'s>> = args.map(|list| arguments(b, list)).unwrap_or_default();
                bases.push(b.add(base, Kind::Call { callee, args, new: false }));
            }
            _ => bases.push(node(b, base)),
        }
    }
    let mut members = Vec::new();
    if let Some(list) = child(at, "parameter_list") {
        for param in params(b, at) {
            let target = b.add(list, Kind::Name(param.name));
            let Param { ty, default: value, .. } = param;
            members.push(b.add(list, Kind::Let { target, ty, value, constant: true }));
        }
    }
    let body = at.child_in("body");
    for member in body.map(parts).unwrap_or_default() {
        statement(b, member, &mut members);
    }
    let body = b.add(body.unwrap_or(at), Kind::Block(members));
    b.add(at, Kind::Class { name, bases, decorators, body })
}
