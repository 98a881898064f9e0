//! What a hop counted, brought together from its meters and its layers: one place says which layer
//! is asked for what.

use damper_control::{Outcome, Reason};
use damper_tower::{Event, Snapshot};

use crate::hop::{Direction, Hop, layer};
use crate::meters::Seen;

/// What one class of a hop counted. All of them only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTotals {
    /// Requests that came.
    pub came: u64,
    /// Of these, those that said they are retries of their caller.
    pub came_again: u64,
    /// Requests that the lever refused.
    pub refused_lever: u64,
    /// Attempts that were sent, retries and hedges with them.
    pub attempts: u64,
    /// Retries that were sent.
    pub retries: u64,
    /// Retries that no policy counts.
    pub transparent: u64,
    /// Hedges that were sent.
    pub hedges: u64,
    /// Calls that succeeded after a retry or by a hedge.
    pub success_after_retry: u64,
    /// Requests that succeeded in time.
    pub in_time: u64,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that ended, however.
    pub ends: u64,
    /// Requests whose caller left.
    pub abandoned: u64,
}

impl ClassTotals {
    /// L: requests that were let in, retries of callers not counted.
    #[must_use]
    pub const fn load(&self) -> u64 {
        self.came.saturating_sub(self.came_again).saturating_sub(self.refused_lever)
    }

    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            came: of(self.came, other.came),
            came_again: of(self.came_again, other.came_again),
            refused_lever: of(self.refused_lever, other.refused_lever),
            attempts: of(self.attempts, other.attempts),
            retries: of(self.retries, other.retries),
            transparent: of(self.transparent, other.transparent),
            hedges: of(self.hedges, other.hedges),
            success_after_retry: of(self.success_after_retry, other.success_after_retry),
            in_time: of(self.in_time, other.in_time),
            succeeded: of(self.succeeded, other.succeeded),
            ends: of(self.ends, other.ends),
            abandoned: of(self.abandoned, other.abandoned),
        }
    }

    /// What was added since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |a, b| a + b)
    }
}

/// What a hop counted until now.
#[derive(Clone, Debug)]
pub struct Totals {
    /// By class, the highest first.
    pub classes: Vec<ClassTotals>,
    /// What its layers counted, the outermost first.
    pub layers: Vec<(&'static str, Snapshot)>,
    /// What its meters show.
    pub seen: Seen,
}

impl Totals {
    /// What this hop counted until now.
    #[must_use]
    pub fn of(hop: &Hop) -> Self {
        let (layers, seen) = (hop.counts(), hop.meters().snapshot());
        let classes = (0u8..).zip(&seen.classes).map(|(class, meters)| {
            let count = |name, event| count(&layers, name, class, event);
            let of_calls = |event| count(layer::RETRY, event) + count(layer::HEDGE, event);
            let refused_lever = count(layer::LEVER, Event::Refused(Reason::Lever));
            let sent = of_calls(Event::Attempt);
            // Inbound, every request that comes and is let in is an attempt of some caller.
            let attempts = match hop.direction() {
                Direction::Inbound => meters.came.saturating_sub(refused_lever),
                Direction::Outbound if calls(&layers) => sent,
                Direction::Outbound => meters.came.saturating_sub(refused_lever),
            };
            ClassTotals {
                came: meters.came,
                came_again: match hop.direction() {
                    Direction::Inbound => meters.retries,
                    // A call of the service is a first attempt here, whoever called the service.
                    Direction::Outbound => 0,
                },
                refused_lever,
                attempts,
                retries: of_calls(Event::Retry),
                transparent: of_calls(Event::Transparent),
                hedges: of_calls(Event::Hedge),
                success_after_retry: of_calls(Event::SuccessAfterRetry),
                in_time: meters.in_time,
                succeeded: meters.of(Outcome::Success),
                ends: meters.ends(),
                abandoned: meters.abandoned(),
            }
        });
        Self { classes: classes.collect(), layers, seen }
    }

    /// Whether a layer makes attempts of calls.
    #[must_use]
    pub fn retries(&self) -> bool {
        calls(&self.layers)
    }

    /// Refusals of a class: by which layer, why, how often.
    pub fn refusals(&self, class: u8) -> impl Iterator<Item = (&'static str, Why, u64)> {
        refusals(&self.layers, class)
    }
}

/// A reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// In one word.
    pub reason: &'static str,
    /// Whether it was a retry that was withheld, and not a request that was turned away.
    pub retry: bool,
}

fn calls(layers: &[(&'static str, Snapshot)]) -> bool {
    layers.iter().any(|(name, _)| matches!(*name, layer::RETRY | layer::HEDGE))
}

fn count(layers: &[(&'static str, Snapshot)], name: &str, class: u8, event: Event) -> u64 {
    layers.iter().filter(|(other, _)| *other == name).map(|(_, seen)| seen.of(class, event)).sum()
}

fn refusals(
    layers: &[(&'static str, Snapshot)],
    class: u8,
) -> impl Iterator<Item = (&'static str, Why, u64)> {
    layers.iter().flat_map(move |(name, seen)| {
        let refused = seen.iter().filter(move |c| c.class == class && c.family == "refused");
        refused.map(move |counted| {
            let retry = matches!(*name, layer::RETRY | layer::HEDGE);
            (*name, Why { reason: counted.name, retry }, counted.value)
        })
    })
}
