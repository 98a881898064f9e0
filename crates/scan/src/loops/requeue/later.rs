//! An item whose attempts are counted is not put anywhere, but done again: by a timer, or by who
//! is told that it failed.

use super::back::Back;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// Words of calls that only tell somebody of the item.
const TELLS: &[&str] = &[
    "fail",
    "failed",
    "failure",
    "error",
    "log",
    "report",
    "complete",
    "completed",
    "finish",
    "finished",
    "reject",
    "rejected",
    "dead",
    "drop",
    "notify",
    "record",
    "on",
    "handle",
    "remove",
    "delete",
    "close",
];

/// Where the item that a counter belongs to (`item.tries`) is done again.
pub(super) fn done_again(
    file: &File<'_, '_>,
    within: Id,
    counter: &str,
    failed: bool,
) -> Option<Back> {
    let tree = file.tree;
    let item = counter.split(['.', '-', '?', '[']).next().filter(|item| *item != counter)?;
    let given = |call: Id| match tree.kind(call) {
        Kind::Call { callee, args, .. } => {
            let told = tree.last_name(*callee).is_none_or(|last| words::any(last, TELLS));
            !told
                && args.iter().any(|arg| {
                    tree.walk_here(arg.value)
                        .any(|at| matches!(tree.kind(at), Kind::Name(name) if *name == item))
                })
        }
        _ => false,
    };
    tree.walk_here(within).find_map(|at| {
        let Kind::Call { callee, args, .. } = tree.kind(at) else { return None };
        let last = tree.last_name(*callee)?;
        if words::schedules(last) {
            let function = args.iter().map(|arg| arg.value).find(|arg| {
                tree.walk(*arg).any(|inner| {
                    given(inner)
                        && matches!(tree.kind(inner), Kind::Call { callee, .. } if acts(file, *callee))
                })
            })?;
            let due = args.iter().map(|arg| arg.value).find(|arg| *arg != function);
            return Some(Back { at, due, at_once: false });
        }
        let path = tree.path(*callee).unwrap_or_default();
        let sends = words::leaves_the_process(&path) || words::speaks_of_again(last);
        let again = failed && given(at) && sends && acts(file, *callee);
        again.then_some(Back { at, due: None, at_once: true })
    })
}

/// Whether a call does something, and does not only make or log something.
fn acts(file: &File<'_, '_>, callee: Id) -> bool {
    let last = file.tree.last_name(callee).unwrap_or_default();
    !words::is_pure(&file.tree.path(callee).unwrap_or_else(|| vec!["", last]), last)
}
