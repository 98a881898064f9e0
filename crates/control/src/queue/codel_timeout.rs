//! The queue time-out of "Fail at Scale": short while the queue does not get empty.
//!
//! Source: Maurer, "Fail at Scale" (ACM Queue 2015). An attempt that joins gets the time-out M
//! if the queue has not been empty during the last N, and N otherwise; N = 100 ms and M = 5 ms
//! for every service of theirs.
//!
//! The queue is empty from the instant at which its last attempt leaves it to the instant at
//! which the next one joins. The last instant at which it was empty is therefore that of the
//! latest attempt that joined while nobody waited, or that of the latest take that left nobody
//! waiting, whichever is later.
//!
//! The published rule fixes the time-out when an attempt joins. The same is known when it is
//! taken: from the one to the other the attempt itself was in the queue, which was thus not
//! empty, and the last empty instant is still what it was when the attempt joined. No attempt
//! needs to carry its time-out, whatever the order.

use super::DropFrom;
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};

/// The queue time-out of "Fail at Scale".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodelTimeout {
    window: Nanos,
    short: Nanos,
    last_empty: Nanos,
    timeout: Nanos,
    shortened: u64,
    dropped: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "codel-timeout",
    kind: Kind::Drop,
    summary: "Facebook's CoDel for services: a short queue time-out while the queue does not get empty",
    source: "Maurer, Fail at Scale, ACM Queue 13(8), 2015",
    rule: "\
an attempt joins at t:  timeout = short if the queue was last empty before t - window, else window
a worker takes it:      drop if it waited > timeout",
    when: "Request queues of services that answer in milliseconds when they are healthy: bursts up \
           to `window` pass, a standing queue is cut to `short`. Published together with \
           `adaptive-lifo`, and it works with any order because it asks whether the queue gets \
           empty, not how long one attempt waited.",
    traps: &[
        "A service that pulls work in batches, or has few workers for long work, never has an empty queue: then 5 ms are all that anybody may wait.",
        "With `lifo` old attempts are dropped only when they are taken: they hold their places until then.",
        "The article does not say when to change to newest first; HBase does at 80 % of the queue.",
    ],
    parameters: &[
        Parameter {
            name: "window",
            unit: Unit::Duration,
            default: 0.1,
            min: 1e-6,
            max: 3600.0,
            doc: "the article's N: the queue must have been empty within it; also the time-out when it was",
        },
        Parameter {
            name: "short",
            unit: Unit::Duration,
            default: 0.005,
            min: 1e-6,
            max: 3600.0,
            doc: "the article's M: the time-out while the queue does not get empty; at most `window`",
        },
    ],
    readings: &[
        Reading::gauge("timeout_s", "the time-out of the attempt taken last"),
        Reading::counter("shortened", "attempts taken whose time-out was the short one"),
        Reading::counter("dropped", "attempts dropped because they waited too long"),
    ],
    build: Build::Drop(|p| match *p {
        [window, short] => CodelTimeout::try_new(seconds(window)?, seconds(short)?).map(Into::into),
        _ => None,
    }),
};

impl CodelTimeout {
    /// A time-out of `short` while the queue was not empty within `window`. `None` unless
    /// 1 µs ≤ `short` ≤ `window` ≤ 1 h.
    #[must_use]
    pub fn try_new(window: Nanos, short: Nanos) -> Option<Self> {
        let valid = short >= Nanos(1000) && short <= window && window <= Nanos::from_secs(3600);
        valid.then_some(Self {
            window,
            short,
            last_empty: Nanos::ZERO,
            timeout: window,
            shortened: 0,
            dropped: 0,
        })
    }
}

impl DropFrom for CodelTimeout {
    #[inline]
    fn joined(&mut self, now: Nanos, waiting: u32) {
        if waiting == 0 {
            self.last_empty = now;
        }
    }

    #[inline]
    fn drops(&mut self, now: Nanos, waited: Nanos, waiting: u32) -> bool {
        let joined = now - waited;
        let standing = joined.since(self.last_empty) > self.window;
        self.timeout = if standing { self.short } else { self.window };
        self.shortened += u64::from(standing);
        if waiting == 0 {
            self.last_empty = now;
        }
        let late = waited > self.timeout;
        self.dropped += u64::from(late);
        late
    }
}

impl Observe for CodelTimeout {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("timeout_s", self.timeout.as_secs_f64());
        see("shortened", self.shortened as f64);
        see("dropped", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn rule() -> CodelTimeout {
        CodelTimeout::try_new(MS(100), MS(5)).unwrap()
    }

    /// N = 100 ms, M = 5 ms. The queue was last empty at 1000 ms.
    #[test]
    fn the_time_out_is_that_of_the_instant_of_joining() {
        let mut r = rule();
        r.joined(MS(1000), 0);
        // Joined at 1000, taken at 1100: the time-out is 100 ms, and it waited exactly that.
        assert!(!r.drops(MS(1100), MS(100), 3));
        assert_eq!((r.timeout, r.shortened), (MS(100), 0));
        // Joined at 1001, waited 101 ms: late.
        assert!(r.drops(MS(1102), MS(101), 3));
        // Joined at 1100, exactly N after the queue was empty: still N.
        assert!(!r.drops(MS(1150), MS(50), 3));
        // Joined at 1101: M. Waited 5 ms is in time, 6 ms is not.
        assert!(!r.drops(MS(1106), MS(5), 3));
        assert_eq!((r.timeout, r.shortened), (MS(5), 1));
        assert!(r.drops(MS(1107), MS(6), 0));
        assert_eq!((r.last_empty, r.dropped), (MS(1107), 2), "the last one left it empty");
        // Nobody came for a while; then the queue is empty right until somebody joins.
        r.joined(MS(5000), 0);
        assert!(!r.drops(MS(5090), MS(90), 0));
        assert_eq!(r.timeout, MS(100));
    }

    /// Others leaving may empty the queue as well: the next who joins finds nobody.
    #[test]
    fn a_queue_emptied_by_those_who_left_was_empty() {
        let mut r = rule();
        r.joined(MS(0), 0);
        r.joined(MS(1), 1);
        // Both go away. At 900 ms somebody joins.
        r.joined(MS(900), 0);
        assert!(!r.drops(MS(950), MS(50), 0));
    }

    #[test]
    fn refuses_impossible_settings() {
        for (window, short) in [
            (MS(0), MS(0)),
            (MS(100), Nanos(999)),
            (MS(5), MS(100)),
            (Nanos::from_secs(3601), MS(5)),
        ] {
            assert!(CodelTimeout::try_new(window, short).is_none(), "{window} {short}");
        }
    }

    proptest! {
        /// Whatever the clock does, nobody is dropped who waited for at most `short`, and
        /// everybody who waited for more than `window`.
        #[test]
        fn between_the_two_time_outs(
            ops in prop::collection::vec((any::<bool>(), any::<u64>(), any::<u64>(), 0u32..3), 0..200),
        ) {
            let mut r = rule();
            for (join, now, waited, waiting) in ops {
                if join {
                    r.joined(Nanos(now), waiting);
                } else {
                    let waited = Nanos(waited % 200_000_000);
                    let dropped = r.drops(Nanos(now), waited, waiting);
                    prop_assert!(!dropped || waited > MS(5));
                    prop_assert!(dropped || waited <= MS(100));
                }
            }
        }
    }
}
