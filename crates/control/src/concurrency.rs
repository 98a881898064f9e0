//! Concurrency limits: how much a service works on at the same time.
//!
//! Three things are apart. A *limit* is a pure update from a [`Sample`]. The [`Limiter`] enforces
//! it: counts what is in flight, shares it out among classes, refuses what exceeds it. Who then
//! waits or goes away is the adapter's business.
//!
//! Adding a limit: a module here with its source named at the top and its entry, and a line in
//! the table below.

mod fixed;
mod limiter;

use rand_core::Rng;

pub use fixed::Fixed;
pub use limiter::{Limiter, Permit, Shares};

use crate::family::family;
use crate::observe::Observe;
use crate::{Nanos, Outcome};

/// What a limit learns from one attempt that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was admitted.
    pub started: Nanos,
    /// From admission to end: queue and work.
    pub latency: Nanos,
    /// The part of `latency` that it waited before its work began.
    pub queued: Nanos,
    /// Attempts in flight when it was admitted, itself included.
    pub in_flight: u32,
    /// How it ended; `None`: its end says nothing (cancelled by its caller, a health check).
    pub outcome: Option<Outcome>,
}

/// The algorithm of a concurrency limit.
pub trait ConcurrencyLimit: Observe {
    /// Attempts that may be in flight now.
    fn limit(&self) -> u32;

    /// An attempt has ended at `now`.
    fn record<R: Rng + ?Sized>(&mut self, now: Nanos, sample: &Sample, rng: &mut R);
}

family! {
    /// Any concurrency limit.
    Limit, each {
        /// A number that somebody chose.
        Fixed(Fixed) = [fixed::ENTRY];
    }
}

impl ConcurrencyLimit for Limit {
    #[inline]
    fn limit(&self) -> u32 {
        each!(self, l => l.limit())
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, now: Nanos, sample: &Sample, rng: &mut R) {
        each!(self, l => l.record(now, sample, rng));
    }
}
