//! Envoy's gradient controller: latency against a minimum that is measured in windows of its own.
//!
//! Source: Envoy `adaptive_concurrency` filter, `GradientController`. Differences that time as
//! an argument makes: Envoy's timers fire by themselves, here a timer that is due acts when the
//! next attempt ends, before that attempt is sampled (without samples Envoy's update does nothing
//! either). Envoy keeps whole microseconds and a circllhist of two digits; here latencies are
//! nanoseconds in a log-linear histogram that is off by at most 0.8 %. Jitter is drawn in
//! nanoseconds, not milliseconds.

use rand_core::Rng;

use super::histogram::Histogram;
use super::{ConcurrencyLimit, LARGEST, Limit, Sample};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, chance};

/// What an [`EnvoyGradient`] is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnvoyGradientConfig {
    /// `sample_aggregate_percentile`, 0 to 100.
    pub percentile: f64,
    /// `max_concurrency_limit`.
    pub max: u32,
    /// `concurrency_update_interval`, 1 ms to a day. Envoy has no default.
    pub update_interval: Nanos,
    /// `min_rtt_calc_params.interval`, 1 ms to a day. Envoy has no default.
    pub min_rtt_interval: Nanos,
    /// `fixed_value`: the minimum latency if it is known; zero: measure it.
    pub fixed_min_rtt: Nanos,
    /// `request_count`: samples in a window of measurement, 1 to a million.
    pub request_count: u32,
    /// `jitter` of the interval, 0 to 100 %.
    pub jitter: f64,
    /// `min_concurrency`: the limit while the minimum is measured.
    pub min_concurrency: u32,
    /// `min_concurrency_limit`: the smallest computed limit; 0: the same as `min_concurrency`.
    pub min_limit: u32,
    /// `buffer`: how much above the minimum is normal, 0 to 100 %.
    pub buffer: f64,
}

impl Default for EnvoyGradientConfig {
    fn default() -> Self {
        Self {
            percentile: 50.0,
            max: 1000,
            update_interval: Nanos::from_millis(100),
            min_rtt_interval: Nanos::from_secs(60),
            fixed_min_rtt: Nanos::ZERO,
            request_count: 50,
            jitter: 15.0,
            min_concurrency: 3,
            min_limit: 0,
            buffer: 25.0,
        }
    }
}

/// Envoy's gradient controller.
#[derive(Clone, Debug)]
pub struct EnvoyGradient {
    config: EnvoyGradientConfig,
    floor: u32,
    limit: u32,
    /// The limit to return to after a window of measurement; `Some` in such a window.
    deferred: Option<u32>,
    /// Samples that were admitted before this say nothing about the minimum.
    epoch: Nanos,
    histogram: Histogram,
    min_rtt_ns: f64,
    sample_rtt_ns: f64,
    gradient: f64,
    headroom: f64,
    /// Updates in a row that left the limit at its floor.
    at_floor: u32,
    next_update: Timer,
    next_window: Timer,
    windows: u64,
}

/// Something that is due a span after it was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timer {
    set: Nanos,
    after: Nanos,
}

impl Timer {
    /// Whether it is due. A clock that was set back sets it anew, so that it cannot wait for
    /// the whole time that the clock lost.
    #[inline]
    fn due(&mut self, now: Nanos) -> bool {
        self.set = self.set.min(now);
        now.since(self.set) >= self.after
    }
}

pub(super) const ENTRY: Entry = Entry {
    name: "envoy-gradient",
    kind: Kind::Concurrency,
    summary: "Envoy's gradient controller: latency against a minimum measured in windows of its own",
    source: "Envoy adaptive_concurrency filter, GradientController; issues 8337, 9007, 10647, 38338",
    rule: "\
window of measurement, at the start and every min_rtt_interval + rand(interval × jitter):
  limit = min_concurrency until request_count attempts admitted since have ended
  min_rtt = percentile of them; limit = what it was before
else every update_interval with samples:
  gradient = clamp(min_rtt × (1 + buffer) / percentile of the samples, 0.5, 2)
  x = limit × gradient; limit = clamp(trunc(x + sqrt(x)), min_limit, max)
  5 updates in a row at the smallest limit: measure anew now
every end but a cancellation is a sample",
    when: "What an Envoy or Istio mesh with this filter does. Pair it with retries on another \
           host: a window of measurement refuses most of the traffic.",
    traps: &[
        "A window of measurement lets `min_concurrency` (3) through and refuses the rest (8337, 9007).",
        "A slow callee takes long to answer `request_count` attempts three at a time: the window lasts.",
        "An incident that is measured becomes the minimum, and the limit grows (38338).",
        "Quick errors and rejections are samples: they look like low latency.",
        "The square root always pushes up, until latency has grown by as much.",
        "The two intervals have no default in Envoy; 100 ms and 60 s are those of its example.",
    ],
    parameters: &[
        Parameter {
            name: "percentile",
            unit: Unit::Percent,
            default: 50.0,
            min: 0.0,
            max: 100.0,
            doc: "sample_aggregate_percentile: which latency of a window counts",
        },
        Parameter {
            name: "max",
            unit: Unit::Count,
            default: 1000.0,
            min: 1.0,
            max: LARGEST as f64,
            doc: "max_concurrency_limit: the largest limit",
        },
        duration("update_interval", 0.1, 0.001, "concurrency_update_interval"),
        duration("min_rtt_interval", 60.0, 0.001, "time between two windows of measurement"),
        duration("fixed_min_rtt", 0.0, 0.0, "fixed_value: the minimum, if known; 0: measure it"),
        Parameter {
            name: "request_count",
            unit: Unit::Count,
            default: 50.0,
            min: 1.0,
            max: 1_000_000.0,
            doc: "attempts in a window of measurement",
        },
        Parameter {
            name: "jitter",
            unit: Unit::Percent,
            default: 15.0,
            min: 0.0,
            max: 100.0,
            doc: "random part of min_rtt_interval, so that a fleet does not measure at once",
        },
        Parameter {
            name: "min_concurrency",
            unit: Unit::Count,
            default: 3.0,
            min: 1.0,
            max: LARGEST as f64,
            doc: "the limit at the start and while the minimum is measured",
        },
        Parameter {
            name: "min_limit",
            unit: Unit::Count,
            default: 0.0,
            min: 0.0,
            max: LARGEST as f64,
            doc: "min_concurrency_limit: the smallest computed limit; 0: min_concurrency",
        },
        Parameter {
            name: "buffer",
            unit: Unit::Percent,
            default: 25.0,
            min: 0.0,
            max: 100.0,
            doc: "how much above the minimum is normal",
        },
    ],
    readings: &[
        Reading::gauge("limit", "attempts that may be in flight (concurrency_limit)"),
        Reading::gauge("min_rtt_s", "the measured minimum (min_rtt_msecs)"),
        Reading::gauge("sample_rtt_s", "the latency of the last update (sample_rtt_msecs)"),
        Reading::gauge("gradient", "factor of the last update"),
        Reading::gauge("headroom", "square root added at the last update (burst_queue_size)"),
        Reading::gauge("measuring", "1 in a window of measurement (min_rtt_calculation_active)"),
        Reading::counter("windows", "windows of measurement so far"),
    ],
    build: Build::Concurrency(build),
};

const fn duration(name: &'static str, default: f64, min: f64, doc: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Duration, default, min, max: 86_400.0, doc }
}

fn build(p: &[f64]) -> Option<Limit> {
    let &[percentile, max, update, interval, fixed, requests, jitter, low, min_limit, buffer] = p
    else {
        return None;
    };
    EnvoyGradient::try_new(EnvoyGradientConfig {
        percentile,
        max: whole(max)?,
        update_interval: seconds(update)?,
        min_rtt_interval: seconds(interval)?,
        fixed_min_rtt: seconds(fixed)?,
        request_count: whole(requests)?,
        jitter,
        min_concurrency: whole(low)?,
        min_limit: whole(min_limit)?,
        buffer,
    })
    .map(Into::into)
}

/// The next limit, unbounded, with the gradient and the headroom in it.
fn next(limit: u32, min_rtt: f64, buffer: f64, sample: f64) -> (u32, f64, f64) {
    // A sample of zero cannot be divided by; it is at least as good as any minimum.
    let gradient = if sample > 0.0 { min_rtt * (1.0 + buffer) / sample } else { 2.0 };
    let gradient = gradient.clamp(0.5, 2.0);
    let x = f64::from(limit) * gradient;
    let headroom = libm::sqrt(x);
    ((x + headroom) as u32, gradient, headroom)
}

impl EnvoyGradient {
    /// Updates in a row at the smallest limit that start a window of measurement.
    const PATIENCE: u32 = 5;

    /// A controller that begins with a window of measurement, unless the minimum is given.
    /// `None` unless everything is in the range that [`EnvoyGradientConfig`] states and
    /// `min_concurrency` and `min_limit` are at most `max`.
    #[must_use]
    pub fn try_new(config: EnvoyGradientConfig) -> Option<Self> {
        let c = &config;
        let day = Nanos::from_secs(86_400);
        let valid = [c.percentile, c.jitter, c.buffer].iter().all(|x| (0.0..=100.0).contains(x))
            && c.max <= LARGEST
            && (1..=c.max).contains(&c.min_concurrency)
            && c.min_limit <= c.max
            && [c.update_interval, c.min_rtt_interval]
                .iter()
                .all(|t| (Nanos::from_millis(1)..=day).contains(t))
            && c.fixed_min_rtt <= day
            && (1..=1_000_000).contains(&c.request_count);
        let fixed = config.fixed_min_rtt > Nanos::ZERO;
        valid.then(|| Self {
            floor: if config.min_limit == 0 { config.min_concurrency } else { config.min_limit },
            limit: config.min_concurrency,
            deferred: (!fixed).then_some(config.min_concurrency),
            epoch: Nanos::ZERO,
            histogram: Histogram::new(),
            min_rtt_ns: config.fixed_min_rtt.0 as f64,
            sample_rtt_ns: 0.0,
            gradient: 1.0,
            headroom: 0.0,
            at_floor: 0,
            next_update: Timer { set: Nanos::ZERO, after: config.update_interval },
            next_window: Timer { set: Nanos::ZERO, after: Nanos::MAX },
            windows: u64::from(!fixed),
            config,
        })
    }

    fn start_window(&mut self, now: Nanos) {
        self.deferred = Some(self.limit);
        self.limit = self.config.min_concurrency;
        self.at_floor = 0;
        self.histogram.clear();
        self.epoch = now;
        self.windows += 1;
    }

    fn end_window<R: Rng + ?Sized>(&mut self, now: Nanos, deferred: u32, rng: &mut R) {
        self.min_rtt_ns = self.take_quantile();
        self.limit = deferred;
        self.deferred = None;
        let interval = self.config.min_rtt_interval;
        let range = libm::ceil(interval.0 as f64 * self.config.jitter / 100.0) as u64;
        let after = interval + Nanos(chance::below(range, rng));
        self.next_window = Timer { set: now, after };
        self.next_update = Timer { set: now, after: self.config.update_interval };
    }

    fn take_quantile(&mut self) -> f64 {
        let quantile = self.histogram.quantile(self.config.percentile / 100.0).unwrap_or(0.0);
        self.histogram.clear();
        quantile
    }

    fn update(&mut self, now: Nanos) {
        self.next_update.set = now;
        if self.histogram.count() == 0 {
            return;
        }
        self.sample_rtt_ns = self.take_quantile();
        let old = self.limit;
        let (new, gradient, headroom) =
            next(old, self.min_rtt_ns, self.config.buffer / 100.0, self.sample_rtt_ns);
        (self.gradient, self.headroom) = (gradient, headroom);
        self.limit = new.clamp(self.floor, self.config.max);
        let stuck = old == self.floor && self.limit == self.floor;
        self.at_floor = if stuck { self.at_floor + 1 } else { 0 };
        if self.at_floor >= Self::PATIENCE && self.config.fixed_min_rtt == Nanos::ZERO {
            self.start_window(now);
        }
    }
}

impl ConcurrencyLimit for EnvoyGradient {
    #[inline]
    fn limit(&self) -> u32 {
        self.limit
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, now: Nanos, sample: &Sample, rng: &mut R) {
        if self.deferred.is_none() {
            if self.next_update.due(now) {
                self.update(now);
            }
            if self.deferred.is_none() && self.next_window.due(now) {
                self.start_window(now);
            }
        }
        // A clock that was set back must not make every sample an old one.
        self.epoch = self.epoch.min(now);
        if sample.outcome.is_none() || sample.started < self.epoch {
            return;
        }
        self.histogram.add(sample.latency.0);
        if let Some(deferred) = self.deferred
            && self.histogram.count() >= u64::from(self.config.request_count)
        {
            self.end_window(now, deferred, rng);
        }
    }
}

impl Observe for EnvoyGradient {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit));
        see("min_rtt_s", self.min_rtt_ns / 1e9);
        see("sample_rtt_s", self.sample_rtt_ns / 1e9);
        see("gradient", self.gradient);
        see("headroom", self.headroom);
        see("measuring", f64::from(u8::from(self.deferred.is_some())));
        see("windows", self.windows as f64);
    }
}

#[cfg(test)]
mod tests;
