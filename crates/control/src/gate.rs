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

mod open;

use rand_core::Rng;

pub use open::Open;

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
    }
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
