//! Durations in fixed buckets: eight to an octave, from a microsecond to over two minutes.
//!
//! A duration is counted in units of 1024 ns. Up to 8 units each has a bucket of its own, above
//! that each octave has eight, so that a quantile is at most 12.5 % too high. Prometheus is given
//! one bound for each octave, which is a boundary between two of ours, so that nothing is rounded
//! between the two.

use std::sync::atomic::{AtomicU64, Ordering};

use damper_control::Nanos;

/// log2 of the nanoseconds in a unit.
const UNIT: u32 = 10;
/// log2 of the buckets in an octave.
const SUB: u32 = 3;
/// Octaves above the first eight units; the last ends at 2^27 units.
const OCTAVES: u32 = 24;
/// The buckets that have an upper bound.
const BOUNDED: usize = ((OCTAVES + 1) << SUB) as usize;
/// And one for all that is longer.
const BUCKETS: usize = BOUNDED + 1;

/// The first octave that Prometheus is given: it ends at 2^7 units, some 131 µs.
const FIRST: usize = 5;

/// Upper bounds that Prometheus is given, in seconds: powers of two times 1.024 µs.
pub const BOUNDS: [f64; 21] = {
    let mut bounds = [0.0; 21];
    let mut i = 0;
    while i < bounds.len() {
        let units = 1u64 << (i as u32 + FIRST as u32 + 2);
        bounds[i] = (units << UNIT) as f64 / 1e9;
        i += 1;
    }
    bounds
};

fn bucket(duration: Nanos) -> usize {
    // A bucket has its upper bound in it, as Prometheus has it: 1 to 1024 ns are the first unit.
    let units = duration.0.saturating_sub(1) >> UNIT;
    if units < 1 << SUB {
        return units as usize;
    }
    let octave = 63 - units.leading_zeros() - SUB;
    if octave >= OCTAVES {
        return BOUNDED;
    }
    let sub = (units >> octave) & ((1 << SUB) - 1);
    (((octave + 1) << SUB) as usize) + sub as usize
}

/// The upper bound of a bucket in nanoseconds; `None`: it has none.
fn upper(bucket: usize) -> Option<u64> {
    if bucket >= BOUNDED {
        return None;
    }
    let (octave, sub) = (bucket >> SUB, (bucket as u64) & ((1 << SUB) - 1));
    let units = match octave {
        0 => sub + 1,
        octave => ((1 << SUB) + sub + 1) << (octave - 1),
    };
    Some(units << UNIT)
}

/// Durations that threads record.
#[derive(Debug)]
pub(super) struct Histogram {
    counts: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: std::array::from_fn(|_| AtomicU64::new(0)), sum_ns: AtomicU64::new(0) }
    }
}

impl Histogram {
    #[inline]
    pub(super) fn record(&self, duration: Nanos) {
        self.counts[bucket(duration)].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(duration.0, Ordering::Relaxed);
    }

    pub(super) fn add_to(&self, sum: &mut Distribution) {
        sum.sum_ns = sum.sum_ns.wrapping_add(self.sum_ns.load(Ordering::Relaxed));
        sum.counts.resize(BUCKETS, 0);
        for (sum, count) in sum.counts.iter_mut().zip(&self.counts) {
            *sum += count.load(Ordering::Relaxed);
        }
    }
}

/// Durations that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    counts: Vec<u64>,
    sum_ns: u64,
}

impl Distribution {
    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum in seconds.
    #[must_use]
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// How many were at most as long as each of [`BOUNDS`].
    #[must_use]
    pub fn cumulative(&self) -> [u64; BOUNDS.len()] {
        std::array::from_fn(|i| {
            let buckets = (i + FIRST) << SUB;
            self.counts.iter().take(buckets).sum()
        })
    }

    /// The duration in seconds that this share of them did not exceed, at most 12.5 % too high.
    /// `None`: there are none, or it is longer than what is told apart.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (self.count() as f64 * share.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        found.and_then(upper).map(|ns| ns as f64 / 1e9)
    }

    /// What came since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let then = before.counts.iter().copied().chain(std::iter::repeat(0));
        let counts = self.counts.iter().zip(then).map(|(now, then)| now.saturating_sub(then));
        Self { counts: counts.collect(), sum_ns: self.sum_ns.wrapping_sub(before.sum_ns) }
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(durations: &[u64]) -> Distribution {
        let histogram = Histogram::default();
        durations.iter().for_each(|ns| histogram.record(Nanos(*ns)));
        let mut seen = Distribution::default();
        histogram.add_to(&mut seen);
        seen
    }

    #[test]
    fn bounds_are_octaves_of_a_binary_microsecond() {
        assert_eq!(BOUNDS[0], 0.000_131_072);
        assert_eq!(BOUNDS[3], 0.001_048_576);
        assert_eq!(BOUNDS[20], 137.438_953_472);
        for (i, bound) in BOUNDS.iter().enumerate() {
            let last = ((i + FIRST) << SUB) - 1;
            assert_eq!(upper(last).map(|ns| ns as f64 / 1e9), Some(*bound), "{i}");
        }
        assert_eq!(upper(BOUNDED), None);
    }

    #[test]
    fn a_bound_is_in_its_own_bucket() {
        let seen = of(&[131_072, 131_073, 137_438_953_472, 137_438_953_473, u64::MAX]);
        let cumulative = seen.cumulative();
        assert_eq!((cumulative[0], cumulative[1], cumulative[20]), (1, 2, 3));
        assert_eq!(seen.count(), 5);
    }

    #[test]
    fn quantiles_of_a_hundred() {
        let durations: Vec<u64> = (1..=100).map(|ms| ms * 1_000_000).collect();
        let seen = of(&durations);
        // 50 ms are 48829 units: octave 12, 11th eighth, which ends at 49152 units = 50.33 ms.
        assert_eq!(seen.quantile(0.5), Some(0.050_331_648));
        assert_eq!(seen.quantile(0.0), seen.quantile(0.01));
        assert!((seen.sum_s() - 5.05).abs() < 1e-9);
        assert_eq!(Distribution::default().quantile(0.5), None);
        assert_eq!(of(&[u64::MAX]).quantile(0.5), None);
    }

    proptest! {
        #[test]
        fn a_duration_is_below_its_bound_and_at_most_an_eighth(ns in 1u64..137_438_953_472) {
            let upper = upper(bucket(Nanos(ns))).unwrap();
            prop_assert!(ns <= upper);
            prop_assert!(upper as f64 <= (ns as f64 * 1.125).max(ns as f64 + 1024.0) + 1.0);
            let before = bucket(Nanos(ns));
            prop_assert!(before == 0 || super::upper(before - 1).unwrap() < ns);
        }

        #[test]
        fn what_came_since_and_what_was_there_are_all(
            first in prop::collection::vec(any::<u64>(), 0..20),
            then in prop::collection::vec(any::<u64>(), 0..20),
        ) {
            let before = of(&first);
            let all: Vec<u64> = first.iter().chain(&then).copied().collect();
            let mut sum = of(&all).since(&before);
            prop_assert_eq!(sum.count(), then.len() as u64);
            sum.merge(&before);
            prop_assert_eq!(sum.cumulative(), of(&all).cumulative());
        }
    }
}
