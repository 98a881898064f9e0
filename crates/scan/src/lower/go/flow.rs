//! Statements: which runs after which.

use tree_sitter::Node as Syntax;

use super::{declare, field, first_or_other, maybe, node, text_of};
use crate::lower::fields::Fields as _;
use crate::lower::{has_word, in_field, named, switch};
use crate::tree::{Arm, Builder, Id, Kind, LoopForm, Op};

/// Statements in order.
pub(super) fn block<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let all = statements(b, named(at));
    b.add(at, Kind::Block(all))
}

fn statements<'s>(b: &mut Builder<'s>, children: Vec<Syntax<'_>>) -> Vec<Id> {
    let mut all = Vec::new();
    for child in children {
        match child.kind() {
            "statement_list" => all.extend(statements(b, named(child))),
            "import_declaration" => declare::imports(b, child, &mut all),
            "const_declaration" | "var_declaration" | "type_declaration" => {
                declare::declarations(b, child, &mut all);
            }
            "labeled_statement" => all.extend(labelled(b, child)),
            "package_clause" | "empty_statement" => {}
            _ => all.push(node(b, child)),
        }
    }
    all
}

/// A statement that is not a plain expression.
pub(super) fn statement<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    match at.kind() {
        "if_statement" => after_initializer(b, at, |b, at| {
            let test = field(b, at, "condition");
            let then = field(b, at, "consequence");
            let otherwise = maybe(b, at, "alternative");
            b.add(at, Kind::If { test, then, otherwise })
        }),
        "for_statement" => each(b, at, None),
        "expression_switch_statement" => after_initializer(b, at, |b, at| {
            let of = maybe(b, at, "value");
            cases(b, at, of)
        }),
        "type_switch_statement" => after_initializer(b, at, type_switch),
        "select_statement" => {
            let mut arms = Vec::new();
            for case in named(at) {
                let patterns = in_field(case, "communication");
                let patterns = patterns.into_iter().map(|case| communication(b, case)).collect();
                arms.push(Arm { patterns, guard: None, body: case_body(b, case) });
            }
            switch::settle(b, &mut arms);
            b.add(at, Kind::Match { of: None, arms })
        }
        "return_statement" => {
            let value = named(at).first().map(|value| node(b, *value));
            b.add(at, Kind::Return(value))
        }
        // Where one statement is asked for; a block takes them apart.
        _ => {
            let all = labelled(b, at);
            b.add(at, Kind::Block(all))
        }
    }
}

/// `if x := f(); …` is a block of both.
fn after_initializer<'s, 't>(
    b: &mut Builder<'s>,
    at: Syntax<'t>,
    rest: fn(&mut Builder<'s>, Syntax<'t>) -> Id,
) -> Id {
    match maybe(b, at, "initializer") {
        None => rest(b, at),
        Some(before) => {
            let after = rest(b, at);
            b.add(at, Kind::Block(vec![before, after]))
        }
    }
}

/// A labelled loop has the label itself; a [`Kind::Label`] stands before it too, for `goto`.
fn labelled<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Id> {
    let name = text_of(b, at, "label");
    let mut all = Vec::new();
    for child in named(at) {
        match (child.kind(), name) {
            ("label_name", _) => all.push(b.add(child, Kind::Label(name.unwrap_or_default()))),
            ("for_statement", Some(_)) => all.push(b.deeper(child, |b| each(b, child, name))),
            ("const_declaration" | "var_declaration", _) => {
                declare::declarations(b, child, &mut all);
            }
            _ => all.push(node(b, child)),
        }
    }
    all
}

fn each<'s>(b: &mut Builder<'s>, at: Syntax<'_>, label: Option<&'s str>) -> Id {
    let body = at.child_in("body");
    let head = named(at).into_iter().find(|child| Some(*child) != body);
    let form = match head {
        None => LoopForm::Endless,
        Some(head) => match head.kind() {
            "for_clause" => {
                let init = maybe(b, head, "initializer");
                let test = maybe(b, head, "condition");
                let step = maybe(b, head, "update");
                if init.or(test).or(step).is_none() {
                    LoopForm::Endless
                } else {
                    LoopForm::Counted { init, test, step }
                }
            }
            "range_clause" => {
                let var = maybe(b, head, "left");
                let over = field(b, head, "right");
                LoopForm::Each { var, over: counted(b, head, over) }
            }
            _ => {
                let test = node(b, head);
                match b.kind(test) {
                    Kind::Bool(true) => LoopForm::Endless,
                    _ => LoopForm::While(test),
                }
            }
        },
    };
    let body = field(b, at, "body");
    b.add(at, Kind::Loop { form, label, body, otherwise: None })
}

/// `range 5` counts.
fn counted<'s>(b: &mut Builder<'s>, at: Syntax<'_>, over: Id) -> Id {
    match b.kind(over) {
        Kind::Number(_) => b.add(at, Kind::Range { from: None, to: Some(over), inclusive: false }),
        _ => over,
    }
}

/// `case r := <-c` is a [`Kind::Let`], `case <-c` the value.
fn communication<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    if at.kind() != "receive_statement" {
        return node(b, at);
    }
    match maybe(b, at, "left") {
        None => field(b, at, "right"),
        Some(target) => {
            let value = field(b, at, "right");
            let declares = has_word(at, ":=");
            let kind = if declares {
                Kind::Let { target, ty: None, value: Some(value), constant: false }
            } else {
                Kind::Assign { op: None, target, value }
            };
            b.add(at, kind)
        }
    }
}

/// What a case does, without its patterns.
fn case_body<'s>(b: &mut Builder<'s>, case: Syntax<'_>) -> Id {
    let lists = named(case).into_iter().filter(|child| child.kind() == "statement_list");
    let all = lists.flat_map(named).collect();
    let all = statements(b, all);
    b.add(case, Kind::Block(all))
}

/// A case of nothing but `fallthrough` gives its values to the next one. Any other `fallthrough`
/// stays [`Kind::Other`]: a body that stood in two arms would double with each level of nesting.
fn cases<'s>(b: &mut Builder<'s>, at: Syntax<'_>, of: Option<Id>) -> Id {
    let mut arms = Vec::new();
    let mut patterns = Vec::new();
    for case in named(at) {
        let is_default = case.kind() == "default_case";
        if !is_default && case.kind() != "expression_case" {
            continue;
        }
        if is_default {
            patterns.clear();
        } else {
            let values = case.child_in("value").map(named).unwrap_or_default();
            patterns.extend(values.into_iter().map(|value| node(b, value)));
        }
        let mut body = named(case).into_iter().filter(|child| child.kind() == "statement_list");
        let only = body.next().map(named).unwrap_or_default();
        if matches!(&only[..], [one] if one.kind() == "fallthrough_statement") && !is_default {
            continue;
        }
        let patterns = std::mem::take(&mut patterns);
        arms.push(Arm { patterns, guard: None, body: case_body(b, case) });
    }
    switch::settle(b, &mut arms);
    match of {
        None => conditions(b, at, arms),
        of => b.add(at, Kind::Match { of, arms }),
    }
}

/// `switch { case a: … }` is `if a … else …`, unless a `break` leaves it: then it stays the
/// `switch true` that it is.
fn conditions<'s>(b: &mut Builder<'s>, at: Syntax<'_>, arms: Vec<Arm>) -> Id {
    let mut leaves = false;
    for arm in &arms {
        b.rewrite(
            arm.body,
            |kind| matches!(kind, Kind::Loop { .. } | Kind::Function { .. } | Kind::Match { .. }),
            |_, kind| {
                leaves |= matches!(kind, Kind::Break { label: Some(switch::LEAVE), .. });
                None
            },
        );
    }
    if leaves {
        let of = b.add(at, Kind::Bool(true));
        return b.add(at, Kind::Match { of: Some(of), arms });
    }
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

/// `switch e := err.(type)`: the patterns are types.
fn type_switch<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let alias = maybe(b, at, "alias");
    let of = field(b, at, "value");
    let mut arms = Vec::new();
    for case in named(at) {
        if matches!(case.kind(), "type_case" | "default_case") {
            let patterns = in_field(case, "type").into_iter().map(|ty| node(b, ty)).collect();
            arms.push(Arm { patterns, guard: None, body: case_body(b, case) });
        }
    }
    switch::settle(b, &mut arms);
    let Some(target) = alias else { return b.add(at, Kind::Match { of: Some(of), arms }) };
    let value = Some(of);
    let binding = b.add(at, Kind::Let { target, ty: None, value, constant: false });
    let of = Some(first_or_other_name(b, at, target));
    let switch = b.add(at, Kind::Match { of, arms });
    b.add(at, Kind::Block(vec![binding, switch]))
}

/// The bound name once more, as a node of its own.
fn first_or_other_name<'s>(b: &mut Builder<'s>, at: Syntax<'_>, target: Id) -> Id {
    let kind = b.kind(target).clone();
    match kind {
        Kind::Name(_) => b.add(at, kind),
        _ => first_or_other(b, at),
    }
}
