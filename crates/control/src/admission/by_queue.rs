//! Refuses a share by the length of the queue, from the lowest priorities up.
//!
//! Source: Damper, after failsafe-go's prioritised rejection. That calibrates a threshold once a
//! second from the levels of those that passed; this asks at every arrival, over all that came.

use rand_core::Rng;

use super::failsafe::{INITIAL_FACTOR, MAX_FACTOR, rate, valid};
use super::ranks::Ranks;
use super::{AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind, Parameter};
use crate::observe::{Observe, Reading};
use crate::who::Who;
use crate::{Nanos, Reason, Refusal};

/// Refuses a share by the length of the queue.
#[derive(Clone, Debug)]
pub struct PriorityByQueue {
    start: f64,
    full: f64,
    ranks: Ranks,
    rate: f64,
    refused: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "priority-by-queue",
    kind: Kind::Admission,
    summary: "a queue of one to four times the workers refuses a share of all that come, from the lowest priorities up",
    source: "Damper, after failsafe-go's prioritised rejection",
    rule: "\
rank = class × 128 + cohort
a worker is free:  admit
rate = 0 if waiting < trunc(initial × workers), 1 if waiting >= trunc(max × workers), linear between
refuse iff rate > 0 and no more than a share `rate` of the last 1000 arrivals is at or beyond the rank",
    when: "Where the queue is short and known, and the answer must come at once: no interval, no \
           controller, nothing to tune. The queue settles where the share is that of the excess.",
    traps: &[
        "The wait is that of a queue of one to four times the workers for as long as the overload lasts.",
        "A rank is refused in one piece: with few users the share is coarse.",
    ],
    parameters: &[
        Parameter { default: PriorityByQueue::DEFAULT_INITIAL_FACTOR, ..INITIAL_FACTOR },
        Parameter { default: PriorityByQueue::DEFAULT_MAX_FACTOR, ..MAX_FACTOR },
    ],
    readings: &[
        Reading::gauge("rate", "share to be refused, at the last question"),
        Reading::counter("refused", "attempts refused"),
    ],
    build: Build::Admission(|p| match *p {
        [start, full] => PriorityByQueue::try_new(start, full).map(Into::into),
        _ => None,
    }),
};

impl Default for PriorityByQueue {
    fn default() -> Self {
        Self {
            start: Self::DEFAULT_INITIAL_FACTOR,
            full: Self::DEFAULT_MAX_FACTOR,
            ranks: Ranks::new(),
            rate: 0.0,
            refused: 0,
        }
    }
}

impl PriorityByQueue {
    /// A queue of one service time is not overload.
    pub const DEFAULT_INITIAL_FACTOR: f64 = 1.0;
    /// Three service times above, so that what comes in one of them, when all workers begin and
    /// end together, does not fill the queue and shut out everybody.
    pub const DEFAULT_MAX_FACTOR: f64 = 4.0;

    /// A rule that has seen nobody. `None` unless 0 ≤ initial ≤ max ≤ 1000 and 0.01 ≤ max.
    #[must_use]
    pub fn try_new(initial_factor: f64, max_factor: f64) -> Option<Self> {
        valid(initial_factor, max_factor).then(|| Self {
            start: initial_factor,
            full: max_factor,
            ..Self::default()
        })
    }
}

impl AdmissionRule for PriorityByQueue {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        who: Who,
        busy: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        let rank = who.rank();
        self.ranks.push(rank);
        self.rate =
            if busy.working < busy.workers { 0.0 } else { rate(self.start, self.full, busy) };
        if self.rate > 0.0
            && f64::from(self.ranks.beyond(rank)) <= self.rate * f64::from(self.ranks.len())
        {
            self.refused += 1;
            return Err(Refusal::new(Reason::Shed, who.class));
        }
        Ok(())
    }
}

impl Observe for PriorityByQueue {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate", self.rate);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;

    fn ask(rule: &mut PriorityByQueue, class: u8, waiting: u32, working: u32) -> bool {
        let busy = Busy { waiting, working, workers: 10, ..Busy::default() };
        rule.admit(Nanos::ZERO, Who::of(class), &busy, &mut Zero).is_ok()
    }

    /// Ten of each of four classes have come; with 10 workers the share is (waiting - 10) / 30.
    #[test]
    fn worked_by_hand() {
        let come = || {
            let mut rule = PriorityByQueue::default();
            (0..40).for_each(|i| assert!(ask(&mut rule, i % 4, 0, 10)));
            rule
        };
        // Who asks is one of 41: beyond class 3 are 11, class 2 21, class 1 31, class 0 41.
        for (waiting, admitted) in [
            (10, [true, true, true, true]),
            (18, [true, true, true, true]),    // 10.9 of 41
            (19, [true, true, true, false]),   // 12.3
            (25, [true, true, true, false]),   // 20.5
            (26, [true, true, false, false]),  // 21.9
            (33, [true, false, false, false]), // 31.4
            (39, [true, false, false, false]), // 39.6
            (40, [false, false, false, false]),
        ] {
            let answers = [0, 1, 2, 3].map(|class| ask(&mut come(), class, waiting, 10));
            assert_eq!(answers, admitted, "{waiting}");
            assert!(ask(&mut come(), 3, waiting, 9), "a worker is free");
        }
    }

    #[test]
    fn counts_what_it_refuses() {
        let mut rule = PriorityByQueue::default();
        assert!(!ask(&mut rule, 0, 40, 10) && !ask(&mut rule, 0, 41, 10));
        assert_eq!((rule.refused, rule.rate), (2, 1.0));
    }
}
