//! Netflix's second gradient: latency against its own long average.
//!
//! Source: Netflix concurrency-limits, `Gradient2Limit`. Faults of the rule, kept here as
//! published: the queue term is added even when the gradient says to shrink (PR 134); the
//! average learns an incident, so that its latency becomes normal (issues 137, 165); a drop is
//! not told from a success, so a quick rejection is a quick reply (issue 176).

use rand_core::Rng;

use super::aimd::{INITIAL, MAX, MIN};
use super::average::Average;
use super::vegas::SMOOTHING;
use super::{ConcurrencyLimit, Sample, ordered};
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};

/// What a [`Gradient2`] is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient2Config {
    /// The limit at the start.
    pub initial: u32,
    /// The smallest limit.
    pub min: u32,
    /// The largest limit.
    pub max: u32,
    /// The weight of the new value, 0.001 to 1.
    pub smoothing: f64,
    /// What is added at each update, 0 to a million.
    pub queue: u32,
    /// Samples in the long average, 1 to a million.
    pub long_window: u32,
    /// How many times the long average is still no queueing, 1 to 100.
    pub tolerance: f64,
}

impl Default for Gradient2Config {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 20,
            max: 200,
            smoothing: 0.2,
            queue: 4,
            long_window: 600,
            tolerance: 1.5,
        }
    }
}

/// Netflix's Gradient2 limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient2 {
    limit: f64,
    long: Average,
    gradient: f64,
    config: Gradient2Config,
    decreases: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "gradient2",
    kind: Kind::Concurrency,
    summary: "Netflix's Gradient2: latency against its own long average",
    source: "Netflix concurrency-limits, Gradient2Limit; issues 137, 165, 176, PR 134",
    rule: "\
long = average(latency): mean of 10 samples, then exponential with 2 / (long_window + 1)
if long / latency > 2: average = 0.95 × average (this sample still uses `long`)
if in_flight < limit / 2: hold
gradient = clamp(tolerance × long / latency, 0.5, 1)
limit = clamp((1 − smoothing) × limit + smoothing × (limit × gradient + queue), min, max)",
    when: "To see what a service with it does. `guarded` keeps its idea and drops its faults.",
    traps: &[
        "The queue term counts against the gradient: below queue / (1 − gradient) the limit grows under overload (PR 134).",
        "The baseline is an average of the incident itself: after some 600 samples ten times the latency is normal and the limit grows to `max` (165).",
        "Attempts that all time out after the same 5 s have a gradient of 1 (137).",
        "Drops are samples like others: quick rejections raise the limit (176).",
    ],
    parameters: PARAMETERS,
    readings: READINGS,
    build: Build::Concurrency(|p| build(p).map(Into::into)),
};

pub(super) const PARAMETERS: &[Parameter] = &[
    INITIAL,
    MIN,
    MAX,
    Parameter { default: 0.2, ..SMOOTHING },
    Parameter {
        name: "queue",
        unit: Unit::Count,
        default: 4.0,
        min: 0.0,
        max: 1_000_000.0,
        doc: "what is added at each update: the queue that is allowed",
    },
    Parameter {
        name: "long_window",
        unit: Unit::Count,
        default: 600.0,
        min: 1.0,
        max: 1_000_000.0,
        doc: "samples in the long average",
    },
    Parameter {
        name: "tolerance",
        unit: Unit::Number,
        default: 1.5,
        min: 1.0,
        max: 100.0,
        doc: "how many times the long average is still no queueing",
    },
];

pub(super) const READINGS: &[Reading] = &[
    Reading::gauge("limit", "attempts that may be in flight"),
    Reading::gauge("long_rtt_s", "the long average of the latency"),
    Reading::gauge("gradient", "factor of the limit at the last sample that counted"),
    Reading::counter("decreases", "times the limit was lowered"),
];

pub(super) fn build(p: &[f64]) -> Option<Gradient2> {
    match *p {
        [initial, min, max, smoothing, queue, long_window, tolerance] => {
            Gradient2::try_new(Gradient2Config {
                initial: whole(initial)?,
                min: whole(min)?,
                max: whole(max)?,
                smoothing,
                queue: whole(queue)?,
                long_window: whole(long_window)?,
                tolerance,
            })
        }
        _ => None,
    }
}

impl Gradient2 {
    /// A limit that starts at `initial`. `None` unless min ≤ initial ≤ max and everything is in
    /// the range that [`Gradient2Config`] states.
    #[must_use]
    pub fn try_new(config: Gradient2Config) -> Option<Self> {
        let valid = ordered(config.min, config.initial, config.max)
            && (0.001..=1.0).contains(&config.smoothing)
            && config.queue <= 1_000_000
            && (1..=1_000_000).contains(&config.long_window)
            && (1.0..=100.0).contains(&config.tolerance);
        valid.then_some(Self {
            limit: f64::from(config.initial),
            long: Average::new(config.long_window),
            gradient: 1.0,
            config,
            decreases: 0,
        })
    }

    /// The limit after a sample, given the long average with it.
    fn step(&mut self, long: f64, short: f64) {
        let Gradient2Config { smoothing, queue, tolerance, min, max, .. } = self.config;
        self.gradient = (tolerance * long / short).clamp(0.5, 1.0);
        let new = self.limit * self.gradient + f64::from(queue);
        let new = self.limit * (1.0 - smoothing) + new * smoothing;
        let new = new.clamp(f64::from(min), f64::from(max));
        self.decreases += u64::from(new < self.limit);
        self.limit = new;
    }
}

impl ConcurrencyLimit for Gradient2 {
    #[inline]
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, _: Nanos, sample: &Sample, _: &mut R) {
        let (Some(_), Some(short)) = (sample.dropped(), sample.rtt()) else { return };
        let long = self.long.add(short);
        if long / short > 2.0 {
            self.long.scale(0.95);
        }
        if f64::from(sample.in_flight) < self.limit / 2.0 {
            return;
        }
        self.step(long, short);
    }
}

impl Observe for Gradient2 {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit()));
        see("long_rtt_s", self.long.value() / 1e9);
        see("gradient", self.gradient);
        see("decreases", self.decreases as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::plant::{any_sample, dropped, ms, success};
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    fn default() -> Gradient2 {
        Gradient2::try_new(Gradient2Config::default()).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn published_vectors() {
        for (short, gradient, limit) in [
            (10.0, 1.0, 100.8),
            (15.0, 1.0, 100.8),
            (20.0, 0.75, 95.8),
            (30.0, 0.5, 90.8),
            (300.0, 0.5, 90.8),
        ] {
            let mut l = default();
            l.limit = 100.0;
            l.step(10.0, short);
            assert!(close(l.limit, limit) && close(l.gradient, gradient), "{short}: {l:?}");
        }
    }

    #[test]
    fn state_after_each_step_by_hand() {
        let mut l = default();
        let mut step = |sample| {
            l.record(Nanos::ZERO, &sample, &mut Zero);
            (l.limit, l.long.value() / 1e6)
        };
        assert_eq!(step(success(ms(10), 20)), (20.8, 10.0), "20 + 0.2 × 4");
        assert_eq!(step(success(ms(10), 10)), (20.8, 10.0), "10 is below 10.4: holds");
        let (limit, long) = step(success(ms(40), 20));
        // long = 60 / 3 = 20 ms, gradient = 1.5 × 20 / 40 = 0.75, new = 15.6 + 4 = 19.6.
        assert!(close(limit, 20.56) && close(long, 20.0), "{limit} {long}");
        let (limit, long) = step(dropped(ms(4), 20));
        // long = 64 / 4 = 16 ms = 4 × 4 ms: a twentieth is taken off, the drop counts as success.
        assert!(close(limit, 21.36) && close(long, 15.2), "{limit} {long}");
    }

    #[test]
    fn half_in_use_is_enough_and_twice_the_latency_is_not_too_long() {
        let mut l = default();
        l.record(Nanos::ZERO, &success(ms(30), 10), &mut Zero);
        assert_eq!(l.limit, 20.8, "10 is half of 20");
        l.record(Nanos::ZERO, &success(ms(10), 20), &mut Zero);
        assert_eq!(l.long.value(), 2e7, "(30 + 10) / 2 is no more than twice 10");
    }

    #[test]
    fn starts_in_range_and_refuses_the_rest() {
        let d = Gradient2Config::default();
        for bad in [
            Gradient2Config { initial: 19, ..d },
            Gradient2Config { max: 19, ..d },
            Gradient2Config { smoothing: 0.0, ..d },
            Gradient2Config { smoothing: f64::NAN, ..d },
            Gradient2Config { long_window: 0, ..d },
            Gradient2Config { tolerance: 0.9, ..d },
            Gradient2Config { tolerance: f64::INFINITY, ..d },
        ] {
            assert!(Gradient2::try_new(bad).is_none(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn stays_in_range(samples in prop::collection::vec(any_sample(), 0..300)) {
            let mut l = Gradient2::try_new(Gradient2Config {
                initial: 7, min: 3, max: 11, smoothing: 1.0, ..Gradient2Config::default()
            }).unwrap();
            for (now, sample) in samples {
                l.record(now, &sample, &mut Zero);
                prop_assert!((3..=11).contains(&l.limit()));
                prop_assert!((0.5..=1.0).contains(&l.gradient) && l.long.value().is_finite());
            }
        }
    }
}
