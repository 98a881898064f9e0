//! What is waited in other runs than the one that tells how often: where a server does not say how
//! long, or where a question goes the other way.

use super::{Budget, FLIPS, repeated, run};
use crate::loops::candidate::Candidate;
use crate::loops::file::File;
use crate::loops::machine::{Plan, Trace};

/// The run whose waits are the schedule, if it is another one.
pub(super) fn slower(
    file: &File<'_, '_>,
    candidate: &Candidate,
    plan: &Plan,
    trace: &Trace,
    budget: &mut Budget,
) -> Option<Trace> {
    let waits = |trace: &Trace| trace.waits.iter().any(|wait| wait.after > 0 && wait.ms.high > 0.0);
    if trace.waits.iter().any(|wait| wait.ms.server) {
        // Nobody says how long.
        let plain = Plan { hints: false, ..plan.clone() };
        return Some(run(file, &plain, budget)).filter(waits);
    }
    if trace.waits.iter().any(|wait| wait.after > 0) || !plan.flips.is_empty() {
        return None;
    }
    // It goes on at once after some failures, and waits after others.
    trace.undecided.iter().take(FLIPS).find_map(|(id, _)| {
        let mut turned = plan.clone();
        turned.flips.insert(*id);
        let other = run(file, &turned, budget);
        (repeated(candidate, &other) && waits(&other)).then_some(other)
    })
}
