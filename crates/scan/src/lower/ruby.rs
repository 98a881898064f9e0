//! Ruby.
//!
//! `require 'a'` is module `a`. A name that was not assigned before is a call, as in Ruby itself;
//! so is `a.b`, unless it is assigned to. `@a` is the [`Kind::Field`] `a` of `self`, `A.new` a
//! construction of `A`, `yield` a call of the name `yield`: it runs what the caller gave.
//! `x ||= 1` assigns with [`Op::Else`]. Loops that are calls (`loop`, `n.times`, `a.upto(b)`,
//! `a.downto(b)`, `xs.each`) are [`Kind::Loop`]; any other block is a function without a name,
//! the last argument of its call, and `next` in it is [`Kind::Return`]. A `case` without a
//! subject is an [`Kind::If`]. Texts with placeholders are [`Kind::Other`].

mod call;
mod definition;
mod scope;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use self::scope::Scope;
use super::operator::operator;
use super::{in_field, named, number, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arm, Builder, Entry, Handler, Id, Kind, LoopForm, Op};

/// A whole file.
pub(super) fn file<'s>(b: &mut Builder<'s>, root: Syntax<'_>) -> Id {
    block(b, &mut Scope::new(), root)
}

/// Any statement or expression.
fn node<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    b.deeper(at, |b| one(b, s, at))
}

fn field<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>, name: &'static str) -> Id {
    match at.child_in(name) {
        Some(child) => node(b, s, child),
        None => b.add(at, Kind::Other(Vec::new())),
    }
}

fn all_in<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Vec<Id> {
    let all = named(at).into_iter().filter(|child| child.kind() != "empty_statement");
    all.collect::<Vec<_>>().into_iter().map(|child| node(b, s, child)).collect()
}

/// Statements in order, whatever holds them; with `rescue` or `ensure` a [`Kind::Try`] in it.
fn block<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let id = attempt(b, s, at);
    if matches!(b.kind(id), Kind::Block(_)) { id } else { b.add(at, Kind::Block(vec![id])) }
}

/// The statements in a field as a [`Kind::Block`].
fn body<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>, name: &'static str) -> Id {
    match at.child_in(name) {
        Some(child) => b.deeper(child, |b| match child.kind() {
            "then" | "do" | "else" | "block_body" | "body_statement" => block(b, s, child),
            _ => {
                let id = one(b, s, child);
                b.add(child, Kind::Block(vec![id]))
            }
        }),
        None => b.add(at, Kind::Block(Vec::new())),
    }
}

fn one<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "program" | "then" | "do" | "else" | "ensure" | "begin_block" | "end_block"
        | "block_body" => return block(b, s, at),
        "begin" | "body_statement" => return attempt(b, s, at),
        "parenthesized_statements" => {
            let all = all_in(b, s, at);
            match all[..] {
                [only] => return only,
                _ => Kind::Block(all),
            }
        }
        "pattern"
        | "exception_variable"
        | "in"
        | "superclass"
        | "block_argument"
        | "parenthesized_pattern"
        | "expression_reference_pattern"
        | "rest_assignment" => {
            let all = all_in(b, s, at);
            match all[..] {
                [only] => return only,
                _ => Kind::Other(all),
            }
        }
        "identifier" => return call::bare(b, s, at),
        "constant" | "self" | "super" | "global_variable" | "operator" => Kind::Name(b.text(at)),
        "instance_variable" | "class_variable" => {
            let of = b.add(at, Kind::Name("self"));
            Kind::Field { of, name: b.text(at).trim_start_matches('@') }
        }
        "scope_resolution" => match at.child_in("name") {
            Some(name) => match at.child_in("scope") {
                Some(of) => Kind::Field { of: node(b, s, of), name: b.text(name) },
                None => Kind::Name(b.text(name)),
            },
            None => Kind::Other(all_in(b, s, at)),
        },
        "element_reference" => {
            let all = all_in(b, s, at);
            match all[..] {
                [of, at] => Kind::Index { of, at },
                _ => Kind::Other(all),
            }
        }
        "call" => return call::call(b, s, at),
        "yield" => return call::yielded(b, s, at),
        "integer" | "float" | "rational" | "complex" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "string" | "bare_string" | "bare_symbol" | "delimited_symbol" | "character"
        | "simple_symbol" | "hash_key_symbol" => text(b, s, at),
        "string_array" | "symbol_array" | "array" | "right_assignment_list" => {
            Kind::List(all_in(b, s, at))
        }
        "left_assignment_list" | "destructured_left_assignment" => {
            return scope::target(b, s, at);
        }
        "true" | "false" => Kind::Bool(at.kind() == "true"),
        "nil" => Kind::Null,
        "hash" => record(b, s, at),
        "unary" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            Kind::Unary { op: operator(op), of: field(b, s, at, "operand") }
        }
        "binary" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            // `===` asks a pattern.
            let op = if op == "===" { Op::Matches } else { operator(op) };
            let left = field(b, s, at, "left");
            Kind::Binary { op, left, right: field(b, s, at, "right") }
        }
        "conditional" => {
            let test = field(b, s, at, "condition");
            let then = field(b, s, at, "consequence");
            Kind::If { test, then, otherwise: Some(field(b, s, at, "alternative")) }
        }
        "range" => Kind::Range {
            from: at.child_in("begin").map(|end| node(b, s, end)),
            to: at.child_in("end").map(|end| node(b, s, end)),
            inclusive: at.child_in("operator").is_some_and(|op| op.kind() == ".."),
        },
        "assignment" => {
            let left = at.child_in("left");
            let target = match left {
                Some(left) => scope::target(b, s, left),
                None => b.add(at, Kind::Other(Vec::new())),
            };
            let value = field(b, s, at, "right");
            if left.is_some_and(|left| left.kind() == "constant") {
                Kind::Let { target, ty: None, value: Some(value), constant: true }
            } else {
                Kind::Assign { op: None, target, value }
            }
        }
        "operator_assignment" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let op = match op {
                "||=" => Op::Else,
                op => operator(op.strip_suffix('=').unwrap_or(op)),
            };
            let target = match at.child_in("left") {
                Some(left) => scope::target(b, s, left),
                None => b.add(at, Kind::Other(Vec::new())),
            };
            Kind::Assign { op: Some(op), target, value: field(b, s, at, "right") }
        }
        "method" | "singleton_method" => return definition::method(b, s, at),
        "class" | "module" | "singleton_class" => return definition::class(b, s, at),
        "lambda" => return definition::lambda(b, s, at),
        "block" | "do_block" => return definition::closure(b, s, at),
        "if" | "elsif" | "unless" => {
            let test = field(b, s, at, "condition");
            let then = body(b, s, at, "consequence");
            let otherwise = at.child_in("alternative").map(|part| node(b, s, part));
            let test = if at.kind() == "unless" { not(b, test) } else { test };
            Kind::If { test, then, otherwise }
        }
        "if_modifier" | "unless_modifier" => {
            let then = body(b, s, at, "body");
            let test = field(b, s, at, "condition");
            let test = if at.kind() == "unless_modifier" { not(b, test) } else { test };
            Kind::If { test, then, otherwise: None }
        }
        "while" | "until" | "while_modifier" | "until_modifier" | "for" => {
            return a_loop(b, s, at);
        }
        "case" | "case_match" => return choice(b, s, at),
        "rescue_modifier" => {
            let body = body(b, s, at, "body");
            let handler = self::body(b, s, at, "handler");
            let handlers =
                vec![Handler { types: Vec::new(), name: None, guard: None, body: handler }];
            Kind::Try { body, handlers, otherwise: None, finally: None }
        }
        "retry" => Kind::Again,
        "return" => Kind::Return(value(b, s, at)),
        "break" => Kind::Break { label: None, value: value(b, s, at) },
        "next" if s.in_loop => Kind::Continue(None),
        "next" => Kind::Return(value(b, s, at)),
        "alias" | "undef" => Kind::Other(Vec::new()),
        _ => Kind::Other(all_in(b, s, at)),
    };
    b.add(at, kind)
}

/// What `return`, `break` or `next` gives.
fn value<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Option<Id> {
    let list = named(at).into_iter().next()?;
    let all = all_in(b, s, list);
    match all[..] {
        [] => None,
        [only] => Some(only),
        _ => Some(b.add(list, Kind::List(all))),
    }
}

fn not(b: &mut Builder<'_>, of: Id) -> Id {
    let span = b.span(of);
    b.add_at(span, Kind::Unary { op: Op::Not, of })
}

/// A text or a symbol, without its quotes or colon.
fn text<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Kind<'s> {
    let parts = named(at);
    if parts.iter().any(|part| part.kind() == "interpolation") {
        let inner = parts.into_iter().filter(|part| part.kind() == "interpolation");
        return Kind::Other(inner.flat_map(|part| all_in(b, s, part)).collect());
    }
    let text = match parts[..] {
        [only] => b.text(only),
        _ => unquoted(b.text(at).trim_start_matches(':')),
    };
    Kind::Text(Cow::Borrowed(text))
}

/// The name of a key: `a:`, `:a`, `'a'`.
fn key<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<&'s str> {
    match at.kind() {
        "hash_key_symbol" => Some(b.text(at)),
        "simple_symbol" => b.text(at).strip_prefix(':'),
        "string" => {
            let plain = named(at).iter().all(|part| part.kind() == "string_content");
            plain.then(|| unquoted(b.text(at)))
        }
        _ => None,
    }
}

/// The value of a pair; `a:` alone is what is called so.
fn paired<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    match at.child_in("value") {
        Some(value) => node(b, s, value),
        None => {
            let name = b.text(at).trim_end_matches(':');
            b.add(at, Kind::Name(name))
        }
    }
}

fn record<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Kind<'s> {
    let mut entries = Vec::new();
    for child in named(at) {
        let (key, value) = match child.kind() {
            "pair" => {
                let key = child.child_in("key").and_then(|name| key(b, name));
                (key, paired(b, s, child))
            }
            _ => match named(child).first() {
                Some(spread) => (None, node(b, s, *spread)),
                None => continue,
            },
        };
        entries.push(Entry { key: key.map(Cow::Borrowed), value });
    }
    Kind::Record { ty: None, entries }
}

fn a_loop<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let modifier = at.kind().ends_with("_modifier");
    let outside = std::mem::replace(&mut s.in_loop, true);
    let first = modifier.then(|| body(b, s, at, "body"));
    let form = if at.kind() == "for" {
        let over = field(b, s, at, "value");
        let var = at.child_in("pattern").map(|name| scope::target(b, s, name));
        LoopForm::Each { var, over }
    } else {
        let test = field(b, s, at, "condition");
        let test = if at.kind().starts_with("until") { not(b, test) } else { test };
        // `begin … end while x` runs once before it asks.
        let begun = at.child_in("body").is_some_and(|body| body.kind() == "begin");
        if modifier && begun { LoopForm::DoWhile(test) } else { LoopForm::While(test) }
    };
    let form = super::endless(b, form);
    let body = first.unwrap_or_else(|| body(b, s, at, "body"));
    s.in_loop = outside;
    b.add(at, Kind::Loop { form, label: None, body, otherwise: None })
}

/// `case`, with a subject or without.
fn choice<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let parts: Vec<_> = named(at)
        .into_iter()
        .filter(|part| matches!(part.kind(), "when" | "in_clause" | "else"))
        .collect();
    let Some(subject) = at.child_in("value") else {
        return match chain(b, s, &parts) {
            Some(id) => id,
            None => b.add(at, Kind::Block(Vec::new())),
        };
    };
    let of = Some(node(b, s, subject));
    let mut arms = Vec::new();
    for part in parts {
        if part.kind() == "else" {
            arms.push(Arm { patterns: Vec::new(), guard: None, body: node(b, s, part) });
            continue;
        }
        let mut patterns = Vec::new();
        for pattern in in_field(part, "pattern") {
            patterns.push(scope::pattern(b, s, pattern));
        }
        let guard = part.child_in("guard").map(|guard| {
            let test = field(b, s, guard, "condition");
            if guard.kind() == "unless_guard" { not(b, test) } else { test }
        });
        arms.push(Arm { patterns, guard, body: body(b, s, part, "body") });
    }
    b.add(at, Kind::Match { of, arms })
}

/// `case` without a subject: the first condition that holds.
fn chain<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, parts: &[Syntax<'_>]) -> Option<Id> {
    let (part, rest) = parts.split_first()?;
    Some(b.deeper(*part, |b| {
        if part.kind() == "else" {
            return block(b, s, *part);
        }
        let mut test: Option<Id> = None;
        for pattern in in_field(*part, "pattern") {
            let right = node(b, s, pattern);
            test = Some(match test {
                None => right,
                Some(left) => b.add(pattern, Kind::Binary { op: Op::Or, left, right }),
            });
        }
        let test = test.unwrap_or_else(|| b.add(*part, Kind::Other(Vec::new())));
        let then = body(b, s, *part, "body");
        let otherwise = chain(b, s, rest);
        b.add(*part, Kind::If { test, then, otherwise })
    }))
}

/// Statements that may have `rescue`, `else` and `ensure` among them.
fn attempt<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let parts = named(at);
    let mut all = Vec::new();
    let (mut handlers, mut otherwise, mut finally) = (Vec::new(), None, None);
    for part in &parts {
        match part.kind() {
            "rescue" | "else" | "ensure" | "empty_statement" | "uninterpreted" => {}
            _ => all.push(node(b, s, *part)),
        }
    }
    let body = b.add(at, Kind::Block(all));
    for part in parts {
        match part.kind() {
            "rescue" => handlers.push(handler(b, s, part)),
            "else" => otherwise = Some(node(b, s, part)),
            "ensure" => finally = Some(node(b, s, part)),
            _ => {}
        }
    }
    if handlers.is_empty() && otherwise.is_none() && finally.is_none() {
        return body;
    }
    b.add(at, Kind::Try { body, handlers, otherwise, finally })
}

fn handler<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Handler<'s> {
    let types = at.child_in("exceptions").map(named).unwrap_or_default();
    let types = types.into_iter().map(|ty| node(b, s, ty)).collect();
    let variable = at.child_in("variable").and_then(|v| named(v).first().copied());
    let name = variable.map(|name| b.text(name));
    name.into_iter().for_each(|name| s.declare(name));
    Handler { types, name, guard: None, body: body(b, s, at, "body") }
}
