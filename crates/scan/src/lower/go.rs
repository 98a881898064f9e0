//! Go.
//!
//! An import is its path as module, and the name given to it as alias; `import . "x"` takes all.
//! A method stands in a [`Kind::Class`] of its receiver's type, one for each method, and its
//! receiver is called `self` whatever it is called in the source. A `return` alone gives the named
//! results, where there are some. `*x` and `&x` are `x`; `<-x` is [`Op::Other`]; `panic(x)` is
//! [`Kind::Throw`].

mod declare;
mod flow;

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{each_child, named, number, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Entry, Id, Kind, Op};

/// A whole file.
pub(super) fn file<'s>(b: &mut Builder<'s>, root: Syntax<'_>) -> Id {
    flow::block(b, root)
}

super::ways!(node, field, maybe, first);

fn first_or_other<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    first(b, at).unwrap_or_else(|| b.add(at, Kind::Other(Vec::new())))
}

fn text_of<'s>(b: &Builder<'s>, at: Syntax<'_>, name: &'static str) -> Option<&'s str> {
    at.child_in(name).map(|child| b.text(child))
}

fn one<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "expression_statement"
        | "parenthesized_expression"
        | "literal_element"
        | "parenthesized_type" => return first_or_other(b, at),
        "expression_list" => {
            let all = each_child(b, at, node);
            match all[..] {
                [only] => return only,
                _ => Kind::List(all),
            }
        }
        "identifier" | "blank_identifier" | "type_identifier" | "package_identifier"
        | "field_identifier" | "label_name" | "iota" => Kind::Name(b.text(at)),
        "array_type" | "channel_type" | "function_type" | "map_type" | "slice_type" => {
            Kind::Name(b.text(at))
        }
        "generic_type" | "type_instantiation_expression" => return field(b, at, "type"),
        "pointer_type" => return first_or_other(b, at),
        "qualified_type" => Kind::Field {
            of: field(b, at, "package"),
            name: text_of(b, at, "name").unwrap_or_default(),
        },
        "selector_expression" => Kind::Field {
            of: field(b, at, "operand"),
            name: text_of(b, at, "field").unwrap_or_default(),
        },
        "index_expression" => {
            Kind::Index { of: field(b, at, "operand"), at: field(b, at, "index") }
        }
        "slice_expression" => {
            let of = field(b, at, "operand");
            let (from, to) = (maybe(b, at, "start"), maybe(b, at, "end"));
            let range = b.add(at, Kind::Range { from, to, inclusive: false });
            Kind::Index { of, at: range }
        }
        "call_expression" => call(b, at),
        "type_conversion_expression" => {
            let callee = field(b, at, "type");
            let value = field(b, at, "operand");
            Kind::Call { callee, args: vec![Arg { name: None, value, spread: false }], new: false }
        }
        "int_literal" | "float_literal" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "interpreted_string_literal" | "raw_string_literal" | "rune_literal" => {
            Kind::Text(Cow::Borrowed(unquoted(b.text(at))))
        }
        "true" | "false" => Kind::Bool(at.kind() == "true"),
        "nil" => Kind::Null,
        "unary_expression" => {
            let op = match at.child_in("operator").map_or("", |op| op.kind()) {
                "*" | "&" | "+" => return field(b, at, "operand"),
                "-" => Op::Subtract,
                "!" => Op::Not,
                _ => Op::Other,
            };
            Kind::Unary { op, of: field(b, at, "operand") }
        }
        "binary_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let (left, right) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Binary { op: operator(op), left, right }
        }
        "composite_literal" => return composite(b, at),
        "literal_value" => return literal(b, at),
        "func_literal" => return declare::function(b, at, None),
        "block" => return flow::block(b, at),
        "assignment_statement" => {
            let op = at.child_in("operator").map_or("=", |op| op.kind());
            let op = op.strip_suffix('=').filter(|op| !op.is_empty()).map(operator);
            let (target, value) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Assign { op, target, value }
        }
        "inc_statement" | "dec_statement" => {
            let by = if at.kind() == "inc_statement" { 1 } else { -1 };
            Kind::Step { of: first_or_other(b, at), by, before: false }
        }
        "short_var_declaration" => {
            let (target, value) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Let { target, ty: None, value: Some(value), constant: false }
        }
        "function_declaration" => {
            let name = text_of(b, at, "name");
            return declare::function(b, at, name);
        }
        "method_declaration" => return declare::method(b, at),
        "if_statement"
        | "for_statement"
        | "expression_switch_statement"
        | "type_switch_statement"
        | "select_statement"
        | "labeled_statement"
        | "return_statement" => return flow::statement(b, at),
        "break_statement" => Kind::Break { label: label(b, at), value: None },
        "continue_statement" => Kind::Continue(label(b, at)),
        "goto_statement" => Kind::Goto(label(b, at).unwrap_or_default()),
        "go_statement" => Kind::Spawn(first_or_other(b, at)),
        "defer_statement" => Kind::Defer(first_or_other(b, at)),
        _ => Kind::Other(each_child(b, at, node)),
    };
    b.add(at, kind)
}

fn label<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<&'s str> {
    named(at).into_iter().find(|child| child.kind() == "label_name").map(|name| b.text(name))
}

fn call<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let callee = field(b, at, "function");
    let list = at.child_in("arguments").map(named).unwrap_or_default();
    let args: Vec<_> = list
        .into_iter()
        .map(|arg| {
            let spread = arg.kind() == "variadic_argument";
            let value = if spread { first_or_other(b, arg) } else { node(b, arg) };
            Arg { name: None, value, spread }
        })
        .collect();
    match (b.kind(callee), &args[..]) {
        (Kind::Name("panic"), [only]) => Kind::Throw(Some(only.value)),
        _ => Kind::Call { callee, args, new: false },
    }
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

/// `T{…}`: a list of an array or a slice, a record of anything else.
fn composite<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let ty = at.child_in("type");
    let body = at.child_in("body").unwrap_or(at);
    let kind = match ty.map(|ty| ty.kind()) {
        Some("array_type" | "slice_type" | "implicit_length_array_type") => {
            Kind::List(entries(b, body).into_iter().map(|entry| entry.value).collect())
        }
        _ => {
            let ty = ty.map(|ty| node(b, ty));
            Kind::Record { ty, entries: entries(b, body) }
        }
    };
    b.add(at, kind)
}

/// `{…}` inside another literal, where the type is left out.
fn literal<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let keyed = named(at).iter().any(|child| child.kind() == "keyed_element");
    let entries = entries(b, at);
    let kind = if keyed || entries.is_empty() {
        Kind::Record { ty: None, entries }
    } else {
        Kind::List(entries.into_iter().map(|entry| entry.value).collect())
    };
    b.add(at, kind)
}

fn entries<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Entry<'s>> {
    let mut all = Vec::new();
    for child in named(at) {
        if child.kind() != "keyed_element" {
            all.push(Entry { key: None, value: node(b, child) });
            continue;
        }
        let key = child.child_in("key").and_then(|key| named(key).first().copied());
        let key = key.and_then(|key| match key.kind() {
            "identifier" | "interpreted_string_literal" | "raw_string_literal" => {
                Some(Cow::Borrowed(unquoted_name(b.text(key))))
            }
            _ => None,
        });
        all.push(Entry { key, value: field(b, child, "value") });
    }
    all
}

/// A key: a name as it is, a text without its quotes.
fn unquoted_name(text: &str) -> &str {
    if text.starts_with(['"', '`']) { unquoted(text) } else { text }
}

#[cfg(test)]
mod tests;
