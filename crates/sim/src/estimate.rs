//! Means with their intervals.

/// A mean and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Lower and upper end of the 95 % interval.
    pub ci95: [f64; 2],
}

impl Estimate {
    /// Student's t interval of independent values; a single value has itself for an interval.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Self { mean, ci95: [mean, mean] };
        }
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
        let half = t95(values.len() - 1) * (variance / n).sqrt();
        Self { mean, ci95: [mean - half, mean + half] }
    }

    /// The interval widened by a relative resolution on both sides.
    #[must_use]
    pub fn widened(self, relative: f64) -> Self {
        let by = self.mean.abs() * relative;
        Self { mean: self.mean, ci95: [self.ci95[0] - by, self.ci95[1] + by] }
    }
}

/// The 97.5 % quantile of Student's t distribution.
#[must_use]
pub fn t95(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    match degrees_of_freedom {
        0 => f64::INFINITY,
        // Beyond the table: Cornish and Fisher's expansion, to three decimals.
        n => TABLE.get(n - 1).copied().unwrap_or_else(|| {
            let n = n as f64;
            1.959_964 + 2.372_271 / n + 2.822_5 / (n * n)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_go_on_beyond_the_table() {
        for (n, t) in [(30, 2.042), (31, 2.040), (40, 2.021), (60, 2.000), (120, 1.980)] {
            assert!((t95(n) - t).abs() < 0.000_6, "{n}: {}", t95(n));
        }
        assert!((t95(1_000_000) - 1.96).abs() < 1e-4);
    }

    #[test]
    fn interval_by_hand() {
        // 1, 2, 3: mean 2, s = 1, half width 4.303 / √3.
        let e = Estimate::of(&[1.0, 2.0, 3.0]);
        assert!((e.mean - 2.0).abs() < 1e-12);
        assert!((e.ci95[1] - 2.0 - 4.303 / 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(Estimate::of(&[5.0]).ci95, [5.0, 5.0]);
    }
}
