//! Patterns, as the expressions they look like.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{bare, child, each, field, last, node, operator, parts};
use crate::lower::fields::Fields as _;
use crate::lower::named;
use crate::tree::{Arg, Builder, Entry, Id, Kind, Op};

/// `x is P`; `x is null` and `x is not null` compare.
pub(super) fn test<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let left = field(b, at, "expression");
    let right = field(b, at, "pattern");
    let kind = match *b.kind(right) {
        Kind::Null => Kind::Binary { op: Op::Equal, left, right },
        Kind::Unary { op: Op::Not, of } => match b.kind(of) {
            Kind::Null => Kind::Binary { op: Op::NotEqual, left, right: of },
            _ => {
                let test = b.add(at, Kind::Binary { op: Op::Matches, left, right: of });
                Kind::Unary { op: Op::Not, of: test }
            }
        },
        _ => Kind::Binary { op: Op::Matches, left, right },
    };
    b.add(at, kind)
}

/// A pattern.
pub(super) fn pattern<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "constant_pattern" | "parenthesized_pattern" | "var_pattern" => return last(b, at),
        "type_pattern" => return field(b, at, "type"),
        "declaration_pattern" => {
            let ty = at.child_in("type");
            if ty.is_none_or(|ty| ty.kind() == "implicit_type") {
                return last(b, at);
            }
            let callee = field(b, at, "type");
            let value = last(b, at);
            Kind::Call { callee, args: vec![Arg { name: None, value, spread: false }], new: false }
        }
        "or_pattern" | "and_pattern" => {
            let op = if at.kind() == "or_pattern" { Op::Or } else { Op::And };
            let (left, right) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Binary { op, left, right }
        }
        "negated_pattern" => Kind::Unary { op: Op::Not, of: last(b, at) },
        "relational_pattern" => {
            let op = at.child(0).map_or("", |op| op.kind());
            Kind::Unary { op: operator(op), of: last(b, at) }
        }
        "list_pattern" => Kind::List(each(b, at)),
        "recursive_pattern" => recursive(b, at),
        _ => Kind::Other(each(b, at)),
    };
    b.add(at, kind)
}

/// `T (a, b) { C: 1 } x`: what has no key has none, `x` too.
fn recursive<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let ty = at.child_in("type");
    let mut entries = Vec::new();
    for part in parts(at) {
        if Some(part) == ty {
            continue;
        }
        if !matches!(part.kind(), "property_pattern_clause" | "positional_pattern_clause") {
            entries.push(Entry { key: None, value: node(b, part) });
            continue;
        }
        for sub in named(part) {
            let inside = named(sub);
            let key = inside.first().filter(|_| inside.len() > 1);
            let key = key.map(|key| Cow::Borrowed(bare(b, *key)));
            let value = if sub.kind() == "subpattern" { last(b, sub) } else { node(b, sub) };
            entries.push(Entry { key, value });
        }
    }
    Kind::Record { ty: ty.map(|ty| node(b, ty)), entries }
}

/// What an arm catches: `A or B` one by one, nothing for `_`.
pub(super) fn alternatives<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let mut queue = vec![at];
    while let Some(at) = queue.pop() {
        match at.kind() {
            "or_pattern" => queue.extend(named(at).into_iter().rev()),
            "discard" => {}
            "var_pattern" if child(at, "discard").is_some() => {}
            _ => all.push(node(b, at)),
        }
    }
}
