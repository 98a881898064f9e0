//! The fluid model: a service accepts what it can do, and rejects exactly the rest.

use super::{Near, NodeModel, Rejection, classes};

/// A service that accepts `capacity` attempts per second and rejects the others.
///
/// Above capacity, Σλ_p > μ, s̄ is the unique root in (0,1) of Σ_p λ_p (1 - s̄^(k_p+1)) = μ; at or
/// below it, 0. Source: DiffTry (arXiv 2610.20567), the single service. In s̄ it is wrong by at
/// most 1/(m+1) for a queue of m places at a given load, and most so at capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fluid {
    capacity: f64,
}

impl Fluid {
    /// Capacity μ in attempts per second: workers over mean service time. From 0 up; infinite is
    /// allowed and never rejects.
    #[must_use]
    pub fn try_new(capacity: f64) -> Option<Self> {
        (capacity >= 0.0).then_some(Self { capacity })
    }

    /// μ, in attempts per second.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Newton's steps on Σλ g(u) - μ with u = 1 - s̄. The sum rises and is concave in u, so a step
    /// from the left of the root never passes it, and one from the right lands left of it. The
    /// bracket is for rounding only.
    fn solve(&self, rates: &[f64], limits: &[u32], near: Option<Near>) -> Rejection {
        let (mut total, mut most) = (0.0, 0.0);
        for (rate, limit) in classes(rates, limits) {
            total += rate;
            most += rate * (f64::from(limit) + 1.0);
        }
        if total <= self.capacity {
            return Rejection::NONE;
        }
        if self.capacity == 0.0 || total == f64::INFINITY {
            return Rejection::ALL;
        }
        // What is accepted when every request makes all its attempts, and when none retries.
        let (mut low, mut high) = (self.capacity / most, self.capacity / total);
        let mut u = near.map_or(low, |near| near.rejection.accepted().clamp(low, high));
        let last = near.map_or(Near::EXACT, |near| near.step);
        for _ in 0..200 {
            let at = Rejection::from_accepted(u);
            let (mut excess, mut slope) = (-self.capacity, 0.0);
            for (rate, limit) in classes(rates, limits) {
                let served = at.served(limit);
                excess += rate * served;
                slope += rate * (f64::from(limit) + 1.0) * (1.0 - served);
            }
            slope /= at.probability();
            if excess == 0.0 {
                break;
            }
            if excess < 0.0 {
                low = u;
            } else {
                high = u;
            }
            let step = u - excess / slope;
            let next = if step >= low && step <= high { step } else { low + 0.5 * (high - low) };
            let moved = (next - u).abs();
            u = next;
            // The next step would be about the square of this one.
            if moved <= last * u {
                break;
            }
        }
        Rejection::from_accepted(u)
    }
}

impl NodeModel for Fluid {
    fn rejection(&self, rates: &[f64], limits: &[u32]) -> Rejection {
        self.solve(rates, limits, None)
    }

    fn rejection_near(&self, rates: &[f64], limits: &[u32], near: Near) -> Rejection {
        self.solve(rates, limits, Some(near))
    }
}
