//! `new` in all its forms, and `with`.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{arguments, child, each, field, last, maybe, node, parts};
use crate::lower::fields::Fields as _;
use crate::lower::{named, unquoted};
use crate::tree::{Arg, Builder, Entry, Id, Kind};

/// An object, an array or a list of them.
pub(super) fn creation<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "object_creation_expression" | "implicit_object_creation_expression" => {
            return object(b, at);
        }
        "anonymous_object_creation_expression" => {
            Kind::Record { ty: None, entries: anonymous(b, at) }
        }
        "with_expression" => {
            let mut entries = Vec::new();
            for part in parts(at) {
                let inside = named(part);
                let key = inside.first().filter(|_| part.kind() == "with_initializer");
                let value = if key.is_some() { last(b, part) } else { node(b, part) };
                entries.push(Entry { key: key.map(|key| Cow::Borrowed(b.text(*key))), value });
            }
            Kind::Record { ty: None, entries }
        }
        "initializer_expression" => initializer(b, at, None),
        _ => match child(at, "initializer_expression") {
            Some(list) => Kind::List(each(b, list)),
            None => Kind::Other(each(b, at)),
        },
    };
    b.add(at, kind)
}

fn object<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let list = at.child_in("arguments").or_else(|| child(at, "argument_list"));
    let args = list.map(|list| arguments(b, list)).unwrap_or_default();
    let body = child(at, "initializer_expression");
    let kind = match body {
        Some(body) if args.is_empty() => {
            let ty = maybe(b, at, "type");
            initializer(b, body, ty)
        }
        _ => {
            let callee = match at.child_in("type") {
                Some(_) => field(b, at, "type"),
                None => b.add(at, Kind::Name("new")),
            };
            let mut args = args;
            if let Some(body) = body {
                let record = initializer(b, body, None);
                let value = b.add(body, record);
                args.push(Arg { name: None, value, spread: false });
            }
            Kind::Call { callee, args, new: true }
        }
    };
    b.add(at, kind)
}

/// `{ A = 1, ["k"] = 2 }` or `{ { "k", 2 } }` is a record, `{ 1, 2 }` a list.
fn initializer<'s>(b: &mut Builder<'s>, at: Syntax<'_>, ty: Option<Id>) -> Kind<'s> {
    let all = parts(at);
    let keyed = |part: &Syntax<'_>| {
        matches!(part.kind(), "assignment_expression" | "initializer_expression")
    };
    if !all.iter().all(keyed) {
        let mut values: Vec<_> = all.into_iter().map(|part| node(b, part)).collect();
        // The type of a list says nothing of its elements, but it is code.
        if values.is_empty() {
            values.extend(ty);
        }
        return Kind::List(values);
    }
    let mut entries = Vec::new();
    for part in all {
        let (key, value) = match part.kind() {
            "assignment_expression" => (part.child_in("left"), part.child_in("right")),
            _ => match named(part)[..] {
                [key, value] => (Some(key), Some(value)),
                _ => (None, Some(part)),
            },
        };
        let key = key.and_then(|key| key_text(b, key)).map(Cow::Borrowed);
        let value = match value {
            Some(value) if value == part => {
                let all = each(b, part);
                b.add(part, Kind::List(all))
            }
            Some(value) => node(b, value),
            None => b.add(part, Kind::Other(Vec::new())),
        };
        entries.push(Entry { key, value });
    }
    Kind::Record { ty, entries }
}

/// A name or a text, in brackets or not.
fn key_text<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<&'s str> {
    let mut at = at;
    while matches!(at.kind(), "element_binding_expression" | "argument") {
        at = *named(at).first()?;
    }
    match at.kind() {
        "identifier" => Some(b.text(at)),
        "string_literal" => Some(unquoted(b.text(at))),
        _ => None,
    }
}

/// `new { A = 1, b.C }`: a name before `=` is a key.
fn anonymous<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Entry<'s>> {
    let mut cursor = at.walk();
    let children: Vec<_> = at.children(&mut cursor).collect();
    let mut entries = Vec::new();
    let mut key = None;
    for (index, part) in children.iter().enumerate() {
        if children.get(index + 1).is_some_and(|next| next.kind() == "=") {
            key = Some(Cow::Borrowed(b.text(*part)));
        } else if part.is_named() && !part.is_extra() {
            let own = (part.kind() == "identifier").then(|| Cow::Borrowed(b.text(*part)));
            let value = node(b, *part);
            entries.push(Entry { key: key.take().or(own), value });
        }
    }
    entries
}
