//! Java.
//!
//! `import a.b.C` is module `a.b`, item `C`; `import static a.b.C.d` is module `a.b.C`, item `d`;
//! with `.*` all is taken from what stands before it. `A.class` is the name `A`, `A::b` a
//! [`Kind::Field`], a cast its operand. The body of an anonymous class is the last argument of
//! its construction. The components of a record and the constants of an `enum` are constants of
//! the class. `synchronized` is [`Kind::With`]; so are the resources of a `try`, inside whose
//! handlers they are closed already. Annotations of a field stand before it as
//! [`Kind::Other`]. The `yield` at the end of an arm is the arm's last expression.

mod declaration;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::operator::operator;
use super::switch::{self, Case};
use super::{each_child, has_word, in_field, named, number, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Handler, Id, Kind, LoopForm, Op};

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
        "package_declaration" => {}
        "import_declaration" => all.extend(declaration::import(b, at)),
        "local_variable_declaration" | "field_declaration" | "constant_declaration" => {
            declaration::variables(b, at, all);
        }
        "labeled_statement" => {
            let (mut name, mut inner) = (None, None);
            for child in named(at) {
                match child.kind() {
                    "identifier" if name.is_none() => name = Some(b.text(child)),
                    _ => inner = Some(child),
                }
            }
            match inner {
                Some(inner) if is_loop(inner) => {
                    all.push(b.deeper(inner, |b| a_loop(b, inner, name)));
                }
                _ => {
                    all.extend(name.map(|name| b.add(at, Kind::Label(name))));
                    all.extend(inner.map(|inner| node(b, inner)));
                }
            }
        }
        _ => all.push(node(b, at)),
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
        if matches!(at.kind(), "block" | "constructor_body") {
            return block(b, at);
        }
        let mut all = Vec::new();
        if at.is_named() {
            statement(b, at, &mut all);
        }
        b.add(at, Kind::Block(all))
    })
}

fn is_loop(at: Syntax<'_>) -> bool {
    matches!(
        at.kind(),
        "while_statement" | "do_statement" | "for_statement" | "enhanced_for_statement"
    )
}

/// What only wraps one thing is that thing.
fn only<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let all = each_child(b, at, node);
    match all[..] {
        [only] => only,
        _ => b.add(at, Kind::Other(all)),
    }
}

fn one<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "program" | "block" | "constructor_body" => return block(b, at),
        "local_variable_declaration"
        | "field_declaration"
        | "constant_declaration"
        | "labeled_statement"
        | "import_declaration"
        | "package_declaration" => {
            let mut all = Vec::new();
            statement(b, at, &mut all);
            match all[..] {
                [only] => return only,
                _ => Kind::Block(all),
            }
        }
        "expression_statement"
        | "parenthesized_expression"
        | "class_literal"
        | "static_initializer"
        | "guard"
        | "pattern" => return only(b, at),
        "cast_expression" => return field(b, at, "value"),
        "identifier"
        | "this"
        | "super"
        | "type_identifier"
        | "integral_type"
        | "floating_point_type"
        | "boolean_type"
        | "void_type" => Kind::Name(b.text(at)),
        "scoped_identifier" => part(b, at, "scope", "name"),
        "field_access" => part(b, at, "object", "field"),
        // `a.b.C` as a type, and `C<T>`: the type without its arguments.
        "scoped_type_identifier" => {
            let parts = named(at).into_iter().filter(|part| !part.kind().contains("annotation"));
            match parts.collect::<Vec<_>>()[..] {
                [of, name] => Kind::Field { of: node(b, of), name: b.text(name) },
                _ => Kind::Name(b.text(at)),
            }
        }
        // Of a pattern that names what it matches, the type.
        "generic_type" | "type_pattern" => match first(b, at) {
            Some(only) => return only,
            None => Kind::Other(Vec::new()),
        },
        "array_type" => return field(b, at, "element"),
        "annotated_type" | "catch_type" => match named(at).last() {
            Some(last) => return node(b, *last),
            None => Kind::Other(Vec::new()),
        },
        "method_reference" => {
            let name = at.child(at.child_count().saturating_sub(1));
            match (first(b, at), name) {
                (Some(of), Some(name)) => Kind::Field { of, name: b.text(name) },
                (of, _) => Kind::Other(of.into_iter().collect()),
            }
        }
        "array_access" => Kind::Index { of: field(b, at, "array"), at: field(b, at, "index") },
        "method_invocation" => {
            let callee = match at.child_in("object") {
                Some(_) => {
                    let kind = part(b, at, "object", "name");
                    b.add(at, kind)
                }
                None => field(b, at, "name"),
            };
            Kind::Call { callee, args: arguments(b, at), new: false }
        }
        "explicit_constructor_invocation" => {
            let callee = field(b, at, "constructor");
            Kind::Call { callee, args: arguments(b, at), new: false }
        }
        "object_creation_expression" => construction(b, at),
        "array_creation_expression" => match at.child_in("value") {
            Some(value) => return node(b, value),
            None => {
                let sizes = in_field(at, "dimensions").into_iter();
                Kind::Other(sizes.filter_map(|size| first(b, size)).collect())
            }
        },
        "array_initializer" | "element_value_array_initializer" => {
            Kind::List(each_child(b, at, node))
        }
        "decimal_integer_literal"
        | "hex_integer_literal"
        | "octal_integer_literal"
        | "binary_integer_literal"
        | "decimal_floating_point_literal"
        | "hex_floating_point_literal" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "string_literal" => {
            let inner = named(at).into_iter().filter(|part| part.kind() == "string_interpolation");
            let inner = inner.collect::<Vec<_>>();
            if inner.is_empty() {
                Kind::Text(Cow::Borrowed(unquoted(b.text(at))))
            } else {
                Kind::Other(inner.into_iter().map(|part| only(b, part)).collect())
            }
        }
        "character_literal" => Kind::Text(Cow::Borrowed(unquoted(b.text(at)))),
        "true" | "false" => Kind::Bool(at.kind() == "true"),
        "null_literal" => Kind::Null,
        "unary_expression" => match at.child_in("operator").map_or("", |op| op.kind()) {
            "+" => return field(b, at, "operand"),
            op => Kind::Unary { op: operator(op), of: field(b, at, "operand") },
        },
        "binary_expression" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            let left = field(b, at, "left");
            Kind::Binary { op: operator(op), left, right: field(b, at, "right") }
        }
        // The name a match is given is not kept.
        "instanceof_expression" => {
            let left = field(b, at, "left");
            let right = at.child_in("right").or_else(|| at.child_in("pattern"));
            match right {
                Some(right) => Kind::Binary { op: Op::Matches, left, right: node(b, right) },
                None => Kind::Other(vec![left]),
            }
        }
        "ternary_expression" => Kind::If {
            test: field(b, at, "condition"),
            then: field(b, at, "consequence"),
            otherwise: maybe(b, at, "alternative"),
        },
        "assignment_expression" => {
            let op = at.child_in("operator").map_or("=", |op| op.kind());
            let op = op.strip_suffix('=').filter(|op| !op.is_empty()).map(operator);
            Kind::Assign { op, target: field(b, at, "left"), value: field(b, at, "right") }
        }
        "update_expression" => {
            let by = if has_word(at, "--") { -1 } else { 1 };
            let before = at.child(0).is_some_and(|sign| !sign.is_named());
            match first(b, at) {
                Some(of) => Kind::Step { of, by, before },
                None => Kind::Other(Vec::new()),
            }
        }
        "lambda_expression" => return declaration::lambda(b, at),
        "method_declaration"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "annotation_type_element_declaration" => return declaration::method(b, at),
        "class_declaration"
        | "record_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "annotation_type_declaration" => return declaration::class(b, at),
        "annotation" | "marker_annotation" => return declaration::annotation(b, at),
        "if_statement" => Kind::If {
            test: field(b, at, "condition"),
            then: body(b, at, "consequence"),
            otherwise: at.child_in("alternative").map(|part| {
                if part.kind() == "if_statement" { node(b, part) } else { body_of(b, part) }
            }),
        },
        "while_statement" | "do_statement" | "for_statement" | "enhanced_for_statement" => {
            return a_loop(b, at, None);
        }
        "switch_expression" => {
            let of = maybe(b, at, "condition");
            let cases = at.child_in("body").map(named).unwrap_or_default();
            let cases = cases.into_iter().map(|case| a_case(b, case)).collect();
            Kind::Match { of, arms: switch::arms(b, cases) }
        }
        "try_statement" | "try_with_resources_statement" => attempt(b, at),
        "synchronized_statement" => {
            let lock = named(at).into_iter().find(|part| part.kind() != "block");
            let items = lock.map(|lock| node(b, lock)).into_iter().collect();
            Kind::With { items, body: body(b, at, "body") }
        }
        "return_statement" => Kind::Return(first(b, at)),
        "throw_statement" => Kind::Throw(first(b, at)),
        "yield_statement" => Kind::Yield(first(b, at)),
        "break_statement" => {
            Kind::Break { label: named(at).first().map(|label| b.text(*label)), value: None }
        }
        "continue_statement" => Kind::Continue(named(at).first().map(|label| b.text(*label))),
        "template_expression" => return field(b, at, "template_argument"),
        "modifiers" | "type_parameters" | "type_arguments" | "dimensions" | "throws" => {
            Kind::Other(Vec::new())
        }
        _ => Kind::Other(each_child(b, at, node)),
    };
    b.add(at, kind)
}

fn part<'s>(b: &mut Builder<'s>, at: Syntax<'_>, of: &'static str, name: &'static str) -> Kind<'s> {
    match at.child_in(name) {
        Some(name) => Kind::Field { of: field(b, at, of), name: b.text(name) },
        None => Kind::Other(each_child(b, at, node)),
    }
}

fn arguments<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Arg<'s>> {
    let all = at.child_in("arguments").map(named).unwrap_or_default();
    all.into_iter().map(|arg| Arg { name: None, value: node(b, arg), spread: false }).collect()
}

/// `new A(x)`, `new A() { … }`.
fn construction<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let callee = field(b, at, "type");
    let mut args = arguments(b, at);
    if let Some(inner) = named(at).into_iter().find(|part| part.kind() == "class_body") {
        let value = declaration::anonymous(b, inner, callee);
        args.push(Arg { name: None, value, spread: false });
    }
    Kind::Call { callee, args, new: true }
}

fn a_loop<'s>(b: &mut Builder<'s>, at: Syntax<'_>, label: Option<&'s str>) -> Id {
    let form = match at.kind() {
        "for_statement" => LoopForm::Counted {
            init: several(b, at, "init"),
            test: maybe(b, at, "condition"),
            step: several(b, at, "update"),
        },
        "enhanced_for_statement" => {
            LoopForm::Each { var: maybe(b, at, "name"), over: field(b, at, "value") }
        }
        "do_statement" => LoopForm::DoWhile(field(b, at, "condition")),
        _ => LoopForm::While(field(b, at, "condition")),
    };
    let form = super::endless(b, form);
    let body = body(b, at, "body");
    b.add(at, Kind::Loop { form, label, body, otherwise: None })
}

/// What stands in a field, as a [`Kind::Block`] if it is more than one.
fn several<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: &str) -> Option<Id> {
    let mut all = Vec::new();
    for child in in_field(at, name) {
        statement(b, child, &mut all);
    }
    match all[..] {
        [] => None,
        [only] => Some(only),
        _ => Some(b.add(at, Kind::Block(all))),
    }
}

/// `case 1:` with what follows, or `case 1 ->`.
fn a_case<'s, 't>(b: &mut Builder<'s>, at: Syntax<'t>) -> Case<'t> {
    let rule = at.kind() == "switch_rule";
    let (mut patterns, mut guard, mut default) = (Vec::new(), None, false);
    let (labels, rest): (Vec<_>, Vec<_>) =
        named(at).into_iter().partition(|part| part.kind() == "switch_label");
    for label in labels {
        default |= has_word(label, "default");
        for part in named(label) {
            match part.kind() {
                "guard" => guard = Some(node(b, part)),
                // `case null, default`.
                "identifier" if b.text(part) == "default" => default = true,
                _ => patterns.push(node(b, part)),
            }
        }
    }
    let mut statements = Vec::new();
    let inner = match rest[..] {
        [only] if rule && only.kind() == "block" => named(only),
        _ => rest,
    };
    let yields = inner.last().is_some_and(|last| last.kind() == "yield_statement");
    let count = inner.len();
    for (n, part) in inner.into_iter().enumerate() {
        if yields && n + 1 == count {
            statements.extend(first(b, part));
        } else {
            statement(b, part, &mut statements);
        }
    }
    Case { at, patterns, guard, default, statements, ends: rule || yields }
}

/// `try`; resources are closed before a handler or `finally` runs.
fn attempt<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let items = at.child_in("resources").map(named).map(|resources| {
        resources.into_iter().map(|resource| declaration::resource(b, resource)).collect()
    });
    let mut body = body(b, at, "body");
    let (mut handlers, mut finally) = (Vec::new(), None);
    let inner = b.span(body);
    if let Some(items) = items {
        let with = Kind::With { items, body };
        let clauses = named(at).into_iter().any(|part| part.kind().ends_with("_clause"));
        if !clauses {
            return with;
        }
        let with = b.add_at(inner, with);
        body = b.add_at(inner, Kind::Block(vec![with]));
    }
    for part in named(at) {
        match part.kind() {
            "catch_clause" => handlers.push(handler(b, part)),
            "finally_clause" => finally = named(part).first().map(|inner| body_of(b, *inner)),
            _ => {}
        }
    }
    Kind::Try { body, handlers, otherwise: None, finally }
}

fn handler<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Handler<'s> {
    let parameter = named(at).into_iter().find(|part| part.kind() == "catch_formal_parameter");
    let types = parameter.map(named).unwrap_or_default();
    let types = types.into_iter().find(|part| part.kind() == "catch_type");
    let types = types.map(|types| each_child(b, types, node)).unwrap_or_default();
    let name = parameter.and_then(|parameter| parameter.child_in("name"));
    Handler { types, name: name.map(|name| b.text(name)), guard: None, body: body(b, at, "body") }
}
