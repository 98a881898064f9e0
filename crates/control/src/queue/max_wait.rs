//! A bound on the wait: whoever has waited longer is dropped.
//!
//! Source: Kubernetes API Priority and Fairness, which lets a request wait for a quarter of the
//! time that it has left, and never for more than a minute ([`wait_limit`]). A request that may
//! take 60 s, which is its default, may so wait for 15 s; that is the default here.

use super::DropFrom;
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};

/// The longest that Kubernetes lets anybody wait.
const MOST: Nanos = Nanos::from_secs(60);

/// How long an attempt may wait that has `remaining` until its deadline: a quarter of it, and at
/// most a minute. For an attempt without a deadline Kubernetes takes `remaining` to be its
/// request time-out (60 s).
#[inline]
#[must_use]
pub const fn wait_limit(remaining: Nanos) -> Nanos {
    let quarter = remaining.0 / 4;
    if quarter < MOST.0 { Nanos(quarter) } else { MOST }
}

/// Drops whoever has waited longer than a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaxWait {
    most: Nanos,
    dropped: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "max-wait",
    kind: Kind::Drop,
    summary: "drops whoever has waited longer than a bound",
    source: "Kubernetes API Priority and Fairness: wait limit = min(remaining deadline / 4, 1 min)",
    rule: "drop = waited > max_wait",
    when: "The least that any queue needs: no work for callers who have left. Set it to what the \
           caller's time-out leaves after the work itself, or to a quarter of the time-out, as \
           Kubernetes does. A bound does not make a queue short: a queue of ten times the \
           workers, each busy for 100 ms, is a wait of 1.1 s when it is full. The SRE book \
           suggests at most half as many places as workers where traffic is steady, and `lifo` \
           or one of the `codel` rules where it comes in bursts.",
    traps: &[
        "It is looked at when a worker takes an attempt: the dropped one has held its place in the queue until then, and with `lifo` the oldest are not looked at as long as newer ones come.",
        "Under a lasting overload in first-in-first-out order every attempt that is served has waited for almost max_wait.",
    ],
    parameters: &[Parameter {
        name: "max_wait",
        unit: Unit::Duration,
        default: 15.0,
        min: 0.0,
        max: 86_400.0,
        doc: "the longest wait after which an attempt is still served",
    }],
    readings: &[Reading::counter("dropped", "attempts dropped because they waited too long")],
    build: Build::Drop(|p| match *p {
        [most] => MaxWait::try_new(seconds(most)?).map(Into::into),
        _ => None,
    }),
};

impl MaxWait {
    /// Drops whoever waits longer than `most`. `None` if that is more than a day.
    #[must_use]
    pub fn try_new(most: Nanos) -> Option<Self> {
        (most <= Nanos::from_secs(86_400)).then_some(Self { most, dropped: 0 })
    }
}

impl DropFrom for MaxWait {
    #[inline]
    fn drops(&mut self, _: Nanos, waited: Nanos, _: u32) -> bool {
        let late = waited > self.most;
        self.dropped += u64::from(late);
        late
    }
}

impl Observe for MaxWait {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dropped", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_itself_is_in_time() {
        let mut rule = MaxWait::try_new(Nanos::from_millis(200)).unwrap();
        assert!(!rule.drops(Nanos::ZERO, Nanos::from_millis(200), 5));
        assert!(rule.drops(Nanos::ZERO, Nanos(200_000_001), 0));
        assert!(rule.drops(Nanos::ZERO, Nanos::MAX, 0));
        assert_eq!(rule.dropped, 2);
        assert!(MaxWait::try_new(Nanos::MAX).is_none());
    }

    /// 10.5: a quarter of what is left, at most a minute; 60 s give 15 s.
    #[test]
    fn a_quarter_of_the_deadline_at_most_a_minute() {
        let s = Nanos::from_secs;
        for (remaining, limit) in [
            (s(60), s(15)),
            (s(4), s(1)),
            (s(240), s(60)),
            (s(1000), s(60)),
            (Nanos::MAX, s(60)),
            (Nanos(3), Nanos::ZERO),
        ] {
            assert_eq!(wait_limit(remaining), limit, "{remaining}");
        }
    }
}
