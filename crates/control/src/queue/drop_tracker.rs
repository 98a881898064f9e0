//! When to come back: the `Retry-After` of Kubernetes, longer the longer it has to refuse.
//!
//! Source: Kubernetes `dropped_requests_tracker.go`. In the second `now`, with `after` the value
//! so far and `drops` those of the seconds from `now - after` up to but not including `now`:
//!
//! ```text
//! drops >= 3 × after, and the last increase is at least `after` ago:  after = min(32, 2 × after)
//! else drops < after:                                                 after = max(1, after - 1)
//! ```
//!
//! It is looked at with the first drop of each second. It therefore never becomes less while
//! nothing is dropped, when nobody asks for it.

use crate::Nanos;

/// The longest that it tells anybody to stay away.
const MOST: u64 = 32;

/// Seconds with drops that can count: those of the longest span, and the one that runs.
const SECONDS: usize = MOST as usize + 2;

/// Drops of the last seconds, and what to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropTracker {
    /// A ring of seconds with drops and their number; `head` is where the next is written.
    history: [(u64, u64); SECONDS],
    head: usize,
    current: Option<u64>,
    count: u64,
    after: u64,
    increased: Option<u64>,
}

impl Default for DropTracker {
    fn default() -> Self {
        Self {
            history: [(0, 0); SECONDS],
            head: 0,
            current: None,
            count: 0,
            after: 1,
            increased: None,
        }
    }
}

impl DropTracker {
    /// How long whoever is refused now should stay away.
    #[must_use]
    pub const fn retry_after(&self) -> Nanos {
        Nanos::from_secs(self.after)
    }

    /// Somebody is refused, or dropped.
    #[inline]
    pub fn dropped(&mut self, now: Nanos) {
        let second = now.0 / 1_000_000_000;
        if self.current == Some(second) {
            self.count += 1;
            return;
        }
        if let Some(current) = self.current {
            self.history[self.head] = (current, self.count);
            self.head = (self.head + 1) % SECONDS;
        }
        self.current = Some(second);
        self.count = 1;
        self.adapt(second);
    }

    fn adapt(&mut self, second: u64) {
        let from = second.saturating_sub(self.after);
        let span = from..second;
        let recent = self.history.iter().filter(|(s, _)| span.contains(s)).map(|(_, n)| n);
        let drops = recent.fold(0u64, |sum, n| sum.saturating_add(*n));
        // After a clock that went back, the last increase counts from now on.
        self.increased = self.increased.map(|at| at.min(second));
        let due = self.increased.is_none_or(|at| second - at >= self.after);
        if due && drops >= 3 * self.after {
            self.after = (2 * self.after).min(MOST);
            self.increased = Some(second);
        } else if drops < self.after {
            self.after = (self.after - 1).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The steps of Kubernetes' own test: second, drops in it, answer after them.
    #[test]
    fn vectors() {
        let mut tracker = DropTracker::default();
        for (second, drops, after) in [
            (100, 5, 1),
            (101, 11, 2),
            (102, 1, 2),
            (103, 11, 4),
            (104, 1, 4),
            (107, 1, 8),
            (111, 1, 8),
            (115, 1, 7),
            (117, 1, 6),
            (121, 14, 5),
            (122, 1, 10),
        ] {
            for _ in 0..drops {
                tracker.dropped(Nanos::from_secs(second));
            }
            assert_eq!(tracker.retry_after(), Nanos::from_secs(after), "second {second}");
        }
    }

    /// As many drops as seconds are enough to stay: with 2 s, one in each of the last two.
    #[test]
    fn it_comes_down_below_one_drop_a_second_only() {
        let mut tracker = DropTracker::default();
        for (second, drops, after) in
            [(100, 3, 1), (101, 1, 2), (102, 1, 2), (103, 1, 2), (104, 1, 2), (106, 1, 1)]
        {
            for _ in 0..drops {
                tracker.dropped(Nanos::from_secs(second));
            }
            assert_eq!(tracker.after, after, "second {second}");
        }
    }

    #[test]
    fn doubles_up_to_32_s_and_comes_down_by_one() {
        let mut tracker = DropTracker::default();
        let mut seen = std::vec![1];
        for second in 0..200 {
            for _ in 0..100 {
                tracker.dropped(Nanos::from_secs(second));
            }
            if seen.last() != Some(&tracker.after) {
                seen.push(tracker.after);
            }
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32]);
        for step in 1..40 {
            tracker.dropped(Nanos::from_secs(1000 + 100 * step));
            assert_eq!(tracker.after, 32u64.saturating_sub(step).max(1));
        }
    }

    #[test]
    fn a_clock_that_went_back_does_not_hold_it_for_ever() {
        let mut tracker = DropTracker::default();
        let overload = |tracker: &mut DropTracker, from| {
            for second in from..from + 3 {
                for _ in 0..9 {
                    tracker.dropped(Nanos::from_secs(second));
                }
            }
        };
        overload(&mut tracker, 1_000_000);
        assert_eq!(tracker.after, 2);
        overload(&mut tracker, 10);
        overload(&mut tracker, 13);
        assert_eq!(tracker.after, 4);
    }

    proptest! {
        #[test]
        fn always_1_to_32_s(times in prop::collection::vec(any::<u64>(), 0..300)) {
            let mut tracker = DropTracker::default();
            for now in times {
                tracker.dropped(Nanos(now));
                prop_assert!((1..=32).contains(&tracker.after));
            }
        }
    }
}
