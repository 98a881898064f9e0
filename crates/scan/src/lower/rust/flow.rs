//! Which runs after which.

use tree_sitter::Node as Syntax;

use super::{field, last, maybe, node, pattern, text_of};
use crate::lower::fields::Fields as _;
use crate::lower::named;
use crate::tree::{Arm, Builder, Id, Kind, LoopForm, Op};

/// A statement that decides what runs next, or a condition of one.
pub(super) fn flow<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "if_expression" => Kind::If {
            test: field(b, at, "condition"),
            then: field(b, at, "consequence"),
            otherwise: maybe(b, at, "alternative"),
        },
        "let_condition" => matches(b, at),
        "let_chain" => {
            let all: Vec<_> = named(at).into_iter().map(|part| node(b, part)).collect();
            let and = |b: &mut Builder<'s>, left, right| {
                b.add(at, Kind::Binary { op: Op::And, left, right })
            };
            match all.split_first() {
                Some((first, rest)) => {
                    return rest.iter().fold(*first, |left, right| and(b, left, *right));
                }
                None => Kind::Other(all),
            }
        }
        "let_declaration" => return declaration(b, at),
        "match_expression" => {
            let of = maybe(b, at, "value");
            let body = at.child_in("body").map(named).unwrap_or_default();
            let arms = body.into_iter().filter(|child| child.kind() == "match_arm");
            Kind::Match { of, arms: arms.map(|child| arm(b, child)).collect() }
        }
        "loop_expression" => return repeat(b, at, LoopForm::Endless),
        "while_expression" => {
            let test = field(b, at, "condition");
            let form = match b.kind(test) {
                Kind::Bool(true) => LoopForm::Endless,
                _ => LoopForm::While(test),
            };
            return repeat(b, at, form);
        }
        "for_expression" => {
            let var = at.child_in("pattern").filter(|name| name.kind() != "_");
            let var = var.map(|name| node(b, name));
            let over = field(b, at, "value");
            return repeat(b, at, LoopForm::Each { var, over });
        }
        "break_expression" => {
            let value = named(at).into_iter().find(|child| child.kind() != "label");
            Kind::Break { label: label(b, at), value: value.map(|value| node(b, value)) }
        }
        "continue_expression" => Kind::Continue(label(b, at)),
        "return_expression" => Kind::Return(named(at).last().map(|value| node(b, *value))),
        _ => Kind::Other(Vec::new()),
    };
    b.add(at, kind)
}

/// The label of a loop or a jump, without its quote.
pub(super) fn label<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<&'s str> {
    let label = named(at).into_iter().find(|child| child.kind() == "label")?;
    Some(b.text(label).trim_start_matches('\'').trim())
}

fn repeat<'s>(b: &mut Builder<'s>, at: Syntax<'_>, form: LoopForm) -> Id {
    let label = label(b, at);
    let body = field(b, at, "body");
    b.add(at, Kind::Loop { form, label, body, otherwise: None })
}

fn matches<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let left = field(b, at, "value");
    let right = field(b, at, "pattern");
    Kind::Binary { op: Op::Matches, left, right }
}

fn declaration<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    if at.child_in("alternative").is_some() {
        let test = matches(b, at);
        let test = b.add(at, test);
        let test = b.add(at, Kind::Unary { op: Op::Not, of: test });
        let then = field(b, at, "alternative");
        return b.add(at, Kind::If { test, then, otherwise: None });
    }
    let target = field(b, at, "pattern");
    let ty = text_of(b, at, "type");
    let value = maybe(b, at, "value");
    b.add(at, Kind::Let { target, ty, value, constant: false })
}

fn arm<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Arm {
    let (mut patterns, mut guard) = (Vec::new(), None);
    if let Some(whole) = at.child_in("pattern") {
        let condition = whole.child_in("condition");
        for child in named(whole) {
            if Some(child) != condition {
                pattern::alternatives(b, child, &mut patterns);
            }
        }
        guard = condition.map(|condition| node(b, condition));
    }
    let body = match at.child_in("value") {
        Some(_) => field(b, at, "value"),
        None => last(b, at),
    };
    Arm { patterns, guard, body }
}
