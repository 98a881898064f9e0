//! Whether something waits between two calls.

use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// Whether something waits between two calls of a function.
pub(in crate::loops) fn pauses_between(file: &File<'_, '_>, first: Id, last: Id) -> bool {
    let tree = file.tree;
    let (from, to) = (tree.span(first).end, tree.span(last).start);
    let Some(home) = tree.function_of(first) else { return false };
    tree.walk_here(home).any(|at| match tree.kind(at) {
        Kind::Call { callee, .. } if (from..to).contains(&tree.span(at).start) => {
            let last = tree.last_name(*callee).unwrap_or_default();
            let path = tree.path(*callee).unwrap_or_else(|| vec!["", last]);
            words::sleep(file.language, &path, last).is_some()
        }
        _ => false,
    })
}
