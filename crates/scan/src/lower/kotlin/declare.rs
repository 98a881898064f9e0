//! Imports, properties, functions and classes.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{arguments, child, last, node, path};
use crate::lower::fields::Fields as _;
use crate::lower::{defaults, has_word, named};
use crate::tree::{Builder, Id, Kind, Param};

/// Statements or members in order.
pub(super) fn block<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let all = statements(b, named(at));
    b.add(at, Kind::Block(all))
}

fn statements<'s>(b: &mut Builder<'s>, children: Vec<Syntax<'_>>) -> Vec<Id> {
    let mut all = Vec::new();
    for child in children {
        match child.kind() {
            "import" => all.extend(import(b, child)),
            "property_declaration" => all.extend(properties(b, child)),
            "package_header" | "shebang" | "file_annotation" => {}
            _ => all.push(node(b, child)),
        }
    }
    all
}

fn import<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Option<Id> {
    let children = named(at);
    let path = b.text(*children.first()?);
    let all = has_word(at, "*");
    let alias = children.get(1).map(|alias| b.text(*alias));
    let (module, item) = match path.rsplit_once('.') {
        Some((module, item)) if !all => (module, Some(item)),
        _ => (path, None),
    };
    Some(b.add(at, Kind::Import { module: Cow::Borrowed(module), item, alias, all }))
}

/// Annotations: names or calls.
fn decorators<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    let modifiers = child(at, "modifiers").map(named).unwrap_or_default().into_iter();
    let annotations = modifiers.filter(|child| child.kind() == "annotation");
    annotations.map(|annotation| last(b, annotation)).collect()
}

fn has_modifier(b: &Builder<'_>, at: Syntax<'_>, word: &str) -> bool {
    let modifiers = child(at, "modifiers").map(named).unwrap_or_default();
    modifiers.into_iter().any(|modifier| b.text(modifier) == word)
}

fn is_type(kind: &str) -> bool {
    matches!(
        kind,
        "user_type"
            | "nullable_type"
            | "function_type"
            | "parenthesized_type"
            | "non_nullable_type"
            | "dynamic"
    )
}

/// Where one node is asked for; a block takes them apart.
pub(super) fn property<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let all = properties(b, at);
    match all[..] {
        [only] => only,
        _ => b.add(at, Kind::Other(all)),
    }
}

/// `val x: T = 1`; with `by`, the delegate is the value. A getter is a function of its name.
fn properties<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    let constant = has_word(at, "val");
    let (mut target, mut ty, mut value) = (None, None, None);
    let (mut name, mut accessors) = (None, Vec::new());
    for part in named(at) {
        match part.kind() {
            "variable_declaration" => {
                name = child(part, "identifier").map(|name| b.text(name));
                ty = named(part).into_iter().find(|it| is_type(it.kind())).map(|ty| b.text(ty));
                target = Some(node(b, part));
            }
            "multi_variable_declaration" => target = Some(node(b, part)),
            "property_delegate" => value = Some(last(b, part)),
            "getter" | "setter" => accessors.push(part),
            "modifiers" | "type_parameters" | "type_constraints" | "type_modifiers" => {}
            // The receiver of an extension.
            kind if is_type(kind) => {}
            _ => value = Some(node(b, part)),
        }
    }
    let target = target.unwrap_or_else(|| b.add(at, Kind::Other(Vec::new())));
    let property = b.add(at, Kind::Let { target, ty, value, constant });
    let mut all = vec![property];
    for accessor in accessors {
        if let Some(body) = child(accessor, "function_body") {
            let body = last(b, body);
            let (params, decorators) = (Vec::new(), Vec::new());
            let kind = Kind::Function { name, params, body, decorators, is_async: false };
            all.push(b.add(accessor, kind));
        }
    }
    all
}

/// `fun f() { … }`, `fun f() = …`, `fun() { … }`, `constructor() { … }`.
pub(super) fn function<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = decorators(b, at);
    let name = match at.kind() {
        "secondary_constructor" => Some("constructor"),
        _ => at.child_in("name").map(|name| b.text(name)),
    };
    let params = child(at, "function_value_parameters");
    let params = params.map(|list| params_of(b, list)).unwrap_or_default();
    let body = child(at, "function_body").or_else(|| child(at, "block"));
    let body = match body {
        Some(body) if body.kind() == "function_body" => last(b, body),
        Some(body) => node(b, body),
        None => b.add(at, Kind::Other(Vec::new())),
    };
    let body = match child(at, "constructor_delegation_call") {
        Some(other) => {
            let name = if has_word(other, "super") { "super" } else { "this" };
            let callee = b.add(other, Kind::Name(name));
            let args = arguments(b, named(other).iter());
            let call = b.add(other, Kind::Call { callee, args, new: false });
            b.add(at, Kind::Block(vec![call, body]))
        }
        None => body,
    };
    // `return@f` in `f` itself.
    b.rewrite(
        body,
        |kind| matches!(kind, Kind::Function { name: Some(_), .. }),
        |_, kind| match kind {
            Kind::Continue(label @ Some(_)) if *label == name => Some(Kind::Return(None)),
            _ => None,
        },
    );
    let is_async = has_modifier(b, at, "suspend") || has_word(at, "suspend");
    b.add(at, Kind::Function { name, params, body, decorators, is_async })
}

/// A default stands behind its parameter.
fn params_of<'s>(b: &mut Builder<'s>, list: Syntax<'_>) -> Vec<Param<'s>> {
    let mut all: Vec<Param<'s>> = Vec::new();
    for part in named(list) {
        match part.kind() {
            "parameter" => all.push(param(b, part)),
            "parameter_modifiers" => {}
            _ => {
                let default = node(b, part);
                if let Some(last) = all.last_mut() {
                    last.default = Some(default);
                }
            }
        }
    }
    all
}

fn param<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Param<'s> {
    let name = child(at, "identifier").map(|name| b.text(name)).unwrap_or_default();
    let ty = named(at).into_iter().find(|it| is_type(it.kind())).map(|ty| b.text(ty));
    Param { name, default: None, ty }
}

/// `{ x -> … }`.
pub(super) fn lambda<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut params = Vec::new();
    let mut rest = named(at);
    if let Some(list) = child(at, "lambda_parameters") {
        rest.retain(|child| *child != list);
        for part in named(list) {
            match part.kind() {
                "variable_declaration" => params.push(param(b, part)),
                _ => params.push(Param { name: b.text(part), default: None, ty: None }),
            }
        }
    }
    let all = statements(b, rest);
    let body = b.add(at, Kind::Block(all));
    let decorators = Vec::new();
    b.add(at, Kind::Function { name: None, params, body, decorators, is_async: false })
}

/// A class, an interface, an object, a companion, an entry of an enum.
pub(super) fn class<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = decorators(b, at);
    let name = match at.kind() {
        "enum_entry" => child(at, "identifier"),
        _ => at.child_in("name"),
    };
    let name = match (name, at.kind()) {
        (Some(name), _) => Some(b.text(name)),
        (None, "companion_object") => Some("Companion"),
        (None, _) => None,
    };
    let bases = child(at, "delegation_specifiers").map(named).unwrap_or_default();
    let bases = bases.into_iter().map(|base| node(b, base)).collect();
    let mut members = Vec::new();
    if let Some(constructor) = child(at, "primary_constructor") {
        let list = child(constructor, "class_parameters").map(named).unwrap_or_default();
        members.extend(list.into_iter().map(|part| class_parameter(b, part)));
    }
    if at.kind() == "enum_entry"
        && let Some(list) = child(at, "value_arguments")
    {
        let args = arguments(b, std::iter::once(&list));
        members.extend(args.into_iter().map(|arg| arg.value));
    }
    let body = child(at, "class_body").or_else(|| child(at, "enum_class_body"));
    members.extend(body.map(|body| statements(b, named(body))).unwrap_or_default());
    let body = b.add(body.unwrap_or(at), Kind::Block(members));
    b.add(at, Kind::Class { name, bases, decorators, body })
}

/// `private val n: Int = 3`, or without `val` a parameter of the constructor.
fn class_parameter<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let (mut target, mut ty, mut value) = (None, None, None);
    for part in named(at) {
        match part.kind() {
            "modifiers" => value = defaults::of_annotations(b, at, part),
            "identifier" if target.is_none() => target = Some(node(b, part)),
            kind if is_type(kind) && ty.is_none() => ty = Some(b.text(part)),
            _ => value = Some(node(b, part)),
        }
    }
    let target = target.unwrap_or_else(|| path(b, at));
    b.add(at, Kind::Let { target, ty, value, constant: !has_word(at, "var") })
}
