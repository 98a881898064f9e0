//! What a small server has counted since it was started.

use damper_control::Outcome;
use serde::{Deserialize, Serialize};

/// Ends, each counted for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Good replies.
    pub success: u64,
    /// Refused before any work: rate limit, full queue, an outage that refuses.
    pub rejected: u64,
    /// No reply in time.
    pub timeout: u64,
    /// Failed after work.
    pub failed: u64,
    /// Something further down failed.
    pub downstream: u64,
    /// Dropped by an overload control.
    pub shed: u64,
}

impl Ends {
    /// One more.
    pub(crate) fn add(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Success => &mut self.success,
            Outcome::Rejected => &mut self.rejected,
            Outcome::TimedOut => &mut self.timeout,
            Outcome::FailedBelow => &mut self.downstream,
            Outcome::Shed => &mut self.shed,
            _ => &mut self.failed,
        };
        *count += 1;
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.success + self.rejected + self.timeout + self.failed + self.downstream + self.shed
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            success: self.success.saturating_sub(earlier.success),
            rejected: self.rejected.saturating_sub(earlier.rejected),
            timeout: self.timeout.saturating_sub(earlier.timeout),
            failed: self.failed.saturating_sub(earlier.failed),
            downstream: self.downstream.saturating_sub(earlier.downstream),
            shed: self.shed.saturating_sub(earlier.shed),
        }
    }
}

/// What a server received of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// The class.
    pub class: String,
    /// First attempts.
    pub first: u64,
    /// Retries, by the number of the attempt that came with them.
    pub retries: u64,
    /// Attempts whose caller left before the reply.
    pub abandoned: u64,
    /// How attempts ended, as this server knows it.
    pub ends: Ends,
}

/// The calls of one class to one callee, over all of their attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// Whom.
    pub callee: String,
    /// The class.
    pub class: String,
    /// Calls.
    pub calls: u64,
    /// Attempts that they took, as far as their replies say.
    pub attempts: u64,
    /// How calls ended.
    pub ends: Ends,
}

/// Everything that one server has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Its name.
    pub name: String,
    /// By class.
    pub received: Vec<Received>,
    /// By callee and class.
    pub called: Vec<Called>,
}

impl Counts {
    /// What was counted after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut counts = self.clone();
        for (now, then) in counts.received.iter_mut().zip(&earlier.received) {
            now.first = now.first.saturating_sub(then.first);
            now.retries = now.retries.saturating_sub(then.retries);
            now.abandoned = now.abandoned.saturating_sub(then.abandoned);
            now.ends = now.ends.since(then.ends);
        }
        for (now, then) in counts.called.iter_mut().zip(&earlier.called) {
            now.calls = now.calls.saturating_sub(then.calls);
            now.attempts = now.attempts.saturating_sub(then.attempts);
            now.ends = now.ends.since(then.ends);
        }
        counts
    }

    /// Attempts received, over all classes.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.received.iter().map(|r| r.first + r.retries).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_counted_apart_and_taken_away_again() {
        let mut ends = Ends::default();
        for (i, outcome) in Outcome::ALL.into_iter().enumerate() {
            (0..=i).for_each(|_| ends.add(outcome));
        }
        assert_eq!(ends.total(), 21);
        assert_eq!((ends.success, ends.rejected, ends.shed), (1, 2, 6));
        let received = |first, ends| Received { first, ends, ..Received::default() };
        let now = Counts { received: vec![received(9, ends)], ..Counts::default() };
        let then = Counts {
            received: vec![received(4, Ends { shed: 2, ..Ends::default() })],
            ..Counts::default()
        };
        let since = now.since(&then);
        assert_eq!((since.attempts(), since.received[0].ends.shed), (5, 4));
    }
}
