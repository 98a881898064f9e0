//! Netflix's first gradient: latency against its minimum, which is probed anew.
//!
//! Source: Netflix concurrency-limits, `GradientLimit`. A probe cuts the limit to the size of
//! the queue so that the new minimum is not measured under load; that is the answer to the
//! drift of Vegas, at the price of a window in which almost everything is refused.

use rand_core::Rng;

use super::aimd::{INITIAL, MAX, MIN};
use super::vegas::SMOOTHING;
use super::{ConcurrencyLimit, Sample, ordered};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, chance};

/// What a [`Gradient`] is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientConfig {
    /// The limit at the start.
    pub initial: u32,
    /// The smallest limit after a decrease.
    pub min: u32,
    /// The largest limit, at least 4.
    pub max: u32,
    /// The weight of a new value that is lower, 0.001 to 1.
    pub smoothing: f64,
    /// How many times the minimum is still no queueing, 1 to 100.
    pub tolerance: f64,
    /// The factor after a drop, 0.5 to 0.9999.
    pub backoff: f64,
    /// Samples between two probes at least, up to twice as many; 0 never probes.
    pub probe_interval: u32,
}

impl Default for GradientConfig {
    fn default() -> Self {
        Self {
            initial: 50,
            min: 1,
            max: 1000,
            smoothing: 0.2,
            tolerance: 2.0,
            backoff: 0.9,
            probe_interval: 1000,
        }
    }
}

/// Netflix's Gradient limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    limit: f64,
    /// The smallest latency since the last probe, in nanoseconds; 0 before the first sample.
    base: f64,
    gradient: f64,
    /// Samples until a probe is due; drawn at the first sample.
    countdown: Option<u64>,
    config: GradientConfig,
    probes: u64,
    decreases: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "gradient",
    kind: Kind::Concurrency,
    summary: "Netflix's first gradient: latency against its minimum, which is probed anew",
    source: "Netflix concurrency-limits, GradientLimit",
    rule: "\
q = max(4, trunc(sqrt(trunc(limit))))
every probe_interval + rand(probe_interval) samples: limit = max(min, q); forget base; done
base = min(base, latency); gradient = clamp(tolerance × base / latency, 0.5, 1)
dropped: n = limit × backoff      in_flight < limit / 2: hold      else: n = limit × gradient + q
n < limit: n = max(min, (1 − smoothing) × limit + smoothing × n)
limit = clamp(n, q, max)",
    when: "Work of nearly constant length. Netflix itself replaced it by `gradient2`.",
    traps: &[
        "Every probe refuses most of the traffic until the limit has grown back.",
        "Below q / (1 − gradient) it grows although the gradient says to shrink (PR 134).",
        "A quick rejection becomes the base (176), until the next probe.",
        "The smallest limit is max(min, 4) once it has moved.",
    ],
    parameters: &[
        Parameter { default: 50.0, ..INITIAL },
        Parameter { default: 1.0, ..MIN },
        Parameter { default: 1000.0, min: 4.0, ..MAX },
        Parameter {
            default: 0.2,
            doc: "the weight of a new value that is lower; growth is taken at once",
            ..SMOOTHING
        },
        Parameter {
            name: "tolerance",
            unit: Unit::Number,
            default: 2.0,
            min: 1.0,
            max: 100.0,
            doc: "how many times the smallest latency is still no queueing",
        },
        Parameter {
            name: "backoff",
            unit: Unit::Number,
            default: 0.9,
            min: 0.5,
            max: 0.9999,
            doc: "factor of the limit after a drop, before smoothing",
        },
        Parameter {
            name: "probe_interval",
            unit: Unit::Count,
            default: 1000.0,
            min: 0.0,
            max: 1_000_000_000.0,
            doc: "samples between two probes, up to twice as many; 0: never",
        },
    ],
    readings: &[
        Reading::gauge("limit", "attempts that may be in flight"),
        Reading::gauge("min_rtt_s", "the smallest latency since the last probe"),
        Reading::gauge("gradient", "factor of the limit at the last sample"),
        Reading::counter("probes", "times the limit was cut to measure the base anew"),
        Reading::counter("decreases", "times the limit was lowered, probes left out"),
    ],
    build: Build::Concurrency(|p| match *p {
        [initial, min, max, smoothing, tolerance, backoff, probe_interval] => {
            Gradient::try_new(GradientConfig {
                initial: whole(initial)?,
                min: whole(min)?,
                max: whole(max)?,
                smoothing,
                tolerance,
                backoff,
                probe_interval: whole(probe_interval)?,
            })
            .map(Into::into)
        }
        _ => None,
    }),
};

impl Gradient {
    /// A limit that starts at `initial`. `None` unless min ≤ initial ≤ max and everything is in
    /// the range that [`GradientConfig`] states.
    #[must_use]
    pub fn try_new(config: GradientConfig) -> Option<Self> {
        let valid = ordered(config.min, config.initial, config.max)
            && config.max >= 4
            && (0.001..=1.0).contains(&config.smoothing)
            && (1.0..=100.0).contains(&config.tolerance)
            && (0.5..=0.9999).contains(&config.backoff)
            && config.probe_interval <= 1_000_000_000;
        valid.then_some(Self {
            limit: f64::from(config.initial),
            base: 0.0,
            gradient: 1.0,
            countdown: None,
            config,
            probes: 0,
            decreases: 0,
        })
    }

    /// The queue that is allowed at this limit.
    fn queue(&self) -> f64 {
        f64::from((self.limit as u32).isqrt().max(4))
    }

    /// Whether a probe is due at this sample.
    fn probe_due<R: Rng + ?Sized>(&mut self, rng: &mut R) -> bool {
        let interval = u64::from(self.config.probe_interval);
        if interval == 0 {
            return false;
        }
        let left = self.countdown.unwrap_or_else(|| interval + chance::below(interval, rng));
        let due = left == 0;
        self.countdown = Some(if due { interval + chance::below(interval, rng) } else { left - 1 });
        due
    }
}

impl ConcurrencyLimit for Gradient {
    #[inline]
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn record<R: Rng + ?Sized>(&mut self, _: Nanos, sample: &Sample, rng: &mut R) {
        let (Some(dropped), Some(rtt)) = (sample.dropped(), sample.rtt()) else { return };
        let GradientConfig { min, max, smoothing, tolerance, backoff, .. } = self.config;
        let (min, max, queue) = (f64::from(min), f64::from(max), self.queue());
        if self.probe_due(rng) {
            self.limit = min.max(queue);
            self.base = 0.0;
            self.probes += 1;
            return;
        }
        self.base = if self.base == 0.0 { rtt } else { self.base.min(rtt) };
        self.gradient = (tolerance * self.base / rtt).clamp(0.5, 1.0);
        let mut new = if dropped {
            self.limit * backoff
        } else if f64::from(sample.in_flight) < self.limit / 2.0 {
            return;
        } else {
            self.limit * self.gradient + queue
        };
        if new < self.limit {
            self.decreases += 1;
            new = min.max(self.limit * (1.0 - smoothing) + new * smoothing);
        }
        self.limit = new.min(max).max(queue);
    }
}

impl Observe for Gradient {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit()));
        see("min_rtt_s", self.base / 1e9);
        see("gradient", self.gradient);
        see("probes", self.probes as f64);
        see("decreases", self.decreases as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::plant::{any_sample, dropped, ms, success};
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    fn default() -> Gradient {
        Gradient::try_new(GradientConfig::default()).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn state_after_each_step_by_hand() {
        let mut l = default();
        let mut step = |sample| {
            l.record(Nanos::ZERO, &sample, &mut Zero);
            l.limit
        };
        assert_eq!(step(success(ms(10), 50)), 57.0, "no smoothing upwards: 50 + sqrt 50");
        assert_eq!(step(success(ms(20), 50)), 64.0, "twice the minimum is tolerated");
        // gradient 2 × 10 / 40 = 0.5: n = 32 + 8, limit = 0.8 × 64 + 0.2 × 40.
        assert!(close(step(success(ms(40), 64)), 59.2));
        assert!(close(step(success(ms(10), 29)), 59.2), "29 is less than half: holds");
        assert!(close(step(dropped(ms(40), 1)), 58.016), "0.8 × 59.2 + 0.2 × 53.28");
        assert!(close(step(dropped(ms(1), 1)), 56.85568));
        assert_eq!(l.base, 1e6, "the drop set the base");
    }

    #[test]
    fn half_in_use_is_enough() {
        for (in_flight, limit) in [(24, 50.0), (25, 57.0)] {
            let mut l = default();
            l.record(Nanos::ZERO, &success(ms(10), in_flight), &mut Zero);
            assert_eq!(l.limit, limit, "{in_flight} of 50");
        }
    }

    #[test]
    fn a_probe_cuts_the_limit_to_the_queue_and_forgets_the_minimum() {
        let mut l = Gradient::try_new(GradientConfig {
            initial: 100,
            probe_interval: 3,
            ..GradientConfig::default()
        })
        .unwrap();
        for _ in 0..3 {
            l.record(Nanos::ZERO, &success(ms(10), 1), &mut Zero);
        }
        assert_eq!((l.limit(), l.base, l.probes), (100, 1e7, 0));
        l.record(Nanos::ZERO, &success(ms(10), 1), &mut Zero);
        assert_eq!((l.limit(), l.base, l.probes), (10, 0.0, 1));
        l.record(Nanos::ZERO, &success(ms(50), 10), &mut Zero);
        assert_eq!((l.limit(), l.base), (14, 5e7));
    }

    #[test]
    fn zero_never_probes() {
        let mut l =
            Gradient::try_new(GradientConfig { probe_interval: 0, ..GradientConfig::default() })
                .unwrap();
        for _ in 0..5_000 {
            l.record(Nanos::ZERO, &success(ms(10), 1), &mut Zero);
        }
        assert_eq!(l.probes, 0);
    }

    proptest! {
        #[test]
        fn stays_in_range(samples in prop::collection::vec(any_sample(), 0..300), max in 4u32..90) {
            let mut l = Gradient::try_new(GradientConfig {
                initial: 4, min: 3, max, probe_interval: 7, smoothing: 1.0, ..GradientConfig::default()
            }).unwrap();
            for (now, sample) in samples {
                l.record(now, &sample, &mut Zero);
                prop_assert!((3..=max).contains(&l.limit()));
                prop_assert!((0.5..=1.0).contains(&l.gradient));
            }
        }
    }
}
