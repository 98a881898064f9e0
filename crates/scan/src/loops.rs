//! Hand-rolled retries: a loop, a recursion, a jump or the same call twice, that issues an
//! operation again after it failed.
//!
//! Shapes are not matched. A small abstract interpreter (`machine`) runs each candidate twice: once
//! while the operation always fails, which gives the attempts and the waits with every off-by-one
//! in them, and once while it goes well at once, which must leave without another call. The second
//! run is what tells a retry from consuming, from going through a batch, and from connecting again
//! and again.

mod callbacks;
mod called;
mod caller;
mod candidate;
mod decided;
mod describe;
mod file;
mod helper;
mod hook;
mod interceptor;
mod judge;
mod limits;
mod machine;
mod pauses;
mod polled;
mod requeue;
mod schedule;
mod value;
mod words;

use crate::language::Language;
use crate::policy::{Kind, Policy};
use crate::tree::{Id, Tree};
use crate::value::Values;

use candidate::{Candidate, Shape};
use judge::Budget;

/// The most steps of all runs in one file: half a second's work.
const STEPS_PER_FILE: u64 = 2_000_000;
/// The most findings of one file.
const MOST_FINDINGS: usize = 200;

/// A hand-rolled retry, and where its parts are in the tree: what rules look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it does.
    pub policy: Policy,
    /// Where.
    pub sites: Sites,
}

/// The parts of a hand-rolled retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    /// The loop, the function that calls itself, the `try`, or the first of two equal calls.
    pub place: Id,
    /// The call that is repeated.
    pub operation: Id,
    /// The body of the handler that catches its failure, if a handler does.
    pub failure: Option<Id>,
    /// The calls that wait between attempts.
    pub waits: Vec<Id>,
}

/// Whether a call of this name may be an operation that is made again because it failed, as far as
/// the name tells: `elsewhere` says whether anything else may tell that it leaves the process.
pub(crate) fn may_be_repeated(
    language: Language,
    name: &str,
    elsewhere: impl FnOnce() -> bool,
) -> bool {
    let parts = name.split(['.', ':', '>']).map(|part| part.trim_end_matches(['?', '-']));
    let path: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let Some(last) = path.last() else { return true };
    !words::is_pure(&path, last)
        && words::sleep(language, &path, last).is_none()
        && (words::leaves_the_process(&path) || elsewhere())
}

/// The words of a name, in lower case: `isRetryable_error` is `is`, `retryable`, `error`.
pub(crate) fn words_of(name: &str) -> std::rc::Rc<[Box<str>]> {
    words::words(name)
}

pub(crate) use caller::{Part, Parts};
pub(crate) use helper::{Helper, Home, is_name as is_helper_name, of as helpers_of};
pub(crate) use machine::is_quantity;
pub(crate) use pauses::of as pauses_of;
pub(crate) use words::{drops_what_was_kept, speaks_of_again, word_before};

/// The hand-rolled retries of a file, in the order of their lines.
#[must_use]
pub fn find(tree: &Tree<'_>, language: Language) -> Vec<Finding> {
    find_with(tree, language, None)
}

/// The same with what other files say of names that this one does not declare.
#[must_use]
pub fn find_with<'t, 's>(
    tree: &'t Tree<'s>,
    language: Language,
    values: Option<&'t Values<'t, 's>>,
) -> Vec<Finding> {
    let file = file::File::new(tree, language, values);
    let mut budget = Budget { steps: STEPS_PER_FILE };
    let mut out = by_shape(&file, &candidate::all(&file), &mut budget);
    let elsewhere = requeue::find(&file).into_iter().chain(interceptor::find(&file));
    for one in elsewhere.chain(hook::find(&file)).chain(polled::find(&file)) {
        let known = |known: &Finding| {
            known.policy.line <= one.policy.end_line && one.policy.line <= known.policy.end_line
        };
        if out.len() < MOST_FINDINGS && !out.iter().any(known) {
            out.push(one);
        }
    }
    out.sort_by_key(|finding| (finding.policy.line, finding.policy.end_line));
    out
}

/// Those of these candidates.
fn by_shape<'c>(
    file: &file::File<'_, '_>,
    candidates: impl IntoIterator<Item = &'c Candidate>,
    budget: &mut Budget,
) -> Vec<Finding> {
    let mut found: Vec<(Shape, Vec<Id>, Finding)> = Vec::new();
    for candidate in candidates {
        if budget.steps == 0 || found.len() >= MOST_FINDINGS {
            break;
        }
        // A pair of calls, or a function, whose operation a loop inside repeats already.
        let covered = |ops: &[Id]| {
            found.iter().any(|(_, known, finding)| {
                ops.iter().any(|op| known.contains(op))
                    || ops.iter().all(|op| file.within(*op, finding.sites.place))
            })
        };
        // Of `client.find(name).first()` the whole and its parts are one pair.
        let part = |op: &Id| {
            found.iter().any(|(shape, known, _)| {
                *shape == Shape::Repeat && known.iter().any(|whole| file.within(*op, *whole))
            })
        };
        let first = &candidate.groups[0];
        if candidate.shape == Shape::Repeat && (covered(first) || first.iter().any(part)) {
            continue;
        }
        if let Some(verdict) = judge::judge(file, candidate, budget) {
            if candidate.shape == Shape::Recursion && covered(&verdict.ops) {
                continue;
            }
            let finding = describe::finding(file, candidate, &verdict);
            found.push((candidate.shape, verdict.ops, finding));
        }
    }
    // A function that calls itself says more than two equal calls in it.
    let better: Vec<(Id, Kind)> = found
        .iter()
        .filter(|(shape, ..)| *shape != Shape::Repeat)
        .map(|(_, _, finding)| (finding.sites.place, finding.policy.kind))
        .collect();
    let outside = |(shape, ops, _): &(Shape, Vec<Id>, Finding)| {
        *shape != Shape::Repeat
            || !better.iter().any(|(place, _)| ops.iter().any(|op| file.within(*op, *place)))
    };
    found.into_iter().filter(outside).map(|(_, _, finding)| finding).collect()
}
