//! Who is told of a failure counts an attempt of the item and gives it back, and whether there is
//! another one was asked of somebody else: `if (!this.mayRetry(job)) return; job.tries++;
//! queue.reclaim(job)`.

use super::back::{BACK, Back};
use super::counter::Counter;
use super::finding;
use super::restart::after_a_failure;
use crate::loops::Finding;
use crate::loops::file::File;
use crate::loops::words;
use crate::policy::Attempts;
use crate::tree::{Id, Kind};

/// Calls that give an item back to who keeps it. Where no attempt is counted it is something else
/// that is claimed again: an address, an account.
const GIVES_BACK: &[&str] = &["reclaim"];

/// An item that is counted and given back, by a call that says so.
pub(super) fn judge(file: &File<'_, '_>, counter: &Counter) -> Option<Finding> {
    let tree = file.tree;
    let item = counter.kept.split(['.', '-', '?', '[']).next()?;
    if item == counter.kept || !after_a_failure(file, counter.at, counter.function) {
        return None;
    }
    // Where it is counted, and after it.
    let block = tree.ancestors(counter.at).find(|up| matches!(tree.kind(*up), Kind::Block(_)))?;
    let start = tree.span(counter.at).end;
    let back = tree.walk_here(block).find(|at| match tree.kind(*at) {
        Kind::Call { callee, args, .. } => {
            tree.span(*at).start >= start
                && tree
                    .last_name(*callee)
                    .is_some_and(|last| words::any(last, BACK) || words::any(last, GIVES_BACK))
                && args
                    .iter()
                    .any(|arg| matches!(tree.kind(arg.value), Kind::Name(name) if *name == item))
        }
        _ => false,
    })?;
    let asked = asked(file, counter.at, counter.function)?;
    let attempts = Attempts::Dynamic {
        expression: file.brief(asked, 60),
        low: Some(1),
        high: None,
        usual: None,
    };
    let back = Back { at: back, due: None, at_once: true };
    Some(finding(file, counter, back.at, attempts, &back))
}

/// What is asked before an attempt is counted.
fn asked(file: &File<'_, '_>, at: Id, function: Id) -> Option<Id> {
    let tree = file.tree;
    tree.ancestors(at).take_while(|up| *up != function).find_map(|up| match tree.kind(up) {
        Kind::If { test, .. } => Some(*test),
        _ => None,
    })
}
