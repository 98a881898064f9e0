//! The retry decision: push-back, conditions, class limit, deadline, budget, delay, in that
//! order.
//!
//! The order follows gRFC A6 where it has one. A callee that says "do not come back" is obeyed
//! before anything else is looked at; an end that is not retryable never touches the budget; the
//! limit and the deadline are looked at before the budget is asked, so that a call which cannot
//! retry anyway takes nothing from the others. (A6 asks the budget before the limit, which is
//! the same here: [`RetryBudget::settle`] has charged the failure by then, and asking gRPC's
//! budget costs nothing.) Whatever refuses, the state of the call and the budget stay as they
//! were. (Envoy takes one from the limit of a request even if its breaker then refuses.)
//!
//! What comes before the decision is its caller's: whether the call is committed
//! ([`Conditions`](crate::Conditions) look at it), and [transparent](Transparent) retries, which
//! no policy counts.

mod failure;
#[cfg(test)]
mod tests;
mod transparent;

use rand_core::Rng;

pub use failure::Failure;
pub use transparent::{Reached, Transparent, Verdict};

use crate::budget::{Attempt, RetryBudget};
use crate::pushback::Pushback;
use crate::{Backoff, Nanos, Outcome, Reason, Refusal, RetryLimits, RetryOn};

/// A retry policy without its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Retries after the first attempt, by class.
    pub limits: RetryLimits,
    /// Which outcomes are retried.
    pub on: RetryOn,
    /// When.
    pub backoff: Backoff,
}

impl Retry {
    /// Never retries.
    #[must_use]
    pub fn never() -> Self {
        Self { limits: RetryLimits::uniform(0), on: RetryOn::NONE, backoff: Backoff::NONE }
    }

    /// Whether some outcome of some class is retried.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.limits.max() > 0 && !self.on.is_empty()
    }

    /// The same for calls whose work must not be done twice: retried only if the outcome says
    /// that no work was done.
    ///
    /// [`Conditions::for_unsafe_calls`](crate::Conditions::for_unsafe_calls) sees more: it knows
    /// a connection that was not made in time from a reply that did not come in time.
    #[must_use]
    pub fn for_unsafe_calls(mut self) -> Self {
        self.on = self.on.for_unsafe_calls();
        self
    }

    /// Decides what follows an attempt of `class` that ended in `outcome` at `now`.
    ///
    /// `Ok(delay)`: send the next attempt after `delay`; the budget has paid for it. Call
    /// [`RetryBudget::settle`] for the ended attempt first.
    ///
    /// # Errors
    /// A [`Refusal`] with the first reason that applies; the failure is then final.
    #[inline]
    #[allow(clippy::too_many_arguments)] // state, budget, clock and chance come in apart, by design
    pub fn decide<B: RetryBudget + ?Sized, R: Rng + ?Sized>(
        &self,
        state: &mut RetryState,
        budget: &mut B,
        class: u8,
        outcome: Outcome,
        now: Nanos,
        deadline: Option<Nanos>,
        rng: &mut R,
    ) -> Result<Nanos, Refusal> {
        self.decide_with(state, budget, Failure::new(class, outcome), now, deadline, rng)
    }

    /// The same with all that is known of the failure: what the callee said about coming back,
    /// what conditions on the reply say, and how long an attempt needs at least.
    ///
    /// Call [`RetryBudget::settle`] for the ended attempt first, with
    /// [`retryable`](Failure::counts) as the failure says.
    ///
    /// # Errors
    /// A [`Refusal`] with the first reason that applies. Where the callee named a time, the
    /// refusal carries it, so that it can be passed on to whoever called.
    #[inline]
    pub fn decide_with<B: RetryBudget + ?Sized, R: Rng + ?Sized>(
        &self,
        state: &mut RetryState,
        budget: &mut B,
        failure: Failure,
        now: Nanos,
        deadline: Option<Nanos>,
        rng: &mut R,
    ) -> Result<Nanos, Refusal> {
        let Failure { class, outcome, pushback, needs, .. } = failure;
        let refuse = |reason| Refusal {
            reason,
            class,
            earliest: pushback.and_then(Pushback::wait).map(|wait| now + wait),
        };
        if pushback == Some(Pushback::Stop) && outcome != Outcome::Success {
            return Err(refuse(Reason::PushedBack));
        }
        if !failure.is_retryable(self.on) {
            return Err(refuse(Reason::NotRetryable));
        }
        if state.retries >= self.limits.limit(class) {
            return Err(refuse(Reason::LimitReached));
        }
        let mut next = *state;
        let delay = match pushback {
            Some(Pushback::After(wait)) => {
                (next.drawn, next.previous) = (0, None);
                wait
            }
            Some(Pushback::Once(wait)) => wait,
            Some(Pushback::Hint { wait, above }) => {
                let own = next.draw(&self.backoff, outcome, rng);
                own.max(wait.min(own + above))
            }
            Some(Pushback::Stop) | None => next.draw(&self.backoff, outcome, rng),
        };
        if !crate::deadline::can_finish(now + delay, needs, deadline) {
            return Err(refuse(Reason::DeadlineTooClose));
        }
        next.paid = budget
            .withdraw(now, state.attempt(class), outcome, rng)
            .ok_or(refuse(Reason::BudgetExhausted))?;
        next.retries = next.retries.saturating_add(1);
        *state = next;
        Ok(delay)
    }
}

/// What one call remembers between its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryState {
    /// Retries granted so far.
    pub retries: u32,
    /// What the schedule remembers of the last delay drawn: for decorrelated jitter.
    pub previous: Option<Nanos>,
    /// What the budget charged for the last retry.
    pub paid: u32,
    /// Retries that took their delay from the schedule since it last began at its base: fewer
    /// than `retries` once a callee has named a time.
    pub drawn: u32,
}

impl RetryState {
    /// The current attempt of the call, as its budget sees it.
    #[inline]
    #[must_use]
    pub const fn attempt(&self, class: u8) -> Attempt {
        Attempt { class, retries: self.retries, paid: self.paid }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&mut self, backoff: &Backoff, outcome: Outcome, rng: &mut R) -> Nanos {
        self.drawn = self.drawn.saturating_add(1);
        let drawn = backoff.for_cause(outcome).draw(self.drawn, self.previous, rng);
        self.previous = Some(drawn.memory);
        drawn.delay
    }
}
