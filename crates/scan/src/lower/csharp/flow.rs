//! Which runs after which.

use tree_sitter::Node as Syntax;

use super::{child, declare, each, field, last, maybe, node, parts, pattern, text_of};
use crate::lower::fields::Fields as _;
use crate::lower::{has_word, in_block, in_field, named, switch};
use crate::tree::{Arm, Builder, Handler, Id, Kind, LoopForm};

/// A statement that is not a plain expression, or a `switch` that is one.
pub(super) fn flow<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "if_statement" => Kind::If {
            test: field(b, at, "condition"),
            then: field(b, at, "consequence"),
            otherwise: maybe(b, at, "alternative"),
        },
        "for_statement" => {
            let init = several(b, at, "initializer");
            let test = maybe(b, at, "condition");
            let step = several(b, at, "update");
            let form = match init.or(test).or(step) {
                None => LoopForm::Endless,
                Some(_) => LoopForm::Counted { init, test, step },
            };
            return repeat(b, at, form);
        }
        "foreach_statement" => {
            let var = maybe(b, at, "left");
            let over = field(b, at, "right");
            return repeat(b, at, LoopForm::Each { var, over });
        }
        "while_statement" => {
            let test = field(b, at, "condition");
            let form = match b.kind(test) {
                Kind::Bool(true) => LoopForm::Endless,
                _ => LoopForm::While(test),
            };
            return repeat(b, at, form);
        }
        "do_statement" => {
            let body = field(b, at, "body");
            let body = in_block(b, at, body);
            let form = LoopForm::DoWhile(field(b, at, "condition"));
            Kind::Loop { form, label: None, body, otherwise: None }
        }
        "try_statement" => return attempt(b, at),
        "switch_statement" => return sections(b, at),
        "switch_expression" => return arms(b, at),
        "using_statement" | "lock_statement" | "fixed_statement" => return with(b, at),
        "return_statement" => Kind::Return(parts(at).last().map(|value| node(b, *value))),
        "yield_statement" if has_word(at, "break") => Kind::Return(None),
        "yield_statement" => Kind::Yield(parts(at).last().map(|value| node(b, *value))),
        "break_statement" => Kind::Break { label: None, value: None },
        "continue_statement" => Kind::Continue(None),
        "goto_statement" if !has_word(at, "case") && !has_word(at, "default") => {
            Kind::Goto(named(at).last().map(|label| b.text(*label)).unwrap_or_default())
        }
        "labeled_statement" | "local_declaration_statement" => {
            let mut all = Vec::new();
            declare::statement(b, at, &mut all);
            match all[..] {
                [only] => return only,
                _ => Kind::Block(all),
            }
        }
        "empty_statement" => Kind::Block(Vec::new()),
        _ => Kind::Other(each(b, at)),
    };
    b.add(at, kind)
}

fn repeat<'s>(b: &mut Builder<'s>, at: Syntax<'_>, form: LoopForm) -> Id {
    let body = field(b, at, "body");
    let body = in_block(b, at, body);
    b.add(at, Kind::Loop { form, label: None, body, otherwise: None })
}

/// What stands between the commas of a `for`; more than one is a block.
fn several<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: &str) -> Option<Id> {
    let mut all = Vec::new();
    for part in in_field(at, name) {
        if part.kind() == "variable_declaration" {
            declare::variables(b, part, false, &mut all);
        } else {
            all.push(node(b, part));
        }
    }
    match all[..] {
        [] => None,
        [only] => Some(only),
        _ => Some(b.add(at, Kind::Block(all))),
    }
}

fn attempt<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let body = field(b, at, "body");
    let (mut handlers, mut finally) = (Vec::new(), None);
    for part in named(at) {
        match part.kind() {
            "catch_clause" => {
                let declared = child(part, "catch_declaration");
                let types = declared.and_then(|declared| maybe(b, declared, "type"));
                let name = declared.and_then(|declared| text_of(b, declared, "name"));
                let guard = child(part, "catch_filter_clause").map(|filter| last(b, filter));
                let body = field(b, part, "body");
                handlers.push(Handler { types: types.into_iter().collect(), name, guard, body });
            }
            "finally_clause" => finally = Some(last(b, part)),
            _ => {}
        }
    }
    b.add(at, Kind::Try { body, handlers, otherwise: None, finally })
}

/// Sections that have only labels share the body of the next one.
fn sections<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let of = maybe(b, at, "value");
    let body = at.child_in("body").map(named).unwrap_or_default();
    let mut arms = Vec::new();
    let (mut patterns, mut default) = (Vec::new(), false);
    for section in body.into_iter().filter(|child| child.kind() == "switch_section") {
        let (mut guard, mut all, mut labels_only) = (None, Vec::new(), true);
        default |= has_word(section, "default");
        for part in parts(section) {
            let kind = part.kind();
            if kind == "when_clause" {
                guard = Some(last(b, part));
            } else if kind.ends_with("_statement") || matches!(kind, "block" | "preproc_if") {
                labels_only = false;
                declare::statement(b, part, &mut all);
            } else {
                pattern::alternatives(b, part, &mut patterns);
            }
        }
        if labels_only {
            continue;
        }
        let body = b.add(section, Kind::Block(all));
        let mut patterns = std::mem::take(&mut patterns);
        if std::mem::take(&mut default) {
            patterns.clear();
        }
        arms.push(Arm { patterns, guard, body });
    }
    switch::settle(b, &mut arms);
    b.add(at, Kind::Match { of, arms })
}

/// `x switch { P when g => v }`.
fn arms<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut of = None;
    let mut arms = Vec::new();
    for part in parts(at) {
        if part.kind() != "switch_expression_arm" {
            of = Some(node(b, part));
            continue;
        }
        let inside = parts(part);
        let Some((value, rest)) = inside.split_last() else { continue };
        let (mut patterns, mut guard) = (Vec::new(), None);
        for piece in rest {
            if piece.kind() == "when_clause" {
                guard = Some(last(b, *piece));
            } else {
                pattern::alternatives(b, *piece, &mut patterns);
            }
        }
        let body = node(b, *value);
        arms.push(Arm { patterns, guard, body });
    }
    b.add(at, Kind::Match { of, arms })
}

/// `using (…) …`, `lock (…) …`.
fn with<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let inside = parts(at);
    let Some((body, held)) = inside.split_last() else {
        return b.add(at, Kind::Other(Vec::new()));
    };
    let mut items = Vec::new();
    for part in held {
        if part.kind() == "variable_declaration" {
            declare::variables(b, *part, false, &mut items);
        } else {
            items.push(node(b, *part));
        }
    }
    let body = node(b, *body);
    let body = in_block(b, at, body);
    b.add(at, Kind::With { items, body })
}

/// `#if` is an `if`: nobody here knows what is defined.
pub(super) fn preprocessor<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let condition = at.child_in("condition");
    let alternative = at.child_in("alternative");
    let mut all = Vec::new();
    for part in parts(at) {
        if Some(part) != condition && Some(part) != alternative {
            declare::statement(b, part, &mut all);
        }
    }
    let then = b.add(at, Kind::Block(all));
    let Some(test) = condition else { return then };
    let test = node(b, test);
    let otherwise = alternative.map(|other| node(b, other));
    b.add(at, Kind::If { test, then, otherwise })
}
