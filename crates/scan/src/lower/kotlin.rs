//! Kotlin.
//!
//! `import a.b.C as D` is module `a.b`, item `C`, alias `D`; `import a.b.*` all of `a.b`. A class
//! has the properties of its constructor as [`Kind::Let`], `init` blocks as blocks, and a function
//! `constructor` for each further constructor. `x!!`, `x as T` and `x?.y` are `x`, `x` and `x.y`;
//! `a..b` and `a until b` are ranges, other infix calls calls of a field: `a.downTo(b)`. A lambda
//! without parameters may use `it`. `when` without a subject is `if … else`.
//!
//! A `return` in a lambda leaves the function around it, as the language has it for `repeat` and
//! its like. `return@repeat` goes on with the next round and is `continue` with that label;
//! `return@f x` with a value is `return x`.

mod declare;
mod flow;

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{each_child, has_word, in_block, named, number, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Id, Kind, LoopForm, Op};

/// A whole file.
pub(super) fn file<'s>(b: &mut Builder<'s>, root: Syntax<'_>) -> Id {
    declare::block(b, root)
}

super::ways!(field);

fn node<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    b.deeper(at, |b| {
        let id = one(b, at);
        if is_step(at) && !at.parent().is_some_and(|up| is_step(up) && first_is(up, at)) {
            return negated(b, at, id);
        }
        id
    })
}

fn is_step(at: Syntax<'_>) -> bool {
    matches!(at.kind(), "call_expression" | "navigation_expression" | "index_expression")
}

fn first_is(up: Syntax<'_>, at: Syntax<'_>) -> bool {
    named(up).first() == Some(&at)
}

/// `!a.b()` comes from the grammar as `(!a).b()`; it is `!(a.b())`.
fn negated<'s>(b: &mut Builder<'s>, at: Syntax<'_>, whole: Id) -> Id {
    let mut up = whole;
    loop {
        let below = match b.kind(up) {
            Kind::Call { callee: below, .. }
            | Kind::Field { of: below, .. }
            | Kind::Index { of: below, .. } => *below,
            _ => return whole,
        };
        if let Kind::Unary { op: Op::Not, of } = b.kind(below)
            && b.span(below).start == b.span(whole).start
        {
            let bare = *of;
            let mut kind = b.kind(up).clone();
            if let Kind::Call { callee: place, .. }
            | Kind::Field { of: place, .. }
            | Kind::Index { of: place, .. } = &mut kind
            {
                *place = bare;
            }
            b.replace(up, kind);
            return b.add(at, Kind::Unary { op: Op::Not, of: whole });
        }
        up = below;
    }
}

fn child<'t>(at: Syntax<'t>, kind: &str) -> Option<Syntax<'t>> {
    named(at).into_iter().find(|child| child.kind() == kind)
}

fn last<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    match named(at).last() {
        Some(child) => node(b, *child),
        None => b.add(at, Kind::Other(Vec::new())),
    }
}

fn one<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "parenthesized_expression"
        | "annotated_expression"
        | "annotated_lambda"
        | "value_argument"
        | "interpolation"
        | "spread_expression"
        | "range_test"
        | "type_test"
        | "non_nullable_type"
        | "nullable_type"
        | "parenthesized_type"
        | "constructor_invocation"
        | "delegation_specifier"
        | "explicit_delegation"
            if named(at).len() <= 1 || at.kind().starts_with("annotated") =>
        {
            return last(b, at);
        }
        "block" | "class_body" | "enum_class_body" => return declare::block(b, at),
        "identifier" => match b.text(at) {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            "break" => Kind::Break { label: None, value: None },
            "continue" => Kind::Continue(None),
            name => Kind::Name(name),
        },
        "this_expression" => Kind::Name("this"),
        "super_expression" => Kind::Name("super"),
        "user_type" => return path(b, at),
        "qualified_identifier" => return path(b, at),
        "navigation_expression" => {
            let all = named(at);
            match (all.first(), all.last()) {
                (Some(of), Some(name)) if all.len() > 1 => {
                    Kind::Field { of: node(b, *of), name: b.text(*name) }
                }
                _ => Kind::Other(each_child(b, at, node)),
            }
        }
        "index_expression" => {
            let all = each_child(b, at, node);
            match all[..] {
                [of, at] => Kind::Index { of, at },
                _ => Kind::Other(all),
            }
        }
        "call_expression" | "constructor_invocation" => return call(b, at),
        "number_literal" | "float_literal" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "string_literal" | "multiline_string_literal" => {
            if named(at).iter().any(|part| part.kind() == "interpolation") {
                let parts = named(at).into_iter();
                let parts = parts.filter(|part| part.kind() == "interpolation");
                Kind::Other(parts.map(|part| node(b, part)).collect())
            } else {
                Kind::Text(Cow::Borrowed(unquoted(b.text(at))))
            }
        }
        "character_literal" => Kind::Text(Cow::Borrowed(unquoted(b.text(at)))),
        "unary_expression" => return unary(b, at),
        "binary_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let (left, right) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Binary { op: operator(op), left, right }
        }
        "in_expression" | "is_expression" => {
            let (left, right) = (field(b, at, "left"), field(b, at, "right"));
            let op = if at.kind() == "is_expression" {
                Op::Matches
            } else if has_word(at, "!in") {
                Op::NotIn
            } else {
                Op::In
            };
            let test = Kind::Binary { op, left, right };
            if has_word(at, "!is") {
                Kind::Unary { op: Op::Not, of: b.add(at, test) }
            } else {
                test
            }
        }
        "as_expression" => return field(b, at, "left"),
        "range_expression" => {
            let all = each_child(b, at, node);
            let inclusive = !has_word(at, "..<");
            match all[..] {
                [from, to] => Kind::Range { from: Some(from), to: Some(to), inclusive },
                _ => Kind::Other(all),
            }
        }
        "infix_expression" => return infix(b, at),
        "collection_literal" => Kind::List(each_child(b, at, node)),
        "assignment" => {
            let op = at.child_in("operator").map_or("=", |op| op.kind());
            let op = op.strip_suffix('=').filter(|op| !op.is_empty()).map(operator);
            let (target, value) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Assign { op, target, value }
        }
        "multi_variable_declaration" => Kind::List(each_child(b, at, node)),
        "variable_declaration" => match child(at, "identifier") {
            Some(name) => return node(b, name),
            None => Kind::Other(Vec::new()),
        },
        "lambda_literal" => return declare::lambda(b, at),
        "anonymous_function" | "function_declaration" | "secondary_constructor" => {
            return declare::function(b, at);
        }
        "anonymous_initializer" => return last(b, at),
        "class_declaration" | "object_declaration" | "companion_object" | "object_literal"
        | "enum_entry" => return declare::class(b, at),
        "property_declaration" => return declare::property(b, at),
        "if_expression" | "when_expression" | "try_expression" | "for_statement"
        | "while_statement" | "do_while_statement" | "labeled_expression" => {
            return flow::flow(b, at, None);
        }
        "return_expression" => {
            let label = at.child_in("label");
            let value = named(at).into_iter().rfind(|child| Some(*child) != label);
            match (label, value) {
                (Some(label), None) => Kind::Continue(Some(b.text(label))),
                (_, value) => Kind::Return(value.map(|value| node(b, value))),
            }
        }
        "throw_expression" => Kind::Throw(named(at).last().map(|value| node(b, *value))),
        _ => Kind::Other(each_child(b, at, node)),
    };
    b.add(at, kind)
}

/// `a.b.C`, of a type without what it is of.
fn path<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut whole: Option<Id> = None;
    for part in named(at) {
        if part.kind() == "identifier" {
            let name = b.text(part);
            whole = Some(match whole {
                None => b.add(part, Kind::Name(name)),
                Some(of) => b.add(at, Kind::Field { of, name }),
            });
        }
    }
    whole.unwrap_or_else(|| b.add(at, Kind::Other(Vec::new())))
}

/// A call. A lambda behind the brackets is the last argument of the call before it.
fn call<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut children = named(at);
    let mut lists = Vec::new();
    if let [inner, rest @ ..] = &children[..]
        && inner.kind() == "call_expression"
        && rest.iter().any(|child| child.kind() == "annotated_lambda")
        && !rest.iter().any(|child| child.kind() == "value_arguments")
        && child(*inner, "value_arguments").is_some()
        && child(*inner, "annotated_lambda").is_none()
    {
        let rest = rest.to_vec();
        children = named(*inner);
        lists = rest;
    }
    let Some((callee, own)) = children.split_first() else {
        return b.add(at, Kind::Other(Vec::new()));
    };
    let callee = node(b, *callee);
    let args = arguments(b, own.iter().chain(&lists));
    if let Some(kind) = repeated(b, at, callee, &args) {
        return b.add(at, kind);
    }
    b.add(at, Kind::Call { callee, args, new: false })
}

/// `repeat(n) { … }` is a loop: what is in its braces may leave the function around it.
fn repeated<'s>(
    b: &mut Builder<'s>,
    at: Syntax<'_>,
    callee: Id,
    args: &[Arg<'s>],
) -> Option<Kind<'s>> {
    let (Kind::Name("repeat"), [times, block]) = (b.kind(callee), args) else { return None };
    let Kind::Function { params, body, .. } = b.kind(block.value).clone() else { return None };
    let var = params.first().map(|param| b.add(at, Kind::Name(param.name)));
    let body = in_block(b, at, body);
    let over = b.add(at, Kind::Range { from: None, to: Some(times.value), inclusive: false });
    let form = LoopForm::Each { var, over };
    Some(Kind::Loop { form, label: Some("repeat"), body, otherwise: None })
}

fn arguments<'s, 't>(
    b: &mut Builder<'s>,
    lists: impl Iterator<Item = &'t Syntax<'t>>,
) -> Vec<Arg<'s>> {
    let mut args = Vec::new();
    for list in lists {
        match list.kind() {
            "value_arguments" => args.extend(named(*list).into_iter().map(|arg| argument(b, arg))),
            "annotated_lambda" => {
                args.push(Arg { name: None, value: node(b, *list), spread: false });
            }
            _ => {}
        }
    }
    args
}

fn argument<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Arg<'s> {
    let children = named(at);
    let name = match &children[..] {
        [name, _] if has_word(at, "=") => Some(b.text(*name)),
        _ => None,
    };
    let spread = has_word(at, "*") || children.iter().any(|it| it.kind() == "spread_expression");
    Arg { name, value: last(b, at), spread }
}

fn unary<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let operator = at.child_in("operator");
    let argument = at.child_in("argument");
    let before = match (operator, argument) {
        (Some(operator), Some(argument)) => operator.start_byte() < argument.start_byte(),
        _ => false,
    };
    let of = field(b, at, "argument");
    let kind = match operator.map_or("", |op| op.kind()) {
        "!!" | "+" => return of,
        "!" if !before => return of,
        "++" => Kind::Step { of, by: 1, before },
        "--" => Kind::Step { of, by: -1, before },
        "-" => Kind::Unary { op: Op::Subtract, of },
        "!" => Kind::Unary { op: Op::Not, of },
        _ => Kind::Unary { op: Op::Other, of },
    };
    b.add(at, kind)
}

/// `a until b` and its like.
fn infix<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let all = named(at);
    let [left, word, right] = all[..] else {
        let all = each_child(b, at, node);
        return b.add(at, Kind::Other(all));
    };
    let name = b.text(word);
    let (left, right) = (node(b, left), node(b, right));
    let op = match name {
        "until" => {
            let range = Kind::Range { from: Some(left), to: Some(right), inclusive: false };
            return b.add(at, range);
        }
        "shl" => Op::ShiftLeft,
        "shr" | "ushr" => Op::ShiftRight,
        "and" => Op::BitAnd,
        "or" => Op::BitOr,
        "xor" => Op::BitXor,
        _ => {
            let callee = b.add(word, Kind::Field { of: left, name });
            let args = vec![Arg { name: None, value: right, spread: false }];
            return b.add(at, Kind::Call { callee, args, new: false });
        }
    };
    b.add(at, Kind::Binary { op, left, right })
}

fn operator(text: &str) -> Op {
    match text {
        "+" => Op::Add,
        "-" => Op::Subtract,
        "*" => Op::Multiply,
        "/" => Op::Divide,
        "%" => Op::Remainder,
        "&&" => Op::And,
        "||" => Op::Or,
        "?:" => Op::Else,
        "==" | "===" => Op::Equal,
        "!=" | "!==" => Op::NotEqual,
        "<" => Op::Less,
        "<=" => Op::AtMost,
        ">" => Op::Greater,
        ">=" => Op::AtLeast,
        _ => Op::Other,
    }
}

#[cfg(test)]
mod tests;
