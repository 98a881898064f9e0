//! The mixed model: the queue where it matters, the fluid where it does not.

use super::{Finite, Fluid, Near, NodeModel, Rejection, classes};

/// The value of the queue where Σλ_p ≤ μ; above it the larger of the fluid value and that of the
/// queue at Σλ_p = μ with the same shares of the classes.
///
/// So s̄ is continuous at capacity, where the fluid value is 0, and never falls as the load grows
/// and its shares stay. It can fall a little, just above capacity, when a class that retries less
/// than the others is added: then less of the load at Σλ_p = μ would be retries.
/// Source: DiffTry (arXiv 2610.20567), the approximation it calls mixed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixed {
    queue: Finite,
    fluid: Fluid,
}

impl Mixed {
    /// A service of `workers` servers that together do `capacity` attempts per second, with room
    /// for `places` of them. The ranges are those of [`Finite::try_new`].
    #[must_use]
    pub fn try_new(capacity: f64, workers: u32, places: u64) -> Option<Self> {
        let queue = Finite::try_new(capacity, workers, places)?;
        Some(Self { queue, fluid: Fluid::try_new(capacity)? })
    }

    /// μ of all workers together, in attempts per second.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        self.fluid.capacity()
    }
}

impl NodeModel for Mixed {
    fn rejection(&self, rates: &[f64], limits: &[u32]) -> Rejection {
        self.rejection_near(rates, limits, Near::exact(Rejection::NONE))
    }

    fn rejection_near(&self, rates: &[f64], limits: &[u32], near: Near) -> Rejection {
        let total: f64 = classes(rates, limits).map(|(rate, _)| rate).sum();
        if total <= self.capacity() {
            return self.queue.rejection_near(rates, limits, near);
        }
        let fluid = self.fluid.rejection_near(rates, limits, near);
        if fluid == Rejection::ALL {
            return fluid;
        }
        let scale = self.capacity() / total;
        if self.queue.rejects_more(rates, limits, scale, fluid) {
            self.queue.scaled(rates, limits, scale, near)
        } else {
            fluid
        }
    }
}
