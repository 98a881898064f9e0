//! JavaScript, TypeScript, and both with JSX.
//!
//! How imports are meant is said in `javascript/import.rs`. `undefined` is [`Kind::Null`]; types
//! are left out and what only says a type (`x as T`, `x!`) is `x`. `a, b` is a [`Kind::Block`], so
//! is `let a, b` where one node must stand. A parameter that is a pattern has the pattern as
//! written for its name, and the body begins with a [`Kind::Let`] that takes it apart; a default
//! inside a pattern is a [`Kind::Assign`] to its name. An interface is a class of fields without
//! values, an `enum` and a `namespace` are classes. Templates with placeholders and JSX are
//! [`Kind::Other`] with what is in them.

mod declaration;
mod import;
#[cfg(test)]
mod tests;
mod typed;

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

pub(super) use typed::typed;

use super::operator::operator;
use super::switch::{self, Case};
use super::{in_field, named, number, places, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Entry, Handler, Id, Kind, LoopForm};

/// A whole file.
pub(super) fn file<'s>(b: &mut Builder<'s>, root: Syntax<'_>) -> Id {
    block(b, root, Vec::new())
}

/// The statements in `at`, after those that are there already.
fn block<'s>(b: &mut Builder<'s>, at: Syntax<'_>, mut all: Vec<Id>) -> Id {
    for child in named(at) {
        statement(b, child, &mut all);
    }
    b.add(at, Kind::Block(all))
}

/// One statement, which can be several nodes.
fn statement<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    match at.kind() {
        "empty_statement" | "hash_bang_line" => {}
        "import_statement" => import::statement(b, at, all),
        "export_statement" => export(b, at, all),
        "ambient_declaration" => all.extend(inner(b, at)),
        "lexical_declaration" | "variable_declaration" | "using_declaration" => {
            declaration::variables(b, at, all);
        }
        "labeled_statement" => {
            let name = at.child_in("label").map(|label| b.text(label));
            match at.child_in("body") {
                Some(inner) if is_loop(inner) => {
                    all.push(b.deeper(inner, |b| a_loop(b, inner, name)));
                }
                inner => {
                    all.extend(name.map(|name| b.add(at, Kind::Label(name))));
                    all.extend(inner.map(|inner| node(b, inner)));
                }
            }
        }
        _ => all.push(node(b, at)),
    }
}

fn export<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    if at.child_in("source").is_some() {
        return import::again(b, at, all);
    }
    let decorators = declaration::decorators(b, at);
    let inner = at.child_in("declaration");
    match inner.or_else(|| at.child_in("value")) {
        Some(inner) if declaration::is_class(inner) => {
            all.push(b.deeper(inner, |b| declaration::class(b, inner, decorators)));
        }
        Some(inner) => {
            all.extend(decorators);
            statement(b, inner, all);
        }
        None => {
            let others = named(at).into_iter().filter(|child| child.kind() != "decorator");
            for child in others.collect::<Vec<_>>() {
                all.push(node(b, child));
            }
        }
    }
}

super::ways!(node, field, maybe, first);

/// The statement in a field as a [`Kind::Block`].
fn body<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: &'static str) -> Id {
    match at.child_in(name) {
        Some(child) => body_of(b, child),
        None => b.add(at, Kind::Block(Vec::new())),
    }
}

fn body_of<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    b.deeper(at, |b| {
        if at.kind() == "statement_block" {
            return block(b, at, Vec::new());
        }
        let mut all = Vec::new();
        statement(b, at, &mut all);
        b.add(at, Kind::Block(all))
    })
}

/// What is in `at`, types and markup text left out.
fn inner<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    const SILENT: &[&str] = &[
        "accessibility_modifier",
        "html_character_reference",
        "jsx_closing_element",
        "jsx_text",
        "override_modifier",
        "property_identifier",
        "type_annotation",
        "type_arguments",
        "type_parameters",
    ];
    let children = named(at).into_iter().filter(|child| !SILENT.contains(&child.kind()));
    children.collect::<Vec<_>>().into_iter().map(|child| node(b, child)).collect()
}

fn is_loop(at: Syntax<'_>) -> bool {
    matches!(at.kind(), "while_statement" | "do_statement" | "for_statement" | "for_in_statement")
}

fn one<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "program" | "statement_block" | "class_static_block" => return block_of(b, at),
        "import_statement"
        | "export_statement"
        | "lexical_declaration"
        | "variable_declaration"
        | "using_declaration"
        | "labeled_statement"
        | "empty_statement"
        | "ambient_declaration" => {
            let mut all = Vec::new();
            statement(b, at, &mut all);
            match all[..] {
                [only] => return only,
                _ => Kind::Block(all),
            }
        }
        // What only says a type is what it says it of.
        "expression_statement"
        | "parenthesized_expression"
        | "as_expression"
        | "satisfies_expression"
        | "non_null_expression"
        | "instantiation_expression"
        | "computed_property_name"
        | "template_substitution" => match first(b, at) {
            Some(only) => return only,
            None => Kind::Other(Vec::new()),
        },
        "type_assertion" => match named(at).last() {
            Some(last) => return node(b, *last),
            None => Kind::Other(Vec::new()),
        },
        "sequence_expression" => Kind::Block(inner(b, at)),
        "identifier"
        | "this"
        | "super"
        | "import"
        | "meta_property"
        | "property_identifier"
        | "private_property_identifier"
        | "shorthand_property_identifier"
        | "shorthand_property_identifier_pattern"
        | "type_identifier"
        | "statement_identifier" => Kind::Name(b.text(at)),
        "export_specifier" => return field(b, at, "name"),
        "member_expression" => part(b, at, "object", "property"),
        "nested_identifier" => part(b, at, "object", "property"),
        "nested_type_identifier" => part(b, at, "module", "name"),
        "generic_type" => return field(b, at, "name"),
        "subscript_expression" => {
            Kind::Index { of: field(b, at, "object"), at: field(b, at, "index") }
        }
        "call_expression" => return call(b, at),
        "new_expression" => {
            Kind::Call { callee: field(b, at, "constructor"), args: arguments(b, at), new: true }
        }
        "number" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "string" => Kind::Text(Cow::Borrowed(unquoted(b.text(at)))),
        "template_string" => {
            let parts = named(at).into_iter().filter(|part| part.kind() == "template_substitution");
            let parts = parts.collect::<Vec<_>>();
            if parts.is_empty() {
                Kind::Text(Cow::Borrowed(unquoted(b.text(at))))
            } else {
                Kind::Other(parts.into_iter().map(|part| node(b, part)).collect())
            }
        }
        "true" | "false" => Kind::Bool(at.kind() == "true"),
        "null" | "undefined" => Kind::Null,
        "unary_expression" => match at.child_in("operator").map_or("", |op| op.kind()) {
            // A number of the same value.
            "+" => return field(b, at, "argument"),
            op => Kind::Unary { op: operator(op), of: field(b, at, "argument") },
        },
        "binary_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let left = field(b, at, "left");
            Kind::Binary { op: operator(op), left, right: field(b, at, "right") }
        }
        "ternary_expression" => Kind::If {
            test: field(b, at, "condition"),
            then: field(b, at, "consequence"),
            otherwise: maybe(b, at, "alternative"),
        },
        "assignment_expression" | "assignment_pattern" | "object_assignment_pattern" => {
            Kind::Assign { op: None, target: field(b, at, "left"), value: field(b, at, "right") }
        }
        "augmented_assignment_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            Kind::Assign {
                op: Some(operator(op.strip_suffix('=').unwrap_or(op))),
                target: field(b, at, "left"),
                value: field(b, at, "right"),
            }
        }
        "update_expression" => {
            let sign = at.child_in("operator");
            let by = if sign.is_some_and(|sign| sign.kind() == "--") { -1 } else { 1 };
            let before = sign.is_some_and(|sign| sign.start_byte() == at.start_byte());
            Kind::Step { of: field(b, at, "argument"), by, before }
        }
        "await_expression" => match first(b, at) {
            Some(of) => Kind::Await(of),
            None => Kind::Other(Vec::new()),
        },
        "yield_expression" => Kind::Yield(first(b, at)),
        "array" | "array_pattern" => list(b, at),
        "object" | "object_pattern" => record(b, at),
        "function_declaration"
        | "function_expression"
        | "generator_function"
        | "generator_function_declaration"
        | "arrow_function"
        | "method_definition" => return declaration::function(b, at, Vec::new()),
        "class"
        | "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "internal_module"
        | "module" => {
            let decorators = declaration::decorators(b, at);
            return declaration::class(b, at, decorators);
        }
        "function_signature" | "type_alias_declaration" | "regex" => Kind::Other(Vec::new()),
        "decorator" => match first(b, at) {
            Some(only) => return only,
            None => Kind::Other(Vec::new()),
        },
        "if_statement" => branch(b, at),
        "while_statement" | "do_statement" | "for_statement" | "for_in_statement" => {
            return a_loop(b, at, None);
        }
        "switch_statement" => {
            let of = maybe(b, at, "value");
            let cases = at.child_in("body").map(named).unwrap_or_default();
            let cases = cases.into_iter().map(|case| a_case(b, case)).collect();
            Kind::Match { of, arms: switch::arms(b, cases) }
        }
        "try_statement" => {
            let body = body(b, at, "body");
            let handler = at.child_in("handler").map(|part| handler(b, part));
            let finally = at.child_in("finalizer");
            let finally = finally.map(|part| self::body(b, part, "body"));
            let handlers = handler.into_iter().collect();
            Kind::Try { body, handlers, otherwise: None, finally }
        }
        "with_statement" => {
            Kind::With { items: vec![field(b, at, "object")], body: body(b, at, "body") }
        }
        "return_statement" => Kind::Return(first(b, at)),
        "throw_statement" => Kind::Throw(first(b, at)),
        "break_statement" => {
            let label = at.child_in("label").map(|label| b.text(label));
            Kind::Break { label, value: None }
        }
        "continue_statement" => Kind::Continue(at.child_in("label").map(|label| b.text(label))),
        _ => Kind::Other(inner(b, at)),
    };
    b.add(at, kind)
}

/// A block, or a class's `static { … }`.
fn block_of<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    match at.child_in("body") {
        Some(inner) => body_of(b, inner),
        None => block(b, at, Vec::new()),
    }
}

fn part<'s>(b: &mut Builder<'s>, at: Syntax<'_>, of: &'static str, name: &'static str) -> Kind<'s> {
    match at.child_in(name) {
        Some(name) => Kind::Field { of: field(b, at, of), name: b.text(name) },
        None => Kind::Other(inner(b, at)),
    }
}

/// A call.
fn call<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    match at.child_in("function") {
        Some(function) if at.child_in("type_arguments").is_some() => typed_call(b, at, function),
        Some(function) => match bound(b, at, function) {
            Some(written) => node(b, written),
            None => {
                let callee = field(b, at, "function");
                let args = arguments(b, at);
                b.add(at, Kind::Call { callee, args, new: false })
            }
        },
        None => b.add(at, Kind::Other(Vec::new())),
    }
}

/// What is bound in `f.bind(this)`, `function () { … }.bind(this)`: it is called as it is written.
fn bound<'t>(b: &Builder<'_>, at: Syntax<'t>, callee: Syntax<'t>) -> Option<Syntax<'t>> {
    let bind = callee.child_in("property")?;
    let given = named(at.child_in("arguments")?);
    let this = matches!(&given[..], [only] if only.kind() == "this");
    let of = callee.child_in("object").filter(|_| this && b.text(bind) == "bind")?;
    Some(of)
}

/// The grammar reads `await f<T>(x)` as `(await f)<T>(x)`, and `a + f<T>(x)` as `(a + f)<T>(x)`:
/// what is called is only the last operand.
fn typed_call<'s>(b: &mut Builder<'s>, at: Syntax<'_>, function: Syntax<'_>) -> Id {
    let op = function.child_in("operator").map_or("", |op| op.kind());
    let (left, last) = match function.kind() {
        "await_expression" => (None, named(function).first().copied()),
        "unary_expression" => (None, function.child_in("argument")),
        "binary_expression" => (maybe(b, function, "left"), function.child_in("right")),
        _ => {
            let callee = node(b, function);
            let args = arguments(b, at);
            return b.add(at, Kind::Call { callee, args, new: false });
        }
    };
    let of = match last {
        Some(last) => b.deeper(last, |b| typed_call(b, at, last)),
        None => b.add(at, Kind::Other(Vec::new())),
    };
    let kind = match (function.kind(), left) {
        ("await_expression", _) => Kind::Await(of),
        (_, Some(left)) => Kind::Binary { op: operator(op), left, right: of },
        _ => Kind::Unary { op: operator(op), of },
    };
    b.add(at, kind)
}

/// A list or a pattern of one; what is left out of it (`[, b]`) is [`Kind::Null`].
fn list<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let places = places(at).into_iter();
    Kind::List(
        places
            .map(|place| match place {
                Some(child) => node(b, child),
                None => b.add(at, Kind::Null),
            })
            .collect(),
    )
}

fn arguments<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Arg<'s>> {
    let Some(list) = at.child_in("arguments") else { return Vec::new() };
    // A template with a tag is given to the tag.
    let all = if list.kind() == "arguments" { named(list) } else { vec![list] };
    let mut args = Vec::with_capacity(all.len());
    for arg in all {
        let spread = arg.kind() == "spread_element";
        let value = if spread { first(b, arg) } else { Some(node(b, arg)) };
        args.extend(value.map(|value| Arg { name: None, value, spread }));
    }
    args
}

/// The name of a property: `a`, `'a'`, `['a']`.
fn key<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<&'s str> {
    match at.kind() {
        "string" => Some(unquoted(b.text(at))),
        "computed_property_name" => {
            let inner = named(at).into_iter().find(|child| child.kind() == "string")?;
            Some(unquoted(b.text(inner)))
        }
        _ => Some(b.text(at)),
    }
}

/// An object, or a pattern that takes one apart.
fn record<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let mut entries = Vec::new();
    for child in named(at) {
        let (name, value) = match child.kind() {
            "pair" | "pair_pattern" => (child.child_in("key"), field(b, child, "value")),
            "method_definition" => (child.child_in("name"), node(b, child)),
            "object_assignment_pattern" => (child.child_in("left"), node(b, child)),
            "spread_element" | "rest_pattern" => match first(b, child) {
                Some(value) => (None, value),
                None => continue,
            },
            _ => (Some(child), node(b, child)),
        };
        let key = name.and_then(|name| key(b, name)).map(Cow::Borrowed);
        entries.push(Entry { key, value });
    }
    Kind::Record { ty: None, entries }
}

fn branch<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let test = field(b, at, "condition");
    let then = body(b, at, "consequence");
    let other = at.child_in("alternative");
    let other = other.and_then(|part| named(part).first().copied());
    let otherwise = other
        .map(|part| if part.kind() == "if_statement" { node(b, part) } else { body_of(b, part) });
    Kind::If { test, then, otherwise }
}

fn a_loop<'s>(b: &mut Builder<'s>, at: Syntax<'_>, label: Option<&'s str>) -> Id {
    let present =
        |name: &str| in_field(at, name).into_iter().find(|child| child.kind() != "empty_statement");
    let form = match at.kind() {
        "for_statement" => LoopForm::Counted {
            init: present("initializer").map(|child| node(b, child)),
            test: present("condition").map(|child| node(b, child)),
            step: present("increment").map(|child| node(b, child)),
        },
        "for_in_statement" => {
            LoopForm::Each { var: maybe(b, at, "left"), over: field(b, at, "right") }
        }
        "do_statement" => LoopForm::DoWhile(field(b, at, "condition")),
        _ => LoopForm::While(field(b, at, "condition")),
    };
    let form = super::endless(b, form);
    let body = body(b, at, "body");
    b.add(at, Kind::Loop { form, label, body, otherwise: None })
}

fn a_case<'s, 't>(b: &mut Builder<'s>, at: Syntax<'t>) -> Case<'t> {
    let patterns: Vec<_> = maybe(b, at, "value").into_iter().collect();
    let mut statements = Vec::new();
    for child in in_field(at, "body") {
        statement(b, child, &mut statements);
    }
    let default = at.kind() == "switch_default";
    Case { at, patterns, guard: None, default, statements, ends: false }
}

fn handler<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Handler<'s> {
    let parameter = at.child_in("parameter");
    let name = parameter.map(|name| b.text(name));
    // `catch ({ message })` takes the error apart first.
    let mut all = Vec::new();
    if let Some(pattern) = parameter.filter(|name| name.kind() != "identifier") {
        all.push(declaration::taken_apart(b, pattern));
    }
    let body = match at.child_in("body") {
        Some(inner) => b.deeper(inner, |b| block(b, inner, all)),
        None => b.add(at, Kind::Block(all)),
    };
    Handler { types: Vec::new(), name, guard: None, body }
}
