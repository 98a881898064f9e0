//! A queue with a limit: M/M/c/K, and M/M/1/m as its case of one worker.

use super::root::falling;
use super::{NodeModel, Rejection, classes};

/// A service of `workers` exponential servers and room for `places` attempts, waiting ones and
/// those in service together, that rejects what finds it full.
///
/// s̄ = B(Λ(s̄)/μ), with Λ(s̄) = Σ_p λ_p (1 - s̄^(k_p+1)) / (1 - s̄) and B the blocking probability
/// of the queue; for one worker and m places B(ρ) = (1-ρ)ρ^m / (1-ρ^(m+1)), B(1) = 1/(m+1).
/// Source: DiffTry (arXiv 2610.20567) for one worker; more of them by Erlang's recursion. The
/// answer is unique: requests served fall as s̄ rises, what the queue serves does not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finite {
    capacity: f64,
    workers: u32,
    places: u64,
}

impl Finite {
    /// `capacity` μ is that of all workers together, in attempts per second, from 0 up and
    /// finite; at least one worker, and a place for each.
    #[must_use]
    pub fn try_new(capacity: f64, workers: u32, places: u64) -> Option<Self> {
        let valid =
            capacity >= 0.0 && capacity.is_finite() && workers >= 1 && places >= u64::from(workers);
        valid.then_some(Self { capacity, workers, places })
    }

    /// M/M/1/m.
    #[must_use]
    pub fn single(capacity: f64, places: u64) -> Option<Self> {
        Self::try_new(capacity, 1, places)
    }

    /// μ of all workers together, in attempts per second.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// B at a given load of Poisson arrivals, in attempts per second, retries included.
    ///
    /// Up to the last worker by Erlang's recursion on 1/B: I(n) = 1 + (n/a) I(n-1). Each place to
    /// wait makes y of it 1 + y/ρ, so n of them have a closed form. It costs the number of workers.
    #[must_use]
    pub fn blocking(&self, load: f64) -> Rejection {
        if load.is_nan() || load <= 0.0 {
            return Rejection::NONE;
        }
        // The inverse of the utilisation, and that minus 1 without cancellation.
        let (spare, off) = (self.capacity / load, (self.capacity - load) / load);
        if self.capacity == 0.0 || load == f64::INFINITY {
            return Rejection::ALL;
        }
        let workers = f64::from(self.workers);
        let (mut before, mut full) = (1.0, 1.0);
        for n in 1..=self.workers {
            before = full;
            full = 1.0 + f64::from(n) / workers * spare * before;
            if full == f64::INFINITY {
                return Rejection::NONE;
            }
        }
        let waiting = self.places - u64::from(self.workers);
        if waiting > 0 {
            before = Self::with_waiting(full, waiting - 1, spare, off);
            full = Self::with_waiting(full, waiting, spare, off);
        }
        if full == f64::INFINITY || before == f64::INFINITY {
            return Rejection::NONE;
        }
        let (rejected, accepted) = (1.0 / full, spare * before / full);
        if rejected < accepted {
            Rejection::from_rejected(rejected)
        } else {
            Rejection::from_accepted(accepted)
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "places beyond 2^53 change no digit")]
    fn with_waiting(full: f64, waiting: u64, spare: f64, off: f64) -> f64 {
        let n = waiting as f64;
        if waiting < 8 {
            return (0..waiting).fold(full, |y, _| 1.0 + spare * y);
        }
        if off == 0.0 {
            return full + n;
        }
        // spare^n - 1, exact where the service is as good as at capacity.
        let grown = libm::expm1(n * libm::log1p(off));
        full + grown * full + grown / off
    }

    /// s̄ with every rate multiplied by `scale`.
    pub(super) fn scaled(&self, rates: &[f64], limits: &[u32], scale: f64) -> Rejection {
        let total = scale * classes(rates, limits).map(|(rate, _)| rate).sum::<f64>();
        let blocked = |at: Rejection| {
            let load: f64 =
                classes(rates, limits).map(|(rate, limit)| rate * at.attempts(limit)).sum();
            self.blocking(scale * load)
        };
        if total <= 0.0 {
            return Rejection::NONE;
        }
        if self.capacity == 0.0 || total == f64::INFINITY {
            return Rejection::ALL;
        }
        // Sought on the side where the answer is small, and so has all its digits.
        if total <= self.capacity {
            Rejection::from_rejected(falling(0.0, 1.0, |s| {
                blocked(Rejection::from_rejected(s)).probability() - s
            }))
        } else {
            Rejection::from_accepted(falling(0.0, 1.0, |u| {
                blocked(Rejection::from_accepted(u)).accepted() - u
            }))
        }
    }
}

impl NodeModel for Finite {
    fn rejection(&self, rates: &[f64], limits: &[u32]) -> Rejection {
        self.scaled(rates, limits, 1.0)
    }
}
