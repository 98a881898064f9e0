//! Which runs after which.

use tree_sitter::Node as Syntax;

use super::{field, last, node};
use crate::lower::fields::Fields as _;
use crate::lower::{each_child, has_word, in_block, in_field, named};
use crate::tree::{Arm, Builder, Handler, Id, Kind, LoopForm, Op};

/// A statement that decides what runs next, with the label before it.
pub(super) fn flow<'s>(b: &mut Builder<'s>, at: Syntax<'_>, label: Option<&'s str>) -> Id {
    match at.kind() {
        "if_expression" => branch(b, at),
        "when_expression" => when(b, at),
        "try_expression" => attempt(b, at),
        "for_statement" | "while_statement" | "do_while_statement" => repeat(b, at, label),
        _ => labelled(b, at),
    }
}

/// `{ … }`, or the one statement that stands for it.
fn block_of<'s>(b: &mut Builder<'s>, at: Option<Syntax<'_>>, whole: Syntax<'_>) -> Id {
    match at {
        Some(body) => node(b, body),
        None => b.add(whole, Kind::Block(Vec::new())),
    }
}

/// The grammar names neither branch: `else` stands between them.
fn branch<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let test = field(b, at, "condition");
    let mut cursor = at.walk();
    let children: Vec<_> = at.children(&mut cursor).collect();
    let closed = children.iter().position(|child| child.kind() == ")").map_or(0, |at| at + 1);
    let (mut then, mut otherwise, mut after) = (None, None, false);
    for child in children.iter().skip(closed).filter(|child| !child.is_extra()) {
        if child.kind() == "else" {
            after = true;
        } else if child.is_named() {
            let slot = if after { &mut otherwise } else { &mut then };
            *slot = Some(*child);
        }
    }
    let then = block_of(b, then, at);
    let otherwise = otherwise.map(|body| node(b, body));
    b.add(at, Kind::If { test, then, otherwise })
}

fn when<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let subject = named(at).into_iter().find(|child| child.kind() == "when_subject");
    let mut binding = None;
    let of = subject.map(|subject| {
        let value = last(b, subject);
        let named = named(subject).into_iter().find(|it| it.kind() == "variable_declaration");
        let Some(name) = named else { return value };
        let target = node(b, name);
        let value = Some(value);
        binding = Some(b.add(subject, Kind::Let { target, ty: None, value, constant: true }));
        node(b, name)
    });
    let mut arms = Vec::new();
    for entry in named(at).into_iter().filter(|child| child.kind() == "when_entry") {
        let patterns = in_field(entry, "condition").into_iter();
        let patterns = patterns.map(|pattern| condition(b, pattern, of.is_some())).collect();
        let body = last(b, entry);
        arms.push(Arm { patterns, guard: None, body });
    }
    let Some(of) = of else { return conditions(b, at, arms) };
    let whole = b.add(at, Kind::Match { of: Some(of), arms });
    match binding {
        Some(binding) => b.add(at, Kind::Block(vec![binding, whole])),
        None => whole,
    }
}

/// `in x` is the range or list, `!in x` and `!is T` its [`Op::Not`].
fn condition<'s>(b: &mut Builder<'s>, at: Syntax<'_>, subject: bool) -> Id {
    let id = node(b, at);
    if subject && (has_word(at, "!in") || has_word(at, "!is")) && at.kind().ends_with("_test") {
        return b.add(at, Kind::Unary { op: Op::Not, of: id });
    }
    id
}

fn conditions<'s>(b: &mut Builder<'s>, at: Syntax<'_>, arms: Vec<Arm>) -> Id {
    let mut otherwise = None;
    for arm in arms.into_iter().rev() {
        let span = b.span(arm.body);
        let tests = arm.patterns.into_iter();
        let test =
            tests.reduce(|left, right| b.add_at(span, Kind::Binary { op: Op::Or, left, right }));
        otherwise = Some(match test {
            None => arm.body,
            Some(test) => b.add_at(span, Kind::If { test, then: arm.body, otherwise }),
        });
    }
    otherwise.unwrap_or_else(|| b.add(at, Kind::Block(Vec::new())))
}

fn attempt<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let children = named(at);
    let body = block_of(b, children.iter().copied().find(|it| it.kind() == "block"), at);
    let (mut handlers, mut finally) = (Vec::new(), None);
    for part in children {
        match part.kind() {
            "catch_block" => {
                let inside = named(part);
                let block = inside.iter().copied().rfind(|it| it.kind() == "block");
                let name = inside.iter().find(|it| it.kind() == "identifier");
                let name = name.map(|name| b.text(*name));
                let types = inside.iter().filter(|it| it.kind().ends_with("type"));
                let types = types.map(|ty| node(b, *ty)).collect();
                let body = block_of(b, block, part);
                handlers.push(Handler { types, name, guard: None, body });
            }
            "finally_block" => finally = Some(last(b, part)),
            _ => {}
        }
    }
    b.add(at, Kind::Try { body, handlers, otherwise: None, finally })
}

/// The label may stand before the loop or, as the grammar has it, be its first child.
fn repeat<'s>(b: &mut Builder<'s>, at: Syntax<'_>, label: Option<&'s str>) -> Id {
    let children = named(at);
    let own = children.iter().find(|child| child.kind() == "label");
    let label = label.or_else(|| own.map(|own| b.text(*own).trim_end_matches('@')));
    let rest: Vec<_> = children.into_iter().filter(|child| child.kind() != "label").collect();
    let test = at.child_in("condition");
    let (form, body) = match (at.kind(), test) {
        ("for_statement", _) => {
            let rest: Vec<_> = rest.into_iter().filter(|it| it.kind() != "annotation").collect();
            let mut rest = rest.into_iter();
            let var = rest.next().map(|var| node(b, var));
            let over = match rest.next() {
                Some(over) => node(b, over),
                None => b.add(at, Kind::Other(Vec::new())),
            };
            let body = block_of(b, rest.next(), at);
            (LoopForm::Each { var, over }, body)
        }
        ("do_while_statement", Some(test)) => {
            let body = rest.into_iter().find(|child| *child != test);
            let body = block_of(b, body, at);
            (LoopForm::DoWhile(node(b, test)), body)
        }
        (_, Some(test)) => {
            let body = rest.into_iter().find(|child| *child != test);
            let test = node(b, test);
            let form = match b.kind(test) {
                Kind::Bool(true) => LoopForm::Endless,
                _ => LoopForm::While(test),
            };
            (form, block_of(b, body, at))
        }
        (_, None) => (LoopForm::Endless, block_of(b, rest.first().copied(), at)),
    };
    let body = in_block(b, at, body);
    b.add(at, Kind::Loop { form, label, body, otherwise: None })
}

/// `a@ f()`, and `break@a`, which the grammar takes for the same.
fn labelled<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let children = named(at);
    let (Some(label), Some(inner)) = (children.first(), children.last()) else {
        return b.add(at, Kind::Other(Vec::new()));
    };
    let word = b.text(*label).trim_end_matches('@');
    let kind = match (word, inner.kind()) {
        ("break", "identifier") => Kind::Break { label: Some(b.text(*inner)), value: None },
        ("continue", "identifier") => Kind::Continue(Some(b.text(*inner))),
        (_, "for_statement" | "while_statement" | "do_while_statement") => {
            return b.deeper(*inner, |b| repeat(b, *inner, Some(word)));
        }
        _ if children.len() == 2 => return node(b, *inner),
        _ => Kind::Other(each_child(b, at, node)),
    };
    b.add(at, kind)
}
