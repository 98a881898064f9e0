//! Imports, variables, methods, classes, annotations.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::super::{has_word, in_field, named};
use super::{body, field, maybe, node, statement};
use crate::lower::defaults;
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Id, Kind, Param};

/// `import a.b.C`.
pub(super) fn import<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Option<Id> {
    let inner = named(at);
    let path = inner.iter().find(|part| part.kind() != "asterisk")?;
    let all = inner.iter().any(|part| part.kind() == "asterisk");
    let text = b.text(*path);
    let (module, item) = match text.rsplit_once('.') {
        Some((module, item)) if !all => (module, Some(item)),
        _ => (text, None),
    };
    let module = Cow::Borrowed(module);
    Some(b.add(at, Kind::Import { module, item, alias: None, all }))
}

fn modifiers<'t>(at: Syntax<'t>) -> Option<Syntax<'t>> {
    named(at).into_iter().find(|part| part.kind() == "modifiers")
}

fn is_final(at: Syntax<'_>) -> bool {
    modifiers(at).is_some_and(|modifiers| has_word(modifiers, "final"))
}

fn annotations<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    let all = modifiers(at).map(named).unwrap_or_default();
    all.into_iter().map(|part| node(b, part)).collect()
}

/// `@A` is its name, `@A(x = 1)` a call.
pub(super) fn annotation<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let callee = field(b, at, "name");
    let Some(list) = at.child_in("arguments") else { return callee };
    let mut args = Vec::new();
    for part in named(list) {
        let (name, value) = match part.kind() {
            "element_value_pair" => (part.child_in("key"), field(b, part, "value")),
            _ => (None, node(b, part)),
        };
        args.push(Arg { name: name.map(|name| b.text(name)), value, spread: false });
    }
    b.add(at, Kind::Call { callee, args, new: false })
}

/// `int a = 1, b;` as a local variable, a field, or a constant of an interface.
pub(super) fn variables<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let annotations = annotations(b, at);
    if !annotations.is_empty() {
        all.push(b.add(at, Kind::Other(annotations)));
    }
    let constant = at.kind() == "constant_declaration" || is_final(at);
    let ty = at.child_in("type").map(|ty| b.text(ty));
    for part in in_field(at, "declarator") {
        let target = field(b, part, "name");
        let value = maybe(b, part, "value");
        let default = |b: &mut Builder<'s>| {
            modifiers(at).and_then(|modifiers| defaults::of_annotations(b, part, modifiers))
        };
        let value = value.or_else(|| default(b));
        all.push(b.add(part, Kind::Let { target, ty, value, constant }));
    }
}

/// `var r = open()` in the head of a `try`.
pub(super) fn resource<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let Some(value) = maybe(b, at, "value") else {
        return match named(at).last() {
            Some(held) => node(b, *held),
            None => b.add(at, Kind::Other(Vec::new())),
        };
    };
    let ty = at.child_in("type").map(|ty| b.text(ty));
    let target = field(b, at, "name");
    b.add(at, Kind::Let { target, ty, value: Some(value), constant: true })
}

fn params<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Param<'s>> {
    let Some(list) = at.child_in("parameters") else { return Vec::new() };
    let plain =
        |b: &Builder<'s>, at: Syntax<'_>| Param { name: b.text(at), default: None, ty: None };
    if list.kind() == "identifier" {
        return vec![plain(b, list)];
    }
    let mut all = Vec::new();
    for part in named(list) {
        match part.kind() {
            "identifier" => all.push(plain(b, part)),
            "formal_parameter" => {
                let Some(name) = part.child_in("name") else { continue };
                let ty = part.child_in("type").map(|ty| b.text(ty));
                let default = modifiers(part)
                    .and_then(|modifiers| defaults::of_annotations(b, part, modifiers));
                all.push(Param { ty, default, ..plain(b, name) });
            }
            "spread_parameter" => {
                let inner = named(part);
                let name = inner.iter().find(|inner| inner.kind() == "variable_declarator");
                let ty = inner.iter().find(|inner| inner.kind().contains("type"));
                let Some(name) = name else { continue };
                all.push(Param { ty: ty.map(|ty| b.text(*ty)), ..plain(b, *name) });
            }
            _ => {}
        }
    }
    all
}

/// `x -> …`.
pub(super) fn lambda<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let params = params(b, at);
    let body = field(b, at, "body");
    let decorators = Vec::new();
    b.add(at, Kind::Function { name: None, params, body, decorators, is_async: false })
}

/// A method or a constructor; without a body it does nothing.
pub(super) fn method<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = annotations(b, at);
    let name = at.child_in("name").map(|name| b.text(name));
    let params = params(b, at);
    let body = body(b, at, "body");
    b.add(at, Kind::Function { name, params, body, decorators, is_async: false })
}

/// A class, an interface, an `enum`, a record.
pub(super) fn class<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = annotations(b, at);
    let name = at.child_in("name");
    let mut bases = Vec::new();
    for part in named(at) {
        if matches!(part.kind(), "superclass" | "super_interfaces" | "extends_interfaces") {
            for inner in named(part) {
                let types = if inner.kind() == "type_list" { named(inner) } else { vec![inner] };
                for ty in types {
                    bases.push(node(b, ty));
                }
            }
        }
    }
    let mut all = Vec::new();
    // The components of a record.
    let components = at.child_in("parameters").map(named).unwrap_or_default();
    for part in components {
        let Some(name) = part.child_in("name") else { continue };
        let target = node(b, name);
        let ty = part.child_in("type").map(|ty| b.text(ty));
        all.push(b.add(part, Kind::Let { target, ty, value: None, constant: true }));
    }
    let inner = at.child_in("body");
    let place = inner.unwrap_or(at);
    let body = b.deeper(place, |b| {
        for child in inner.map(named).unwrap_or_default() {
            member(b, child, name, &mut all);
        }
        b.add(place, Kind::Block(all))
    });
    let name = name.map(|name| b.text(name));
    b.add(at, Kind::Class { name, bases, decorators, body })
}

/// The class in `new A() { … }`.
pub(super) fn anonymous<'s>(b: &mut Builder<'s>, at: Syntax<'_>, base: Id) -> Id {
    let mut all = Vec::new();
    let body = b.deeper(at, |b| {
        for child in named(at) {
            member(b, child, None, &mut all);
        }
        b.add(at, Kind::Block(all))
    });
    // The base is written once, in the construction; the name stands for it here.
    let bases = match *b.kind(base) {
        Kind::Name(name) => {
            let span = b.span(base);
            vec![b.add_at(span, Kind::Name(name))]
        }
        _ => Vec::new(),
    };
    b.add(at, Kind::Class { name: None, bases, decorators: Vec::new(), body })
}

fn member<'s>(b: &mut Builder<'s>, at: Syntax<'_>, class: Option<Syntax<'_>>, all: &mut Vec<Id>) {
    match at.kind() {
        "enum_body_declarations" => {
            for child in named(at) {
                statement(b, child, all);
            }
        }
        "enum_constant" => all.push(constant(b, at, class)),
        _ => statement(b, at, all),
    }
}

/// `A(1) { … }` of an `enum` is a constant that is a construction of it.
fn constant<'s>(b: &mut Builder<'s>, at: Syntax<'_>, class: Option<Syntax<'_>>) -> Id {
    let target = field(b, at, "name");
    let callee = match class {
        Some(name) => node(b, name),
        None => b.add(at, Kind::Other(Vec::new())),
    };
    let mut args = super::arguments(b, at);
    if let Some(inner) = at.child_in("body") {
        let value = anonymous(b, inner, callee);
        args.push(Arg { name: None, value, spread: false });
    }
    let value = Some(b.add(at, Kind::Call { callee, args, new: true }));
    b.add(at, Kind::Let { target, ty: None, value, constant: true })
}
