//! First in first out while the queue is short, newest first while it is long.
//!
//! Source: Maurer, "Fail at Scale" (ACM Queue 2015), which gives no number for "long", and HBase
//! `AdaptiveLifoCoDelCallQueue`, which changes over above 80 % of the queue's limit.

use super::{QueueOrder, Side, simple};
use crate::entry::{Build, Entry, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::who::Who;
use crate::{Nanos, Refusal};

/// First in first out while the queue is short, newest first while it is long.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveLifo {
    percent: f64,
    fifo_up_to: u32,
    waiting: u32,
    most: u32,
    newest_first: bool,
    lifo_takes: u64,
    switches: u64,
    rejected: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "adaptive-lifo",
    summary: "first in first out while the queue is short, newest first while it is long",
    source: "Maurer, Fail at Scale, ACM Queue 13(8), 2015; HBase AdaptiveLifoCoDelCallQueue",
    rule: "\
next = newest if waiting > threshold × queue limit, else oldest
       with fifo_up_to > 0: newest if waiting > fifo_up_to",
    when: "With a drop rule, where callers time out: in overload the newest still has a caller, and \
           without it nobody is overtaken. It needs a limited queue, or `fifo_up_to`: of a queue \
           without a limit no share is ever reached, and it stays first in first out.",
    traps: &[
        "It shows a drop rule the newest, whose wait is short: `codel-min-delay`, `hbase-codel` and `codel` do not see the overload then; `codel-timeout` and `max-wait` do what they say.",
        "Those at the old end wait until the queue is below the threshold again, and hold places until then: drop them, or let their callers take them away.",
        "HBase counts every newest-first take as a `LIFO mode switch` in its blocking take.",
    ],
    parameters: &[
        Parameter {
            name: "threshold",
            unit: Unit::Percent,
            default: 80.0,
            min: 0.0,
            max: 100.0,
            doc: "newest first above this share of the queue's limit",
        },
        Parameter {
            name: "fifo_up_to",
            unit: Unit::Count,
            default: 0.0,
            min: 0.0,
            max: 4_294_967_295.0,
            doc: "newest first while more than this many wait, in the place of `threshold`; 0: by `threshold`",
        },
    ],
    readings: &[
        Reading::gauge("waiting", "attempts that wait"),
        Reading::gauge("newest_first", "1 if the last take was of the newest"),
        Reading::counter("lifo_takes", "takes of the newest (what HBase counts in take())"),
        Reading::counter("switches", "changes from oldest first to newest first"),
        Reading::counter("rejected", "attempts that found the queue full"),
    ],
    build: Build::Order(|p| match *p {
        [percent, fifo_up_to] => AdaptiveLifo::try_new(percent, whole(fifo_up_to)?).map(Into::into),
        _ => None,
    }),
    ..simple::FIFO
};

impl AdaptiveLifo {
    /// Newest first above `percent` of the queue's limit or, if `fifo_up_to` is not 0, above
    /// that many. `None` unless 0 ≤ `percent` ≤ 100.
    #[must_use]
    pub fn try_new(percent: f64, fifo_up_to: u32) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then_some(Self {
            percent,
            fifo_up_to,
            waiting: 0,
            most: u32::MAX,
            newest_first: false,
            lifo_takes: 0,
            switches: 0,
            rejected: 0,
        })
    }

    /// Whether it changes at a number of its own, and not at a share of the queue's limit.
    #[must_use]
    pub const fn has_own_threshold(&self) -> bool {
        self.fifo_up_to > 0
    }

    fn long(&self) -> bool {
        if self.fifo_up_to > 0 {
            return self.waiting > self.fifo_up_to;
        }
        self.most != u32::MAX
            && f64::from(self.waiting) / f64::from(self.most) > self.percent / 100.0
    }
}

impl QueueOrder for AdaptiveLifo {
    #[inline]
    fn lists(&self) -> usize {
        1
    }

    #[inline]
    fn join(&mut self, _: Nanos, who: Who, waiting: u32, most: u32) -> Result<usize, Refusal> {
        self.most = most;
        if waiting >= most {
            self.rejected += 1;
            return Err(simple::full(who));
        }
        self.waiting += 1;
        Ok(0)
    }

    #[inline]
    fn next(&mut self, _: Nanos) -> Option<(usize, Side)> {
        let long = self.long();
        self.waiting = self.waiting.checked_sub(1)?;
        self.switches += u64::from(long && !self.newest_first);
        self.lifo_takes += u64::from(long);
        self.newest_first = long;
        Some((0, if long { Side::Newest } else { Side::Oldest }))
    }

    #[inline]
    fn left(&mut self, _: Nanos, _: usize) {
        self.waiting = self.waiting.saturating_sub(1);
    }
}

impl Observe for AdaptiveLifo {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("waiting", f64::from(self.waiting));
        see("newest_first", f64::from(u8::from(self.newest_first)));
        see("lifo_takes", self.lifo_takes as f64);
        see("switches", self.switches as f64);
        see("rejected", self.rejected as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;
    use proptest::prelude::*;

    fn filled(percent: f64, fifo_up_to: u32, waiting: u32, most: u32) -> AdaptiveLifo {
        let mut order = AdaptiveLifo::try_new(percent, fifo_up_to).unwrap();
        for n in 0..waiting {
            assert_eq!(order.join(Nanos::ZERO, Who::of(0), n, most), Ok(0));
        }
        order
    }

    /// HBase's 0.8 of a queue of ten: nine is above it, eight is not.
    #[test]
    fn newest_first_above_the_threshold() {
        let mut order = filled(80.0, 0, 10, 10);
        assert_eq!(
            order.join(Nanos::ZERO, Who::of(2), 10, 10),
            Err(Refusal::new(Reason::QueueFull, 2))
        );
        for side in [Side::Newest, Side::Newest, Side::Oldest, Side::Oldest] {
            assert_eq!(order.next(Nanos::ZERO), Some((0, side)));
        }
        assert_eq!((order.lifo_takes, order.switches, order.rejected), (2, 1, 1));
        for n in 6..9 {
            order.join(Nanos::ZERO, Who::of(0), n, 10).unwrap();
        }
        assert_eq!(order.next(Nanos::ZERO), Some((0, Side::Newest)));
        assert_eq!((order.lifo_takes, order.switches), (3, 2));
        for _ in 0..8 {
            order.left(Nanos::ZERO, 0);
        }
        assert_eq!(order.next(Nanos::ZERO), None);
        assert_eq!(order.switches, 2, "finding nobody is no change");
    }

    #[test]
    fn without_a_limit_only_a_number_can_be_reached() {
        let mut share = filled(0.0, 0, 1000, u32::MAX);
        assert_eq!(share.next(Nanos::ZERO), Some((0, Side::Oldest)));
        let mut number = filled(100.0, 999, 1000, u32::MAX);
        assert_eq!(number.next(Nanos::ZERO), Some((0, Side::Newest)));
        assert_eq!(number.next(Nanos::ZERO), Some((0, Side::Oldest)));
    }

    #[test]
    fn refuses_impossible_settings() {
        for percent in [-1.0, 100.5, f64::NAN, f64::INFINITY] {
            assert!(AdaptiveLifo::try_new(percent, 0).is_none(), "{percent}");
        }
    }

    proptest! {
        #[test]
        fn newest_exactly_while_it_is_long(
            percent in 0.0f64..=100.0, most in 1u32..50, ops in prop::collection::vec(0u8..4, 0..300),
        ) {
            let mut order = AdaptiveLifo::try_new(percent, 0).unwrap();
            let mut waiting = 0;
            for op in ops {
                if op < 2 {
                    let room = waiting < most;
                    prop_assert_eq!(order.join(Nanos::ZERO, Who::of(0), waiting, most).is_ok(), room);
                    waiting += u32::from(room);
                } else if op == 2 {
                    let long = f64::from(waiting) / f64::from(most) > percent / 100.0;
                    let side = if long { Side::Newest } else { Side::Oldest };
                    prop_assert_eq!(order.next(Nanos::ZERO), (waiting > 0).then_some((0, side)));
                    waiting = waiting.saturating_sub(1);
                } else {
                    order.left(Nanos::ZERO, 0);
                    waiting = waiting.saturating_sub(1);
                }
                prop_assert_eq!(order.waiting, waiting);
            }
        }
    }
}
