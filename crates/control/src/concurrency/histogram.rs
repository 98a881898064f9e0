//! Quantiles of latencies in fixed memory: a log-linear histogram.
//!
//! Every power of two is split into 64 equal buckets, and a quantile is the middle of its
//! bucket: below 128 ns it is exact, above it is off by at most 1 part in 128 (0.8 %). Envoy's
//! circllhist keeps two decimal digits (off by up to 5 %), failsafe-go's t-digest is finer in
//! the tails; neither is bounded in memory and free of allocation.

use alloc::boxed::Box;
use alloc::vec;

const SPLIT_BITS: u32 = 6;
const SPLIT: usize = 1 << SPLIT_BITS;
const BUCKETS: usize = (64 - SPLIT_BITS as usize + 1) * SPLIT;

/// Counts of values from 0 to `u64::MAX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Histogram {
    counts: Box<[u32]>,
    total: u64,
    /// The lowest and highest bucket in use, so that clearing and reading touch no others.
    used: (usize, usize),
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), total: 0, used: (BUCKETS, 0) }
    }

    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.total = self.total.saturating_add(1);
        self.used = (self.used.0.min(bucket), self.used.1.max(bucket));
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.total
    }

    pub(super) fn clear(&mut self) {
        if self.total > 0 {
            self.counts[self.used.0..=self.used.1].fill(0);
        }
        self.total = 0;
        self.used = (BUCKETS, 0);
    }

    /// The smallest value that at least a share `q` of the values does not exceed. `None`
    /// without values.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let rank = (libm::ceil(q * self.total as f64) as u64).clamp(1, self.total);
        let mut seen = 0;
        for bucket in self.used.0..=self.used.1 {
            seen += u64::from(self.counts[bucket]);
            if seen >= rank {
                return Some(middle(bucket));
            }
        }
        // Only if a count has saturated.
        Some(middle(self.used.1))
    }
}

fn bucket(value: u64) -> usize {
    let octave = value.checked_ilog2().unwrap_or(0).saturating_sub(SPLIT_BITS);
    (octave as usize) * SPLIT + (value >> octave) as usize
}

fn middle(bucket: usize) -> f64 {
    let octave = (bucket / SPLIT).saturating_sub(1);
    let low = (bucket - octave * SPLIT) as f64;
    if octave == 0 { low } else { libm::ldexp(low + 0.5, octave as i32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_of_buckets() {
        assert_eq!([0, 1, 63, 64, 127].map(bucket), [0, 1, 63, 64, 127], "exact below 128");
        assert_eq!([128, 129, 130, 255, 256].map(bucket), [128, 128, 129, 191, 192]);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(middle(128), 129.0);
    }

    #[test]
    fn quantiles_by_hand() {
        let mut h = Histogram::new();
        assert_eq!(h.quantile(0.5), None);
        for value in 1..=100 {
            h.add(value);
        }
        for (q, want) in
            [(0.0, 1.0), (0.01, 1.0), (0.5, 50.0), (0.501, 51.0), (0.9, 90.0), (1.0, 100.0)]
        {
            assert_eq!(h.quantile(q), Some(want), "{q}");
        }
        h.clear();
        assert_eq!(h, Histogram::new());
    }

    proptest! {
        #[test]
        fn off_by_at_most_one_in_128(value in any::<u64>()) {
            let mut h = Histogram::new();
            h.add(value);
            let got = h.quantile(0.5).unwrap();
            prop_assert!((got - value as f64).abs() <= value as f64 / 128.0, "{got}");
        }
    }
}
