//! A call that is made once more later, by a function that is given to a timer where the failure is handled:
//! `catch (e) { setTimeout(() => load(url), 1000) }`.

use super::operation::may_be_operation;
use super::{Candidate, Shape, statement};
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// So many calls are compared in one place.
const MOST_CALLS: usize = 40;

/// The same call in a `try`, and in what its handler has done later.
pub(super) fn in_a_handler(file: &File<'_, '_>, body: Id, handler: Id) -> Option<Candidate> {
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
