//! failsafe-go's adaptive limiter: Vegas on a smoothed quantile, with correlations as a second sign.
//!
//! Source: failsafe-go `adaptivelimiter` (0.9.7). Its optional queue and its priorities are not
//! here: they are enforcement. Two differences: the quantile comes from a log-linear histogram
//! (off by at most 0.8 %) and not from a t-digest, and whether the limiter "is full right now"
//! is read off the attempt that ended last: whether it filled the limit when it was admitted.
//! A timeout, a rejection and a shed attempt are `Drop`, every other end is `Record`.

use alloc::boxed::Box;
use alloc::vec;

use rand_core::Rng;

use super::aimd::{INITIAL, MAX, MIN};
use super::average::Average;
use super::histogram::Histogram;
use super::{ConcurrencyLimit, Sample, log10, ordered};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// What a [`FailsafeAdaptive`] is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailsafeAdaptiveConfig {
    /// The limit at the start.
    pub initial: u32,
    /// The smallest limit.
    pub min: u32,
    /// The largest limit.
    pub max: u32,
    /// The limit is at most this many times the attempts in flight, 1 to 1000.
    pub max_factor: f64,
    /// The shortest recent window, 1 ms to an hour.
    pub min_window: Nanos,
    /// The longest recent window, 1 ms to an hour.
    pub max_window: Nanos,
    /// Samples that a window needs, 1 to a million.
    pub samples: u32,
    /// The latency that stands for a window, 0 to 100 %.
    pub percentile: f64,
    /// Windows that the baseline remembers, 1 to a million.
    pub baseline_age: u32,
    /// Windows over which correlations are taken, 2 to 1000.
    pub correlation: u32,
}

impl Default for FailsafeAdaptiveConfig {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 200,
            max_factor: 5.0,
            min_window: Nanos::from_secs(1),
            max_window: Nanos::from_secs(30),
            samples: 50,
            percentile: 90.0,
            baseline_age: 10,
            correlation: 50,
        }
    }
}

/// failsafe-go's adaptive limiter.
#[derive(Clone, Debug)]
pub struct FailsafeAdaptive {
    config: FailsafeAdaptiveConfig,
    limit: f64,
    recent: Histogram,
    smallest: Nanos,
    peak: u32,
    median: Median,
    smoothed: Average,
    baseline: Average,
    /// In flight, throughput and latency of the last windows.
    pairs: Pairs,
    signs: Signs,
    next_update: Nanos,
    decreases: u64,
    dropped: u64,
}

/// What an update decides from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Signs {
    queue: f64,
    full: bool,
    throughput: f64,
    throughput_cv: f64,
    latency: f64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "failsafe-adaptive",
    kind: Kind::Concurrency,
    summary: "failsafe-go's adaptive limiter: Vegas on a smoothed quantile, with correlations as a second sign",
    source: "failsafe-go adaptivelimiter 0.9.7; issues 103, 114, 127",
    rule: "\
window ends after next_update with `samples` successes: r = average5(median5(percentile))
base = average(r); q = ceil(limit × (1 − base / r)); throughput = peak in_flight / r
tc = corr(in_flight, throughput); cv = its variation; rc = corr(in_flight, r); lg = max(1, trunc(log10 limit))
q > 6 lg, or full and (tc < 0, or rc > 0.5 and (tc < 0.3 or cv < 0.2)): n = limit − lg
else q < 3 lg: n = limit + lg; else hold
n > peak × max_factor: n = limit − lg if limit was above it too, else that bound
next_update = now + min(max(2 × smallest latency, min_window), max_window)
correlations are 0 for 10 windows, and where a variation is below 1 %",
    when: "To see what a Go service with it does. Slow and calm: one step of one or two a second.",
    traps: &[
        "The baseline is the average of the last ten windows: it learns an incident within seconds (127).",
        "Timeouts add no sample: if everything times out, the limit does not move at all.",
        "With the default of 50 samples a service below 50 attempts per window reacts late.",
        "The correlations say nothing for the first ten windows.",
    ],
    parameters: &[
        INITIAL,
        Parameter { default: 1.0, ..MIN },
        MAX,
        Parameter {
            name: "max_factor",
            unit: Unit::Number,
            default: 5.0,
            min: 1.0,
            max: 1000.0,
            doc: "the limit is at most this many times the attempts in flight",
        },
        Parameter {
            name: "min_window",
            unit: Unit::Duration,
            default: 1.0,
            min: 0.001,
            max: 3600.0,
            doc: "the shortest recent window",
        },
        Parameter {
            name: "max_window",
            unit: Unit::Duration,
            default: 30.0,
            min: 0.001,
            max: 3600.0,
            doc: "the longest recent window",
        },
        Parameter {
            name: "samples",
            unit: Unit::Count,
            default: 50.0,
            min: 1.0,
            max: 1_000_000.0,
            doc: "successes that a window needs",
        },
        Parameter {
            name: "percentile",
            unit: Unit::Percent,
            default: 90.0,
            min: 0.0,
            max: 100.0,
            doc: "the latency that stands for a window",
        },
        Parameter {
            name: "baseline_age",
            unit: Unit::Count,
            default: 10.0,
            min: 1.0,
            max: 1_000_000.0,
            doc: "windows that the baseline remembers",
        },
        Parameter {
            name: "correlation",
            unit: Unit::Count,
            default: 50.0,
            min: 2.0,
            max: 1000.0,
            doc: "windows over which correlations are taken",
        },
    ],
    readings: &[
        Reading::gauge("limit", "attempts that may be in flight"),
        Reading::gauge("recent_rtt_s", "the smoothed latency of recent windows"),
        Reading::gauge("base_rtt_s", "the latency it is held against"),
        Reading::gauge("queue", "attempts estimated to wait"),
        Reading::gauge("throughput_correlation", "of attempts in flight and throughput"),
        Reading::gauge("latency_correlation", "of attempts in flight and latency"),
        Reading::counter("decreases", "times the limit was lowered"),
        Reading::counter("dropped", "attempts that gave no sample"),
    ],
    build: Build::Concurrency(|p| {
        let &[initial, min, max, factor, shortest, longest, samples, percentile, age, correlation] =
            p
        else {
            return None;
        };
        FailsafeAdaptive::try_new(FailsafeAdaptiveConfig {
            initial: whole(initial)?,
            min: whole(min)?,
            max: whole(max)?,
            max_factor: factor,
            min_window: seconds(shortest)?,
            max_window: seconds(longest)?,
            samples: whole(samples)?,
            percentile,
            baseline_age: whole(age)?,
            correlation: whole(correlation)?,
        })
        .map(Into::into)
    }),
};

impl FailsafeAdaptive {
    /// A limit that starts at `initial`. `None` unless min ≤ initial ≤ max,
    /// min_window ≤ max_window and everything is in the range of [`FailsafeAdaptiveConfig`].
    #[must_use]
    pub fn try_new(config: FailsafeAdaptiveConfig) -> Option<Self> {
        let valid = ordered(config.min, config.initial, config.max)
            && (1.0..=1000.0).contains(&config.max_factor)
            && config.min_window >= Nanos::from_millis(1)
            && config.min_window <= config.max_window
            && config.max_window <= Nanos::from_secs(3600)
            && (1..=1_000_000).contains(&config.samples)
            && (0.0..=100.0).contains(&config.percentile)
            && (1..=1_000_000).contains(&config.baseline_age)
            && (2..=1000).contains(&config.correlation);
        valid.then(|| Self {
            config,
            limit: f64::from(config.initial),
            recent: Histogram::new(),
            smallest: Nanos::MAX,
            peak: 0,
            median: Median::default(),
            smoothed: Average::new(5),
            baseline: Average::new(config.baseline_age),
            pairs: Pairs::new(config.correlation as usize),
            signs: Signs::default(),
            next_update: Nanos::ZERO,
            decreases: 0,
            dropped: 0,
        })
    }

    fn update(&mut self, now: Nanos, full: bool) {
        let quantile = self.recent.quantile(self.config.percentile / 100.0).unwrap_or(1.0);
        let recent = self.smoothed.add(self.median.add(quantile));
        let base = self.baseline.add(recent);
        let peak = f64::from(self.peak);
        self.pairs.push([peak, peak / recent, recent]);
        let (throughput, throughput_cv) = self.pairs.correlation(1);
        let (latency, _) = self.pairs.correlation(2);
        let queue = libm::ceil(self.limit * (1.0 - base / recent));
        self.signs = Signs { queue, full, throughput, throughput_cv, latency };

        let lg = log10(self.limit as u32);
        let cap = peak * self.config.max_factor;
        let mut new = self.limit + f64::from(direction(self.signs, lg)) * lg;
        if new > cap {
            new = if self.limit > cap { self.limit - lg } else { cap };
        }
        new = new.clamp(f64::from(self.config.min), f64::from(self.config.max));
        self.decreases += u64::from(new < self.limit);
        self.limit = new;

        let twice = self.smallest + self.smallest;
        let (shortest, longest) = (self.config.min_window, self.config.max_window);
        self.next_update = now + twice.clamp(shortest, longest);
        self.recent.clear();
        (self.smallest, self.peak) = (Nanos::MAX, 0);
    }
}

/// Up, down or not at all, by steps of `lg`.
fn direction(signs: Signs, lg: f64) -> i8 {
    let Signs { queue, full, throughput, throughput_cv, latency } = signs;
    let crowded =
        full && (throughput < 0.0 || latency > 0.5 && (throughput < 0.3 || throughput_cv < 0.2));
    if queue > 6.0 * lg || crowded { -1 } else { i8::from(queue < 3.0 * lg) }
}

impl ConcurrencyLimit for FailsafeAdaptive {
    #[inline]
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, now: Nanos, sample: &Sample, _: &mut R) {
        let recorded = matches!(
            sample.outcome,
            Some(Outcome::Success | Outcome::Failed | Outcome::FailedBelow)
        );
        if recorded && sample.latency > Nanos::ZERO {
            self.recent.add(sample.latency.0);
            self.smallest = self.smallest.min(sample.latency);
            self.peak = self.peak.max(sample.in_flight);
        } else {
            self.dropped += 1;
        }
        // A clock that was set back must not stop the windows.
        self.next_update = self.next_update.min(now + self.config.max_window);
        if now > self.next_update && self.recent.count() >= u64::from(self.config.samples) {
            self.update(now, sample.in_flight >= self.limit());
        }
    }
}

impl Observe for FailsafeAdaptive {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit()));
        see("recent_rtt_s", self.smoothed.value() / 1e9);
        see("base_rtt_s", self.baseline.value() / 1e9);
        see("queue", self.signs.queue);
        see("throughput_correlation", self.signs.throughput);
        see("latency_correlation", self.signs.latency);
        see("decreases", self.decreases as f64);
        see("dropped", self.dropped as f64);
    }
}

/// The median of the last five values; the first four pass as they are, as published.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Median {
    values: [f64; 5],
    seen: usize,
}

impl Median {
    fn add(&mut self, x: f64) -> f64 {
        self.values[self.seen % 5] = x;
        self.seen = self.seen.wrapping_add(1);
        if self.seen < 5 {
            return x;
        }
        let mut sorted = self.values;
        sorted.sort_unstable_by(f64::total_cmp);
        sorted[2]
    }
}

/// The last windows: in flight, throughput, latency. Sums are taken anew at each update, which
/// is once per window: running sums, as published, lose digits for ever.
#[derive(Clone, Debug, PartialEq)]
struct Pairs {
    rows: Box<[[f64; 3]]>,
    next: usize,
    len: usize,
}

impl Pairs {
    /// Windows before a correlation is believed.
    const WARM_UP: usize = 10;
    /// Less variation than this is none.
    const LEAST_CV: f64 = 0.01;

    fn new(size: usize) -> Self {
        Self { rows: vec![[0.0; 3]; size].into_boxed_slice(), next: 0, len: 0 }
    }

    fn push(&mut self, row: [f64; 3]) {
        self.rows[self.next] = row;
        self.next = (self.next + 1) % self.rows.len();
        self.len = (self.len + 1).min(self.rows.len());
    }

    /// The correlation of column `y` with the first one, and the variation of `y`.
    fn correlation(&self, y: usize) -> (f64, f64) {
        if self.len < Self::WARM_UP.max(2) {
            return (0.0, 0.0);
        }
        let (rows, n) = (&self.rows[..self.len], self.len as f64);
        let mean = |i: usize| rows.iter().map(|r| r[i]).sum::<f64>() / n;
        let (mx, my) = (mean(0), mean(y));
        let moment = |i: usize, mi: f64, j: usize, mj: f64| {
            rows.iter().map(|r| (r[i] - mi) * (r[j] - mj)).sum::<f64>() / n
        };
        let (sx, sy) = (libm::sqrt(moment(0, mx, 0, mx)), libm::sqrt(moment(y, my, y, my)));
        if mx <= 0.0 || my <= 0.0 {
            return (0.0, 0.0);
        }
        let (cvx, cvy) = (sx / mx, sy / my);
        if cvx < Self::LEAST_CV || cvy < Self::LEAST_CV {
            return (0.0, cvy);
        }
        (moment(0, mx, y, my) / (sx * sy), cvy)
    }
}

#[cfg(test)]
mod tests;
