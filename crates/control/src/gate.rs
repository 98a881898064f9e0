//! Gates: what a caller asks before it sends an attempt, first or retry.
//!
//! Two places of the system file use them: `throttle`, which slows or refuses a caller's own
//! load, and `breaker`, which stops calling what fails. In this order:
//!
//! 1. [`Admit::admit`]: refused, or a [`Pass`] that may ask to wait before sending;
//! 2. [`Admit::settle`] with the pass when the attempt has ended, or [`Admit::cancel`] if it was
//!    not sent or nobody saw how it ended.
//!
//! Adding one: a module here with its source named at the top and its entry, and a line in the
//! table below.

mod aws;
mod breaker;
mod failsafe;
mod finagle;
mod google;
mod open;
#[cfg(test)]
mod testing;
mod window;

use rand_core::Rng;

pub use aws::AwsAdaptive;
pub use breaker::{Breaker, BreakerRule, BreakerState, Hung, Spread, Trip};
pub use failsafe::FailsafeThrottler;
pub use finagle::FinagleNack;
pub use google::GoogleAdaptive;
pub use open::Open;

use crate::entry::Parameter;
use crate::family::family;
use crate::observe::Observe;
use crate::{Nanos, Outcome, Refusal};

/// Leave to send one attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Send it after this; zero: now.
    pub wait: Nanos,
    /// What the gate needs to recognise it when it ends.
    pub ticket: u32,
}

/// A gate before a caller's attempts.
pub trait Admit: Observe {
    /// Asks to send an attempt of `class`.
    ///
    /// # Errors
    /// A [`Refusal`]: it is not sent, and the call has failed without one.
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        class: u8,
        rng: &mut R,
    ) -> Result<Pass, Refusal>;

    /// The attempt of `pass` ended in `outcome`, `latency` after it was sent.
    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        pass: Pass,
        outcome: Outcome,
        latency: Nanos,
        rng: &mut R,
    ) {
        let _ = (now, pass, outcome, latency, rng);
    }

    /// The attempt of `pass` was never sent, or its caller left before it ended.
    #[inline]
    fn cancel(&mut self, now: Nanos, pass: Pass) {
        let _ = (now, pass);
    }
}

family! {
    /// Any gate.
    Gate, each {
        /// Always open.
        Open(Open) = [open::THROTTLE, open::BREAKER];
        /// Google's adaptive throttling.
        GoogleAdaptive(GoogleAdaptive) = [google::ENTRY];
        /// Finagle's nack admission filter.
        FinagleNack(FinagleNack) = [finagle::ENTRY];
        /// failsafe-go's adaptive throttler.
        FailsafeThrottler(FailsafeThrottler) = [failsafe::ENTRY];
        /// The rate limiter of the AWS SDKs' adaptive mode.
        AwsAdaptive(AwsAdaptive) = [aws::ENTRY];
        /// A circuit breaker.
        Breaker(Breaker) = [
            breaker::page::BY_CALLS,
            breaker::page::BY_TIME,
            breaker::page::CONSECUTIVE,
            breaker::page::POLLY,
        ];
    }
}

/// Whether every value lies in the range that its parameter states.
fn in_range(parameters: &[Parameter], values: &[f64]) -> bool {
    parameters.len() == values.len()
        && parameters.iter().zip(values).all(|(p, v)| (p.min..=p.max).contains(v))
}

/// A flag of a parameter, if it is one.
fn flag(x: f64) -> Option<bool> {
    (x == 0.0 || x == 1.0).then_some(x == 1.0)
}

impl Gate {
    /// Always open.
    pub const OPEN: Self = Self::Open(Open);

    /// Whether it can refuse, or delay, or learn from anything.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

impl Admit for Gate {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        class: u8,
        rng: &mut R,
    ) -> Result<Pass, Refusal> {
        each!(self, g => g.admit(now, class, rng))
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        pass: Pass,
        outcome: Outcome,
        latency: Nanos,
        rng: &mut R,
    ) {
        each!(self, g => g.settle(now, pass, outcome, latency, rng));
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, pass: Pass) {
        each!(self, g => g.cancel(now, pass));
    }
}

#[cfg(test)]
mod tests {
    use super::testing::reading;
    use super::*;
    use crate::entry::{Build, Entry, Kind};
    use crate::observe::Metric;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;
    use std::vec::Vec;

    fn build(entry: &Entry) -> Gate {
        let Build::Gate(build) = entry.build else { panic!("{} is no gate", entry.name) };
        build(&entry.defaults().collect::<Vec<_>>()).unwrap()
    }

    /// A callee that fails everybody, for two minutes at 100 a second: whoever is configured
    /// with its defaults must be seen to act.
    #[test]
    fn every_gate_can_be_driven_to_refuse_or_to_wait() {
        for entry in ENTRIES {
            let mut gate = build(entry);
            if gate.is_open() {
                continue;
            }
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let ends = match entry.kind {
                Kind::Breaker => Outcome::Failed,
                _ => Outcome::Rejected,
            };
            let (mut refused, mut waited) = (0.0, 0);
            for i in 0..12_000 {
                let now = Nanos::from_millis(10 * i);
                match gate.admit(now, 0, &mut rng) {
                    Ok(pass) => {
                        waited += u32::from(pass.wait > Nanos::ZERO);
                        gate.settle(now, pass, ends, Nanos::ZERO, &mut rng);
                    }
                    Err(refusal) => {
                        refused += 1.0;
                        assert!(refusal.earliest.is_none_or(|at| at > now), "{}", entry.name);
                    }
                }
            }
            assert!(refused > 0.0 || waited > 0, "{} does nothing", entry.name);
            assert_eq!(reading(&gate, "refused"), refused, "{}", entry.name);
        }
    }

    proptest! {
        /// No clock, class, outcome or ticket makes one panic or show what is not a number.
        #[test]
        fn no_gate_minds_what_it_is_told(
            ops in prop::collection::vec((any::<u64>(), any::<u32>(), any::<u8>()), 0..100),
        ) {
            for entry in ENTRIES {
                let mut gate = build(entry);
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
                let mut before = std::vec![f64::MIN; entry.readings.len()];
                for (time, ticket, op) in &ops {
                    let now = Nanos(time >> (ticket % 64));
                    let pass = Pass { wait: Nanos(*time), ticket: ticket >> (time % 32) };
                    match op % 8 {
                        6 => gate.cancel(now, pass),
                        7 => { let _ = gate.admit(now, *op, &mut rng); }
                        n => gate.settle(now, pass, Outcome::ALL[usize::from(n)], Nanos(*time), &mut rng),
                    }
                    let mut i = 0;
                    gate.observe(&mut |name, value| {
                        let falls = entry.readings[i].metric == Metric::Counter && value < before[i];
                        assert!(value.is_finite() && !falls, "{} {name}", entry.name);
                        before[i] = value;
                        i += 1;
                    });
                }
            }
        }
    }
}
