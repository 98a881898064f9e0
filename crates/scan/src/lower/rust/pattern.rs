//! Patterns, as the expressions they look like.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{field, last, node, range, text_of};
use crate::lower::fields::Fields as _;
use crate::lower::{each_child, named};
use crate::tree::{Arg, Builder, Entry, Id, Kind};

/// A pattern that is not a plain name or literal.
pub(super) fn pattern<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "mut_pattern" | "ref_pattern" | "reference_pattern" => return last(b, at),
        "generic_pattern" => match named(at).first() {
            Some(first) => return node(b, *first),
            None => Kind::Other(Vec::new()),
        },
        "tuple_struct_pattern" => {
            let callee = field(b, at, "type");
            let parts = parts(b, at, true).into_iter();
            let args = parts.map(|value| Arg { name: None, value, spread: false }).collect();
            Kind::Call { callee, args, new: false }
        }
        "struct_pattern" => {
            let ty = Some(field(b, at, "type"));
            let fields = named(at).into_iter().filter(|child| child.kind() == "field_pattern");
            let entries = fields
                .map(|child| {
                    let key = text_of(b, child, "name").map(Cow::Borrowed);
                    let bound = child.child_in("pattern").is_some();
                    let value = field(b, child, if bound { "pattern" } else { "name" });
                    Entry { key, value }
                })
                .collect();
            Kind::Record { ty, entries }
        }
        "tuple_pattern" | "slice_pattern" => Kind::List(parts(b, at, false)),
        "range_pattern" => range(b, at),
        _ => Kind::Other(each_child(b, at, node)),
    };
    b.add(at, kind)
}

/// Patterns between commas; `_`, which the grammar gives no name, is one.
fn parts<'s>(b: &mut Builder<'s>, at: Syntax<'_>, typed: bool) -> Vec<Id> {
    let ty = at.child_in("type").filter(|_| typed);
    let mut cursor = at.walk();
    let children: Vec<_> = at.children(&mut cursor).collect();
    let mut all = Vec::new();
    for child in children {
        if child.kind() == "_" {
            all.push(b.add(child, Kind::Name("_")));
        } else if child.is_named()
            && !child.is_extra()
            && Some(child) != ty
            && child.kind() != "remaining_field_pattern"
        {
            all.push(node(b, child));
        }
    }
    all
}

/// `A | B` one by one; nothing for `_`.
pub(super) fn alternatives<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let mut queue = vec![at];
    while let Some(at) = queue.pop() {
        if at.kind() == "or_pattern" {
            queue.extend(named(at).into_iter().rev());
        } else {
            all.push(node(b, at));
        }
    }
}
