//! CoDel as folly has it: while the shortest wait of an interval is too long, whoever waited
//! longer than twice the target is dropped.
//!
//! Source: folly `executors/Codel.cpp`.

use super::DropFrom;
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};

/// The state that folly and HBase share: the shortest wait of the interval that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    target: Nanos,
    interval: Nanos,
    pub(super) min_delay: Nanos,
    interval_end: Nanos,
    /// The next attempt is the first of its interval.
    reset: bool,
    pub(super) overloaded: bool,
}

impl Interval {
    pub(super) const fn new(target: Nanos, interval: Nanos) -> Self {
        Self {
            target,
            interval,
            min_delay: Nanos::ZERO,
            interval_end: Nanos::ZERO,
            reset: true,
            overloaded: false,
        }
    }

    /// Whether an attempt that waited for `delay` is to be dropped.
    #[inline]
    pub(super) fn drops(&mut self, now: Nanos, delay: Nanos) -> bool {
        // A clock that went back would otherwise keep one interval open until it has caught up.
        let over = now > self.interval_end || self.interval_end.since(now) > self.interval;
        if over && !self.reset {
            self.reset = true;
            self.interval_end = now + self.interval;
            self.overloaded = self.min_delay > self.target;
        }
        if self.reset {
            self.reset = false;
            self.min_delay = delay;
            return false;
        }
        self.min_delay = self.min_delay.min(delay);
        self.overloaded && delay > self.target + self.target
    }

    /// 0 to 100: the shortest wait as a share of twice the target.
    pub(super) fn load(&self) -> f64 {
        let slough = self.target.as_secs_f64() * 2.0;
        (100.0 * self.min_delay.as_secs_f64() / slough).min(100.0)
    }
}

/// CoDel as folly has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodelMinDelay {
    state: Interval,
    dropped: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "codel-min-delay",
    kind: Kind::Drop,
    summary: "folly's CoDel: after an interval in which nobody waited less than the target, drops whoever waited twice that",
    source: "folly executors/Codel.cpp",
    rule: "\
overloaded(delay, now):
  m = min_delay
  if now > interval_end and not reset: reset = true; interval_end = now + interval; overloaded = m > target
  if reset: reset = false; min_delay = delay; keep it
  min_delay = min(min_delay, delay)
  drop if overloaded and delay > 2 × target",
    when: "First-in-first-out queues of services that wait well below a millisecond when they are \
           healthy. One short wait within an interval is enough to end the dropping.",
    traps: &[
        "With `lifo` or `adaptive-lifo` the wait it sees is that of the newest, which is short however long the others wait: it never sees the overload. `codel-timeout` does.",
        "A target of 5 ms takes for granted that a healthy queue is much shorter; work pulled in batches looks like a queue.",
        "The first attempt of every interval is served however long it waited.",
    ],
    parameters: &[
        Parameter {
            name: "target",
            unit: Unit::Duration,
            default: 0.005,
            min: 1e-6,
            max: 3600.0,
            doc: "the wait below which nothing is wrong; twice it is what may be waited in overload",
        },
        Parameter {
            name: "interval",
            unit: Unit::Duration,
            default: 0.1,
            min: 1e-6,
            max: 3600.0,
            doc: "how long nobody may wait less than `target`; longer than `target`",
        },
    ],
    readings: &[
        Reading::gauge("overloaded", "1 while it drops"),
        Reading::gauge("min_delay_s", "the shortest wait of the interval that runs"),
        Reading::gauge("load", "that as a percentage of twice the target, at most 100"),
        Reading::counter("dropped", "attempts dropped"),
    ],
    build: Build::Drop(|p| match *p {
        [target, interval] => {
            CodelMinDelay::try_new(seconds(target)?, seconds(interval)?).map(Into::into)
        }
        _ => None,
    }),
};

impl CodelMinDelay {
    /// Drops after an `interval` in which nobody waited less than `target`. `None` unless
    /// 1 µs ≤ `target` < `interval` ≤ 1 h.
    #[must_use]
    pub fn try_new(target: Nanos, interval: Nanos) -> Option<Self> {
        let valid =
            target >= Nanos(1000) && target < interval && interval <= Nanos::from_secs(3600);
        valid.then_some(Self { state: Interval::new(target, interval), dropped: 0 })
    }
}

impl DropFrom for CodelMinDelay {
    #[inline]
    fn drops(&mut self, now: Nanos, waited: Nanos, _: u32) -> bool {
        let late = self.state.drops(now, waited);
        self.dropped += u64::from(late);
        late
    }
}

impl Observe for CodelMinDelay {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("overloaded", f64::from(u8::from(self.state.overloaded)));
        see("min_delay_s", self.state.min_delay.as_secs_f64());
        see("load", self.state.load());
        see("dropped", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn rule() -> CodelMinDelay {
        CodelMinDelay::try_new(MS(5), MS(100)).unwrap()
    }

    /// Worked by hand with target 5 ms, interval 100 ms: (now, delay, dropped, overloaded).
    #[test]
    fn vectors() {
        let mut r = rule();
        for (now, delay, dropped, overloaded) in [
            (1, 500, false, false), // at the start it only records
            (2, 6, false, true),    // a new interval, overloaded since 500 > 5; its first is kept
            (50, 9, false, true),
            (60, 10, false, true),
            (70, 11, true, true),
            (102, 7, false, true),   // not yet over: 102 is not after 2 + 100
            (103, 900, false, true), // the shortest was 6: overloaded; its first one is kept
            (110, 11, true, true),
            (120, 5, false, true), // one short wait clears it at the next boundary
            (130, 40, true, true),
            (204, 40, false, false),
            (210, 40, false, false), // not overloaded in this interval, whose shortest is 40
            (305, 12, false, true),
            (306, 12, true, true),
        ] {
            assert_eq!(r.drops(MS(now), MS(delay), 9), dropped, "at {now}");
            assert_eq!(r.state.overloaded, overloaded, "at {now}");
        }
        assert_eq!(r.dropped, 4);
    }

    #[test]
    fn load_is_the_shortest_wait_over_twice_the_target() {
        let mut r = rule();
        for (delay, load) in [(8, 80.0), (3, 30.0), (900, 30.0)] {
            r.drops(Nanos::ZERO, MS(delay), 0);
            assert_eq!(r.state.load(), load);
        }
        let mut r = rule();
        r.drops(Nanos::ZERO, MS(900), 0);
        assert_eq!(r.state.load(), 100.0);
    }

    #[test]
    fn a_clock_that_goes_back_opens_a_new_interval() {
        let mut r = rule();
        r.drops(Nanos::from_secs(1000), MS(50), 0);
        r.drops(Nanos::from_secs(1000), MS(50), 0);
        assert_eq!(r.state.interval_end, Nanos::from_secs(1000) + MS(100));
        r.drops(Nanos::from_secs(5), MS(1), 0);
        assert_eq!(r.state.interval_end, Nanos::from_secs(5) + MS(100));
        r.drops(Nanos::MAX, MS(1), 0);
        r.drops(Nanos::MAX, MS(1), 0);
        assert!(!r.state.overloaded);
    }

    #[test]
    fn refuses_impossible_settings() {
        for (target, interval) in
            [(Nanos(999), MS(100)), (MS(100), MS(100)), (MS(5), Nanos::from_secs(3601))]
        {
            assert!(CodelMinDelay::try_new(target, interval).is_none(), "{target} {interval}");
        }
    }

    proptest! {
        #[test]
        fn never_drops_a_wait_of_twice_the_target(
            ops in prop::collection::vec((any::<u64>(), 0u64..50_000_000), 0..200),
        ) {
            let mut r = rule();
            for (now, waited) in ops {
                let dropped = r.drops(Nanos(now), Nanos(waited), 1);
                prop_assert!(!dropped || (waited > 10_000_000 && r.state.overloaded));
                prop_assert!((0.0..=100.0).contains(&r.state.load()));
            }
        }
    }
}
