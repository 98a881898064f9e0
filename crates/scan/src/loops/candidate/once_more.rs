//! A call that is made once more by a function that is given away: for what failed
//! (`load(url).catch(() => load(url))`), or for later, where the failure is handled
//! (`catch (e) { setTimeout(() => load(url), 1000) }`).

use super::operation::may_be_operation;
use super::{Candidate, Shape, statement};
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// Methods of a promise or a result that are given what is done after a failure.
const FAILED: &[&str] = &[
    "catch",
    "exceptionally",
    "exceptionallyCompose",
    "onErrorResume",
    "onErrorResumeNext",
    "or_else",
    "catchError",
    "recover",
    "recoverWith",
];
/// So many calls are compared in one place.
const MOST_CALLS: usize = 40;

/// A call after whose failure a function is called with the same call in it.
pub(super) fn after_failure(file: &File<'_, '_>, id: Id) -> Option<Candidate> {
    let tree = file.tree;
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
    let Kind::Field { of, name } = tree.kind(*callee) else { return None };
    let failed = match *name {
        "then" => args.get(1)?.value,
        name if FAILED.contains(&name) => args.first()?.value,
        _ => return None,
    };
    let function = matches!(tree.kind(failed), Kind::Function { .. });
    // What is chained before it is what failed.
    same(file, *of, failed).filter(|_| function)
}

/// The same call in a `try`, and in what its handler has done later.
pub(super) fn later(file: &File<'_, '_>, body: Id, handler: Id) -> Option<Candidate> {
    let tree = file.tree;
    tree.walk_here(handler).find_map(|at| {
        let Kind::Call { callee, args, .. } = tree.kind(at) else { return None };
        tree.last_name(*callee).filter(|last| words::schedules(last))?;
        let later =
            args.iter().find(|arg| matches!(tree.kind(arg.value), Kind::Function { .. }))?;
        same(file, body, later.value)
    })
}

/// A call in one place that stands in the other, too, word by word.
fn same(file: &File<'_, '_>, first: Id, again: Id) -> Option<Candidate> {
    let tree = file.tree;
    let call = |at: &Id| match tree.kind(*at) {
        Kind::Call { callee, new, .. } => may_be_operation(file, *at, *callee, *new),
        _ => false,
    };
    // What else is done first may repair the cause.
    let acts = tree.walk(again).filter(call).count() > 1;
    let later: Vec<(String, Id)> = tree
        .walk(again)
        .filter(|at| !acts && matches!(tree.kind(*at), Kind::Call { .. }))
        .take(MOST_CALLS)
        .map(|at| (file.squeezed(at), at))
        .collect();
    tree.walk_here(first).filter(call).take(MOST_CALLS).find_map(|one| {
        let text = file.squeezed(one);
        let (_, other) = later.iter().find(|(known, _)| *known == text)?;
        let entry = statement(file, one)?;
        Some(Candidate {
            shape: Shape::Repeat,
            entry,
            subject: None,
            recursive: None,
            place: entry,
            groups: vec![vec![one, *other]],
        })
    })
}
