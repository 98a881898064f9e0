//! Variables, functions, classes.

use tree_sitter::Node as Syntax;

use super::super::{has_word, in_field, named};
use super::{block, body_of, field, import, key, maybe, node};
use crate::lower::fields::Fields as _;
use crate::tree::{Builder, Id, Kind, Param};

/// `const a = 1, b = 2`, or an import by `require`.
pub(super) fn variables<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let constant = has_word(at, "const") || at.kind() == "using_declaration";
    for part in named(at) {
        if part.kind() != "variable_declarator" {
            all.push(node(b, part));
            continue;
        }
        if import::required(b, part, all) {
            continue;
        }
        let target = field(b, part, "name");
        let ty = type_of(b, part);
        let value = maybe(b, part, "value");
        all.push(b.add(part, Kind::Let { target, ty, value, constant }));
    }
}

/// The type after the colon.
fn type_of<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<&'s str> {
    let annotation = at.child_in("type")?;
    Some(b.text(named(annotation).first().copied()?))
}

/// The decorators that stand in a piece of syntax.
pub(super) fn decorators<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    let all = named(at).into_iter().filter(|child| child.kind() == "decorator");
    all.collect::<Vec<_>>().into_iter().map(|child| node(b, child)).collect()
}

/// Any function: declared, a method, an arrow.
pub(super) fn function<'s>(b: &mut Builder<'s>, at: Syntax<'_>, mut decorators: Vec<Id>) -> Id {
    decorators.extend(self::decorators(b, at));
    let name = at.child_in("name").and_then(|name| key(b, name));
    let (mut params, mut all) = (Vec::new(), Vec::new());
    if let Some(only) = at.child_in("parameter") {
        params.push(Param { name: b.text(only), default: None, ty: None });
    }
    let list = at.child_in("parameters").map(named).unwrap_or_default();
    for child in list {
        params.extend(param(b, child, &mut all));
    }
    let body = match at.child_in("body") {
        Some(inner) if inner.kind() == "statement_block" => {
            b.deeper(inner, |b| block(b, inner, all))
        }
        Some(inner) if all.is_empty() => node(b, inner),
        Some(inner) => {
            let value = node(b, inner);
            all.push(b.add(inner, Kind::Return(Some(value))));
            b.add(inner, Kind::Block(all))
        }
        None => b.add(at, Kind::Block(all)),
    };
    let is_async = has_word(at, "async");
    b.add(at, Kind::Function { name, params, body, decorators, is_async })
}

/// A parameter; what it does to the body's start is added to `all`.
fn param<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) -> Option<Param<'s>> {
    let (pattern, default) = match at.kind() {
        "required_parameter" | "optional_parameter" => {
            (at.child_in("pattern")?, maybe(b, at, "value"))
        }
        "assignment_pattern" => (at.child_in("left")?, maybe(b, at, "right")),
        _ => (at, None),
    };
    let name = b.text(pattern);
    if name == "this" {
        return None;
    }
    if matches!(pattern.kind(), "object_pattern" | "array_pattern") {
        all.push(taken_apart(b, pattern));
    }
    // `constructor(private n = 3)` declares and sets a field.
    let field = named(at).iter().any(|child| child.kind() == "accessibility_modifier")
        || has_word(at, "readonly");
    if field {
        let this = b.add(at, Kind::Name("this"));
        let target = b.add(at, Kind::Field { of: this, name });
        let value = b.add(at, Kind::Name(name));
        all.push(b.add(at, Kind::Assign { op: None, target, value }));
    }
    Some(Param { name, default, ty: type_of(b, at) })
}

/// `let {a, b} = …` of what has the pattern for its name.
pub(super) fn taken_apart<'s>(b: &mut Builder<'s>, pattern: Syntax<'_>) -> Id {
    let target = node(b, pattern);
    let value = Some(b.add(pattern, Kind::Name(b.text(pattern))));
    b.add(pattern, Kind::Let { target, ty: None, value, constant: false })
}

pub(super) fn is_class(at: Syntax<'_>) -> bool {
    matches!(at.kind(), "class" | "class_declaration" | "abstract_class_declaration")
}

/// A class, an interface, an `enum`, a `namespace`.
pub(super) fn class<'s>(b: &mut Builder<'s>, at: Syntax<'_>, mut decorators: Vec<Id>) -> Id {
    if decorators.is_empty() {
        decorators = self::decorators(b, at);
    }
    let name = at.child_in("name").and_then(|name| key(b, name));
    let mut bases = Vec::new();
    for part in named(at) {
        if matches!(part.kind(), "class_heritage" | "extends_type_clause") {
            heritage(b, part, &mut bases);
        }
    }
    let body = match at.child_in("body") {
        Some(inner) if inner.kind() == "statement_block" => body_of(b, inner),
        Some(inner) => b.deeper(inner, |b| members(b, inner)),
        None => b.add(at, Kind::Block(Vec::new())),
    };
    b.add(at, Kind::Class { name, bases, decorators, body })
}

fn heritage<'s>(b: &mut Builder<'s>, at: Syntax<'_>, bases: &mut Vec<Id>) {
    for part in named(at) {
        match part.kind() {
            "extends_clause" | "implements_clause" => {
                let inner = named(part).into_iter().filter(|one| one.kind() != "type_arguments");
                for one in inner.collect::<Vec<_>>() {
                    bases.push(node(b, one));
                }
            }
            "type_arguments" => {}
            _ => bases.push(node(b, part)),
        }
    }
}

fn members<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut all = Vec::new();
    // In TypeScript a method's decorators stand before it.
    let mut waiting = Vec::new();
    for child in named(at) {
        match child.kind() {
            "decorator" => waiting.push(node(b, child)),
            "method_definition" => {
                let decorators = std::mem::take(&mut waiting);
                all.push(b.deeper(child, |b| function(b, child, decorators)));
            }
            "field_definition" | "public_field_definition" | "property_signature" => {
                waiting.extend(decorators(b, child));
                all.append(&mut waiting);
                let name = in_field(child, "property").into_iter().chain(in_field(child, "name"));
                let Some(name) = name.into_iter().next() else { continue };
                let constant = has_word(child, "static") && has_word(child, "readonly");
                all.push(member(b, child, name, constant));
            }
            "enum_assignment" => {
                let Some(name) = child.child_in("name") else { continue };
                all.push(member(b, child, name, true));
            }
            "property_identifier" | "string" if at.kind() == "enum_body" => {
                all.push(member(b, child, child, true));
            }
            // Signatures do nothing.
            "method_signature"
            | "abstract_method_signature"
            | "call_signature"
            | "construct_signature"
            | "index_signature" => waiting.clear(),
            _ => all.push(node(b, child)),
        }
    }
    all.append(&mut waiting);
    b.add(at, Kind::Block(all))
}

fn member<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: Syntax<'_>, constant: bool) -> Id {
    let target = match key(b, name) {
        Some(text) => b.add(name, Kind::Name(text)),
        None => node(b, name),
    };
    let value = maybe(b, at, "value");
    b.add(at, Kind::Let { target, ty: type_of(b, at), value, constant })
}
