//! A queue with a limit: M/M/c/K, and M/M/1/m as its case of one worker.

use super::root::falling_near;
use super::{Near, NodeModel, Rejection, classes};

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
    #[must_use]
    pub fn blocking(&self, load: f64) -> Rejection {
        self.blocked(load).0
    }

    /// B, and how much it rises with the load.
    ///
    /// With a the offered load in Erlangs and r = c/a, 1/B of c workers alone is
    /// I = Σ_j Π_(i<j) (c-i)/a, all terms positive and falling from some point on, so that it
    /// costs at most the workers, and of very many about the root of their number. Each place to
    /// wait makes 1 + r y of y, so n of them have a closed form. The slope comes from
    /// dI/dr = c (1 + I (r-1)) / r², which is Erlang's dB/da = B (c/a - 1 + B).
    pub(super) fn blocked(&self, load: f64) -> (Rejection, f64) {
        if load.is_nan() || load <= 0.0 {
            return (Rejection::NONE, 0.0);
        }
        if self.capacity == 0.0 || load == f64::INFINITY {
            return (Rejection::ALL, 0.0);
        }
        // r, and r - 1 without cancellation.
        let (spare, off) = (self.capacity / load, (self.capacity - load) / load);
        let workers = f64::from(self.workers);
        let more = self.more(spare);
        let full = 1.0 + more;
        let full_slope = workers * (1.0 + full * off) / (spare * spare);
        let waiting = self.places - u64::from(self.workers);
        // 1/B - 1 with all places, and its derivative by r.
        let (odds, slope) = if waiting == 0 {
            (more, full_slope)
        } else {
            #[allow(clippy::cast_precision_loss, reason = "places beyond 2^53 change no digit")]
            let n = (waiting - 1) as f64;
            // r^n - 1, exact where the service is as good as at capacity; Σ_(i<n) r^i.
            let grown = libm::expm1(n * libm::log1p(off));
            let (power, sum) = (1.0 + grown, if off == 0.0 { n } else { grown / off });
            let before = power * full + sum;
            let sum_slope = if (n * off).abs() < 1e-4 {
                0.5 * n * (n - 1.0)
            } else {
                (n * power / spare - sum) / off
            };
            let before_slope = power * (n * full / spare + full_slope) + sum_slope;
            (spare * before, before + spare * before_slope)
        };
        if odds == f64::INFINITY {
            return (Rejection::NONE, 0.0);
        }
        let (rejected, accepted) = (1.0 / (1.0 + odds), odds / (1.0 + odds));
        let at = if rejected < accepted {
            Rejection::from_rejected(rejected)
        } else {
            Rejection::from_accepted(accepted)
        };
        (at, rejected * (rejected * slope) * spare / load)
    }

    /// 1/B - 1 of the workers alone.
    fn more(&self, spare: f64) -> f64 {
        let (mut left, inverse) = (f64::from(self.workers), spare / f64::from(self.workers));
        let (mut term, mut sum) = (1.0, 0.0);
        for _ in 0..self.workers {
            let ratio = left * inverse;
            term *= ratio;
            sum += term;
            left -= 1.0;
            // What is left is less than a geometric series of this ratio.
            if term * ratio <= 1e-17 * sum * (1.0 - ratio) || sum == f64::INFINITY {
                break;
            }
        }
        sum
    }

    /// s̄ with every rate multiplied by `scale`.
    ///
    /// Newton's steps on B - s̄ from `near`, which knows the answer of a load nearby; bracketing
    /// where they leave the bracket.
    pub(super) fn scaled(
        &self,
        rates: &[f64],
        limits: &[u32],
        scale: f64,
        near: Near,
    ) -> Rejection {
        let total = scale * classes(rates, limits).map(|(rate, _)| rate).sum::<f64>();
        if total <= 0.0 {
            return Rejection::NONE;
        }
        if self.capacity == 0.0 || total == f64::INFINITY {
            return Rejection::ALL;
        }
        // Sought on the side where the answer is small, and so has all its digits.
        if total <= self.capacity {
            Rejection::from_rejected(falling_near(near.rejection.probability(), near.step, |s| {
                let (blocked, slope) =
                    self.answer(rates, limits, scale, Rejection::from_rejected(s));
                (blocked.probability() - s, slope - 1.0)
            }))
        } else {
            // No more is accepted than if nobody retried and no worker ever waited.
            let start = near.rejection.accepted().min(self.capacity / total);
            Rejection::from_accepted(falling_near(start, near.step, |u| {
                let (blocked, slope) =
                    self.answer(rates, limits, scale, Rejection::from_accepted(u));
                (blocked.accepted() - u, slope - 1.0)
            }))
        }
    }

    /// B of the load that comes where an attempt is rejected as `at` says, and its slope by s̄.
    fn answer(&self, rates: &[f64], limits: &[u32], scale: f64, at: Rejection) -> (Rejection, f64) {
        let (mut load, mut rise) = (0.0, 0.0);
        for (rate, limit) in classes(rates, limits) {
            let (attempts, more) = at.attempts_and_slope(limit);
            load += rate * attempts;
            rise += rate * more;
        }
        let (blocked, slope) = self.blocked(scale * load);
        (blocked, slope * scale * rise)
    }

    /// Whether s̄ with every rate multiplied by `scale` is above what `at` says.
    pub(super) fn rejects_more(
        &self,
        rates: &[f64],
        limits: &[u32],
        scale: f64,
        at: Rejection,
    ) -> bool {
        self.answer(rates, limits, scale, at).0.probability() > at.probability()
    }
}

impl NodeModel for Finite {
    fn rejection(&self, rates: &[f64], limits: &[u32]) -> Rejection {
        self.scaled(rates, limits, 1.0, Near::exact(Rejection::NONE))
    }

    fn rejection_near(&self, rates: &[f64], limits: &[u32], near: Near) -> Rejection {
        self.scaled(rates, limits, 1.0, near)
    }
}
