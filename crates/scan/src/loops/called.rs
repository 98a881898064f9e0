//! What the words of a call say of it. A loop that is run comes to the same calls in every round:
//! each is asked once.

use super::file::File;
use super::words::{self, Sleep};
use crate::tree::{Arg, Id};

/// What the words of a call say.
pub(super) struct Called<'s> {
    /// What is called, with what it belongs to: `a.b.c`.
    pub(super) path: Vec<&'s str>,
    /// The last part of it in lower case.
    pub(super) lower: String,
    /// It runs something later.
    pub(super) schedules: bool,
    /// It makes a timer.
    pub(super) timer: bool,
    /// It waits.
    pub(super) sleep: Option<Sleep>,
    /// It waits, as what it is given says.
    pub(super) waits: bool,
    /// It can be no operation.
    pub(super) pure: bool,
    /// The function of the file that it means.
    pub(super) own: Option<Id>,
}

impl<'s> Called<'s> {
    pub(super) fn of(file: &File<'_, 's>, call: Id, callee: Id, args: &[Arg<'s>]) -> Self {
        let tree = file.tree;
        let last = tree.last_name(callee).unwrap_or_default();
        let path = tree.path(callee).unwrap_or_else(|| vec!["", last]);
        // `socket.setTimeout(ms)` sets a limit.
        let limit = last == "setTimeout"
            && path.len() > 1
            && !matches!(path[path.len() - 2], "window" | "globalThis" | "timers");
        Self {
            lower: path.last().copied().unwrap_or_default().to_ascii_lowercase(),
            schedules: words::schedules(last) && !limit,
            timer: words::timer(&path),
            sleep: words::sleep(file.language, &path, last),
            waits: words::waits_by_its_arguments(&path, args.iter().map(|arg| arg.name)),
            pure: words::is_pure(&path, last),
            own: file.callee(call).filter(|_| !tree.is_parameter(callee)),
            path,
        }
    }
}
