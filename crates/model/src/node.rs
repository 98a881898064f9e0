//! How often one service turns an attempt away, given who calls it and how often they retry.
//!
//! Class p sends λ_p requests a second and retries each up to k_p times. With s̄ the probability
//! that one attempt is rejected, independently of the others, the service receives
//! Λ_p = λ_p (1 - s̄^(k_p+1)) / (1 - s̄) attempts, serves λ_p (1 - s̄^(k_p+1)) requests and rejects
//! λ_p s̄^(k_p+1) of them (DiffTry, arXiv 2610.20567). The models differ in what s̄ is at a load.

mod finite;
mod fluid;
mod mixed;
mod residual;
pub(crate) mod root;
#[cfg(test)]
mod tests;

pub use finite::Finite;
pub use fluid::Fluid;
pub use mixed::Mixed;
pub use residual::{Delays, Residual, Service};

/// The probability s̄ that one attempt is rejected, kept together with 1 - s̄, so that neither
/// loses its digits where it is small: far above capacity almost nothing is accepted, far below
/// it almost nothing rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rejection {
    rejected: f64,
    accepted: f64,
}

impl Rejection {
    /// Nothing is rejected.
    pub const NONE: Self = Self { rejected: 0.0, accepted: 1.0 };
    /// Everything is rejected.
    pub const ALL: Self = Self { rejected: 1.0, accepted: 0.0 };

    /// From s̄. What is below 0 or not a number counts as 0, what is above 1 as 1.
    #[must_use]
    pub fn from_rejected(s: f64) -> Self {
        let rejected = unit(s);
        Self { rejected, accepted: 1.0 - rejected }
    }

    /// From 1 - s̄. What is below 0 or not a number counts as 0, what is above 1 as 1.
    #[must_use]
    pub fn from_accepted(u: f64) -> Self {
        let accepted = unit(u);
        Self { rejected: 1.0 - accepted, accepted }
    }

    /// s̄: the probability that one attempt is rejected.
    #[must_use]
    pub fn probability(self) -> f64 {
        self.rejected
    }

    /// 1 - s̄: the probability that one attempt is accepted.
    #[must_use]
    pub fn accepted(self) -> f64 {
        self.accepted
    }

    /// 1 - s̄^(k+1): the share of requests that succeed when each may be retried `limit` times.
    ///
    /// Built up by g(2n) = g(n) (2 - g(n)) and g(n+1) = g(n) + (1 - s̄)(1 - g(n)), in which nothing
    /// is subtracted that nearly cancels, so the result is exact to rounding for any limit.
    #[must_use]
    pub fn served(self, limit: u32) -> f64 {
        let attempts = u64::from(limit) + 1;
        let mut bit = 63 - attempts.leading_zeros();
        let mut g = self.accepted;
        while bit > 0 {
            bit -= 1;
            g *= 2.0 - g;
            if attempts >> bit & 1 == 1 {
                g += self.accepted * (1.0 - g);
            }
        }
        g.min(1.0)
    }

    /// s̄^(k+1): the share of requests that fail although each was retried `limit` times.
    #[must_use]
    pub fn failed(self, limit: u32) -> f64 {
        // Squaring loses a bit of the result with each doubling of the limit.
        if limit >= 64 {
            return libm::pow(self.rejected, f64::from(limit) + 1.0);
        }
        let (mut power, mut base, mut left) = (self.rejected, self.rejected, limit);
        while left > 0 {
            if left & 1 == 1 {
                power *= base;
            }
            base *= base;
            left >>= 1;
        }
        power
    }

    /// (1 - s̄^(k+1)) / (1 - s̄): the attempts that one request makes, between 1 and k + 1.
    #[must_use]
    pub fn attempts(self, limit: u32) -> f64 {
        let most = f64::from(limit) + 1.0;
        if self.accepted <= f64::MIN_POSITIVE {
            return most;
        }
        (self.served(limit) / self.accepted).clamp(1.0, most)
    }

    /// The attempts that one request makes, and how much they rise with s̄. The slope is for
    /// Newton's steps only: it has about half of its digits.
    fn attempts_and_slope(self, limit: u32) -> (f64, f64) {
        if limit == 0 {
            return (1.0, 0.0);
        }
        let (attempts, most) = (self.attempts(limit), f64::from(limit) + 1.0);
        // Elsewhere a = (1 - s̄^(k+1)) / (1 - s̄) has the slope (a - (k+1) s̄^k) / (1 - s̄).
        let slope = if self.rejected < 1e-8 {
            1.0
        } else if most * self.accepted < 1e-5 {
            0.5 * most * f64::from(limit)
        } else {
            let failed = 1.0 - attempts * self.accepted;
            (attempts - most * failed / self.rejected) / self.accepted
        };
        (attempts, slope)
    }
}

fn unit(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// A rate as the models take it: what is negative or not a number is no load.
fn load(rate: f64) -> f64 {
    if rate > 0.0 { rate } else { 0.0 }
}

/// What a caller knows about an answer, and how exactly it needs to know it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// The answer for a load nearby.
    pub rejection: Rejection,
    /// A step of Newton's method by no more than this part of the answer is the last one: what
    /// remains is about its square, times how much the model bends.
    pub step: f64,
}

impl Near {
    /// After such a step nothing remains but rounding.
    pub const EXACT: f64 = 1e-10;

    /// All digits, from a known answer.
    #[must_use]
    pub fn exact(rejection: Rejection) -> Self {
        Self { rejection, step: Self::EXACT }
    }
}

/// What every model of a service answers. `rates` and `limits` have one entry for each class: λ_p
/// in requests per second, without retries, and k_p. A class without a limit has none (0).
///
/// The answer is always a probability, whatever the input: no load is never rejected, and a
/// service without capacity rejects everything.
pub trait NodeModel {
    /// s̄ where the service has settled under this load.
    fn rejection(&self, rates: &[f64], limits: &[u32]) -> Rejection;

    /// The same, for a caller that knows an answer nearby and would like it sooner.
    fn rejection_near(&self, rates: &[f64], limits: &[u32], near: Near) -> Rejection {
        let _ = near;
        self.rejection(rates, limits)
    }

    /// The share of requests that succeed within `limit` retries.
    fn served(&self, at: Rejection, limit: u32) -> f64 {
        at.served(limit)
    }

    /// The share of requests that fail although they were retried `limit` times.
    fn failed(&self, at: Rejection, limit: u32) -> f64 {
        at.failed(limit)
    }

    /// The attempts that one request makes on average.
    fn attempts(&self, at: Rejection, limit: u32) -> f64 {
        at.attempts(limit)
    }
}

/// A service of a network, by the model chosen for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node {
    /// Accepts whatever comes.
    Unlimited,
    /// Rejects exactly what is above its capacity.
    Fluid(Fluid),
    /// A queue of Markovian arrivals and services with a limit (M/M/c/K).
    Finite(Finite),
    /// The queue below capacity, the fluid above it.
    Mixed(Mixed),
    /// The fluid, for retries so soon that they meet the same blocker again.
    Residual(Residual),
}

impl Node {
    fn model(&self) -> &dyn NodeModel {
        match self {
            Self::Unlimited => &Unlimited,
            Self::Fluid(model) => model,
            Self::Finite(model) => model,
            Self::Mixed(model) => model,
            Self::Residual(model) => model,
        }
    }
}

struct Unlimited;

impl NodeModel for Unlimited {
    fn rejection(&self, _: &[f64], _: &[u32]) -> Rejection {
        Rejection::NONE
    }
}

impl NodeModel for Node {
    fn rejection(&self, rates: &[f64], limits: &[u32]) -> Rejection {
        self.model().rejection(rates, limits)
    }

    fn rejection_near(&self, rates: &[f64], limits: &[u32], near: Near) -> Rejection {
        self.model().rejection_near(rates, limits, near)
    }

    fn served(&self, at: Rejection, limit: u32) -> f64 {
        self.model().served(at, limit)
    }

    fn failed(&self, at: Rejection, limit: u32) -> f64 {
        self.model().failed(at, limit)
    }

    fn attempts(&self, at: Rejection, limit: u32) -> f64 {
        self.model().attempts(at, limit)
    }
}

/// The load and limit of each class; a class beyond the end of `limits` does not retry.
fn classes<'a>(rates: &'a [f64], limits: &'a [u32]) -> impl Iterator<Item = (f64, u32)> + 'a {
    rates
        .iter()
        .enumerate()
        .map(|(p, &rate)| (load(rate), limits.get(p).copied().unwrap_or_default()))
}
