//! Windows of samples before a limit, as Netflix's builders put them.
//!
//! Source: Netflix concurrency-limits, `WindowedLimit` with its average and percentile windows.
//! A window that has too few samples when it ends is thrown away, as published: with the
//! defaults, below ten attempts per second the limit never moves. A percentile window keeps its
//! first 512 latencies, so that it need not allocate.

use alloc::boxed::Box;
use alloc::vec;

use rand_core::Rng;

use super::{ConcurrencyLimit, Gradient2, Sample, Vegas, gradient2, vegas};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// How samples are gathered before a limit sees them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowedConfig {
    /// Quicker samples are left out, up to an hour.
    pub min_rtt_threshold: Nanos,
    /// The shortest window, 1 ms to an hour.
    pub min_window: Nanos,
    /// The longest window, 1 ms to an hour.
    pub max_window: Nanos,
    /// Samples that a window needs, 1 to a million.
    pub size: u32,
    /// Which latency stands for the window, 0 to 100; 0: the mean.
    pub percentile: f64,
}

impl Default for WindowedConfig {
    fn default() -> Self {
        Self {
            min_rtt_threshold: Nanos(100_000),
            min_window: Nanos::from_secs(1),
            max_window: Nanos::from_secs(1),
            size: 10,
            percentile: 0.0,
        }
    }
}

/// A limit that is fed once per window.
#[derive(Clone, Debug, PartialEq)]
pub struct Windowed<L> {
    inner: L,
    config: WindowedConfig,
    next_update: Nanos,
    smallest: Nanos,
    sum: f64,
    count: u32,
    peak: u32,
    queued: Nanos,
    dropped: bool,
    /// The first latencies of the window; empty unless a percentile is asked for.
    kept: Box<[u64]>,
    windows: u64,
    thrown_away: u64,
}

/// Vegas behind windows.
pub type VegasWindowed = Windowed<Vegas>;
/// Gradient2 behind windows.
pub type Gradient2Windowed = Windowed<Gradient2>;

const RULE: &str = "\
each sample with latency ≥ min_rtt_threshold joins the window; after next_update the window ends:
  next_update = now + clamp(2 × smallest latency, min_window, max_window)
  size samples or more: one sample of (mean or percentile, largest in_flight, any drop) for the limit
  fewer: the window is thrown away";

const TRAPS: &[&str] = &[
    "A window with fewer than `size` samples is thrown away: with little traffic the limit stands still.",
    "One drop makes the whole window a drop.",
    "One step per second: it takes minutes to reach a limit of a thousand (35).",
];

pub(super) const VEGAS: Entry = Entry {
    name: "vegas-windowed",
    kind: Kind::Concurrency,
    summary: "Vegas fed once per second, as Netflix deploys it",
    source: "Netflix concurrency-limits, WindowedLimit over VegasLimit",
    rule: RULE,
    when: "What a service with Netflix's limiter runs: `vegas` with less noise and slower reactions.",
    traps: TRAPS,
    parameters: &[
        vegas::PARAMETERS[0],
        vegas::PARAMETERS[1],
        vegas::PARAMETERS[2],
        vegas::PARAMETERS[3],
        WINDOW[0],
        WINDOW[1],
        WINDOW[2],
        WINDOW[3],
        WINDOW[4],
    ],
    readings: &[
        vegas::READINGS[0],
        vegas::READINGS[1],
        vegas::READINGS[2],
        vegas::READINGS[3],
        vegas::READINGS[4],
        WINDOWS,
        THROWN_AWAY,
    ],
    build: Build::Concurrency(|p| {
        let (inner, window) = p.split_at_checked(vegas::PARAMETERS.len())?;
        Windowed::try_new(vegas::build(inner)?, config(window)?).map(Into::into)
    }),
};

pub(super) const GRADIENT2: Entry = Entry {
    name: "gradient2-windowed",
    kind: Kind::Concurrency,
    summary: "Gradient2 fed once per second, as Netflix deploys it",
    source: "Netflix concurrency-limits, WindowedLimit over Gradient2Limit",
    rule: RULE,
    when: "What a service with Netflix's limiter runs. Its long average then spans ten minutes \
           instead of 600 attempts.",
    traps: TRAPS,
    parameters: &[
        gradient2::PARAMETERS[0],
        gradient2::PARAMETERS[1],
        gradient2::PARAMETERS[2],
        gradient2::PARAMETERS[3],
        gradient2::PARAMETERS[4],
        gradient2::PARAMETERS[5],
        gradient2::PARAMETERS[6],
        WINDOW[0],
        WINDOW[1],
        WINDOW[2],
        WINDOW[3],
        WINDOW[4],
    ],
    readings: &[
        gradient2::READINGS[0],
        gradient2::READINGS[1],
        gradient2::READINGS[2],
        gradient2::READINGS[3],
        WINDOWS,
        THROWN_AWAY,
    ],
    build: Build::Concurrency(|p| {
        let (inner, window) = p.split_at_checked(gradient2::PARAMETERS.len())?;
        Windowed::try_new(gradient2::build(inner)?, config(window)?).map(Into::into)
    }),
};

const WINDOWS: Reading = Reading::counter("windows", "windows that reached the limit");
const THROWN_AWAY: Reading =
    Reading::counter("thrown_away", "windows that ended with too few samples");

const WINDOW: [Parameter; 5] = [
    Parameter {
        name: "min_rtt_threshold",
        unit: Unit::Duration,
        default: 1e-4,
        min: 0.0,
        max: 3600.0,
        doc: "quicker samples are left out",
    },
    Parameter {
        name: "min_window",
        unit: Unit::Duration,
        default: 1.0,
        min: 0.001,
        max: 3600.0,
        doc: "the shortest window",
    },
    Parameter {
        name: "max_window",
        unit: Unit::Duration,
        default: 1.0,
        min: 0.001,
        max: 3600.0,
        doc: "the longest window",
    },
    Parameter {
        name: "window_size",
        unit: Unit::Count,
        default: 10.0,
        min: 1.0,
        max: 1_000_000.0,
        doc: "samples that a window needs",
    },
    Parameter {
        name: "percentile",
        unit: Unit::Percent,
        default: 0.0,
        min: 0.0,
        max: 100.0,
        doc: "which latency stands for the window; 0: the mean",
    },
];

fn config(p: &[f64]) -> Option<WindowedConfig> {
    match *p {
        [threshold, shortest, longest, size, percentile] => Some(WindowedConfig {
            min_rtt_threshold: seconds(threshold)?,
            min_window: seconds(shortest)?,
            max_window: seconds(longest)?,
            size: whole(size)?,
            percentile,
        }),
        _ => None,
    }
}

impl<L: ConcurrencyLimit> Windowed<L> {
    /// Latencies of which a percentile is taken.
    pub const KEPT: usize = 512;

    /// Puts windows before a limit. `None` unless min_window ≤ max_window and everything is in
    /// the range that [`WindowedConfig`] states.
    #[must_use]
    pub fn try_new(inner: L, config: WindowedConfig) -> Option<Self> {
        let hour = Nanos::from_secs(3600);
        let valid = config.min_rtt_threshold <= hour
            && config.min_window >= Nanos::from_millis(1)
            && config.min_window <= config.max_window
            && config.max_window <= hour
            && (1..=1_000_000).contains(&config.size)
            && (0.0..=100.0).contains(&config.percentile);
        valid.then(|| Self {
            inner,
            next_update: Nanos::ZERO,
            smallest: Nanos::MAX,
            sum: 0.0,
            count: 0,
            peak: 0,
            queued: Nanos::MAX,
            dropped: false,
            kept: vec![0; if config.percentile > 0.0 { Self::KEPT } else { 0 }].into(),
            windows: 0,
            thrown_away: 0,
            config,
        })
    }

    /// The latency that stands for the window.
    fn tracked(&mut self) -> Nanos {
        let kept = (self.count as usize).min(self.kept.len());
        if kept == 0 {
            return Nanos((self.sum / f64::from(self.count)) as u64);
        }
        let rank = libm::floor(kept as f64 * self.config.percentile / 100.0 + 0.5) as usize;
        let index = rank.saturating_sub(1).min(kept - 1);
        Nanos(*self.kept[..kept].select_nth_unstable(index).1)
    }

    fn close_window<R: Rng + ?Sized>(&mut self, now: Nanos, started: Nanos, rng: &mut R) {
        let twice = self.smallest + self.smallest;
        self.next_update = now + twice.clamp(self.config.min_window, self.config.max_window);
        if self.count >= self.config.size {
            let sample = Sample {
                started,
                latency: self.tracked(),
                queued: self.queued,
                in_flight: self.peak,
                outcome: Some(if self.dropped { Outcome::TimedOut } else { Outcome::Success }),
            };
            self.inner.record(now, &sample, rng);
            self.windows += 1;
        } else {
            self.thrown_away += 1;
        }
        (self.smallest, self.sum, self.count) = (Nanos::MAX, 0.0, 0);
        (self.peak, self.queued, self.dropped) = (0, Nanos::MAX, false);
    }
}

impl<L: ConcurrencyLimit> ConcurrencyLimit for Windowed<L> {
    #[inline]
    fn limit(&self) -> u32 {
        self.inner.limit()
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, now: Nanos, sample: &Sample, rng: &mut R) {
        let Some(dropped) = sample.dropped() else { return };
        if sample.latency < self.config.min_rtt_threshold {
            return;
        }
        self.smallest = self.smallest.min(sample.latency);
        self.sum += sample.latency.0 as f64;
        if let Some(slot) = self.kept.get_mut(self.count as usize) {
            *slot = sample.latency.0;
        }
        self.count = self.count.saturating_add(1);
        self.peak = self.peak.max(sample.in_flight);
        self.queued = self.queued.min(sample.queued);
        self.dropped |= dropped;
        // A clock that was set back must not stop the windows.
        self.next_update = self.next_update.min(now + self.config.max_window);
        if now > self.next_update {
            self.close_window(now, sample.started, rng);
        }
    }
}

impl<L: ConcurrencyLimit> Observe for Windowed<L> {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inner.observe(see);
        see("windows", self.windows as f64);
        see("thrown_away", self.thrown_away as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Gradient2Config;
    use super::super::plant::{any_sample, dropped, ms, success};
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    fn with(config: WindowedConfig) -> Gradient2Windowed {
        let inner = Gradient2::try_new(Gradient2Config::default()).unwrap();
        Windowed::try_new(inner, config).unwrap()
    }

    fn feed(l: &mut Gradient2Windowed, now: u64, sample: Sample, n: u32) {
        for _ in 0..n {
            l.record(ms(now), &sample, &mut Zero);
        }
    }

    #[test]
    fn one_sample_per_window() {
        let mut l = with(WindowedConfig::default());
        feed(&mut l, 1, success(ms(10), 20), 1);
        assert_eq!((l.windows, l.thrown_away), (0, 1), "the first sample ends a window of its own");
        assert_eq!(l.next_update, ms(1_001));
        feed(&mut l, 500, success(ms(10), 20), 5);
        feed(&mut l, 1_001, success(ms(20), 12), 5);
        assert_eq!((l.windows, l.count), (0, 10), "1001 is not after 1001");
        feed(&mut l, 1_002, success(ms(15), 11), 1);
        assert_eq!((l.windows, l.limit()), (1, 20), "20.8");
        let mut seen = std::vec::Vec::new();
        l.observe(&mut |name, value| seen.push((name, value)));
        assert_eq!(seen[1], ("long_rtt_s", 0.015), "5 × 10, 5 × 20 and 15 ms");
        assert_eq!((l.next_update, l.count, l.peak), (ms(2_002), 0, 0));
    }

    #[test]
    fn ten_are_enough() {
        for (before, windows) in [(8, 0), (9, 1)] {
            let mut l = with(WindowedConfig::default());
            feed(&mut l, 1, success(ms(10), 20), 1);
            feed(&mut l, 500, success(ms(10), 20), before);
            feed(&mut l, 1_002, success(ms(10), 20), 1);
            assert_eq!((l.windows, l.thrown_away), (windows, 2 - windows), "{before} and one");
        }
    }

    #[test]
    fn too_few_samples_are_thrown_away() {
        let mut l = with(WindowedConfig::default());
        for second in 0..600 {
            feed(&mut l, second * 1_001 + 1, success(ms(800), 20), 9);
        }
        assert_eq!((l.windows, l.limit()), (0, 20), "nine per second: it never moves");
        assert!(l.thrown_away > 500);
    }

    #[test]
    fn quick_samples_are_left_out_and_a_drop_is_for_all() {
        let mut l = with(WindowedConfig { min_window: ms(1), ..WindowedConfig::default() });
        feed(&mut l, 1, success(Nanos(99_999), 20), 50);
        assert_eq!((l.count, l.thrown_away), (0, 0));
        feed(&mut l, 2, success(Nanos(100_000), 20), 1);
        assert_eq!((l.next_update, l.thrown_away), (ms(3), 1), "2 × 100 us is below 1 ms");
        feed(&mut l, 3, success(ms(4), 20), 1);
        feed(&mut l, 3, dropped(ms(4), 20), 1);
        assert!(l.dropped);
        feed(&mut l, 4, success(ms(4), 20), 1);
        assert_eq!(l.next_update, ms(12), "2 × 4 ms");
        assert!(!l.dropped);
    }

    #[test]
    fn percentiles() {
        let mut l = with(WindowedConfig { percentile: 90.0, ..WindowedConfig::default() });
        for i in (1..=20).rev() {
            l.kept[l.count as usize] = i;
            l.count += 1;
        }
        assert_eq!(l.tracked(), Nanos(18), "round(18) - 1 of the sorted");
        l.config.percentile = 1.0;
        assert_eq!(l.tracked(), Nanos(1), "round(0.2) - 1 is held at the first");
        l.config.percentile = 100.0;
        assert_eq!(l.tracked(), Nanos(20));
        for i in 0..2_000 {
            feed(&mut l, 0, success(ms(i), 1), 1);
        }
        assert!(l.tracked() < ms(512), "the first 512");
    }

    #[test]
    fn ranges() {
        let inner = Gradient2::try_new(Gradient2Config::default()).unwrap();
        let d = WindowedConfig::default();
        for bad in [
            WindowedConfig { size: 0, ..d },
            WindowedConfig { min_window: ms(1_001), ..d },
            WindowedConfig { min_window: Nanos(999_999), ..d },
            WindowedConfig { percentile: f64::NAN, ..d },
            WindowedConfig { percentile: 100.1, ..d },
        ] {
            assert!(Windowed::try_new(inner.clone(), bad).is_none(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn stays_in_range(samples in prop::collection::vec(any_sample(), 0..300), percentile in 0.0f64..100.0) {
            let mut l = with(WindowedConfig { size: 1, percentile, ..WindowedConfig::default() });
            for (now, sample) in samples {
                l.record(now, &sample, &mut Zero);
                prop_assert!((20..=200).contains(&l.limit()));
            }
        }
    }
}
