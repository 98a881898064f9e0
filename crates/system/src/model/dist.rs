//! Distributions of durations.

use damper_control::Nanos;

/// A distribution of durations.
#[derive(Clone, Debug, PartialEq)]
pub enum Dist {
    /// Always the same.
    Deterministic(Nanos),
    /// Exponential with this mean.
    Exponential(Nanos),
    /// Sum of `stages` exponentials; squared coefficient of variation 1 / stages.
    Erlang {
        /// Mean of the sum.
        mean: Nanos,
        /// Number of stages, at least one.
        stages: u32,
    },
    /// Lognormal with this mean and coefficient of variation.
    Lognormal {
        /// Mean.
        mean: Nanos,
        /// Standard deviation over mean.
        cv: f64,
    },
    /// Two exponentials with balanced means.
    Hyperexponential {
        /// Mean.
        mean: Nanos,
        /// Coefficient of variation, at least one.
        cv: f64,
    },
    /// Pareto (type I) with this mean and tail index.
    Pareto {
        /// Mean.
        mean: Nanos,
        /// Tail index α, above one.
        alpha: f64,
    },
    /// One of these values, each as often as its weight says.
    Empirical(Vec<(Nanos, f64)>),
}

impl Dist {
    /// No time.
    pub const ZERO: Self = Self::Deterministic(Nanos::ZERO);

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Nanos {
        match self {
            Self::Deterministic(mean)
            | Self::Exponential(mean)
            | Self::Erlang { mean, .. }
            | Self::Lognormal { mean, .. }
            | Self::Hyperexponential { mean, .. }
            | Self::Pareto { mean, .. } => *mean,
            Self::Empirical(values) => {
                let weight: f64 = values.iter().map(|(_, w)| w).sum();
                let sum: f64 = values.iter().map(|(t, w)| t.as_secs_f64() * w).sum();
                Nanos::from_secs_f64(sum / weight)
            }
        }
    }
}
