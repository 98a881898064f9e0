//! Admission: whom a service lets in at its door.
//!
//! A rule sees every attempt that comes ([`Admission::admit`](AdmissionRule::admit)), when one
//! leaves the queue for a worker ([`AdmissionRule::taken`]) and when one ends
//! ([`AdmissionRule::settle`]). Each sheds by class, lower classes first, where its source says
//! so.
//!
//! Adding one: a module here with its source named at the top and its entry, and a line in the
//! table below.

mod bbr;
mod by_queue;
mod cinnamon;
mod criticality;
mod dagor;
mod envoy_admission;
mod everybody;
mod failsafe;
mod gcra;
#[cfg(test)]
mod plant;
mod quarkus;
mod ranks;
mod rate;

use alloc::boxed::Box;

use rand_core::Rng;

pub use bbr::{Bbr, BbrByClass};
pub use by_queue::PriorityByQueue;
pub use cinnamon::{Cinnamon, Tuner};
pub use criticality::Criticality;
pub use dagor::Dagor;
pub use envoy_admission::EnvoyAdmission;
pub use everybody::Everybody;
pub use failsafe::Prioritized;
pub use gcra::CellRate;
pub use quarkus::Quarkus;
pub use rate::RateLimit;

use crate::family::family;
use crate::observe::Observe;
use crate::who::Who;
use crate::{Nanos, Outcome, Refusal};

/// What a service knows about itself when an attempt comes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    /// Attempts that wait.
    pub waiting: u32,
    /// Attempts that may wait; `u32::MAX`: no limit.
    pub queue_limit: u32,
    /// Attempts that are being worked on.
    pub working: u32,
    /// Attempts that may be worked on at the same time; `u32::MAX`: no limit.
    pub workers: u32,
    /// Share of the processors (or workers) in use over about the last second, 0 to 1.
    pub utilisation: f64,
}

/// A rule at the door of a service.
pub trait AdmissionRule: Observe {
    /// An attempt comes.
    ///
    /// # Errors
    /// A [`Refusal`]: it is turned away before any work.
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        busy: &Busy,
        rng: &mut R,
    ) -> Result<(), Refusal>;

    /// An admitted attempt leaves the queue for a worker after it has waited for `waited`.
    #[inline]
    fn taken(&mut self, now: Nanos, who: Who, waited: Nanos, busy: &Busy) {
        let _ = (now, who, waited, busy);
    }

    /// An admitted attempt has ended `latency` after it was admitted. `None`: nobody knows how
    /// (its caller left, it was dropped).
    #[inline]
    fn settle(&mut self, now: Nanos, who: Who, latency: Nanos, outcome: Option<Outcome>) {
        let _ = (now, who, latency, outcome);
    }

    /// The highest [`Who::rank`] that is admitted now, for callers to apply before they send
    /// (DAGOR). `None`: this rule tells its callers nothing.
    #[inline]
    fn threshold(&self) -> Option<u32> {
        None
    }
}

family! {
    /// Any admission rule.
    Admission, each {
        /// Lets everybody in.
        Everybody(Everybody) = [everybody::ENTRY];
        /// A token bucket, plain or with reserves for higher classes.
        RateLimit(RateLimit) = [rate::ENTRY, rate::BY_CLASS];
        /// The generic cell rate algorithm, as Linkerd has it.
        CellRate(CellRate) = [gcra::ENTRY];
        /// Envoy's admission control.
        EnvoyAdmission(EnvoyAdmission) = [envoy_admission::ENTRY];
        /// WeChat's DAGOR.
        Dagor(Dagor) = [dagor::ENTRY, dagor::TOLD];
        /// Sentinel's system rule.
        Bbr(Bbr) = [bbr::ENTRY];
        /// Bandwidth × delay by class.
        BbrByClass(BbrByClass) = [bbr::BY_CLASS];
        /// Uber's Cinnamon.
        Cinnamon(Box<Cinnamon>) = [cinnamon::ENTRY, cinnamon::BY_ARRIVALS];
        /// failsafe-go's prioritised rejection.
        Prioritized(Box<Prioritized>) = [failsafe::ENTRY];
        /// A share by the length of the queue.
        PriorityByQueue(Box<PriorityByQueue>) = [by_queue::ENTRY];
        /// Google's criticality.
        Criticality(Box<Criticality>) = [criticality::ENTRY];
        /// Quarkus' load shedding.
        Quarkus(Quarkus) = [quarkus::ENTRY];
    }
}

impl Admission {
    /// Lets everybody in.
    pub const EVERYBODY: Self = Self::Everybody(Everybody);
}

impl AdmissionRule for Admission {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        busy: &Busy,
        rng: &mut R,
    ) -> Result<(), Refusal> {
        each!(self, a => a.admit(now, who, busy, rng))
    }

    #[inline]
    fn taken(&mut self, now: Nanos, who: Who, waited: Nanos, busy: &Busy) {
        each!(self, a => a.taken(now, who, waited, busy));
    }

    #[inline]
    fn settle(&mut self, now: Nanos, who: Who, latency: Nanos, outcome: Option<Outcome>) {
        each!(self, a => a.settle(now, who, latency, outcome));
    }

    #[inline]
    fn threshold(&self) -> Option<u32> {
        each!(self, a => a.threshold())
    }
}
