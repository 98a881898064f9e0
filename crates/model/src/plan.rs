//! The inverse of [`solve`](crate::system::solve): which retry limits meet given targets, with the
//! least amplification.
//!
//! A setting is a limit for every call and class. Where there are few of them all are compared,
//! and the answer is proven; otherwise every choice of layers is tried with every combination of
//! class limits (none, all, each level, each callee, each call), and the best of them is improved
//! call by call. Whatever is reported has been solved: nothing is interpolated.
//!
//! Three systems are solved for each setting. *As it is* gives worst amplification and hidden
//! capacity, both closed forms that do not depend on the load. *Under the conditions* gives
//! rejection and expected amplification. *With transient faults* every attempt fails with
//! probability q beside what the file says, no service is short of capacity, and what counts is
//! how many of the requests that would fail without retries succeed with them: with one call and
//! one retry 1 - q² / q.

mod apply;
mod better;
mod clash;
mod family;
mod frontier;
mod measure;
mod search;
mod space;
#[cfg(test)]
mod tests;

use damper_system::System;
use thiserror::Error;

pub use family::Family;
pub use frontier::Row;
pub use measure::Measures;

use crate::system::SolveError;

/// One thing that is asked of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Share of the requests of a class that do not complete under the conditions: at most this.
    Rejection {
        /// Its place in [`System::classes`].
        class: usize,
        /// From 0 to 1.
        at_most: f64,
    },
    /// The largest amplification of a service if everything fails that can be retried: at most
    /// this.
    WorstAmplification(f64),
    /// The largest amplification of a service under the conditions: at most this.
    Amplification(f64),
    /// Share of the requests which fail by a transient fault without retries that succeed with
    /// them: at least this, from 0 to 1.
    Hidden(f64),
    /// Hidden capacity in requests per second: at least this.
    Capacity(f64),
    /// Hidden capacity as a share of advertised capacity: at least this, from 0 to 1.
    CapacityShare(f64),
}

/// Differences below this are rounding.
const EPSILON: f64 = 1e-9;

impl Target {
    /// The bound.
    #[must_use]
    pub fn bound(self) -> f64 {
        match self {
            Self::Rejection { at_most: x, .. }
            | Self::WorstAmplification(x)
            | Self::Amplification(x)
            | Self::Hidden(x)
            | Self::Capacity(x)
            | Self::CapacityShare(x) => x,
        }
    }

    /// What a setting has in its place.
    #[must_use]
    pub fn value(self, of: &Measures) -> f64 {
        match self {
            Self::Rejection { class, .. } => of.rejection.get(class).copied().unwrap_or(0.0),
            Self::WorstAmplification(_) => of.worst_amplification,
            Self::Amplification(_) => of.amplification,
            Self::Hidden(_) => of.hides.unwrap_or(0.0),
            Self::Capacity(_) => of.heals_below(),
            Self::CapacityShare(_) => match of.advertised_rps {
                Some(advertised) => (of.heals_below() / advertised).min(1.0),
                None => 1.0,
            },
        }
    }

    /// Whether more is better.
    #[must_use]
    pub fn at_least(self) -> bool {
        matches!(self, Self::Hidden(_) | Self::Capacity(_) | Self::CapacityShare(_))
    }

    /// By how much it is missed, from 0 (met) to 1, on a scale of its own: a share of the rest to
    /// one for a rejection, of the bound or the value, whichever is larger, for all others.
    #[must_use]
    pub fn miss(self, of: &Measures) -> f64 {
        let (bound, value) = (self.bound(), self.value(of));
        let miss = match self {
            Self::Rejection { .. } => (value - bound) / (1.0 - bound).max(EPSILON),
            _ if self.at_least() => 1.0 - value / bound,
            _ => 1.0 - bound / value,
        };
        if miss > EPSILON { miss.min(1.0) } else { 0.0 }
    }
}

/// What is asked.
#[derive(Debug)]
pub struct Question<'a> {
    /// The system as it is.
    pub system: &'a System,
    /// The same under the conditions in which the targets for rejection and expected
    /// amplification hold.
    pub under: &'a System,
    /// All of them are to be met; at most [`MOST_TARGETS`].
    pub targets: Vec<Target>,
    /// q: the probability that an attempt fails by a transient fault, between 0 and 1.
    pub transient: f64,
    /// The largest limit that is tried.
    pub max_limit: u32,
    /// Whether a class may have fewer retries than a lower one.
    pub any_order: bool,
    /// Calls that stay as they are, by their place in the policies.
    pub keep: Vec<bool>,
}

/// More targets are a mistake; their combinations are kept as bits.
pub const MOST_TARGETS: usize = 32;
/// Larger limits take too long to compare.
pub const MOST_LIMIT: u32 = 100;
/// Calls in all trees.
pub const MOST_CALLS: usize = 20_000;

/// Retries for every call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setting {
    /// Retries after the first attempt, by call (in the order of the policies) and class.
    pub limits: Vec<Vec<u32>>,
    /// A `deposit` budget without a minimum for every call that retries and is not kept, in
    /// tenths of a percent of its first attempts. `None`: budgets stay as they are.
    pub budget_permille: Option<u32>,
}

/// A setting, and what it comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The setting.
    pub setting: Setting,
    /// What it comes to.
    pub measures: Measures,
}

impl Solution {
    /// Whether it meets all of these.
    #[must_use]
    pub fn meets(&self, targets: &[Target]) -> bool {
        targets.iter().all(|target| target.miss(&self.measures) == 0.0)
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The system as it is.
    pub before: Solution,
    /// The best setting: of those that meet all targets the one with the least amplification at
    /// worst; if none does, the one with the least sum of misses.
    pub best: Solution,
    /// Whether it meets all targets.
    pub met: bool,
    /// The best for each choice of layers, those nearest to the client first.
    pub layers: Vec<(Family, Solution)>,
    /// Settings of which no other is better in transient availability, hidden capacity and
    /// amplification at worst at once; the least amplification first.
    pub frontier: Vec<Row>,
    /// If no setting meets all targets: the smallest sets of targets that no setting that was
    /// tried meets together, as places in the question.
    pub clashes: Vec<Vec<usize>>,
    /// For each target the best value that any setting had which was tried.
    pub reached: Vec<f64>,
    /// How many settings were compared.
    pub evaluations: u64,
    /// Whether these are all there are up to the largest limit.
    pub exact: bool,
    /// Whether it was stopped before its end.
    pub partial: bool,
}

/// Why there is no plan.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanError {
    /// One of the systems cannot be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Nothing that a limit could change.
    #[error(
        "there is no call whose limit could be changed: every one is kept, or retries after nothing (`on`)"
    )]
    NothingToPlan,
    /// The conditions change who calls whom.
    #[error("the conditions change the calls: `--at` is for loads and services")]
    OtherCalls,
    /// Too large.
    #[error("{0} calls are too many to plan; at most {MOST_CALLS}")]
    TooManyCalls(usize),
    /// Too many targets.
    #[error("{0} targets are too many; at most {MOST_TARGETS}")]
    TooManyTargets(usize),
    /// A limit that is too large.
    #[error("a limit of {0} is too large to plan; at most {MOST_LIMIT}")]
    TooLargeLimit(u32),
    /// A bound that nothing can meet, or a probability that is none.
    #[error("{0}")]
    OutOfRange(&'static str),
    /// A target without a closed form.
    #[error(
        "a routing matrix has no closed form for transient faults and hidden capacity; write call trees"
    )]
    NoClosedForm,
}

/// Finds the setting. `go_on` is told how many settings have been compared, of how many at most,
/// and says whether to go on; the result is the same however often it is asked.
///
/// # Errors
/// What was asked cannot be answered; see [`PlanError`].
pub fn plan(
    question: &Question<'_>,
    go_on: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Planned, PlanError> {
    search::run(question, go_on)
}

/// Checks the numbers of a question.
fn check(question: &Question<'_>) -> Result<(), PlanError> {
    if question.targets.len() > MOST_TARGETS {
        return Err(PlanError::TooManyTargets(question.targets.len()));
    }
    if question.max_limit > MOST_LIMIT {
        return Err(PlanError::TooLargeLimit(question.max_limit));
    }
    let wrong = PlanError::OutOfRange;
    let q = question.transient;
    if !(q > 0.0 && q < 1.0) {
        return Err(wrong(
            "the probability of a transient fault must be above 0 % and below 100 %",
        ));
    }
    for target in &question.targets {
        let x = target.bound();
        let (good, message) = match target {
            Target::Rejection { .. } => {
                ((0.0..1.0).contains(&x), "a rejection must be at least 0 % and below 100 %")
            }
            Target::WorstAmplification(_) | Target::Amplification(_) => (
                x >= 1.0 && x.is_finite(),
                "amplification must be at least 1: a first attempt is not a retry",
            ),
            Target::Hidden(_) => (
                x > 0.0 && x < 1.0,
                "the share of transient faults to hide must be above 0 % and below 100 %: every further retry hides more, and none hides all",
            ),
            Target::CapacityShare(_) => (
                x > 0.0 && x <= 1.0,
                "hidden capacity as a share of advertised capacity must be above 0 % and at most 100 %",
            ),
            Target::Capacity(_) => (x > 0.0 && x.is_finite(), "hidden capacity must be above 0/s"),
        };
        if !good {
            return Err(wrong(message));
        }
    }
    Ok(())
}
