//! Several steps by one method: `client.send(new Detach(id))`, then `client.send(new Delete(id))`.
//!
//! They are called alike and are not the same. Taken for one operation, a round in which all goes
//! well calls it more than once, and a step that is handled by itself hides the one after it.

use super::{Budget, Verdict, judge_group};
use crate::loops::candidate::Candidate;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::Id;

/// More steps than this are not taken apart.
const MOST_STEPS: usize = 5;

/// The last step of a group that is a retry by itself, where the code says that it tries again or
/// waits.
pub(super) fn judge(
    file: &File<'_, '_>,
    candidate: &Candidate,
    group: &[Id],
    budget: &mut Budget,
) -> Option<Verdict> {
    let mut steps: Vec<(String, Vec<Id>)> = Vec::new();
    for call in group {
        let text = file.squeezed(*call);
        match steps.iter_mut().find(|(known, _)| *known == text) {
            Some((_, calls)) => calls.push(*call),
            None => steps.push((text, vec![*call])),
        }
    }
    if !(2..=MOST_STEPS).contains(&steps.len()) {
        return None;
    }
    let text = file.tree.source(candidate.place);
    if !words::about_retry(text) && !words::has(text, &["sleep", "delay", "wait", "settimeout"]) {
        return None;
    }
    steps.iter().rev().find_map(|(_, calls)| judge_group(file, candidate, calls, budget))
}
