//! The numbers of a breaker.

use crate::{Nanos, Outcome};

/// What trips a closed breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// The rates over the last so many calls, 1 to 10,000.
    Calls(u32),
    /// The rates over a time of 1 ms to an hour, in 1 to 3,600 slices.
    Time(Nanos, u16),
    /// So many failures in a row, 1 to 1,000,000; rates and `min_calls` play no part.
    InARow(u32),
}

/// How chance changes the wait of an open breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Up to `jitter` shorter or longer.
    Around,
    /// Up to `jitter` longer.
    Above,
}

/// What a half-open breaker does when its probes do not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hung {
    /// Waits for them for ever.
    Blocks,
    /// Opens again after this.
    Reopens(Nanos),
    /// Sends another probe each time as much time has passed as it was open.
    Another,
}

/// The numbers of a breaker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerRule {
    /// What trips it.
    pub trip: Trip,
    /// Share of failures from which it opens, in percent: 0.001 to 100.
    pub failure_rate: f64,
    /// Share of slow calls from which it opens, in percent: 0.001 to 100.
    pub slow_rate: f64,
    /// A call that takes longer is slow; at least 1 ns.
    pub slow: Nanos,
    /// Calls in the window below which it does not judge: 1 to 1,000,000. No more than the
    /// window can hold is asked for.
    pub min_calls: u32,
    /// Whether a success can trip it too, by completing the minimum of calls or by being slow.
    pub judges_successes: bool,
    /// Probes of a half-open breaker: 1 to 10,000.
    pub probes: u32,
    /// What happens if they do not end.
    pub hung: Hung,
    /// How long it stays open: 1 ms to a year.
    pub wait: Nanos,
    /// What the wait is multiplied with whenever probes fail: 1 to 100.
    pub factor: f64,
    /// Longest wait; zero: no bound. Not below `wait`.
    pub max_wait: Nanos,
    /// How much chance changes the wait, in percent: 0 to 100.
    pub jitter: f64,
    /// In which direction.
    pub spread: Spread,
    /// Whether an attempt that was rejected or shed is a failure; otherwise it is a success,
    /// for the callee answers.
    pub rejections: bool,
    /// Whether an attempt that was let out in another state counts in the one it ends in.
    pub late: bool,
}

impl BreakerRule {
    pub(super) fn valid(&self) -> bool {
        let year = Nanos::from_secs(31_536_000);
        let trip = match self.trip {
            Trip::Calls(n) => (1..=10_000).contains(&n),
            Trip::Time(span, n) => {
                (Nanos::from_millis(1)..=Nanos::from_secs(3600)).contains(&span)
                    && (1..=3600).contains(&n)
            }
            Trip::InARow(n) => (1..=1_000_000).contains(&n),
        };
        let hung = match self.hung {
            Hung::Reopens(after) => (Nanos(1)..=year).contains(&after),
            Hung::Blocks | Hung::Another => true,
        };
        trip && hung
            && (0.001..=100.0).contains(&self.failure_rate)
            && (0.001..=100.0).contains(&self.slow_rate)
            && self.slow > Nanos::ZERO
            && (1..=1_000_000).contains(&self.min_calls)
            && (1..=10_000).contains(&self.probes)
            && (Nanos::from_millis(1)..=year).contains(&self.wait)
            && (1.0..=100.0).contains(&self.factor)
            && (self.max_wait == Nanos::ZERO || (self.wait..=year).contains(&self.max_wait))
            && (0.0..=100.0).contains(&self.jitter)
    }

    pub(super) fn fails(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Success => false,
            Outcome::Rejected | Outcome::Shed => self.rejections,
            Outcome::TimedOut | Outcome::Failed | Outcome::FailedBelow => true,
        }
    }

    /// Whether so many failures or slow calls of `calls` are too many.
    pub(super) fn exceeded(&self, calls: u64, failed: u64, slow: u64) -> bool {
        failed as f64 * 100.0 >= self.failure_rate * calls as f64
            || slow as f64 * 100.0 >= self.slow_rate * calls as f64
    }
}
