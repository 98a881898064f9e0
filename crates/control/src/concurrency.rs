//! Concurrency limits: how much a service works on at the same time.
//!
//! Three things are apart. A *limit* is a pure update from a [`Sample`]. The [`Limiter`] enforces
//! it: counts what is in flight, shares it out among classes, refuses what exceeds it. Who then
//! waits or goes away is the adapter's business.
//!
//! Adding a limit: a module here with its source named at the top and its entry, and a line in
//! the table below.

mod aimd;
mod average;
mod envoy;
mod failsafe;
#[cfg(test)]
mod faults;
mod fixed;
mod gradient;
mod gradient2;
mod guarded;
mod histogram;
mod limiter;
#[cfg(test)]
mod plant;
mod queue_delay;
mod vegas;
mod windowed;

use alloc::boxed::Box;

use rand_core::Rng;

pub use aimd::Aimd;
pub use envoy::{EnvoyGradient, EnvoyGradientConfig};
pub use failsafe::{FailsafeAdaptive, FailsafeAdaptiveConfig};
pub use fixed::Fixed;
pub use gradient::{Gradient, GradientConfig};
pub use gradient2::{Gradient2, Gradient2Config};
pub use guarded::{Guarded, GuardedConfig};
pub use limiter::{Limiter, Permit, Shares};
pub use queue_delay::{QueueDelay, QueueDelayConfig};
pub use vegas::Vegas;
pub use windowed::{Gradient2Windowed, VegasWindowed, Windowed, WindowedConfig};

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

impl Sample {
    /// The sample as Netflix's limits see it: `Some(true)` for a drop (timeout, load rejection),
    /// `Some(false)` for a measured success. `None` leaves no sample: its end says nothing, or it
    /// failed, which Netflix's own adapters report as "ignore" because an error may be quick.
    #[inline]
    pub(crate) fn dropped(&self) -> Option<bool> {
        match self.outcome? {
            Outcome::Success => Some(false),
            Outcome::TimedOut | Outcome::Rejected | Outcome::Shed => Some(true),
            Outcome::Failed | Outcome::FailedBelow => None,
        }
    }

    /// The latency in nanoseconds. `None` for zero, which is an error in every published limit
    /// (they divide by it): such a sample is left out.
    #[inline]
    pub(crate) fn rtt(&self) -> Option<f64> {
        (self.latency.0 > 0).then_some(self.latency.0 as f64)
    }
}

/// The largest limit that may be configured.
pub(crate) const LARGEST: u32 = 1_000_000;

/// Whether `min ≤ initial ≤ max`, all of them from one to a million.
pub(crate) fn ordered(min: u32, initial: u32, max: u32) -> bool {
    1 <= min && min <= initial && initial <= max && max <= LARGEST
}

/// `log10` of a limit in whole steps, at least 1: the step of Vegas and of what follows it.
#[inline]
pub(crate) fn log10(limit: u32) -> f64 {
    f64::from(limit.checked_ilog10().unwrap_or(0).max(1))
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
        /// Additive increase, multiplicative decrease on drops and slow replies.
        Aimd(Aimd) = [aimd::ENTRY];
        /// Netflix's Vegas: the queue estimated from the best latency so far.
        Vegas(Vegas) = [vegas::ENTRY];
        /// Netflix's second gradient: latency against its own long average.
        Gradient2(Gradient2) = [gradient2::ENTRY];
        /// Netflix's first gradient: latency against its minimum, probed anew.
        Gradient(Gradient) = [gradient::ENTRY];
        /// Vegas fed with windows.
        VegasWindowed(Box<VegasWindowed>) = [windowed::VEGAS];
        /// Gradient2 fed with windows.
        Gradient2Windowed(Box<Gradient2Windowed>) = [windowed::GRADIENT2];
        /// Envoy's gradient controller.
        EnvoyGradient(Box<EnvoyGradient>) = [envoy::ENTRY];
        /// failsafe-go's adaptive limiter.
        FailsafeAdaptive(Box<FailsafeAdaptive>) = [failsafe::ENTRY];
        /// The standing queue as the signal.
        QueueDelay(QueueDelay) = [queue_delay::ENTRY];
        /// A gradient without the known faults of the others.
        Guarded(Guarded) = [guarded::ENTRY];
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
