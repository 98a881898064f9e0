//! AIMD: one more after a good reply, a tenth less after a bad one.
//!
//! Source: Netflix concurrency-limits, `AIMDLimit`.

use rand_core::Rng;

use super::{ConcurrencyLimit, LARGEST, Sample, ordered};
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};

/// Netflix's AIMD limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Aimd {
    limit: u32,
    min: u32,
    max: u32,
    backoff: f64,
    timeout: Nanos,
    increases: u64,
    decreases: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "aimd",
    kind: Kind::Concurrency,
    summary: "one more after a good reply, a tenth less after a drop or a slow reply",
    source: "Netflix concurrency-limits, AIMDLimit; Chiu and Jain 1989 for why the pair converges",
    rule: "\
dropped = timed out, rejected or shed
if dropped or latency > timeout: limit = trunc(limit × backoff)
else if 2 × in_flight ≥ limit:   limit = limit + 1
limit = clamp(limit, min, max)",
    when: "On the caller's side, where timeouts and rejections are the only honest signal. It \
           finds capacity by running into it: some requests must fail before it shrinks.",
    traps: &[
        "Latency below `timeout` says nothing to it: a queue of 4.9 s is healthy by default.",
        "It shrinks once per drop, not once per round trip: a burst of seven drops halves it.",
        "It never goes below `min` 20, which alone overloads a callee with less capacity.",
    ],
    parameters: &[
        INITIAL,
        MIN,
        MAX,
        Parameter {
            name: "backoff",
            unit: Unit::Number,
            default: Aimd::DEFAULT_BACKOFF,
            min: 0.5,
            max: 0.9999,
            doc: "factor of the limit after a drop; published range [0.5, 1)",
        },
        Parameter {
            name: "timeout",
            unit: Unit::Duration,
            default: 5.0,
            min: 1e-6,
            max: 86_400.0,
            doc: "a reply slower than this counts as a drop",
        },
    ],
    readings: &[
        Reading::gauge("limit", "attempts that may be in flight"),
        Reading::counter("increases", "times the limit grew"),
        Reading::counter("decreases", "drops and slow replies that lowered the limit"),
    ],
    build: Build::Concurrency(|p| match *p {
        [initial, min, max, backoff, timeout] => {
            Aimd::try_new(whole(initial)?, whole(min)?, whole(max)?, backoff, seconds(timeout)?)
                .map(Into::into)
        }
        _ => None,
    }),
};

/// The parameters that AIMD, Vegas and Gradient2 have in common, with Netflix's defaults.
pub(super) const INITIAL: Parameter = Parameter {
    name: "initial",
    unit: Unit::Count,
    default: 20.0,
    min: 1.0,
    max: LARGEST as f64,
    doc: "the limit at the start; from `min` to `max`",
};
pub(super) const MIN: Parameter = Parameter {
    name: "min",
    unit: Unit::Count,
    default: 20.0,
    min: 1.0,
    max: LARGEST as f64,
    doc: "the smallest limit",
};
pub(super) const MAX: Parameter = Parameter {
    name: "max",
    unit: Unit::Count,
    default: 200.0,
    min: 1.0,
    max: LARGEST as f64,
    doc: "the largest limit",
};

impl Aimd {
    /// The published factor after a drop.
    pub const DEFAULT_BACKOFF: f64 = 0.9;

    /// A limit that starts at `initial`. `None` unless 1 ≤ min ≤ initial ≤ max ≤ a million,
    /// 0.5 ≤ backoff ≤ 0.9999 and 1 µs ≤ timeout ≤ one day.
    #[must_use]
    pub fn try_new(initial: u32, min: u32, max: u32, backoff: f64, timeout: Nanos) -> Option<Self> {
        let valid = ordered(min, initial, max)
            && (0.5..=0.9999).contains(&backoff)
            && (Nanos(1_000)..=Nanos::from_secs(86_400)).contains(&timeout);
        valid.then_some(Self {
            limit: initial,
            min,
            max,
            backoff,
            timeout,
            increases: 0,
            decreases: 0,
        })
    }
}

impl ConcurrencyLimit for Aimd {
    #[inline]
    fn limit(&self) -> u32 {
        self.limit
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, _: Nanos, sample: &Sample, _: &mut R) {
        let Some(dropped) = sample.dropped() else { return };
        let old = self.limit;
        let new = if dropped || sample.latency > self.timeout {
            (f64::from(old) * self.backoff) as u32
        } else if u64::from(sample.in_flight) * 2 >= u64::from(old) {
            old + 1
        } else {
            old
        };
        self.limit = new.clamp(self.min, self.max);
        self.increases += u64::from(self.limit > old);
        self.decreases += u64::from(self.limit < old);
    }
}

impl Observe for Aimd {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit));
        see("increases", self.increases as f64);
        see("decreases", self.decreases as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::plant::{any_sample, dropped, ms, success};
    use super::*;
    use crate::Outcome;
    use crate::testing::Zero;
    use proptest::prelude::*;

    fn default() -> Aimd {
        Aimd::try_new(20, 20, 200, 0.9, Nanos::from_secs(5)).unwrap()
    }

    fn after(limit: &mut Aimd, sample: Sample) -> u32 {
        limit.record(Nanos::ZERO, &sample, &mut Zero);
        limit.limit()
    }

    #[test]
    fn state_after_each_step_by_hand() {
        let mut l = default();
        assert_eq!(after(&mut l, success(ms(10), 10)), 21, "10 of 20 in flight is half: grows");
        assert_eq!(after(&mut l, success(ms(10), 10)), 21, "10 of 21 is less than half: holds");
        assert_eq!(after(&mut l, success(ms(10), 11)), 22);
        for want in 23..=40 {
            assert_eq!(after(&mut l, success(ms(10), 100)), want);
        }
        assert_eq!(after(&mut l, success(ms(5_000), 100)), 41, "the timeout itself is in time");
        assert_eq!(after(&mut l, success(Nanos(5_000_000_001), 100)), 36, "trunc(36.9)");
        assert_eq!(after(&mut l, dropped(ms(1), 1)), 32, "trunc(32.4), however few in flight");
        assert_eq!(after(&mut l, Sample { outcome: None, ..success(ms(1), 99) }), 32);
        let failed = Sample { outcome: Some(Outcome::Failed), ..success(ms(1), 99) };
        assert_eq!(after(&mut l, failed), 32, "an error is no measurement");
        for want in [28, 25, 22, 20, 20] {
            assert_eq!(after(&mut l, dropped(ms(1), 1)), want);
        }
        assert_eq!((l.increases, l.decreases), (21, 6));
    }

    #[test]
    fn ranges() {
        let t = Nanos::from_secs(5);
        assert!(Aimd::try_new(19, 20, 200, 0.9, t).is_none());
        assert!(Aimd::try_new(201, 20, 200, 0.9, t).is_none());
        assert!(Aimd::try_new(20, 0, 200, 0.9, t).is_none());
        assert!(Aimd::try_new(20, 20, 1_000_001, 0.9, t).is_none());
        assert!(Aimd::try_new(20, 20, 200, 1.0, t).is_none());
        assert!(Aimd::try_new(20, 20, 200, f64::NAN, t).is_none());
        assert!(Aimd::try_new(20, 20, 200, 0.9, Nanos::ZERO).is_none());
    }

    proptest! {
        #[test]
        fn stays_in_range(samples in prop::collection::vec(any_sample(), 0..300)) {
            let mut l = Aimd::try_new(7, 3, 11, 0.5, Nanos::from_secs(1)).unwrap();
            for (now, sample) in samples {
                l.record(now, &sample, &mut Zero);
                prop_assert!((3..=11).contains(&l.limit()));
            }
        }
    }
}
