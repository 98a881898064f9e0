//! How much arrives, and how.

use damper_control::Nanos;

/// Load of one class in requests per second (first attempts).
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Always the same.
    Constant(f64),
    /// Piecewise linear through points (time, rate), constant before and after. A step is two
    /// points at the same time.
    Profile(Vec<(Nanos, f64)>),
    /// `base`, raised to `peak` for `length` at the start of every `every`.
    Burst {
        /// Between bursts.
        base: f64,
        /// During bursts.
        peak: f64,
        /// From the start of a burst to the start of the next.
        every: Nanos,
        /// How long a burst lasts.
        length: Nanos,
    },
}

impl Load {
    /// The rate at `t`, per second.
    #[must_use]
    pub fn at(&self, t: Nanos) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Burst { base, peak, every, length } => {
                if t.0 % every.0.max(1) < length.0 {
                    *peak
                } else {
                    *base
                }
            }
            Self::Profile(points) => {
                let next = points.partition_point(|(at, _)| *at <= t);
                match (next.checked_sub(1).map(|i| points[i]), points.get(next)) {
                    (Some((t0, r0)), Some(&(t1, r1))) => {
                        r0 + (r1 - r0) * ((t - t0).as_secs_f64() / (t1 - t0).as_secs_f64())
                    }
                    (Some((_, rate)), None) | (None, Some(&(_, rate))) => rate,
                    (None, None) => 0.0,
                }
            }
        }
    }

    /// The highest rate ever, per second.
    #[must_use]
    pub fn peak(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Burst { base, peak, .. } => base.max(*peak),
            Self::Profile(points) => points.iter().map(|p| p.1).fold(0.0, f64::max),
        }
    }

    /// The mean rate over a profile's span, a burst's period, or for ever.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Burst { base, peak, every, length } => {
                let share = length.as_secs_f64() / every.as_secs_f64();
                base + (peak - base) * share
            }
            Self::Profile(points) => {
                let area: f64 = points
                    .windows(2)
                    .map(|w| (w[0].1 + w[1].1) / 2.0 * (w[1].0 - w[0].0).as_secs_f64())
                    .sum();
                match (points.first(), points.last()) {
                    (Some(a), Some(b)) if b.0 > a.0 => area / (b.0 - a.0).as_secs_f64(),
                    (_, Some(b)) => b.1,
                    _ => 0.0,
                }
            }
        }
    }

    /// The same shape, `factor` times as high.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        match self {
            Self::Constant(rate) => Self::Constant(rate * factor),
            Self::Burst { base, peak, every, length } => Self::Burst {
                base: base * factor,
                peak: peak * factor,
                every: *every,
                length: *length,
            },
            Self::Profile(points) => {
                Self::Profile(points.iter().map(|(t, r)| (*t, r * factor)).collect())
            }
        }
    }
}

/// How requests arrive, for every class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Independently of each other.
    Poisson,
    /// At even distances.
    Deterministic,
    /// A Poisson process that is switched on and off (exponential spells with these means); its
    /// mean rate over time is the load.
    Bursty {
        /// Mean length of an on spell.
        on: Nanos,
        /// Mean length of an off spell.
        off: Nanos,
        /// Rate while off, as a share of the rate while on.
        idle: f64,
    },
}
