//! The tuner of Cinnamon's limit for attempts in flight: TCP Vegas on a percentile, with a guard.
//!
//! Source: Uber's articles on Cinnamon, second-hand. What they leave open is ours: the percentile
//! comes from a histogram instead of a T-Digest (within 1.6 %), the median is that of five, the
//! smoothing weighs a new value by a third (failsafe-go's ages), the target is the lowest smoothed
//! latency of the last 50 intervals, and thresholds are those of Netflix' Vegas.
//!
//! What it shares with all of them: it knows the latency without a queue only if it has seen it.
//! Begun in overload, or after 50 intervals of it, it takes the wait for the work.

use alloc::boxed::Box;
use alloc::vec;

use crate::Nanos;

/// Intervals that target and guard look at.
const LONG: usize = 50;
/// Before as many intervals as this the guard says nothing.
const WARM: usize = 10;
/// A coefficient of variation below which something does not move, as in failsafe-go.
const STILL: f64 = 0.01;
const MEDIAN: usize = 5;
const REQUESTS: u32 = 250;
const SHORTEST: Nanos = Nanos::from_secs(2);
const LONGEST: Nanos = Nanos::from_secs(30);
const QUANTILE: f64 = 0.9;
const WEIGHT: f64 = 1.0 / 3.0;
/// The replica lets the limit grow to ten times what was in flight.
const HEADROOM: u32 = 10;

/// Steps within a factor of two.
const STEPS: u32 = 32;
const BUCKETS: usize = 60 * STEPS as usize;

#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    in_flight: f64,
    latency: f64,
    throughput: f64,
}

/// Moves a limit so that the latency stays near what it was without a queue.
#[derive(Clone, Debug)]
pub struct Tuner {
    limit: u32,
    least: u32,
    most: u32,
    counts: Box<[u32]>,
    requests: u32,
    started: Option<Nanos>,
    in_flight: u32,
    recent: [f64; MEDIAN],
    smoothed: f64,
    history: Box<[Interval]>,
    intervals: u64,
}

impl Tuner {
    /// As Netflix' Vegas.
    pub const DEFAULT_INITIAL: u32 = 20;
    /// As Netflix' Vegas.
    pub const DEFAULT_MOST: u32 = 1000;

    /// A limit of `initial` that has measured nothing. `None` unless 1 ≤ least ≤ initial ≤ most
    /// ≤ 10^6.
    #[must_use]
    pub fn try_new(initial: u32, least: u32, most: u32) -> Option<Self> {
        let valid = least >= 1 && (least..=most).contains(&initial) && most <= 1_000_000;
        valid.then(|| Self {
            limit: initial,
            least,
            most,
            counts: vec![0; BUCKETS].into_boxed_slice(),
            requests: 0,
            started: None,
            in_flight: 0,
            recent: [0.0; MEDIAN],
            smoothed: 0.0,
            history: vec![Interval::default(); LONG].into_boxed_slice(),
            intervals: 0,
        })
    }

    /// Attempts that may be in flight.
    #[inline]
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// An attempt has ended after `latency` of work, begun when `in_flight` were.
    #[inline]
    pub fn record(&mut self, now: Nanos, latency: Nanos, in_flight: u32) {
        // A clock that went back begins the interval again.
        let started = self.started.filter(|at| *at <= now).unwrap_or(now);
        self.started = Some(started);
        // A clock that stands still never ends the interval.
        let count = &mut self.counts[bucket(latency.0)];
        *count = count.saturating_add(1);
        self.requests = self.requests.saturating_add(1);
        self.in_flight = self.in_flight.max(in_flight);
        let age = now.since(started);
        if (self.requests >= REQUESTS && age >= SHORTEST) || age >= LONGEST {
            self.end_interval(now);
        }
    }

    #[cold]
    fn end_interval(&mut self, now: Nanos) {
        let latency = self.percentile();
        self.counts.fill(0);
        let in_flight = f64::from(self.in_flight);
        self.requests = 0;
        self.in_flight = 0;
        self.started = Some(now);
        self.tune(latency, in_flight);
    }

    /// One interval whose percentile was `latency` seconds.
    fn tune(&mut self, latency: f64, in_flight: f64) {
        let n = self.intervals as usize;
        self.recent[n % MEDIAN] = latency;
        let median = median(&self.recent[..(n + 1).min(MEDIAN)]);
        self.smoothed =
            if n == 0 { median } else { self.smoothed + WEIGHT * (median - self.smoothed) };
        self.history[n % LONG] = Interval {
            in_flight,
            latency: self.smoothed,
            throughput: in_flight / latency.max(1e-9),
        };
        self.intervals += 1;

        let limit = f64::from(self.limit);
        let lg = self.limit.ilog10().max(1);
        let queue = libm::ceil(limit * (1.0 - self.target() / self.smoothed.max(1e-9)));
        let falls = self.covariance() < 0.0;
        if falls || queue > f64::from(6 * lg) {
            self.limit = self.limit.saturating_sub(lg).max(self.least);
        } else if queue < f64::from(3 * lg) && limit < f64::from(HEADROOM) * in_flight {
            self.limit = (self.limit + lg).min(self.most);
        }
    }

    fn seen(&self) -> &[Interval] {
        &self.history[..(self.intervals as usize).min(LONG)]
    }

    /// The lowest smoothed latency of the last intervals, in seconds.
    fn target(&self) -> f64 {
        self.seen().iter().fold(f64::INFINITY, |lowest, i| lowest.min(i.latency))
    }

    /// Covariance of what was in flight and the throughput; 0 while it is too early, and where
    /// one of them hardly moves, for then it is noise, or the rounding of a float.
    fn covariance(&self) -> f64 {
        let seen = self.seen();
        if seen.len() < WARM {
            return 0.0;
        }
        let n = seen.len() as f64;
        let mean = |of: fn(&Interval) -> f64| seen.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|i| i.in_flight), mean(|i| i.throughput));
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for i in seen {
            let (dx, dy) = (i.in_flight - x, i.throughput - y);
            xx += dx * dx / n;
            xy += dx * dy / n;
            yy += dy * dy / n;
        }
        let still = |variance: f64, mean: f64| variance < STILL * STILL * mean * mean;
        if still(xx, x) || still(yy, y) { 0.0 } else { xy }
    }

    /// The 90th percentile of the interval in seconds.
    fn percentile(&self) -> f64 {
        let wanted = QUANTILE * f64::from(self.requests);
        let mut seen = 0.0;
        for (i, count) in self.counts.iter().enumerate() {
            seen += f64::from(*count);
            if *count > 0 && seen >= wanted {
                return middle(i) / 1e9;
            }
        }
        0.0
    }
}

/// Which bucket a latency is counted in: exact below 32 ns, then 32 in each factor of two.
fn bucket(nanos: u64) -> usize {
    if nanos < u64::from(STEPS) {
        return nanos as usize;
    }
    let power = nanos.ilog2() - STEPS.ilog2();
    let step = (nanos >> power) as usize - STEPS as usize;
    (power as usize + 1) * STEPS as usize + step
}

/// The middle of a bucket in nanoseconds.
fn middle(bucket: usize) -> f64 {
    let (row, step) = (bucket / STEPS as usize, bucket % STEPS as usize);
    if row == 0 {
        return step as f64;
    }
    let width = libm::exp2(row as f64 - 1.0);
    ((STEPS as usize + step) as f64 + 0.5) * width
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = [0.0; MEDIAN];
    let n = values.len();
    sorted[..n].copy_from_slice(values);
    sorted[..n].sort_unstable_by(f64::total_cmp);
    // Of an even number, the lower: it is a filter against spikes.
    sorted[(n - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tuner(initial: u32) -> Tuner {
        Tuner::try_new(initial, 1, 1000).unwrap()
    }

    #[test]
    fn buckets_hold_what_they_say() {
        for nanos in [0, 1, 31, 32, 33, 63, 64, 1000, 10_000_000, 123_456_789, u64::MAX] {
            let middle = middle(bucket(nanos));
            let error = (middle - nanos as f64).abs();
            assert!(error <= nanos as f64 / 60.0, "{nanos} {middle}");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
        assert!((0..10_000u64).is_sorted_by_key(bucket));
    }

    /// lg 20 = 1: below 3 up by one, above 6 down by one. lg 100 = 2: 6 and 12.
    #[test]
    fn steps_by_hand() {
        for (initial, latency, limit) in [
            (20, 0.0110, 21),   // smoothed 10.33: q = ceil(0.65) = 1
            (20, 0.0150, 20),   // 11.67: q = ceil(2.86) = 3
            (20, 0.0220, 20),   // 14: q = ceil(5.71) = 6
            (20, 0.0240, 19),   // 14.67: q = ceil(6.36) = 7
            (100, 0.0110, 102), // q = ceil(3.2) = 4
            (100, 0.0150, 98),  // q = ceil(14.3) = 15
        ] {
            let mut t = tuner(initial);
            for _ in 0..5 {
                t.tune(0.010, 20.0);
            }
            t.limit = initial;
            // Three of five, so that the median is the new latency.
            t.recent = [0.010, latency, latency, 0.010, 0.010];
            t.tune(latency, 20.0);
            assert_eq!(t.limit, limit, "{initial} {latency}");
        }
    }

    #[test]
    fn one_spike_changes_nothing() {
        let mut t = tuner(20);
        for latency in [0.010, 0.010, 5.0, 0.010, 0.010] {
            t.tune(latency, 20.0);
            assert_eq!(t.smoothed, 0.010);
        }
        assert_eq!(t.limit, 25);
    }

    /// More in flight, less throughput: down, although the smoothed latency says nothing yet.
    #[test]
    fn the_guard_lowers_the_limit() {
        let mut t = tuner(50);
        for i in 0..9 {
            let n = 10.0 + f64::from(i);
            t.tune(0.010 * n * n / 100.0, n); // Throughput 10^5 / n.
            assert_eq!(t.covariance(), 0.0, "too early");
        }
        t.limit = 50;
        t.tune(0.010, 30.0);
        assert!(t.covariance() > 0.0, "30 at 10 ms: 3000 per second");
        t.limit = 50;
        t.history.fill(Interval::default());
        for i in 0..LONG {
            let n = 10.0 + i as f64;
            t.history[i] = Interval { in_flight: n, latency: 0.010, throughput: 1e5 / n };
        }
        assert!(t.covariance() < 0.0);
        t.smoothed = 0.010;
        t.recent = [0.010; MEDIAN];
        t.tune(0.010, 60.0);
        assert_eq!(t.limit, 49);
    }

    #[test]
    fn intervals_by_hand() {
        let ms = Nanos::from_millis;
        let mut t = tuner(20);
        for i in 0..249 {
            t.record(ms(i * 10), ms(10), 20);
        }
        t.record(ms(2_480), ms(10), 20);
        assert_eq!((t.intervals, t.requests), (1, 0), "250 requests and 2 s");
        t.record(ms(2_490), ms(10), 20);
        t.record(ms(32_479), ms(10), 20);
        assert_eq!(t.intervals, 1);
        t.record(ms(32_480), ms(10), 20);
        assert_eq!(t.intervals, 2, "30 s, with however few");
        t.record(ms(5), ms(10), 20);
        assert_eq!(t.started, Some(ms(5)), "back");
    }

    /// A service that ends 1000 per second after 10 ms or more, always as full as it may be:
    /// 10 in flight are enough, and the limit stops where 3 to 6 of them wait.
    #[test]
    fn finds_the_limit_of_a_service_and_forgets_it() {
        let mut t = tuner(5);
        let turn = |t: &mut Tuner| {
            let n = f64::from(t.limit());
            t.tune((n / 1000.0).max(0.010), n);
            t.limit()
        };
        let limits: std::vec::Vec<u32> = (0..50).map(|_| turn(&mut t)).collect();
        assert_eq!(limits[..5], [6, 7, 8, 9, 10]);
        assert!(limits[20..].iter().all(|limit| (13..=16).contains(limit)), "{limits:?}");
        // No interval without a wait is remembered any longer: the target follows the wait.
        let later = (0..500).map(|_| turn(&mut t)).last();
        assert!(later > Some(30), "{later:?}");
    }

    #[test]
    fn begun_in_overload_it_takes_the_wait_for_the_work() {
        let mut t = tuner(100);
        for _ in 0..10 {
            t.tune(f64::from(t.limit()) / 1000.0, f64::from(t.limit()));
        }
        assert!(t.limit() > 100, "{}", t.limit());
    }

    #[test]
    fn a_limit_that_is_not_used_does_not_grow() {
        let mut t = tuner(20);
        for _ in 0..100 {
            t.tune(0.010, 1.0);
        }
        assert_eq!(t.limit, 20);
    }

    #[test]
    fn refuses_impossible_settings() {
        for (initial, least, most) in [(0, 0, 10), (1, 2, 10), (11, 1, 10), (1, 1, 1_000_001)] {
            assert!(Tuner::try_new(initial, least, most).is_none());
        }
    }

    proptest! {
        #[test]
        fn the_limit_stays_in_range(
            least in 1u32..20, more in 0u32..100,
            ends in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u32>()), 1..200),
        ) {
            let mut t = Tuner::try_new(least, least, least + more).unwrap();
            for (now, latency, in_flight) in ends {
                t.record(Nanos(now), Nanos(latency), in_flight);
                t.tune(Nanos(latency).as_secs_f64(), f64::from(in_flight));
                prop_assert!((least..=least + more).contains(&t.limit()));
            }
        }
    }
}
