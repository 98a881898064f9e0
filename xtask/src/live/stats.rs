//! Means and their intervals.

/// Student's t for 95 %, by degrees of freedom from 1, where the expansion is not good enough.
const T95: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// A mean and half of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) half: f64,
}

impl Estimate {
    /// Of independent repetitions.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let n = values.len() as f64;
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Self { mean, half: f64::INFINITY };
        }
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
        Self { mean, half: t95(values.len() - 1) * (variance / n).sqrt() }
    }

    /// Whether the whole interval is within `aim` of a value.
    pub(crate) fn is_within(self, aim: f64, of: f64) -> bool {
        (self.mean - of).abs() + self.half <= aim
    }
}

/// The 97.5 % quantile of Student's t distribution.
fn t95(degrees: usize) -> f64 {
    if degrees == 0 {
        return f64::INFINITY;
    }
    T95.get(degrees - 1).copied().unwrap_or_else(|| {
        // Fisher's expansion in the quantile of the normal distribution.
        let (n, z) = (degrees as f64, 1.959_964_f64);
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
        z + first / n + second / (n * n) + third / (n * n * n)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values() {
        let e = Estimate::of([1.0, 2.0, 3.0].into_iter());
        assert!((e.mean - 2.0).abs() < 1e-12);
        assert!((e.half - 4.303 / 3f64.sqrt()).abs() < 1e-9);
        assert!(Estimate::of([1.0].into_iter()).half.is_infinite());
    }

    #[test]
    fn quantiles_go_on_beyond_the_table() {
        for (n, t) in [(9, 2.262), (10, 2.228), (15, 2.131), (20, 2.086), (30, 2.042), (120, 1.980)]
        {
            assert!((t95(n) - t).abs() < 0.000_6, "{n}: {}", t95(n));
        }
        assert!((t95(1_000_000) - 1.96).abs() < 1e-4 && t95(0).is_infinite());
    }

    #[test]
    fn a_mean_is_within_only_together_with_its_interval() {
        let e = Estimate { mean: 0.52, half: 0.02 };
        assert!(e.is_within(0.03, 0.515) && !e.is_within(0.03, 0.50));
        assert!(!Estimate { mean: 0.5, half: 0.04 }.is_within(0.03, 0.5));
    }
}
