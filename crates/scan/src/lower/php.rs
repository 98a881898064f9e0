//! PHP.
//!
//! `use A\B\C as D` is module `A\B`, item `C`, alias `D`; of `use A` the module is
//! empty. `$x` is the name `x`, `A\B` the
//! [`Kind::Field`] `B` of `A`, `A::class` the name `A`; `a ?: b` has [`Op::Else`], a cast and `@`
//! are their operand. An array with a key is a [`Kind::Record`], any other a list. The body of an
//! anonymous class is the last argument of its construction; a promoted parameter is also
//! assigned to its field. `break 2` and `continue 2` name the loop they mean by its depth, and
//! such a loop has its depth for a label. `exit`, `echo` and `print` are calls.

mod declaration;
mod leave;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::operator::operator;
use super::switch::{self, Case};
use super::{each_child, has_word, in_field, named, number, places, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Arm, Builder, Entry, Handler, Id, Kind, LoopForm, Op};

/// A whole file.
pub(super) fn file<'s>(b: &mut Builder<'s>, root: Syntax<'_>) -> Id {
    block(b, root)
}

fn block<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut all = Vec::new();
    for child in named(at) {
        statement(b, child, &mut all);
    }
    b.add(at, Kind::Block(all))
}

/// One statement, which can be several nodes.
fn statement<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    match at.kind() {
        "php_tag" | "text" | "text_interpolation" | "empty_statement" => {}
        "namespace_use_declaration" => declaration::imports(b, at, all),
        "const_declaration" | "property_declaration" | "function_static_declaration" => {
            declaration::variables(b, at, all);
        }
        "namespace_definition" => {
            let inner = at.child_in("body").map(named).unwrap_or_default();
            for child in inner {
                all.push(node(b, child));
            }
        }
        _ => all.push(node(b, at)),
    }
}

super::ways!(node, field, maybe, first);

/// The statements in a field as a [`Kind::Block`].
fn body<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: &str) -> Id {
    let parts = in_field(at, name);
    match parts[..] {
        [only] => body_of(b, only),
        _ => {
            let mut all = Vec::new();
            for part in parts {
                statement(b, part, &mut all);
            }
            b.add(at, Kind::Block(all))
        }
    }
}

fn body_of<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    b.deeper(at, |b| {
        if matches!(at.kind(), "compound_statement" | "colon_block") {
            return block(b, at);
        }
        let mut all = Vec::new();
        statement(b, at, &mut all);
        b.add(at, Kind::Block(all))
    })
}

fn one<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "program" | "compound_statement" | "colon_block" => return block(b, at),
        "namespace_use_declaration"
        | "const_declaration"
        | "property_declaration"
        | "function_static_declaration"
        | "namespace_definition"
        | "empty_statement" => {
            let mut all = Vec::new();
            statement(b, at, &mut all);
            match all[..] {
                [only] => return only,
                _ => Kind::Block(all),
            }
        }
        "expression_statement"
        | "parenthesized_expression"
        | "error_suppression_expression"
        | "argument"
        | "by_ref"
        | "array_element_initializer"
        | "named_type"
        | "optional_type"
        | "variadic_unpacking" => match named(at).last() {
            Some(only) => return node(b, *only),
            None => Kind::Other(Vec::new()),
        },
        "cast_expression" => return field(b, at, "value"),
        "sequence_expression" => Kind::Block(each_child(b, at, node)),
        "variable_name" => Kind::Name(b.text(at).trim_start_matches('$')),
        "name" | "relative_scope" | "primitive_type" => Kind::Name(b.text(at)),
        "qualified_name" | "relative_name" | "namespace_name" => return qualified(b, at),
        "member_access_expression" | "nullsafe_member_access_expression" => {
            return part(b, at, "object");
        }
        "scoped_property_access_expression" => return part(b, at, "scope"),
        "class_constant_access_expression" => {
            let all = named(at);
            match all[..] {
                [of, name] if b.text(name) == "class" => return node(b, of),
                [of, name] => Kind::Field { of: node(b, of), name: b.text(name) },
                _ => Kind::Other(each_child(b, at, node)),
            }
        }
        "subscript_expression" => {
            let all = each_child(b, at, node);
            match all[..] {
                [of, at] => Kind::Index { of, at },
                _ => Kind::Other(all),
            }
        }
        "function_call_expression" => {
            let callee = field(b, at, "function");
            return call(b, at, callee);
        }
        "member_call_expression" | "nullsafe_member_call_expression" => {
            let callee = part(b, at, "object");
            return call(b, at, callee);
        }
        "scoped_call_expression" => {
            let callee = part(b, at, "scope");
            return call(b, at, callee);
        }
        "object_creation_expression" => return declaration::construction(b, at),
        "exit_statement" | "echo_statement" | "print_intrinsic" => {
            let word = at.child(0).filter(|word| !word.is_named());
            let callee = b.add(at, Kind::Name(word.map_or("exit", |word| b.text(word))));
            let args = each_child(b, at, node).into_iter();
            let args = args.map(|value| Arg { name: None, value, spread: false }).collect();
            Kind::Call { callee, args, new: false }
        }
        "integer" | "float" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "string" | "encapsed_string" | "heredoc" | "nowdoc" | "shell_command_expression" => {
            text(b, at)
        }
        "boolean" => Kind::Bool(b.text(at).eq_ignore_ascii_case("true")),
        "null" => Kind::Null,
        "unary_op_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let of = named(at).last().map(|of| node(b, *of));
            match (op, of) {
                ("+", Some(of)) => return of,
                (op, Some(of)) => Kind::Unary { op: operator(op), of },
                _ => Kind::Other(Vec::new()),
            }
        }
        "binary_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let op = if op == "." { Op::Add } else { operator(op) };
            let left = field(b, at, "left");
            Kind::Binary { op, left, right: field(b, at, "right") }
        }
        "conditional_expression" => {
            let test = field(b, at, "condition");
            let then = maybe(b, at, "body");
            let otherwise = field(b, at, "alternative");
            match then {
                Some(then) => Kind::If { test, then, otherwise: Some(otherwise) },
                None => Kind::Binary { op: Op::Else, left: test, right: otherwise },
            }
        }
        "assignment_expression" | "reference_assignment_expression" => {
            Kind::Assign { op: None, target: field(b, at, "left"), value: field(b, at, "right") }
        }
        "augmented_assignment_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let op = if op == ".=" { Op::Add } else { operator(op.trim_end_matches('=')) };
            Kind::Assign {
                op: Some(op),
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
        "array_creation_expression" | "list_literal" => array(b, at),
        "yield_expression" => Kind::Yield(first(b, at)),
        "throw_expression" => Kind::Throw(first(b, at)),
        "function_definition" | "method_declaration" | "anonymous_function" | "arrow_function" => {
            return declaration::function(b, at);
        }
        "class_declaration"
        | "interface_declaration"
        | "trait_declaration"
        | "enum_declaration" => return declaration::class(b, at),
        "attribute" => return declaration::attribute(b, at),
        "if_statement" => return branch(b, at, &in_field(at, "alternative")),
        "while_statement" | "do_statement" | "for_statement" | "foreach_statement" => {
            return a_loop(b, at);
        }
        "switch_statement" => {
            let of = maybe(b, at, "condition");
            let cases = at.child_in("body").map(named).unwrap_or_default();
            let cases = cases.into_iter().map(|case| a_case(b, case)).collect();
            Kind::Match { of, arms: switch::arms(b, cases) }
        }
        "match_expression" => {
            let of = maybe(b, at, "condition");
            let parts = at.child_in("body").map(named).unwrap_or_default();
            Kind::Match { of, arms: parts.into_iter().map(|part| arm(b, part)).collect() }
        }
        "try_statement" => {
            let body = body(b, at, "body");
            let (mut handlers, mut finally) = (Vec::new(), None);
            for part in named(at) {
                match part.kind() {
                    "catch_clause" => handlers.push(handler(b, part)),
                    "finally_clause" => finally = Some(self::body(b, part, "body")),
                    _ => {}
                }
            }
            Kind::Try { body, handlers, otherwise: None, finally }
        }
        "return_statement" => Kind::Return(first(b, at)),
        "break_statement" | "continue_statement" => leave::leave(b, at),
        "goto_statement" => match named(at).first() {
            Some(name) => Kind::Goto(b.text(*name)),
            None => Kind::Other(Vec::new()),
        },
        "named_label_statement" => match named(at).first() {
            Some(name) => Kind::Label(b.text(*name)),
            None => Kind::Other(Vec::new()),
        },
        _ => Kind::Other(each_child(b, at, node)),
    };
    b.add(at, kind)
}

/// `\A\B` as fields of names.
fn qualified<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut all: Option<Id> = None;
    // Each part is one level of the tree; more than a few are no name.
    for name in b.text(at).split('\\').map(str::trim).filter(|name| !name.is_empty()).take(16) {
        let kind = match all {
            Some(of) => Kind::Field { of, name },
            None => Kind::Name(name),
        };
        all = Some(b.add(at, kind));
    }
    all.unwrap_or_else(|| b.add(at, Kind::Other(Vec::new())))
}

/// `$a->b`, `A::$b`, `$a->$b`.
fn part<'s>(b: &mut Builder<'s>, at: Syntax<'_>, of: &'static str) -> Id {
    // `A::$b` is a field, but in `A::$b()` the variable has the method's name.
    let fixed = at.kind() == "scoped_property_access_expression";
    let of_id = field(b, at, of);
    let kind = match at.child_in("name") {
        Some(name) if name.kind() == "name" || (fixed && name.kind() == "variable_name") => {
            Kind::Field { of: of_id, name: b.text(name).trim_start_matches('$') }
        }
        Some(name) => Kind::Index { of: of_id, at: node(b, name) },
        None => Kind::Other(vec![of_id]),
    };
    b.add(at, kind)
}

/// A call; `f(...)` is only what would be called.
fn call<'s>(b: &mut Builder<'s>, at: Syntax<'_>, callee: Id) -> Id {
    let list = at.child_in("arguments");
    let parts = list.map(named).unwrap_or_default();
    if parts.iter().any(|part| part.kind() == "variadic_placeholder") {
        return callee;
    }
    let args = arguments(b, list);
    b.add(at, Kind::Call { callee, args, new: false })
}

fn arguments<'s>(b: &mut Builder<'s>, list: Option<Syntax<'_>>) -> Vec<Arg<'s>> {
    let mut args = Vec::new();
    for part in list.map(named).unwrap_or_default() {
        let name = part.child_in("name");
        let spread = named(part).iter().any(|inner| inner.kind() == "variadic_unpacking");
        args.push(Arg { name: name.map(|name| b.text(name)), value: node(b, part), spread });
    }
    args
}

/// A text of any form; with placeholders what is in them.
fn text<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    const PLAIN: &[&str] = &["string_content", "escape_sequence", "nowdoc_string"];
    let holder = at.child_in("value").unwrap_or(at);
    let inner: Vec<_> = named(holder)
        .into_iter()
        .filter(|part| !PLAIN.contains(&part.kind()) && !part.kind().starts_with("heredoc_"))
        .collect();
    if inner.is_empty() {
        let text = b.text(holder);
        let text = if holder == at { unquoted(text) } else { text.trim_start_matches('\n') };
        return Kind::Text(Cow::Borrowed(text));
    }
    Kind::Other(inner.into_iter().map(|part| node(b, part)).collect())
}

/// `[1, 2]`, `['a' => 1]`, and the same as patterns.
fn array<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let mut entries = Vec::new();
    let mut keyed = false;
    if at.kind() == "list_literal" && has_word(at, "=>") {
        for pair in named(at).chunks(2) {
            if let [name, value] = pair {
                let key = key(b, *name);
                entries.push(Entry { key, value: node(b, *value) });
            }
        }
        return Kind::Record { ty: None, entries };
    }
    for part in places(at) {
        let Some(part) = part else {
            let value = b.add(at, Kind::Null);
            entries.push(Entry { key: None, value });
            continue;
        };
        let inner =
            if part.kind() == "array_element_initializer" { named(part) } else { vec![part] };
        match inner[..] {
            [name, value] => {
                keyed = true;
                let key = key(b, name);
                entries.push(Entry { key, value: node(b, value) });
            }
            [value] => entries.push(Entry { key: None, value: node(b, value) }),
            _ => {}
        }
    }
    if keyed {
        Kind::Record { ty: None, entries }
    } else {
        Kind::List(entries.into_iter().map(|entry| entry.value).collect())
    }
}

fn key<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<Cow<'s, str>> {
    let plain = matches!(at.kind(), "string" | "encapsed_string")
        && named(at).iter().all(|part| part.kind() == "string_content");
    plain.then(|| Cow::Borrowed(unquoted(b.text(at))))
}

/// `if`, with each `elseif` inside the `else` of the one before.
fn branch<'s>(b: &mut Builder<'s>, at: Syntax<'_>, others: &[Syntax<'_>]) -> Id {
    let test = field(b, at, "condition");
    let then = body(b, at, "body");
    let otherwise = others.split_first().map(|(part, rest)| {
        b.deeper(*part, |b| {
            if part.kind() == "else_if_clause" {
                return branch(b, *part, rest);
            }
            match part.child_in("body") {
                Some(inner) if inner.kind() == "if_statement" => node(b, inner),
                _ => body(b, *part, "body"),
            }
        })
    });
    b.add(at, Kind::If { test, then, otherwise })
}

fn a_loop<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let form = match at.kind() {
        "for_statement" => LoopForm::Counted {
            init: maybe(b, at, "initialize"),
            test: maybe(b, at, "condition"),
            step: maybe(b, at, "update"),
        },
        "foreach_statement" => {
            let inside = at.child_in("body");
            let parts = named(at).into_iter().filter(|part| Some(*part) != inside);
            let mut parts = parts.collect::<Vec<_>>().into_iter();
            let over = match parts.next() {
                Some(over) => node(b, over),
                None => b.add(at, Kind::Other(Vec::new())),
            };
            let var = parts.next().map(|var| {
                if var.kind() != "pair" {
                    return node(b, var);
                }
                let both = each_child(b, var, node);
                b.add(var, Kind::List(both))
            });
            LoopForm::Each { var, over }
        }
        "do_statement" => LoopForm::DoWhile(field(b, at, "condition")),
        _ => LoopForm::While(field(b, at, "condition")),
    };
    let form = super::endless(b, form);
    let label = leave::label(b, at);
    let body = body(b, at, "body");
    b.add(at, Kind::Loop { form, label, body, otherwise: None })
}

fn a_case<'s, 't>(b: &mut Builder<'s>, at: Syntax<'t>) -> Case<'t> {
    let value = at.child_in("value");
    let patterns = value.map(|value| node(b, value)).into_iter().collect();
    let mut statements = Vec::new();
    for part in named(at).into_iter().filter(|part| Some(*part) != value).collect::<Vec<_>>() {
        statement(b, part, &mut statements);
    }
    let default = at.kind() == "default_statement";
    Case { at, patterns, guard: None, default, statements, ends: false }
}

fn arm<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Arm {
    let list = at.child_in("conditional_expressions");
    let patterns = list.map(|list| each_child(b, list, node)).unwrap_or_default();
    Arm { patterns, guard: None, body: field(b, at, "return_expression") }
}

fn handler<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Handler<'s> {
    let types = at.child_in("type");
    let types = types.map(|list| each_child(b, list, node)).unwrap_or_default();
    let name = at.child_in("name").map(|name| b.text(name).trim_start_matches('$'));
    Handler { types, name, guard: None, body: body(b, at, "body") }
}
