//! `switch` of the C family, where a case falls through to the next and `break` leaves the switch.
//!
//! An [`Arm`] does neither. So a case that falls through is given the statements of the next ones
//! too, and a `break` that would be the last thing an arm does is left out. Any other `break` of
//! the switch is a [`Kind::Break`] with the label [`LEAVE`]: it leaves the nearest
//! [`Kind::Match`].

use tree_sitter::Node as Syntax;

use crate::tree::{Arm, Builder, Id, Kind};

/// The label of a `break` that leaves a switch. A reserved word: no loop is called so.
pub(super) const LEAVE: &str = "switch";
/// The same.
pub(super) const SWITCH: &str = LEAVE;

/// So many following cases a case falls through into; the rest is cut off.
const MOST_SHARED: usize = 8;

/// One `case` as written.
pub(super) struct Case<'t> {
    /// Where it is.
    pub(super) at: Syntax<'t>,
    /// Its values; none if it is only the default.
    pub(super) patterns: Vec<Id>,
    /// A condition after them.
    pub(super) guard: Option<Id>,
    /// Whether it is the default, perhaps beside values.
    pub(super) default: bool,
    /// What it does.
    pub(super) statements: Vec<Id>,
    /// Whether it never falls through, whatever its last statement is.
    pub(super) ends: bool,
}

/// The arms that do what the cases do. The default comes last, since it is asked last.
pub(super) fn arms<'s>(b: &mut Builder<'s>, cases: Vec<Case<'_>>) -> Vec<Arm> {
    let cases = joined(cases);
    let falls: Vec<bool> =
        cases.iter().map(|case| !case.ends && !ends(b, &case.statements)).collect();
    let shared: Vec<bool> = cases
        .iter()
        .map(|case| !case.statements.iter().any(|statement| holds_match(b, *statement)))
        .collect();
    for (at, case) in cases.iter().enumerate() {
        // Where a case falls through, what comes after its `break` is the next case.
        leave_all(b, &case.statements, !falls[at] || at + 1 == cases.len());
    }
    let (mut all, mut last) = (Vec::new(), None);
    for (at, case) in cases.iter().enumerate() {
        let mut statements = case.statements.clone();
        let mut end = at;
        while falls[end]
            && end - at < MOST_SHARED
            && shared.get(end + 1).copied().unwrap_or_default()
        {
            end += 1;
            statements.extend(&cases[end].statements);
        }
        let body = b.add(case.at, Kind::Block(statements));
        if case.default {
            last = Some(Arm { patterns: Vec::new(), guard: None, body });
        }
        // The values beside a default are kept, unless what they share could be shared again
        // inside: nested deep enough, such a tree has no end.
        if !case.default || (shared[at] && !case.patterns.is_empty()) {
            all.push(Arm { patterns: case.patterns.clone(), guard: case.guard, body });
        }
    }
    all.extend(last);
    all
}

/// `case 1: case 2: f()` as one case.
fn joined(cases: Vec<Case<'_>>) -> Vec<Case<'_>> {
    let mut all: Vec<Case<'_>> = Vec::new();
    for mut case in cases {
        if let Some(before) = all.last_mut()
            && before.statements.is_empty()
            && !before.ends
            && before.guard.is_none()
            && case.guard.is_none()
        {
            before.patterns.append(&mut case.patterns);
            before.default |= case.default;
            before.statements = case.statements;
            before.ends = case.ends;
        } else {
            all.push(case);
        }
    }
    all
}

/// Whether what follows these statements is never reached.
fn ends(b: &Builder<'_>, statements: &[Id]) -> bool {
    statements.last().is_some_and(|last| match b.kind(*last) {
        Kind::Break { .. }
        | Kind::Continue(_)
        | Kind::Return(_)
        | Kind::Throw(_)
        | Kind::Goto(_)
        | Kind::Again => true,
        Kind::Block(all) => ends(b, all),
        Kind::With { body, .. } => ends(b, &[*body]),
        Kind::If { then, otherwise: Some(otherwise), .. } => {
            ends(b, &[*then]) && ends(b, &[*otherwise])
        }
        Kind::Try { body, handlers, otherwise, finally } => {
            finally.is_some_and(|finally| ends(b, &[finally]))
                || (ends(b, &[otherwise.unwrap_or(*body)])
                    && handlers.iter().all(|handler| ends(b, &[handler.body])))
        }
        _ => false,
    })
}

/// Whether a [`Kind::Match`] is in it, functions included.
fn holds_match(b: &Builder<'_>, id: Id) -> bool {
    matches!(b.kind(id), Kind::Match { .. })
        || b.children(id).into_iter().any(|child| holds_match(b, child))
}

fn leave_all(b: &mut Builder<'_>, statements: &[Id], tail: bool) {
    let last = statements.len().saturating_sub(1);
    for (at, statement) in statements.iter().enumerate() {
        leave(b, *statement, tail && at == last);
    }
}

/// Rewrites each `break` of this switch; `tail`: nothing of the arm comes after it.
fn leave(b: &mut Builder<'_>, id: Id, tail: bool) {
    match b.kind(id).clone() {
        Kind::Break { label: None, value: None } => {
            let kind = if tail {
                Kind::Block(Vec::new())
            } else {
                Kind::Break { label: Some(LEAVE), value: None }
            };
            b.replace(id, kind);
        }
        // What is in these is theirs.
        Kind::Loop { .. } | Kind::Function { .. } | Kind::Class { .. } | Kind::Match { .. } => {}
        Kind::Block(all) => leave_all(b, &all, tail),
        Kind::If { then, otherwise, .. } => {
            leave(b, then, tail);
            if let Some(otherwise) = otherwise {
                leave(b, otherwise, tail);
            }
        }
        Kind::With { body, .. } => leave(b, body, tail),
        Kind::Try { body, handlers, otherwise, finally } => {
            leave(b, body, tail && otherwise.is_none());
            handlers.iter().for_each(|handler| leave(b, handler.body, tail));
            otherwise.iter().for_each(|id| leave(b, *id, tail));
            // There it also ends a failure that is on its way.
            finally.iter().for_each(|id| leave(b, *id, false));
        }
        _ => b.children(id).into_iter().for_each(|child| leave(b, child, false)),
    }
}

/// Puts an arm without patterns last, as it is looked at last wherever it is written, and names
/// what each `break` leaves. One at the end of an arm has nothing to leave and becomes an empty
/// block.
pub(super) fn settle(b: &mut Builder<'_>, arms: &mut [Arm]) {
    arms.sort_by_key(|arm| arm.patterns.is_empty() && arm.guard.is_none());
    for arm in arms {
        last_break(b, arm.body);
        b.rewrite(
            arm.body,
            |kind| matches!(kind, Kind::Loop { .. } | Kind::Function { .. } | Kind::Class { .. }),
            |_, kind| match kind {
                Kind::Break { label: None, value: None } => {
                    Some(Kind::Break { label: Some(LEAVE), value: None })
                }
                _ => None,
            },
        );
    }
}

fn last_break(b: &mut Builder<'_>, id: Id) {
    match b.kind(id) {
        Kind::Block(all) => {
            if let Some(last) = all.last().copied() {
                last_break(b, last);
            }
        }
        Kind::If { then, otherwise, .. } => {
            let (then, otherwise) = (*then, *otherwise);
            last_break(b, then);
            if let Some(otherwise) = otherwise {
                last_break(b, otherwise);
            }
        }
        Kind::Break { label: None, value: None } => b.replace(id, Kind::Block(Vec::new())),
        _ => {}
    }
}
