//! Rust.
//!
//! `use a::b::{c as d, e::*}` is one import for each leaf: module `a::b`, item `c`, alias `d`; all
//! of module `a::b::e`. `use a` is module `a`, and `self` in braces the module around it.
//!
//! Patterns are expressions: `Ok(v)` a call, `S { a, .. }` a record, `(a, _)` a list, `_` in them a
//! name. `if let` and `let else` are [`Op::Matches`] with the value on the left; `let else` is the
//! block that runs if it does not match. `&x`, `*x` and `x as T` are `x`. A macro is called by its
//! name with its `!`, with arguments where they read as expressions; `panic!` and `bail!` are
//! [`Kind::Throw`]. A labelled block is a loop of one round. Of a module only its block is kept.

mod blocks;
mod declare;
mod flow;
mod macros;
mod pattern;

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{each_child, named, number, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Entry, Id, Kind, Op};

/// A whole file.
pub(super) fn file<'s>(b: &mut Builder<'s>, root: Syntax<'_>) -> Id {
    declare::block(b, root)
}

super::ways!(node, field, maybe);

/// The last child: what stands before it are `mut`, labels and the like.
fn last<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    match named(at).last() {
        Some(child) => node(b, *child),
        None => b.add(at, Kind::Other(Vec::new())),
    }
}

fn text_of<'s>(b: &Builder<'s>, at: Syntax<'_>, name: &'static str) -> Option<&'s str> {
    at.child_in(name).map(|child| b.text(child))
}

fn one<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "expression_statement"
        | "parenthesized_expression"
        | "unsafe_block"
        | "const_block"
        | "reference_expression"
        | "else_clause" => return last(b, at),
        "block" | "declaration_list" => return declare::block(b, at),
        "identifier"
        | "type_identifier"
        | "field_identifier"
        | "primitive_type"
        | "self"
        | "super"
        | "crate"
        | "metavariable"
        | "shorthand_field_identifier" => Kind::Name(b.text(at)),
        "scoped_identifier" | "scoped_type_identifier" => {
            let name = text_of(b, at, "name").unwrap_or_default();
            match maybe(b, at, "path") {
                Some(of) => Kind::Field { of, name },
                None => Kind::Name(name),
            }
        }
        "generic_type" | "generic_type_with_turbofish" => return field(b, at, "type"),
        "generic_function" => return field(b, at, "function"),
        "type_cast_expression" => return field(b, at, "value"),
        "field_expression" => Kind::Field {
            of: field(b, at, "value"),
            name: text_of(b, at, "field").unwrap_or_default(),
        },
        "index_expression" => {
            let all = each_child(b, at, node);
            match all[..] {
                [of, at] => Kind::Index { of, at },
                _ => Kind::Other(all),
            }
        }
        "call_expression" => {
            let callee = field(b, at, "function");
            let list = at.child_in("arguments").map(named).unwrap_or_default();
            let list = list.into_iter().filter(|arg| arg.kind() != "attribute_item");
            let args = list.map(|arg| Arg { name: None, value: node(b, arg), spread: false });
            let args = args.collect();
            Kind::Call { callee, args, new: false }
        }
        "macro_invocation" => return macros::invocation(b, at),
        "integer_literal" | "float_literal" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "string_literal" | "char_literal" => Kind::Text(Cow::Borrowed(unquoted(b.text(at)))),
        "raw_string_literal" => {
            let content = named(at).first().map(|content| b.text(*content));
            Kind::Text(Cow::Borrowed(content.unwrap_or_default()))
        }
        "boolean_literal" => Kind::Bool(b.text(at) == "true"),
        "unit_expression" => Kind::List(Vec::new()),
        "unary_expression" => {
            let op = match at.child(0).map_or("", |op| op.kind()) {
                "-" => Op::Subtract,
                "!" => Op::Not,
                _ => return last(b, at),
            };
            Kind::Unary { op, of: last(b, at) }
        }
        "negative_literal" => Kind::Unary { op: Op::Subtract, of: last(b, at) },
        "binary_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let (left, right) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Binary { op: operator(op), left, right }
        }
        "assignment_expression" => {
            let (target, value) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Assign { op: None, target, value }
        }
        "compound_assignment_expr" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let op = Some(operator(op.trim_end_matches('=')));
            let (target, value) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Assign { op, target, value }
        }
        "range_expression" => range(b, at),
        "tuple_expression" => Kind::List(each_child(b, at, node)),
        "array_expression" if at.child_in("length").is_none() => {
            Kind::List(each_child(b, at, node))
        }
        "struct_expression" => {
            let ty = maybe(b, at, "name");
            let body = at.child_in("body").map(named).unwrap_or_default();
            let entries = body.into_iter().map(|child| entry(b, child)).collect();
            Kind::Record { ty, entries }
        }
        "await_expression" => Kind::Await(last(b, at)),
        "try_expression" => Kind::Propagate(last(b, at)),
        "closure_expression" => return declare::closure(b, at),
        "async_block" => {
            let body = last(b, at);
            let (params, decorators) = (Vec::new(), Vec::new());
            Kind::Function { name: None, params, body, decorators, is_async: true }
        }
        "if_expression"
        | "match_expression"
        | "loop_expression"
        | "while_expression"
        | "for_expression"
        | "let_condition"
        | "let_chain"
        | "let_declaration"
        | "break_expression"
        | "continue_expression"
        | "return_expression" => {
            return flow::flow(b, at);
        }
        "yield_expression" => Kind::Yield(named(at).last().map(|value| node(b, *value))),
        kind if kind.ends_with("_pattern") => return pattern::pattern(b, at),
        kind if kind.ends_with("_item") => return declare::item(b, at, Vec::new()),
        _ => Kind::Other(each_child(b, at, node)),
    };
    b.add(at, kind)
}

fn operator(text: &str) -> Op {
    match text {
        "+" => Op::Add,
        "-" => Op::Subtract,
        "*" => Op::Multiply,
        "/" => Op::Divide,
        "%" => Op::Remainder,
        "<<" => Op::ShiftLeft,
        ">>" => Op::ShiftRight,
        "&" => Op::BitAnd,
        "|" => Op::BitOr,
        "^" => Op::BitXor,
        "&&" => Op::And,
        "||" => Op::Or,
        "==" => Op::Equal,
        "!=" => Op::NotEqual,
        "<" => Op::Less,
        "<=" => Op::AtMost,
        ">" => Op::Greater,
        ">=" => Op::AtLeast,
        _ => Op::Other,
    }
}

/// `a..b`, `..=b`, `a..`: which side a bound is on says the sign between them.
fn range<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let (mut from, mut to, mut inclusive, mut after) = (None, None, false, false);
    let mut cursor = at.walk();
    let children: Vec<_> = at.children(&mut cursor).collect();
    for child in children {
        if matches!(child.kind(), ".." | "..=" | "...") {
            after = true;
            inclusive = child.kind() != "..";
        } else if child.is_named() && !child.is_extra() {
            let bound = Some(node(b, child));
            if after {
                to = bound;
            } else {
                from = bound;
            }
        }
    }
    Kind::Range { from, to, inclusive }
}

fn entry<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Entry<'s> {
    match at.kind() {
        "field_initializer" => {
            Entry { key: text_of(b, at, "field").map(Cow::Borrowed), value: field(b, at, "value") }
        }
        "shorthand_field_initializer" => {
            let name = named(at).last().map(|name| Cow::Borrowed(b.text(*name)));
            Entry { key: name, value: last(b, at) }
        }
        "base_field_initializer" => Entry { key: None, value: last(b, at) },
        _ => Entry { key: None, value: node(b, at) },
    }
}

#[cfg(test)]
mod tests;
