//! Independent results together: means, intervals, shares.

use super::{Climb, Ladder, Rare, RareLevel};
use crate::estimate::t95;

/// All results together.
pub(super) fn summed(ladder: &Ladder, results: &[Climb], effort: u32) -> Rare {
    let n = results.len().max(1) as f64;
    let rates: Vec<f64> = results.iter().map(|c| c.per_second).collect();
    let (per_second, mut ci95) = log_interval(&rates);
    if per_second <= 0.0 {
        // Three in a sample are missed by one sample in twenty.
        ci95 = [0.0, 3.0 * results.iter().map(|c| c.missed).sum::<f64>() / (n * n)];
    }
    let levels = ladder.levels.iter().enumerate().map(|(i, backlog)| {
        let (mut all, mut on, mut down) = (0, 0, 0);
        for rung in results.iter().filter_map(|c| c.rungs.get(i)) {
            (all, on, down) = (all + rung.trials, on + rung.reached, down + rung.collapsed);
        }
        let share = |part: u64| part as f64 / f64::from(effort).max(all as f64);
        RareLevel { backlog: *backlog, onwards: share(on), collapsed: share(down) }
    });
    let (still, looked) =
        results.iter().fold((0, 0), |sum, c| (sum.0 + c.lasting.0, sum.1 + c.lasting.1));
    Rare {
        load: 0.0,
        per_second,
        ci95,
        lasting: (looked > 0).then(|| still as f64 / looked as f64),
        crossings_per_second: results.iter().map(|c| c.crossings_per_second).sum::<f64>() / n,
        healthy: ladder.healthy,
        levels: levels.collect(),
        trials: 0,
        cut: 0,
        simulated_s: 0.0,
        window_s: 0.0,
        replications: results.len() as u32,
        notes: Vec::new(),
        partial: false,
    }
}

/// Mean of independent results, and its interval on a logarithmic scale: a rate is never negative,
/// and its errors multiply.
pub(super) fn log_interval(values: &[f64]) -> (f64, [f64; 2]) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    if values.len() < 2 || mean <= 0.0 {
        return (mean, [0.0, f64::INFINITY]);
    }
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    let half = t95(values.len() - 1) * (variance / n).sqrt() / mean;
    (mean, [mean * libm::exp(-half), mean * libm::exp(half)])
}

impl Rare {
    /// The probability of at least one collapse within a day of a healthy system.
    #[must_use]
    pub fn per_day(&self) -> f64 {
        per_day(self.per_second)
    }

    /// The interval of [`Rare::per_day`].
    #[must_use]
    pub fn per_day_ci95(&self) -> [f64; 2] {
        self.ci95.map(per_day)
    }
}

pub(super) fn per_day(rate: f64) -> f64 {
    -libm::expm1(-86_400.0 * rate)
}
