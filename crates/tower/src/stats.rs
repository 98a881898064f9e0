//! What a layer counts: by class and by what happened, without locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use damper_control::who::CLASSES;
use damper_control::{Outcome, Reason, Who};

use crate::error::word;

/// What happened to a request or to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// A request came to the layer.
    Request,
    /// An attempt was sent.
    Attempt,
    /// A retry was sent.
    Retry,
    /// A retry that no policy counts was sent.
    Transparent,
    /// A hedge was sent.
    Hedge,
    /// A call succeeded after a retry or by a hedge.
    SuccessAfterRetry,
    /// A caller left before the end.
    Abandoned,
    /// A request had to wait in a queue.
    Queued,
    /// A call ran into its deadline.
    DeadlineOver,
    /// A callee said that it is overloaded.
    Overloaded,
    /// An attempt ended.
    Ended(Outcome),
    /// A retry or a request was refused.
    Refused(Reason),
}

/// Names of the plain events, in the order of their cells.
const PLAIN: [&str; 10] = [
    "requests",
    "attempts",
    "retries",
    "transparent-retries",
    "hedges",
    "success-after-retry",
    "abandoned",
    "queued",
    "deadline-over",
    "overloaded",
];

/// Names of the ends, in the order of [`Outcome::index`].
const ENDS: [&str; 6] = ["success", "rejected", "timed-out", "failed", "failed-below", "shed"];

/// Every reason for a refusal. What a later version adds is counted as the last, `other`.
const REASONS: [Reason; 13] = [
    Reason::NotRetryable,
    Reason::LimitReached,
    Reason::BudgetExhausted,
    Reason::DeadlineTooClose,
    Reason::RateLimited,
    Reason::PushedBack,
    Reason::Throttled,
    Reason::BreakerOpen,
    Reason::ConcurrencyLimited,
    Reason::QueueFull,
    Reason::WaitedTooLong,
    Reason::Shed,
    Reason::Lever,
];

const CELLS: usize = PLAIN.len() + ENDS.len() + REASONS.len() + 1;

impl Event {
    fn cell(self) -> usize {
        let refused = PLAIN.len() + ENDS.len();
        match self {
            Self::Request => 0,
            Self::Attempt => 1,
            Self::Retry => 2,
            Self::Transparent => 3,
            Self::Hedge => 4,
            Self::SuccessAfterRetry => 5,
            Self::Abandoned => 6,
            Self::Queued => 7,
            Self::DeadlineOver => 8,
            Self::Overloaded => 9,
            Self::Ended(outcome) => PLAIN.len() + outcome.index(),
            Self::Refused(reason) => {
                refused + REASONS.iter().position(|r| *r == reason).unwrap_or(REASONS.len())
            }
        }
    }
}

/// The family and the name of a cell.
fn name(cell: usize) -> (&'static str, &'static str) {
    if let Some(name) = PLAIN.get(cell) {
        return ("event", name);
    }
    let cell = cell - PLAIN.len();
    match ENDS.get(cell) {
        Some(name) => ("end", name),
        None => ("refused", REASONS.get(cell - ENDS.len()).map_or("other", |r| word(*r))),
    }
}

/// One class's counters, alone on their cache lines.
#[derive(Debug)]
#[repr(align(128))]
struct Row([AtomicU64; CELLS]);

/// Counters that every clone of a layer shares.
#[derive(Clone, Debug)]
pub struct Counters(Arc<[Row; CLASSES]>);

impl Default for Counters {
    fn default() -> Self {
        Self(Arc::new(std::array::from_fn(|_| Row(std::array::from_fn(|_| AtomicU64::new(0))))))
    }
}

impl Counters {
    #[inline]
    pub(crate) fn count(&self, class: u8, event: Event) {
        self.0[Who::of(class).index()].0[event.cell()].fetch_add(1, Ordering::Relaxed);
    }

    /// All counters as they are now. Each is exact; together they are not one instant.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let cell = |row: &Row| std::array::from_fn(|i| row.0[i].load(Ordering::Relaxed));
        Snapshot(self.0.iter().map(cell).collect())
    }
}

/// Counters at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot(Box<[[u64; CELLS]]>);

/// One counter of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The priority class.
    pub class: u8,
    /// `event`, `end` (of an attempt) or `refused`.
    pub family: &'static str,
    /// What is counted, or the reason.
    pub name: &'static str,
    /// How often.
    pub value: u64,
}

impl Snapshot {
    /// How often this happened to a class.
    #[must_use]
    pub fn of(&self, class: u8, event: Event) -> u64 {
        self.0.get(Who::of(class).index()).map_or(0, |row| row[event.cell()])
    }

    /// How often this happened to all classes.
    #[must_use]
    pub fn total(&self, event: Event) -> u64 {
        self.0.iter().map(|row| row[event.cell()]).sum()
    }

    /// All refusals, for whatever reason.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.0.iter().flat_map(|row| &row[PLAIN.len() + ENDS.len()..]).sum()
    }

    /// Adds what others counted, for a sum over layers that came one after the other.
    pub fn add(&mut self, other: &Self) {
        for (sum, row) in self.0.iter_mut().zip(&other.0) {
            for (sum, count) in sum.iter_mut().zip(row) {
                *sum += count;
            }
        }
    }

    /// Every counter that is not zero, for an exporter.
    pub fn iter(&self) -> impl Iterator<Item = Count> + '_ {
        (0u8..).zip(&self.0).flat_map(|(class, row)| {
            row.iter().enumerate().filter(|(_, value)| **value > 0).map(move |(cell, value)| {
                let (family, name) = name(cell);
                Count { class, family, name, value: *value }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_cell_of_its_own_and_the_right_name() {
        let mut events = vec![
            Event::Request,
            Event::Attempt,
            Event::Retry,
            Event::Transparent,
            Event::Hedge,
            Event::SuccessAfterRetry,
            Event::Abandoned,
            Event::Queued,
            Event::DeadlineOver,
            Event::Overloaded,
        ];
        events.extend(Outcome::ALL.map(Event::Ended));
        events.extend(REASONS.map(Event::Refused));
        let cells: Vec<usize> = events.iter().map(|e| e.cell()).collect();
        assert_eq!(cells, (0..CELLS - 1).collect::<Vec<_>>());
        assert_eq!(name(Event::Refused(Reason::Lever).cell()), ("refused", "lever"));
        assert_eq!(name(Event::Ended(Outcome::Shed).cell()), ("end", "shed"));
        assert_eq!(name(CELLS - 1), ("refused", "other"));
    }

    #[test]
    fn a_class_beyond_the_last_counts_as_the_last() {
        let counters = Counters::default();
        counters.count(200, Event::Refused(Reason::Shed));
        counters.clone().count(1, Event::Request);
        let seen = counters.snapshot();
        assert_eq!((seen.of(15, Event::Refused(Reason::Shed)), seen.refused()), (1, 1));
        let listed: Vec<_> = seen.iter().map(|c| (c.class, c.family, c.name, c.value)).collect();
        assert_eq!(listed, [(1, "event", "requests", 1), (15, "refused", "shed", 1)]);
        let mut sum = seen.clone();
        sum.add(&seen);
        assert_eq!((sum.of(1, Event::Request), sum.refused(), seen.refused()), (2, 2, 1));
    }
}
