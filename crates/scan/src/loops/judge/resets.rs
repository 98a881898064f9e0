//! Loops that go on after a success, and try again what failed: pages, chunks, cursors. The sign
//! is a counter of failures in a row: counted where it failed, and set back where it went well.

use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind, Op};

/// Names of what counts failures in a row.
const FAILURES: &[&str] = &["failures", "fails", "errors", "failed", "consecutive", "errs"];

/// Whether a loop counts what fails in a row, and begins anew after what went well.
pub(super) fn resets(file: &File<'_, '_>, place: Id) -> bool {
    let tree = file.tree;
    let Kind::Loop { body, .. } = tree.kind(place) else { return false };
    let counts = |name: &str| words::about_retry(name) || words::any(name, FAILURES);
    let counted: Vec<(&str, Id)> = tree
        .walk_here(*body)
        .filter_map(|at| {
            let target = match tree.kind(at) {
                Kind::Step { of, by: 1, .. } => *of,
                Kind::Assign { op: Some(Op::Add), target, .. } => *target,
                Kind::Assign { op: None, target, value } => match tree.kind(*value) {
                    Kind::Binary { op: Op::Add, left, .. }
                        if tree.source(*left) == tree.source(*target) =>
                    {
                        *target
                    }
                    _ => return None,
                },
                _ => return None,
            };
            let name = tree.last_name(target).filter(|name| counts(name))?;
            Some((name, at))
        })
        .collect();
    counted.iter().any(|(name, step)| {
        file.assigned(name).iter().any(|at| {
            let zero = match tree.kind(*at) {
                Kind::Assign { op: None, value, .. } => {
                    matches!(tree.kind(*value), Kind::Number(number) if *number == 0.0)
                }
                _ => false,
            };
            zero && file.within(*at, *body)
                && !handled(file, *at, *body)
                // Not one after the other: they stand in different branches.
                && tree.parent(*at) != tree.parent(*step)
        })
    })
}

/// Whether something stands in a handler.
fn handled(file: &File<'_, '_>, id: Id, body: Id) -> bool {
    let mut inner = id;
    for up in file.tree.ancestors(id).take_while(|up| *up != body) {
        if let Kind::Try { handlers, .. } = file.tree.kind(up)
            && handlers.iter().any(|handler| handler.body == inner)
        {
            return true;
        }
        inner = up;
    }
    false
}
