//! A gradient without the known faults of the others.
//!
//! Source: ours; Netflix's Gradient2 with an answer to each fault that is known of it and of its
//! relatives. What differs, and why:
//!
//! - The queue term is not added while the gradient is below one (PR 134).
//! - A timeout, a rejection and a shed attempt are drops and never a latency (issues 137, 176);
//!   the limit shrinks when they are more than a tenth of a window.
//! - The baseline is never an average of busy times (issue 165, failsafe-go 127). It follows
//!   windows in which at most half of the limit was in use, up to `tolerance` times its lowest
//!   value; under load it only falls, and only by more than chance explains. So it cannot learn
//!   the queue that the limit itself causes. If even `min` attempts at a time are slow, the
//!   latency is not this limit's doing, and shrinking further would only waste workers: then
//!   that latency is the baseline, up to `max_healthy_rtt` where one is given.
//! - It starts at `min`, so that the first latency is one without a queue, and doubles until the
//!   first sign of one (issue 35).
//! - It never cuts the limit in order to measure (Envoy 8337).
//! - A window stays open until it has enough samples, instead of being thrown away; attempts
//!   admitted before a decrease do not cause the next.

use rand_core::Rng;

use super::aimd::{MAX, MIN};
use super::{ConcurrencyLimit, Sample, ordered};
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};

/// What a [`Guarded`] is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuardedConfig {
    /// The smallest limit, and the one at the start.
    pub min: u32,
    /// The largest limit.
    pub max: u32,
    /// How many times the baseline is still no queueing, 1 to 100.
    pub tolerance: f64,
    /// The shortest window, 1 ms to an hour.
    pub window: Nanos,
    /// Ended attempts that a window needs, 1 to a million.
    pub samples: u32,
    /// The highest latency that can be normal; zero: whatever `min` attempts at a time take.
    pub max_healthy_rtt: Nanos,
}

impl Default for GuardedConfig {
    fn default() -> Self {
        Self {
            min: 4,
            max: 1000,
            tolerance: 2.0,
            window: Nanos::from_millis(100),
            samples: 50,
            max_healthy_rtt: Nanos::ZERO,
        }
    }
}

/// The limit that does not learn its incident.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarded {
    config: GuardedConfig,
    limit: f64,
    slow_start: bool,
    /// The latency without a queue, in nanoseconds; 0 before the first window.
    base: f64,
    /// The lowest that `base` has been since it last jumped.
    lowest: f64,
    gradient: f64,
    since: Nanos,
    /// Attempts admitted before this belong to the limit before the last decrease.
    epoch: Nanos,
    sum: f64,
    successes: u32,
    drops: u32,
    peak: u32,
    dropped: u64,
    decreases: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "guarded",
    kind: Kind::Concurrency,
    summary: "a gradient with a latched baseline, slow start, and drops that are drops",
    source: "Damper; Netflix Gradient2 with answers to concurrency-limits 35, 137, 165, 176 and PR 134, failsafe-go 127, envoy 8337",
    rule: "\
a window ends after `window` and `samples` attempts admitted since the last decrease
drops = timed out, rejected, shed; mean = mean latency of successes
idle = 2 × peak in_flight ≤ limit
base = mean if there is none yet, or mean × tolerance < base, or busy at limit = min with few drops
idle: base += (mean − base) / 20, up to tolerance × the lowest base since such a jump
base = min(base, max_healthy_rtt)
drops > a tenth:                        limit = 0.9 × limit
gradient = tolerance × base / mean < 1: limit = max(gradient, 0.5) × limit, unless idle
else unless idle: limit = 2 × limit before the first decrease, limit + max(1, sqrt(limit)) after
limit = clamp(limit, min, max)",
    when: "On either side of a call, where the wait in the queue is not known. Where it is, \
           `queue-delay` needs no baseline at all.",
    traps: &[
        "`min` must be so small that it cannot cause a queue: the latency at `min` is taken for normal.",
        "In front of work that has become slow it goes down to `min` once, in order to see whether that helps.",
        "Started in the middle of an incident it takes the incident's latency for normal, until it is over; `max_healthy_rtt` prevents that.",
        "Work of a second starts slowly: each doubling needs `samples` ended attempts.",
        "With `max_healthy_rtt` work that stays slower than `tolerance` times that is done `min` at a time.",
        "It keeps latency at `tolerance` times the baseline under overload: deadlines must allow that.",
        "Calls of very different length in one limit look like queueing when their mix changes.",
    ],
    parameters: &[
        Parameter {
            default: 4.0,
            doc: "the smallest limit, and the one at the start; so small that it causes no queue",
            ..MIN
        },
        Parameter { default: 1000.0, ..MAX },
        Parameter {
            name: "tolerance",
            unit: Unit::Number,
            default: 2.0,
            min: 1.0,
            max: 100.0,
            doc: "how many times the baseline is still no queueing",
        },
        Parameter {
            name: "window",
            unit: Unit::Duration,
            default: 0.1,
            min: 0.001,
            max: 3600.0,
            doc: "the shortest span between two changes",
        },
        Parameter {
            name: "samples",
            unit: Unit::Count,
            default: 50.0,
            min: 1.0,
            max: 1_000_000.0,
            doc: "ended attempts that a change needs",
        },
        Parameter {
            name: "max_healthy_rtt",
            unit: Unit::Duration,
            default: 0.0,
            min: 0.0,
            max: 3600.0,
            doc: "the highest latency that can be normal; 0: whatever `min` attempts at a time take",
        },
    ],
    readings: &[
        Reading::gauge("limit", "attempts that may be in flight"),
        Reading::gauge("base_rtt_s", "the latency without a queue"),
        Reading::gauge("gradient", "tolerance × base / mean of the last window, at most 1"),
        Reading::gauge("slow_start", "1 until the first sign of a queue"),
        Reading::counter("dropped", "attempts that timed out, were rejected or shed"),
        Reading::counter("decreases", "windows that lowered the limit"),
    ],
    build: Build::Concurrency(|p| match *p {
        [min, max, tolerance, window, samples, healthy] => Guarded::try_new(GuardedConfig {
            min: whole(min)?,
            max: whole(max)?,
            tolerance,
            window: seconds(window)?,
            samples: whole(samples)?,
            max_healthy_rtt: seconds(healthy)?,
        })
        .map(Into::into),
        _ => None,
    }),
};

impl Guarded {
    /// The factor after a window with too many drops: Netflix's AIMD.
    const BACKOFF: f64 = 0.9;
    /// More drops than one in so many ended attempts are too many; fewer are background noise.
    const DROPS: u64 = 10;
    /// The weight of an idle window in the baseline.
    const WEIGHT: f64 = 0.05;

    /// A limit that starts at `min`. `None` unless min ≤ max and everything is in
    /// the range that [`GuardedConfig`] states.
    #[must_use]
    pub fn try_new(config: GuardedConfig) -> Option<Self> {
        let hour = Nanos::from_secs(3600);
        let valid = ordered(config.min, config.min, config.max)
            && (1.0..=100.0).contains(&config.tolerance)
            && (Nanos::from_millis(1)..=hour).contains(&config.window)
            && (1..=1_000_000).contains(&config.samples)
            && config.max_healthy_rtt <= hour;
        valid.then_some(Self {
            config,
            limit: f64::from(config.min),
            slow_start: true,
            base: 0.0,
            lowest: f64::MAX,
            gradient: 1.0,
            since: Nanos::ZERO,
            epoch: Nanos::ZERO,
            sum: 0.0,
            successes: 0,
            drops: 0,
            peak: 0,
            dropped: 0,
            decreases: 0,
        })
    }

    /// Takes the mean latency of a window into the baseline.
    fn learn(&mut self, mean: f64, idle: bool, at_min: bool) {
        let tolerance = self.config.tolerance;
        if self.base == 0.0 || mean * tolerance < self.base || at_min && !idle {
            (self.base, self.lowest) = (mean, mean);
        } else if idle {
            let next = self.base + (mean - self.base) * Self::WEIGHT;
            self.base = next.min(self.lowest * tolerance);
        }
        if self.config.max_healthy_rtt > Nanos::ZERO {
            self.base = self.base.min(self.config.max_healthy_rtt.0 as f64);
        }
        self.lowest = self.lowest.min(self.base);
    }

    fn close_window(&mut self, now: Nanos) {
        let idle = f64::from(self.peak) * 2.0 <= self.limit;
        let ended = u64::from(self.successes) + u64::from(self.drops);
        let too_many_drops = u64::from(self.drops) * Self::DROPS > ended;
        self.gradient = 1.0;
        if self.successes > 0 {
            let mean = self.sum / f64::from(self.successes);
            let at_min = self.limit <= f64::from(self.config.min) && !too_many_drops;
            self.learn(mean, idle, at_min);
            self.gradient = (self.config.tolerance * self.base / mean).min(1.0);
        }
        let factor = if too_many_drops {
            Some(Self::BACKOFF)
        } else if self.gradient < 1.0 && !idle {
            Some(self.gradient.max(0.5))
        } else {
            None
        };
        let new = if let Some(factor) = factor {
            self.slow_start = false;
            self.epoch = now;
            self.decreases += 1;
            self.limit * factor
        } else if idle || self.gradient < 1.0 {
            self.limit
        } else if self.slow_start {
            self.limit * 2.0
        } else {
            self.limit + libm::sqrt(self.limit).max(1.0)
        };
        self.limit = new.clamp(f64::from(self.config.min), f64::from(self.config.max));
        self.since = now;
        (self.sum, self.successes, self.drops, self.peak) = (0.0, 0, 0, 0);
    }
}

impl ConcurrencyLimit for Guarded {
    #[inline]
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, now: Nanos, sample: &Sample, _: &mut R) {
        let Some(dropped) = sample.dropped() else { return };
        self.dropped += u64::from(dropped);
        // A clock that was set back must neither stop the window nor make all attempts old ones.
        self.since = self.since.min(now);
        self.epoch = self.epoch.min(now);
        if sample.started < self.epoch {
            return;
        }
        match (dropped, sample.rtt()) {
            (true, _) => self.drops = self.drops.saturating_add(1),
            (false, Some(rtt)) => {
                self.sum += rtt;
                self.successes = self.successes.saturating_add(1);
            }
            (false, None) => return,
        }
        self.peak = self.peak.max(sample.in_flight);
        let ended = self.successes.saturating_add(self.drops);
        if ended >= self.config.samples && now.since(self.since) >= self.config.window {
            self.close_window(now);
        }
    }
}

impl Observe for Guarded {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit()));
        see("base_rtt_s", self.base / 1e9);
        see("gradient", self.gradient);
        see("slow_start", f64::from(u8::from(self.slow_start)));
        see("dropped", self.dropped as f64);
        see("decreases", self.decreases as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::plant::{any_sample, dropped, ms, success};
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    /// At a limit of 20 in its slow start.
    fn at_20(config: GuardedConfig) -> Guarded {
        let mut l = Guarded::try_new(config).unwrap();
        assert_eq!(l.limit(), config.min);
        l.limit = 20.0;
        l
    }

    fn default() -> Guarded {
        at_20(GuardedConfig::default())
    }

    /// A window of 50 attempts: `drops` of them dropped at once, the others of this latency.
    fn window(l: &mut Guarded, latency: u64, in_flight: u32, drops: u32) -> u32 {
        let now = l.since + ms(100);
        for i in 0..50 {
            let sample = if i < drops {
                dropped(Nanos(10), in_flight)
            } else {
                success(ms(latency), in_flight)
            };
            l.record(now, &Sample { started: now, ..sample }, &mut Zero);
        }
        l.limit()
    }

    #[test]
    fn state_after_each_step_by_hand() {
        let mut l = default();
        assert_eq!(window(&mut l, 10, 20, 0), 40, "doubles while there is no queue");
        assert_eq!(window(&mut l, 10, 20, 0), 40, "20 of 40 in use is idle");
        assert_eq!(window(&mut l, 20, 40, 0), 80, "twice the baseline is tolerated");
        assert_eq!(
            (window(&mut l, 25, 80, 0), l.gradient),
            (64, 0.8),
            "2 × 10 / 25, nothing added"
        );
        assert_eq!((window(&mut l, 10, 64, 0), l.slow_start), (72, false), "64 + 8");
        assert_eq!(window(&mut l, 200, 72, 0), 36, "at most half at once");
        assert_eq!(window(&mut l, 10, 36, 5), 42, "a tenth of drops is noise: 36 + 6");
        assert_eq!(window(&mut l, 10, 42, 6), 37, "trunc(42 × 0.9), drops are no quick replies");
        assert_eq!(window(&mut l, 10, 1, 50), 34, "and they count however few are in flight");
        assert_eq!((l.base, l.lowest, l.decreases, l.dropped), (1e7, 1e7, 4, 61));
    }

    #[test]
    fn the_baseline_rises_in_idle_windows_up_to_the_cap() {
        let mut l = default();
        window(&mut l, 10, 20, 0);
        window(&mut l, 15, 20, 0);
        assert_eq!(l.base, 1.025e7, "10 + 5 / 20");
        for _ in 0..1_000 {
            window(&mut l, 100, 20, 0);
        }
        assert_eq!(l.base, 2e7, "ten times the latency: twice the lowest and no more");
        window(&mut l, 11, 40, 0);
        assert_eq!(l.base, 2e7, "busy and a little faster: chance");
        window(&mut l, 9, 80, 0);
        assert_eq!(l.base, 9e6, "faster than half of it: no chance");
    }

    #[test]
    fn what_is_slow_even_at_the_minimum_is_not_its_doing() {
        let mut l = default();
        window(&mut l, 10, 20, 0);
        for limit in [20, 10, 5, 4] {
            assert_eq!((window(&mut l, 100, 40, 0), l.base), (limit, 1e7));
        }
        assert_eq!((window(&mut l, 100, 4, 10), l.base), (4, 1e7), "not while a fifth is dropped");
        assert_eq!((window(&mut l, 100, 2, 0), l.base), (4, 1.45e7), "not while idle");
        assert_eq!((window(&mut l, 100, 4, 0), l.base, l.lowest), (6, 1e8, 1e8));
        assert_eq!(
            (window(&mut l, 201, 6, 0), l.base),
            (5, 1e8),
            "a queue on top of it is a queue"
        );
        assert_eq!((window(&mut l, 10, 5, 0), l.base), (8, 1e7), "it is forgotten when it is over");
    }

    #[test]
    fn a_healthy_latency_can_be_given() {
        let mut l = at_20(GuardedConfig { max_healthy_rtt: ms(30), ..GuardedConfig::default() });
        window(&mut l, 500, 20, 0);
        assert_eq!((l.base, l.limit()), (3e7, 10), "started in an incident");
        for _ in 0..1_000 {
            window(&mut l, 100, 20, 0);
        }
        assert_eq!((l.base, l.limit()), (3e7, 4), "it does not forget what healthy means");
    }

    #[test]
    fn a_window_waits_for_its_samples() {
        let mut l = default();
        for i in 1..50 {
            let started = Nanos::from_secs(i);
            l.record(started, &Sample { started, ..success(ms(10), 20) }, &mut Zero);
        }
        assert_eq!((l.limit(), l.successes), (20, 49), "nothing is thrown away");
        l.record(Nanos::from_secs(50), &success(ms(10), 20), &mut Zero);
        assert_eq!(l.limit(), 40);
    }

    #[test]
    fn attempts_from_before_a_decrease_do_not_cause_the_next() {
        let mut l = default();
        window(&mut l, 10, 20, 0);
        window(&mut l, 100, 40, 0);
        assert_eq!((l.limit(), l.decreases), (20, 1));
        for _ in 0..500 {
            l.record(ms(900), &Sample { started: ms(199), ..success(ms(700), 40) }, &mut Zero);
        }
        assert_eq!((l.limit(), l.decreases), (20, 1));
    }

    proptest! {
        #[test]
        fn stays_in_range(samples in prop::collection::vec(any_sample(), 0..300), tolerance in 1.0f64..5.0) {
            let mut l = Guarded::try_new(GuardedConfig {
                min: 3, max: 11, tolerance, samples: 2, ..GuardedConfig::default()
            }).unwrap();
            for (now, sample) in samples {
                l.record(now, &sample, &mut Zero);
                prop_assert!((3..=11).contains(&l.limit()));
                prop_assert!((0.0..=1.0).contains(&l.gradient));
                l.observe(&mut |name, value| assert!(value.is_finite(), "{name}"));
            }
        }
    }
}
