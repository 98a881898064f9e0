//! CoDel as HBase has it: folly's rule in whole milliseconds, with a target as long as the
//! interval.
//!
//! Source: HBase `AdaptiveLifoCoDelCallQueue` and the constants of `RpcExecutor`.

use super::DropFrom;
use super::codel_min_delay::{self, Interval};
use crate::Nanos;
use crate::entry::{Build, Entry, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};

/// CoDel as HBase has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HbaseCodel {
    state: Interval,
    dropped: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "hbase-codel",
    summary: "HBase's CoDel: folly's rule in whole milliseconds with a target of 100 ms",
    source: "HBase AdaptiveLifoCoDelCallQueue, RpcExecutor (target 5 ms in early versions, 100 ms now)",
    rule: "as `codel-min-delay`, with all times in whole milliseconds and no relation between target and interval",
    when: "What an HBase region server does, together with `adaptive-lifo`. To simulate it.",
    traps: &[
        "With a target of 100 ms nothing is dropped that waited less than 200 ms.",
        "A target as long as the interval, its default, is one that folly refuses.",
        "The order it is made for shows it the newest, whose wait is short however long the others wait.",
        "The first attempt of every interval is served however long it waited.",
    ],
    parameters: &[
        Parameter {
            name: "target",
            unit: Unit::Duration,
            default: 0.1,
            min: 0.001,
            max: 3600.0,
            doc: "the wait below which nothing is wrong, in whole milliseconds; twice it is what may be waited in overload",
        },
        Parameter {
            name: "interval",
            unit: Unit::Duration,
            default: 0.1,
            min: 0.001,
            max: 3600.0,
            doc: "how long nobody may wait less than `target`, in whole milliseconds",
        },
    ],
    readings: &[
        Reading::gauge("overloaded", "1 while it drops"),
        Reading::gauge("min_delay_s", "the shortest wait of the interval that runs"),
        Reading::counter("dropped", "attempts dropped (numGeneralCallsDropped)"),
    ],
    build: Build::Drop(|p| match *p {
        [target, interval] => {
            HbaseCodel::try_new(seconds(target)?, seconds(interval)?).map(Into::into)
        }
        _ => None,
    }),
    ..codel_min_delay::ENTRY
};

/// Whole milliseconds, cut.
#[inline]
const fn millis(t: Nanos) -> Nanos {
    Nanos(t.0 / 1_000_000 * 1_000_000)
}

impl HbaseCodel {
    /// `None` unless both are whole milliseconds from 1 ms to 1 h.
    #[must_use]
    pub fn try_new(target: Nanos, interval: Nanos) -> Option<Self> {
        let valid =
            |t: Nanos| t >= Nanos::from_millis(1) && t <= Nanos::from_secs(3600) && t == millis(t);
        (valid(target) && valid(interval))
            .then_some(Self { state: Interval::new(target, interval), dropped: 0 })
    }
}

impl DropFrom for HbaseCodel {
    #[inline]
    fn drops(&mut self, now: Nanos, waited: Nanos, _: u32) -> bool {
        let late = self.state.drops(millis(now), millis(waited));
        self.dropped += u64::from(late);
        late
    }
}

impl Observe for HbaseCodel {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("overloaded", f64::from(u8::from(self.state.overloaded)));
        see("min_delay_s", self.state.min_delay.as_secs_f64());
        see("dropped", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::CodelMinDelay;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// Target 100 ms, interval 100 ms: (now, delay, dropped).
    #[test]
    fn vectors() {
        let mut r = HbaseCodel::try_new(MS(100), MS(100)).unwrap();
        for (now, delay, dropped) in [
            (1, 300, false),  // only recorded
            (2, 300, false),  // the first of an interval, overloaded since 300 > 100
            (50, 200, false), // twice the target
            (51, 201, true),
            (103, 101, false), // a new interval, overloaded since 200 > 100
            (104, 250, true),
            (105, 100, false),
            (204, 250, false), // 100 is not above the target: no longer overloaded
            (205, 250, false),
        ] {
            assert_eq!(r.drops(MS(now), MS(delay), 9), dropped, "at {now}");
        }
        assert_eq!(r.dropped, 2);
    }

    #[test]
    fn milliseconds_are_cut() {
        let mut r = HbaseCodel::try_new(MS(100), MS(100)).unwrap();
        r.drops(MS(1), MS(300), 9);
        r.drops(MS(2), MS(300), 9);
        assert!(!r.drops(MS(50), Nanos(200_999_999), 9), "200 ms to HBase");
    }

    #[test]
    fn its_default_is_one_that_folly_refuses() {
        assert!(HbaseCodel::try_new(MS(100), MS(100)).is_some());
        assert!(CodelMinDelay::try_new(MS(100), MS(100)).is_none());
        for (target, interval) in
            [(MS(0), MS(100)), (MS(5), MS(0)), (Nanos(1_500_000), MS(100)), (Nanos::MAX, MS(1))]
        {
            assert!(HbaseCodel::try_new(target, interval).is_none(), "{target} {interval}");
        }
    }
}
