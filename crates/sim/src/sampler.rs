//! Draws durations from the distributions of the system file.

use damper_system::model::Dist;

use crate::rng::{Stream, Ziggurat};

/// A distribution, ready to be drawn from. Durations are in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) enum Sampler {
    Constant(u64),
    Exponential {
        mean: f64,
    },
    Erlang {
        stage: f64,
        stages: u32,
    },
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    /// One of two exponentials.
    Mixture {
        first: f64,
        mean_first: f64,
        mean_second: f64,
    },
    /// `scale × exp(E / alpha)` with E exponential.
    Pareto {
        scale: f64,
        inverse_alpha: f64,
    },
    /// Values with cumulative weights that end in one.
    Empirical(Vec<(f64, u64)>),
}

impl Sampler {
    pub(crate) fn new(dist: &Dist) -> Self {
        let mean = dist.mean().0 as f64;
        match dist {
            Dist::Deterministic(mean) => Self::Constant(mean.0),
            Dist::Exponential(_) => Self::Exponential { mean },
            Dist::Erlang { stages, .. } => {
                let stages = (*stages).max(1);
                Self::Erlang { stage: mean / f64::from(stages), stages }
            }
            Dist::Lognormal { cv, .. } => {
                let variance = libm::log1p(cv * cv);
                let mu = libm::log(mean.max(f64::MIN_POSITIVE)) - variance / 2.0;
                Self::Lognormal { mu, sigma: libm::sqrt(variance) }
            }
            // Balanced means: each branch contributes half of the mean.
            Dist::Hyperexponential { cv, .. } => {
                let c2 = (cv * cv).max(1.0);
                let first = (1.0 + libm::sqrt((c2 - 1.0) / (c2 + 1.0))) / 2.0;
                Self::Mixture {
                    first,
                    mean_first: mean / (2.0 * first),
                    mean_second: mean / (2.0 * (1.0 - first)),
                }
            }
            Dist::Pareto { alpha, .. } => {
                Self::Pareto { scale: mean * (alpha - 1.0) / alpha, inverse_alpha: 1.0 / alpha }
            }
            Dist::Empirical(values) => {
                let total: f64 = values.iter().map(|(_, w)| w).sum();
                let mut sum = 0.0;
                let table = values.iter().map(|(t, w)| {
                    sum += w / total;
                    (sum, t.0)
                });
                Self::Empirical(table.collect())
            }
        }
    }

    /// Whether every draw is zero.
    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Self::Constant(0))
    }

    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream, table: &Ziggurat) -> u64 {
        match self {
            Self::Constant(t) => *t,
            Self::Exponential { mean } => (mean * stream.exponential(table)) as u64,
            Self::Erlang { stage, stages } => {
                let sum: f64 = (0..*stages).map(|_| stream.exponential(table)).sum();
                (stage * sum) as u64
            }
            Self::Lognormal { mu, sigma } => libm::exp(mu + sigma * stream.normal()) as u64,
            Self::Mixture { first, mean_first, mean_second } => {
                let mean = if stream.unit() < *first { mean_first } else { mean_second };
                (mean * stream.exponential(table)) as u64
            }
            Self::Pareto { scale, inverse_alpha } => {
                (scale * libm::exp(stream.exponential(table) * inverse_alpha)) as u64
            }
            Self::Empirical(values) => {
                let u = stream.unit();
                let i = values.partition_point(|(below, _)| *below <= u);
                values.get(i).or(values.last()).map_or(0, |(_, t)| *t)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;
    use damper_control::Nanos;

    /// Mean and squared coefficient of variation of every distribution, against its formula.
    #[test]
    fn distributions_have_their_moments() {
        let mean = Nanos::from_millis(10);
        let empirical =
            Dist::Empirical(vec![(Nanos::from_millis(5), 3.0), (Nanos::from_millis(25), 1.0)]);
        let cases = [
            (Dist::Deterministic(mean), 0.0),
            (Dist::Exponential(mean), 1.0),
            (Dist::Erlang { mean, stages: 4 }, 0.25),
            (Dist::Lognormal { mean, cv: 1.5 }, 2.25),
            (Dist::Hyperexponential { mean, cv: 2.0 }, 4.0),
            // α = 3: variance/mean² = 1 / (α (α - 2)).
            (Dist::Pareto { mean, alpha: 3.0 }, 1.0 / 3.0),
            (empirical, 0.75),
        ];
        let table = Ziggurat::new();
        for (dist, c2) in cases {
            let sampler = Sampler::new(&dist);
            let mut stream = Stream::new(7, 0, Purpose::Service, 0);
            let n = 400_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let x = sampler.draw(&mut stream, &table) as f64 / 1e7;
                sum += x;
                squares += x * x;
            }
            let m = sum / f64::from(n);
            let v = squares / f64::from(n) - m * m;
            assert!((m - 1.0).abs() < 0.015, "{dist:?}: mean {m}");
            assert!((v - c2).abs() < 0.03 + 0.08 * c2, "{dist:?}: c² {v}, not {c2}");
        }
    }
}
