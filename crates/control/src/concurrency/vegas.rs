//! Netflix's Vegas: the queue estimated from the latency against the best latency so far.
//!
//! Source: Netflix concurrency-limits, `VegasLimit`; the idea is TCP Vegas. Faults of the rule,
//! kept here as published: a probe takes whatever it measures for the latency without load, so
//! under load the baseline rises (issue 165); a drop with the smallest latency yet becomes the
//! baseline and is not seen as a drop (issue 176); growth has no slow start (issue 35).

use rand_core::Rng;

use super::aimd::{INITIAL, MAX};
use super::{ConcurrencyLimit, LARGEST, Sample, log10};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, chance};

/// Netflix's Vegas limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Vegas {
    limit: f64,
    max: f64,
    smoothing: f64,
    multiplier: f64,
    /// The latency without load, in nanoseconds; 0 before the first sample.
    base: f64,
    probe_count: f64,
    /// From 0.5 to 1; 0 before it is first drawn.
    probe_jitter: f64,
    queue: f64,
    probes: u64,
    decreases: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "vegas",
    kind: Kind::Concurrency,
    summary: "Netflix's Vegas: estimates the queue from the best latency so far",
    source: "Netflix concurrency-limits, VegasLimit; issues 35, 165, 171, 176; TCP Vegas, 1994",
    rule: "\
lg = max(1, trunc(log10(trunc(limit)))); alpha = 3 lg; beta = 6 lg; jitter = U(0.5, 1)
each sample: probes += 1
  if jitter × probe_multiplier × limit ≤ probes: base = latency; redraw; probes = 0; done
  if base = 0 or latency < base:                 base = latency; done
  queue = ceil(limit × (1 − base / latency))
  dropped: n = limit − lg      2 × in_flight < limit: hold
  queue ≤ lg: n = limit + beta       queue < alpha: n = limit + lg
  queue > beta: n = limit − lg       else: hold
  limit = (1 − smoothing) × limit + smoothing × clamp(n, 1, max); published: trunc(limit)",
    when: "When work has a constant length, so that latency above its minimum is queueing. With \
           work of varying length its minimum is far below the mean and it starves: `guarded`.",
    traps: &[
        "A probe under load takes the loaded latency for the unloaded one; the limit drifts up (165).",
        "A quick rejection is the best latency ever seen: it becomes the base, and the drop is ignored (176).",
        "It moves at every sample; Netflix's own builders put a window before it: `vegas-windowed`.",
        "The first sample never changes the limit.",
    ],
    parameters: PARAMETERS,
    readings: READINGS,
    build: Build::Concurrency(|p| build(p).map(Into::into)),
};

pub(super) const PARAMETERS: &[Parameter] = &[
    INITIAL,
    Parameter { default: 1000.0, ..MAX },
    SMOOTHING,
    Parameter {
        name: "probe_multiplier",
        unit: Unit::Number,
        default: 30.0,
        min: 1.0,
        max: 1_000_000.0,
        doc: "the base is measured anew after about this many samples per unit of the limit",
    },
];

/// How fast the limit follows its new value.
pub(super) const SMOOTHING: Parameter = Parameter {
    name: "smoothing",
    unit: Unit::Number,
    default: 1.0,
    min: 0.001,
    max: 1.0,
    doc: "the weight of the new value; 1 takes it at once",
};

pub(super) const READINGS: &[Reading] = &[
    Reading::gauge("limit", "attempts that may be in flight"),
    Reading::gauge("min_rtt_s", "the latency taken for the one without load"),
    Reading::gauge("queue", "attempts estimated to wait, at the last sample that counted"),
    Reading::counter("probes", "times the base was measured anew"),
    Reading::counter("decreases", "times the limit was lowered"),
];

pub(super) fn build(p: &[f64]) -> Option<Vegas> {
    match *p {
        [initial, max, smoothing, multiplier] => {
            Vegas::try_new(whole(initial)?, whole(max)?, smoothing, multiplier)
        }
        _ => None,
    }
}

/// What one sample does to the limit, where the base is known and no probe is due: the new
/// value before smoothing and bounds, with the estimated queue. `None`: hold.
fn step(limit: f64, base: f64, rtt: f64, in_flight: u32, dropped: bool) -> (f64, Option<f64>) {
    let lg = log10(limit as u32);
    let queue = libm::ceil(limit * (1.0 - base / rtt));
    let new = if dropped {
        Some(limit - lg)
    } else if f64::from(in_flight) * 2.0 < limit {
        None
    } else if queue <= lg {
        Some(limit + 6.0 * lg)
    } else if queue < 3.0 * lg {
        Some(limit + lg)
    } else if queue > 6.0 * lg {
        Some(limit - lg)
    } else {
        None
    };
    (queue, new)
}

impl Vegas {
    /// A limit that starts at `initial`. `None` unless 1 ≤ initial ≤ max ≤ a million,
    /// 0.001 ≤ smoothing ≤ 1 and 1 ≤ probe multiplier ≤ a million.
    #[must_use]
    pub fn try_new(initial: u32, max: u32, smoothing: f64, probe_multiplier: f64) -> Option<Self> {
        let valid = (1..=max).contains(&initial)
            && max <= LARGEST
            && (0.001..=1.0).contains(&smoothing)
            && (1.0..=1_000_000.0).contains(&probe_multiplier);
        valid.then_some(Self {
            limit: f64::from(initial),
            max: f64::from(max),
            smoothing,
            multiplier: probe_multiplier,
            base: 0.0,
            probe_count: 0.0,
            probe_jitter: 0.0,
            queue: 0.0,
            probes: 0,
            decreases: 0,
        })
    }

    fn draw<R: Rng + ?Sized>(rng: &mut R) -> f64 {
        0.5 + chance::unit(rng) / 2.0
    }
}

impl ConcurrencyLimit for Vegas {
    #[inline]
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, _: Nanos, sample: &Sample, rng: &mut R) {
        let (Some(dropped), Some(rtt)) = (sample.dropped(), sample.rtt()) else { return };
        if self.probe_jitter == 0.0 {
            self.probe_jitter = Self::draw(rng);
        }
        self.probe_count += 1.0;
        if self.probe_jitter * self.multiplier * self.limit <= self.probe_count {
            self.probe_jitter = Self::draw(rng);
            self.probe_count = 0.0;
            self.base = rtt;
            self.probes += 1;
            return;
        }
        if self.base == 0.0 || rtt < self.base {
            self.base = rtt;
            return;
        }
        let (queue, new) = step(self.limit, self.base, rtt, sample.in_flight, dropped);
        self.queue = queue;
        let Some(new) = new else { return };
        let new = new.clamp(1.0, self.max);
        self.decreases += u64::from(new < self.limit);
        self.limit = (1.0 - self.smoothing) * self.limit + self.smoothing * new;
    }
}

impl Observe for Vegas {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit()));
        see("min_rtt_s", self.base / 1e9);
        see("queue", self.queue);
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

    fn with(initial: u32, base: Nanos) -> Vegas {
        let mut l = Vegas::try_new(initial, 1000, 1.0, 30.0).unwrap();
        l.record(Nanos::ZERO, &success(base, initial), &mut Zero);
        assert_eq!(l.limit(), initial, "the first sample only sets the base");
        l
    }

    fn next(initial: u32, sample: Sample) -> (f64, u32) {
        let mut l = with(initial, ms(10));
        l.record(Nanos::ZERO, &sample, &mut Zero);
        (l.queue, l.limit())
    }

    #[test]
    fn published_vectors() {
        for (initial, micros, queue, limit) in [
            (20, 10_000, 0.0, 26),
            (20, 10_400, 1.0, 26),
            (20, 11_000, 2.0, 21),
            (20, 11_500, 3.0, 20),
            (20, 14_000, 6.0, 20),
            (20, 20_000, 10.0, 19),
            (20, 40_000, 15.0, 19),
            (100, 10_100, 1.0, 112),
            (100, 11_000, 10.0, 100),
        ] {
            let got = next(initial, success(Nanos(micros * 1_000), initial));
            assert_eq!(got, (queue, limit), "{initial} at {micros} us");
        }
        assert_eq!(next(20, success(ms(10), 9)).1, 20, "9 of 20 in flight: holds");
        assert_eq!(next(20, success(ms(10), 10)).1, 26, "half of it: moves");
        assert_eq!(next(20, dropped(ms(10), 1)).1, 19);
    }

    #[test]
    fn the_whole_logarithm() {
        let lg = |l| log10(l) as u32;
        assert_eq!([0, 1, 9, 10, 99].map(lg), [1; 5]);
        assert_eq!([100, 999, 1000, 9_999, 10_000].map(lg), [2, 2, 3, 3, 4]);
    }

    #[test]
    fn smoothing_keeps_fractions_and_publishes_the_whole_part() {
        let mut l = Vegas::try_new(20, 1000, 0.25, 30.0).unwrap();
        l.record(Nanos::ZERO, &success(ms(10), 20), &mut Zero);
        l.record(Nanos::ZERO, &success(ms(10), 20), &mut Zero);
        assert_eq!((l.limit, l.limit()), (21.5, 21));
        l.record(Nanos::ZERO, &success(ms(10), 20), &mut Zero);
        assert_eq!((l.limit, l.limit()), (23.0, 23));
    }

    /// With jitter 0.5 a probe comes at sample 0.5 × 30 × 20 = 300.
    #[test]
    fn a_probe_takes_whatever_it_measures() {
        let mut l = with(20, ms(10));
        for _ in 2..300 {
            l.record(Nanos::ZERO, &success(ms(12), 20), &mut Zero);
        }
        assert_eq!((l.base, l.probes), (1e7, 0), "12 ms is a queue of 4: in the hold zone");
        l.record(Nanos::ZERO, &success(ms(12), 20), &mut Zero);
        assert_eq!((l.base, l.probes, l.limit()), (1.2e7, 1, 20));
        l.record(Nanos::ZERO, &success(ms(12), 20), &mut Zero);
        assert_eq!(l.limit(), 26, "and what was a queue before is none now");
    }

    proptest! {
        #[test]
        fn stays_in_range(samples in prop::collection::vec(any_sample(), 0..300), max in 1u32..50) {
            let mut l = Vegas::try_new(1, max, 0.7, 1.0).unwrap();
            for (now, sample) in samples {
                l.record(now, &sample, &mut Zero);
                prop_assert!((1..=max).contains(&l.limit()));
                prop_assert!(l.queue.is_finite() && l.base.is_finite());
            }
        }
    }
}
