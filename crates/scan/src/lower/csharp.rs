//! C#.
//!
//! `using X.Y` and `using static X.Y` take all of module `X.Y`; `using P = X.Y` is module `X.Y`,
//! alias `P`. Of a namespace only what is in it is kept. A constructor is a function with the name
//! of its class, whose first statement is the call of `base` or `this`; parameters of a class or a
//! record are constants in it. A property is a [`Kind::Let`]; what its accessors do, functions of
//! its name.
//!
//! `new X { A = 1 }` is a record of type `X`, `new X(y) { A = 1 }` a construction with the record
//! as its last argument. Patterns: `T x` is the call `T(x)`, `T { A: 1 }` a record, `> 3` an
//! operator with one operand. `x!`, `(T)x` and `x as T` are `x`. Type arguments are left out.

pub(super) mod condition;
mod create;
mod declare;
mod flow;
mod pattern;

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{named, number, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Id, Kind, Op};

/// A whole file.
pub(super) fn file<'s>(b: &mut Builder<'s>, root: Syntax<'_>) -> Id {
    declare::block(b, root)
}

super::ways!(node, field, maybe);

/// The children with a name, and `this` and `base`, which the grammar gives none.
fn parts<'t>(at: Syntax<'t>) -> Vec<Syntax<'t>> {
    let mut cursor = at.walk();
    let all = at.children(&mut cursor);
    all.filter(|child| {
        (child.is_named() && (!child.is_extra() || child.is_error()))
            || matches!(child.kind(), "this" | "base")
    })
    .collect()
}

fn each<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    parts(at).into_iter().map(|child| node(b, child)).collect()
}

fn last<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    match parts(at).last() {
        Some(child) => node(b, *child),
        None => b.add(at, Kind::Other(Vec::new())),
    }
}

/// What is awaited in `await f().ConfigureAwait(false)`: which thread goes on does not matter here.
fn configured<'t>(b: &Builder<'_>, at: Syntax<'t>) -> Option<Syntax<'t>> {
    let call = child(at, "invocation_expression")?;
    let function = call.child_in("function")?;
    let name = function.child_in("name")?;
    if b.text(name) != "ConfigureAwait" {
        return None;
    }
    function.child_in("expression")
}

fn child<'t>(at: Syntax<'t>, kind: &str) -> Option<Syntax<'t>> {
    named(at).into_iter().find(|child| child.kind() == kind)
}

fn text_of<'s>(b: &Builder<'s>, at: Syntax<'_>, name: &'static str) -> Option<&'s str> {
    at.child_in(name).map(|child| b.text(child))
}

/// A name without its type arguments.
fn bare<'s>(b: &Builder<'s>, at: Syntax<'_>) -> &'s str {
    match (at.kind(), named(at).first()) {
        ("generic_name", Some(name)) => b.text(*name),
        _ => b.text(at),
    }
}

fn one<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "expression_statement"
        | "parenthesized_expression"
        | "global_statement"
        | "checked_expression"
        | "checked_statement"
        | "unsafe_statement"
        | "ref_expression"
        | "arrow_expression_clause"
        | "expression_element"
        | "spread_element"
        | "collection_element" => return last(b, at),
        "block" | "declaration_list" => return declare::block(b, at),
        "identifier" | "generic_name" | "predefined_type" | "this" | "base" | "discard"
        | "implicit_parameter" => Kind::Name(bare(b, at)),
        "nullable_type" | "ref_type" | "scoped_type" => return field(b, at, "type"),
        "array_type" | "pointer_type" | "tuple_type" | "function_pointer_type" => {
            Kind::Name(b.text(at))
        }
        "qualified_name" | "alias_qualified_name" | "member_access_expression" => {
            let of = ["qualifier", "alias", "expression"];
            let of = of.into_iter().find_map(|name| at.child_in(name));
            let name = at.child_in("name").map_or("", |name| bare(b, name));
            match of {
                Some(of) => Kind::Field { of: node(b, of), name },
                None => Kind::Name(name),
            }
        }
        "conditional_access_expression" => conditional_access(b, at),
        "member_binding_expression" => {
            Kind::Name(at.child_in("name").map_or("", |name| bare(b, name)))
        }
        "element_access_expression" => {
            let of = field(b, at, "expression");
            let list = at.child_in("subscript").unwrap_or(at);
            Kind::Index { of, at: index(b, list) }
        }
        "invocation_expression" => {
            let callee = field(b, at, "function");
            let args = at.child_in("arguments");
            let args = args.map(|list| arguments(b, list)).unwrap_or_default();
            Kind::Call { callee, args, new: false }
        }
        "integer_literal" | "real_literal" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "string_literal" | "verbatim_string_literal" | "character_literal" => {
            Kind::Text(Cow::Borrowed(unquoted(b.text(at))))
        }
        "raw_string_literal" => {
            let content = child(at, "raw_string_content").map(|content| b.text(content));
            Kind::Text(Cow::Borrowed(content.unwrap_or_default()))
        }
        "interpolated_string_expression" => {
            let inner = named(at).into_iter().filter(|part| part.kind() == "interpolation");
            let inner = inner.filter_map(|part| {
                let mut all = parts(part).into_iter();
                all.find(|it| !it.kind().starts_with("interpolation"))
            });
            Kind::Other(inner.map(|part| node(b, part)).collect())
        }
        "boolean_literal" => Kind::Bool(b.text(at) == "true"),
        "null_literal" | "default_expression" => Kind::Null,
        "prefix_unary_expression" | "postfix_unary_expression" | "unary_expression" => {
            return unary(b, at);
        }
        "binary_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let (left, right) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Binary { op: operator(op), left, right }
        }
        "cast_expression" => return field(b, at, "value"),
        "as_expression" => return field(b, at, "left"),
        "is_expression" => {
            let (left, right) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Binary { op: Op::Matches, left, right }
        }
        "is_pattern_expression" => return pattern::test(b, at),
        "assignment_expression" => {
            let op = at.child_in("operator").map_or("=", |op| op.kind());
            let op = op.strip_suffix('=').filter(|op| !op.is_empty()).map(operator);
            let (target, value) = (field(b, at, "left"), field(b, at, "right"));
            Kind::Assign { op, target, value }
        }
        "conditional_expression" => Kind::If {
            test: field(b, at, "condition"),
            then: field(b, at, "consequence"),
            otherwise: maybe(b, at, "alternative"),
        },
        "range_expression" => range(b, at),
        "tuple_expression" => {
            Kind::List(arguments(b, at).into_iter().map(|arg| arg.value).collect())
        }
        "tuple_pattern" | "collection_expression" | "parenthesized_variable_designation" => {
            Kind::List(each(b, at))
        }
        "declaration_expression" => declaration(b, at),
        "await_expression" => Kind::Await(match configured(b, at) {
            Some(of) => node(b, of),
            None => last(b, at),
        }),
        "throw_expression" | "throw_statement" => {
            Kind::Throw(parts(at).last().map(|value| node(b, *value)))
        }
        "typeof_expression" | "sizeof_expression" => {
            let callee = b.add(at, Kind::Name(at.child(0).map_or("", |word| b.text(word))));
            let value = field(b, at, "type");
            Kind::Call { callee, args: vec![Arg { name: None, value, spread: false }], new: false }
        }
        "object_creation_expression"
        | "implicit_object_creation_expression"
        | "anonymous_object_creation_expression"
        | "array_creation_expression"
        | "implicit_array_creation_expression"
        | "initializer_expression"
        | "with_expression" => return create::creation(b, at),
        "lambda_expression" | "anonymous_method_expression" => return declare::lambda(b, at),
        kind if kind.ends_with("_pattern") => return pattern::pattern(b, at),
        kind if kind.ends_with("_declaration") || kind == "local_function_statement" => {
            return declare::declaration(b, at);
        }
        kind if kind.ends_with("_statement") || kind == "switch_expression" => {
            return flow::flow(b, at);
        }
        "preproc_if" | "preproc_elif" | "preproc_else" => return flow::preprocessor(b, at),
        _ => Kind::Other(each(b, at)),
    };
    b.add(at, kind)
}

/// `a?.b`, `a?[0]`.
fn conditional_access<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let of = field(b, at, "condition");
    match parts(at).last() {
        Some(binding) if binding.kind() == "member_binding_expression" => {
            let name = binding.child_in("name").map_or("", |name| bare(b, name));
            Kind::Field { of, name }
        }
        Some(binding) if binding.kind() == "element_binding_expression" => {
            Kind::Index { of, at: index(b, *binding) }
        }
        Some(other) => Kind::Other(vec![of, node(b, *other)]),
        None => Kind::Other(vec![of]),
    }
}

fn index<'s>(b: &mut Builder<'s>, list: Syntax<'_>) -> Id {
    let all: Vec<_> = arguments(b, list).into_iter().map(|arg| arg.value).collect();
    match all[..] {
        [only] => only,
        _ => b.add(list, Kind::List(all)),
    }
}

/// `(a, name: b, out var c)`.
fn arguments<'s>(b: &mut Builder<'s>, list: Syntax<'_>) -> Vec<Arg<'s>> {
    let all = parts(list).into_iter();
    all.map(|arg| match arg.kind() {
        "argument" | "attribute_argument" => {
            let name = text_of(b, arg, "name");
            Arg { name, value: last(b, arg), spread: false }
        }
        _ => Arg { name: None, value: node(b, arg), spread: false },
    })
    .collect()
}

fn declaration<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let target = field(b, at, "name");
    Kind::Let { target, ty: declare::type_of(b, at), value: None, constant: false }
}

fn unary<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let before = at.kind() != "postfix_unary_expression";
    let count = at.child_count().saturating_sub(1);
    let sign = if before { 0 } else { count };
    let sign = at.child(sign).map_or("", |sign| sign.kind());
    let of = match parts(at).first() {
        Some(child) => node(b, *child),
        None => b.add(at, Kind::Other(Vec::new())),
    };
    let kind = match sign {
        "++" => Kind::Step { of, by: 1, before },
        "--" => Kind::Step { of, by: -1, before },
        "-" => Kind::Unary { op: Op::Subtract, of },
        "!" if before => Kind::Unary { op: Op::Not, of },
        "!" | "+" | "&" | "*" => return of,
        _ => Kind::Unary { op: Op::Other, of },
    };
    b.add(at, kind)
}

fn range<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let (mut from, mut to, mut after) = (None, None, false);
    let mut cursor = at.walk();
    let children: Vec<_> = at.children(&mut cursor).collect();
    for child in children {
        if child.kind() == ".." {
            after = true;
        } else if child.is_named() && !child.is_extra() {
            let bound = Some(node(b, child));
            if after {
                to = bound;
            } else {
                from = bound;
            }
        }
    }
    Kind::Range { from, to, inclusive: false }
}

fn operator(text: &str) -> Op {
    match text {
        "+" => Op::Add,
        "-" => Op::Subtract,
        "*" => Op::Multiply,
        "/" => Op::Divide,
        "%" => Op::Remainder,
        "<<" => Op::ShiftLeft,
        ">>" | ">>>" => Op::ShiftRight,
        "&" => Op::BitAnd,
        "|" => Op::BitOr,
        "^" => Op::BitXor,
        "&&" => Op::And,
        "||" => Op::Or,
        "??" => Op::Else,
        "==" => Op::Equal,
        "!=" => Op::NotEqual,
        "<" => Op::Less,
        "<=" => Op::AtMost,
        ">" => Op::Greater,
        ">=" => Op::AtLeast,
        _ => Op::Other,
    }
}

#[cfg(test)]
mod tests;
