//! Enforces a concurrency limit, in whole or shared out among classes.
//!
//! Source of the partitions: Netflix concurrency-limits, `AbstractPartitionedLimiter`: the
//! limit of a partition is `max(1, ceil(limit × share))`, and it is looked at only when the
//! whole is full, so that a class may use what the others leave.

use rand_core::Rng;

use super::{ConcurrencyLimit, Limit, Sample};
use crate::observe::Observe;
use crate::who::CLASSES;
use crate::{Nanos, Outcome, Reason, Refusal};

/// Shares of a limit by class, as fractions; a class without one has share 0.
pub type Shares = [f64; CLASSES];

/// Leave to work on one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    pub(super) started: Nanos,
    pub(super) in_flight: u32,
    pub(super) class: u8,
}

/// A limit and what is in flight under it.
#[derive(Clone, Debug)]
pub struct Limiter {
    limit: Limit,
    shares: Option<Shares>,
    in_flight: u32,
    by_class: [u32; CLASSES],
    refused: u64,
}

impl Limiter {
    /// A limiter with nothing in flight. `shares`: fractions by class, each in 0..=1 and at most 1
    /// together; without them classes are not told apart. `None` if they are out of range.
    #[must_use]
    pub fn try_new(limit: Limit, shares: Option<Shares>) -> Option<Self> {
        let valid = shares.is_none_or(|s| {
            s.iter().all(|x| (0.0..=1.0).contains(x)) && s.iter().sum::<f64>() <= 1.0 + 1e-9
        });
        valid.then_some(Self { limit, shares, in_flight: 0, by_class: [0; CLASSES], refused: 0 })
    }

    /// Takes a place for an attempt of `class`.
    ///
    /// # Errors
    /// [`Reason::ConcurrencyLimited`] when there is none.
    #[inline]
    pub fn acquire(&mut self, now: Nanos, class: u8) -> Result<Permit, Refusal> {
        let index = usize::from(class).min(CLASSES - 1);
        let limit = self.limit.limit();
        if self.in_flight >= limit {
            // A class below its own share is served even so, as published.
            let own = self.shares.map_or(0, |s| share(limit, s[index]));
            if self.by_class[index] >= own {
                self.refused += 1;
                return Err(Refusal::new(Reason::ConcurrencyLimited, class));
            }
        }
        self.in_flight += 1;
        self.by_class[index] += 1;
        Ok(Permit { started: now, in_flight: self.in_flight, class })
    }

    /// Gives a place back and learns from how the attempt ended; see [`Sample`].
    #[inline]
    pub fn release<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        permit: Permit,
        queued: Nanos,
        outcome: Option<Outcome>,
        rng: &mut R,
    ) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let own = &mut self.by_class[usize::from(permit.class).min(CLASSES - 1)];
        *own = own.saturating_sub(1);
        let latency = now.since(permit.started);
        let Permit { started, in_flight, .. } = permit;
        self.limit.record(now, &Sample { started, latency, queued, in_flight, outcome }, rng);
    }

    /// Attempts in flight.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The algorithm.
    #[must_use]
    pub fn limit(&self) -> &Limit {
        &self.limit
    }
}

fn share(limit: u32, share: f64) -> u32 {
    (libm::ceil(f64::from(limit) * share) as u32).max(1)
}

impl Observe for Limiter {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.limit.observe(see);
        see("in_flight", f64::from(self.in_flight));
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests;
