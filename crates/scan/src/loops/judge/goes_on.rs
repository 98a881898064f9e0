//! Loops that go on after a success, and try again what failed without counting back: the next
//! page after the server said how long to wait, the next piece of a stream after a few attempts.

use crate::loops::candidate::Candidate;
use crate::loops::file::File;
use crate::loops::machine::{Trace, seen};
use crate::loops::words;
use crate::tree::{Id, Kind};

/// Whether a loop asks again for what failed: the server said when, or attempts are counted where
/// the failure is handled, and nothing else is taken in between.
pub(super) fn after_what_failed(
    file: &File<'_, '_>,
    candidate: &Candidate,
    group: &[Id],
    trace: &Trace,
    (endless, waits_anyway): (bool, bool),
) -> bool {
    if candidate.subject.is_none() {
        return false;
    }
    let told = is_told(trace);
    let counted = !endless
        && !waits_anyway
        && trace.waits.iter().any(|wait| wait.after > 0)
        && trace.seen & seen::CAUGHT != 0
        && counts_where_it_failed(file, candidate.place);
    (told || counted) && !takes_another(file, candidate.place, group)
}

/// Whether a failure is waited off as long as the server said.
pub(super) fn is_told(trace: &Trace) -> bool {
    trace.seen & (seen::CAUGHT | seen::ERROR | seen::STATUS) != 0
        && trace.waits.iter().any(|wait| wait.after > 0 && wait.ms.server)
}

/// Whether a handler in a loop counts up something that is named for failures or attempts.
fn counts_where_it_failed(file: &File<'_, '_>, place: Id) -> bool {
    let tree = file.tree;
    tree.walk_here(place).any(|at| {
        let Kind::Try { handlers, .. } = tree.kind(at) else { return false };
        handlers.iter().any(|handler| {
            tree.walk_here(handler.body).any(|at| {
                let target = match tree.kind(at) {
                    Kind::Step { of, by: 1, .. } => *of,
                    Kind::Assign { op: Some(_), target, .. } => *target,
                    _ => return false,
                };
                tree.last_name(target).is_some_and(|name| {
                    words::about_retry(name)
                        || words::any(name, &["failures", "fails", "failed", "errors"])
                })
            })
        })
    })
}

/// Whether what is done is done with something that another call gave in this round.
fn takes_another(file: &File<'_, '_>, place: Id, group: &[Id]) -> bool {
    let tree = file.tree;
    let Some(Kind::Call { args, .. }) = group.first().map(|call| tree.kind(*call)) else {
        return true;
    };
    let given = |name: &str| {
        file.assigned(name).iter().any(|at| {
            let value = match tree.kind(*at) {
                Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
                    *value
                }
                _ => return false,
            };
            file.within(*at, place)
                && !group.iter().any(|op| file.within(*op, value))
                && tree.walk_here(value).any(|at| matches!(tree.kind(at), Kind::Call { .. }))
        })
    };
    args.iter().any(|arg| matches!(tree.kind(arg.value), Kind::Name(name) if given(name)))
}
