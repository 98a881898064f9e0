//! The residual model: retries so soon that what blocked the last attempt may still be there.

use super::root::falling;
use super::{NodeModel, Rejection, classes};

/// How the service times of a service are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Service {
    /// Exponential: squared coefficient of variation 1.
    Exponential,
    /// A mixture of two exponentials with balanced means (each makes up half the work), with the
    /// squared coefficient of variation `scv`, at least 1.
    Hyperexponential {
        /// Variance over the square of the mean.
        scv: f64,
    },
}

/// The waits between the attempts of one request, without jitter: `first`, then each `factor`
/// times the one before, up to `max`. In seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delays {
    first: f64,
    factor: f64,
    max: f64,
}

impl Delays {
    /// The same wait before every retry, from 0 up and finite.
    #[must_use]
    pub fn constant(seconds: f64) -> Option<Self> {
        Self::growing(seconds, 1.0, seconds)
    }

    /// Waits that grow by `factor`, at least 1, up to `max`, at least `first`.
    #[must_use]
    pub fn growing(first: f64, factor: f64, max: f64) -> Option<Self> {
        let valid = first >= 0.0 && first.is_finite() && factor >= 1.0 && max >= first;
        (valid && factor.is_finite() && max.is_finite()).then_some(Self { first, factor, max })
    }
}

/// A service above capacity whose blockers outlast short retry delays.
///
/// A rejected attempt meets a job whose remaining time has the equilibrium residual-life
/// distribution G of the service time. A retry that comes while this job is still being served
/// fails for sure; once it has left, an attempt is rejected with probability s̄ afresh, by a new
/// blocker. s̄ solves Σ_p λ_p (1 - rejection_p(s̄)) = μ where Σλ_p > μ, and is 0 elsewhere.
/// α = G(d), the chance that the blocker is gone by the next retry; α = 1 is the fluid model.
///
/// The recursion over retries left and age of the residual, f(n, a) = q f(n-1, a+d) +
/// (1-q) s̄ f(n-1, 0) with q = (1-G(a+d)) / (1-G(a)), is carried out over the phase of the blocker
/// instead of its age: G is a mixture of exponentials, which forget their age. That is the same
/// number in k steps rather than k². Ours; DiffTry (arXiv 2610.20567) leaves the step open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    capacity: f64,
    delays: Delays,
    /// The rates at which a blocker of each phase leaves, per second. The phases are equally
    /// likely: each is half the work, and a blocker is met in proportion to its work.
    leave: [f64; 2],
}

impl Residual {
    /// A service of capacity `capacity` in attempts per second (finite, from 0 up), whose service
    /// time has the mean `mean_s` in seconds (finite, above 0) and the given spread.
    #[must_use]
    pub fn try_new(capacity: f64, mean_s: f64, service: Service, delays: Delays) -> Option<Self> {
        let scv = match service {
            Service::Exponential => 1.0,
            Service::Hyperexponential { scv } => scv,
        };
        let valid = capacity >= 0.0
            && capacity.is_finite()
            && mean_s > 0.0
            && mean_s.is_finite()
            && scv >= 1.0
            && scv.is_finite();
        if !valid {
            return None;
        }
        // Balanced means: phase i has probability p_i and rate 2 p_i / mean.
        let often = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
        // 1 - often, which would cancel for a large spread: p (1 - p) = 1 / (2 (scv + 1)).
        let seldom = 0.5 / ((scv + 1.0) * often);
        let leave = [2.0 * often / mean_s, 2.0 * seldom / mean_s];
        Some(Self { capacity, delays, leave })
    }

    /// μ, in attempts per second.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// α: the chance that the blocker has gone by the first retry.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        let [a, b] = self.leave.map(|rate| -libm::expm1(-rate * self.delays.first));
        0.5 * (a + b)
    }

    /// Follows a request through its attempts with the probability of having failed so far, split
    /// by the phase of the last blocker. Gives the share that fails, and the mean of attempts.
    fn follow(&self, s: f64, limit: u32) -> (f64, f64) {
        let [mut a, mut b] = [0.5 * s, 0.5 * s];
        let mut attempts = 1.0;
        let mut delay = self.delays.first;
        let mut gone = self.leave.map(|rate| -libm::expm1(-rate * delay));
        for n in 0..limit {
            let failed = a + b;
            if failed < 1e-30 {
                return (0.0, attempts);
            }
            if s == 1.0 {
                return (1.0, f64::from(limit) + 1.0);
            }
            attempts += failed;
            let again = 0.5 * s * (a * gone[0] + b * gone[1]);
            a = a * (1.0 - gone[0]) + again;
            b = b * (1.0 - gone[1]) + again;
            let next = (delay * self.delays.factor).min(self.delays.max);
            if next != delay && n + 1 < limit {
                delay = next;
                gone = self.leave.map(|rate| -libm::expm1(-rate * delay));
            }
        }
        (a + b, attempts)
    }
}

impl NodeModel for Residual {
    fn rejection(&self, rates: &[f64], limits: &[u32]) -> Rejection {
        let total: f64 = classes(rates, limits).map(|(rate, _)| rate).sum();
        if total <= self.capacity {
            return Rejection::NONE;
        }
        if self.capacity == 0.0 || total == f64::INFINITY {
            return Rejection::ALL;
        }
        Rejection::from_rejected(falling(0.0, 1.0, |s| {
            let served: f64 = classes(rates, limits)
                .map(|(rate, limit)| rate * (1.0 - self.follow(s, limit).0))
                .sum();
            served - self.capacity
        }))
    }

    fn served(&self, at: Rejection, limit: u32) -> f64 {
        1.0 - self.failed(at, limit)
    }

    fn failed(&self, at: Rejection, limit: u32) -> f64 {
        self.follow(at.probability(), limit).0
    }

    fn attempts(&self, at: Rejection, limit: u32) -> f64 {
        self.follow(at.probability(), limit).1
    }
}
