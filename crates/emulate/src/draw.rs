//! Chance: streams split from the seed of the file, and durations from its distributions.

use damper_control::Nanos;
use damper_system::model::Dist;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stream(pub(crate) Xoshiro256PlusPlus);

impl Stream {
    /// The stream of a seed and an index: each process has its own.
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(
            seed ^ index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Whether an event of this probability happens.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// An index drawn by weights that sum to at most one; `None` for what is missing.
    pub(crate) fn pick(&mut self, weights: impl Iterator<Item = f64>) -> Option<usize> {
        let u = self.unit();
        let mut sum = 0.0;
        for (i, weight) in weights.enumerate() {
            sum += weight;
            // Weights that sum to one but for rounding leave nobody out.
            if u < sum || sum > 1.0 - 1e-9 {
                return Some(i);
            }
        }
        None
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A duration; the same formulas as the simulator's.
    pub(crate) fn duration(&mut self, dist: &Dist) -> Nanos {
        let mean = dist.mean().0 as f64;
        let nanos = match dist {
            Dist::Deterministic(_) => mean,
            Dist::Exponential(_) => mean * self.exponential(),
            Dist::Erlang { stages, .. } => {
                let stages = (*stages).max(1);
                let sum: f64 = (0..stages).map(|_| self.exponential()).sum();
                mean / f64::from(stages) * sum
            }
            Dist::Lognormal { cv, .. } => {
                let variance = (cv * cv).ln_1p();
                let mu = mean.max(f64::MIN_POSITIVE).ln() - variance / 2.0;
                (mu + variance.sqrt() * self.normal()).exp()
            }
            // Balanced means: each branch contributes half of the mean.
            Dist::Hyperexponential { cv, .. } => {
                let c2 = (cv * cv).max(1.0);
                let first = f64::midpoint(1.0, ((c2 - 1.0) / (c2 + 1.0)).sqrt());
                let branch = if self.chance(first) { first } else { 1.0 - first };
                mean / (2.0 * branch) * self.exponential()
            }
            Dist::Pareto { alpha, .. } => {
                mean * (alpha - 1.0) / alpha * (self.exponential() / alpha).exp()
            }
            Dist::Empirical(values) => {
                let total: f64 = values.iter().map(|(_, weight)| weight).sum();
                let at = self.pick(values.iter().map(|(_, weight)| weight / total));
                at.and_then(|i| values.get(i)).map_or(0.0, |(t, _)| t.0 as f64)
            }
        };
        Nanos(nanos as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and squared coefficient of variation of every distribution, against its formula.
    #[test]
    fn distributions_have_their_moments() {
        let mean = Nanos::from_millis(10);
        let cases = [
            (Dist::Deterministic(mean), 0.0),
            (Dist::Exponential(mean), 1.0),
            (Dist::Erlang { mean, stages: 4 }, 0.25),
            (Dist::Lognormal { mean, cv: 1.5 }, 2.25),
            (Dist::Hyperexponential { mean, cv: 2.0 }, 4.0),
            (Dist::Pareto { mean, alpha: 3.0 }, 1.0 / 3.0),
            (
                Dist::Empirical(vec![(Nanos::from_millis(5), 3.0), (Nanos::from_millis(25), 1.0)]),
                0.75,
            ),
        ];
        for (dist, c2) in cases {
            let mut stream = Stream::new(7, 0);
            let n = 200_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let x = stream.duration(&dist).0 as f64 / 1e7;
                sum += x;
                squares += x * x;
            }
            let m = sum / f64::from(n);
            let v = squares / f64::from(n) - m * m;
            assert!((m - 1.0).abs() < 0.02, "{dist:?}: mean {m}");
            assert!((v - c2).abs() < 0.03 + 0.12 * c2, "{dist:?}: c² {v}, not {c2}");
        }
    }

    #[test]
    fn what_is_missing_to_one_is_nobody() {
        let mut stream = Stream::new(1, 0);
        let mut counts = [0; 3];
        for _ in 0..30_000 {
            counts[stream.pick([0.2, 0.3].into_iter()).unwrap_or(2)] += 1;
        }
        // Four standard deviations.
        for (count, expected) in counts.iter().zip([6000.0, 9000.0, 15_000.0f64]) {
            assert!((f64::from(*count) - expected).abs() < 4.0 * expected.sqrt(), "{counts:?}");
        }
        assert!(stream.pick([0.5, 0.499_999_999_99].into_iter()).is_some());
    }
}
