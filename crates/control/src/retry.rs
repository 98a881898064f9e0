//! The retry decision: conditions, class limit, deadline, budget, delay, in that order.
//!
//! The order follows gRFC A6 1.9 where it has one: an outcome that is not retryable never
//! touches the budget; the limit is looked at before the budget is asked, so that a call
//! which cannot retry anyway takes nothing from the others.

use rand_core::Rng;

use crate::budget::{Attempt, RetryBudget};
use crate::{Backoff, Budget, Nanos, Outcome, Reason, Refusal, RetryLimits, RetryOn};

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

    /// Decides what follows an attempt of `class` that ended in `outcome` at `now`.
    ///
    /// `Ok(delay)`: send the next attempt after `delay`; the budget has paid for it. Call
    /// [`RetryBudget::settle`] for the ended attempt first.
    ///
    /// # Errors
    /// A [`Refusal`] with the first reason that applies; the failure is then final.
    #[allow(clippy::too_many_arguments)] // state, budget, clock and chance come in apart, by design
    pub fn decide<R: Rng + ?Sized>(
        &self,
        state: &mut RetryState,
        budget: &mut Budget,
        class: u8,
        outcome: Outcome,
        now: Nanos,
        deadline: Option<Nanos>,
        rng: &mut R,
    ) -> Result<Nanos, Refusal> {
        let refuse = |reason| Refusal { reason, class, earliest: None };
        if !self.on.contains(outcome) {
            return Err(refuse(Reason::NotRetryable));
        }
        if state.retries >= self.limits.limit(class) {
            return Err(refuse(Reason::LimitReached));
        }
        let delay = self.backoff.delay(state.retries.saturating_add(1), state.previous, rng);
        if !crate::deadline::can_finish(now + delay, Nanos::ZERO, deadline) {
            return Err(refuse(Reason::DeadlineTooClose));
        }
        let paid = budget
            .withdraw(now, state.attempt(class), outcome, rng)
            .ok_or(refuse(Reason::BudgetExhausted))?;
        state.retries += 1;
        state.paid = paid;
        state.previous = Some(delay);
        Ok(delay)
    }
}

/// What one call remembers between its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryState {
    /// Retries granted so far.
    pub retries: u32,
    /// The last delay drawn, for decorrelated jitter.
    pub previous: Option<Nanos>,
    /// What the budget charged for the last retry.
    pub paid: u32,
}

impl RetryState {
    /// The current attempt of the call, as its budget sees it.
    #[inline]
    #[must_use]
    pub const fn attempt(&self, class: u8) -> Attempt {
        Attempt { class, retries: self.retries, paid: self.paid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jitter;
    use crate::budget::GrpcTokenBucket;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn policy() -> Retry {
        Retry {
            limits: [2, 1].into(),
            on: RetryOn::REJECTED,
            backoff: Backoff::constant(Nanos(10), Jitter::None),
        }
    }

    fn ask(
        state: &mut RetryState,
        budget: &mut Budget,
        class: u8,
        outcome: Outcome,
        deadline: Option<Nanos>,
    ) -> Result<Nanos, Reason> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        policy()
            .decide(state, budget, class, outcome, Nanos(100), deadline, &mut rng)
            .map_err(|r| r.reason)
    }

    #[test]
    fn class_limits_count_retries_after_the_first_attempt() {
        for (class, limit) in [(0, 2), (1, 1)] {
            let (mut state, mut budget) = (RetryState::default(), Budget::NONE);
            for _ in 0..limit {
                assert_eq!(
                    ask(&mut state, &mut budget, class, Outcome::Rejected, None),
                    Ok(Nanos(10))
                );
            }
            assert_eq!(
                ask(&mut state, &mut budget, class, Outcome::Rejected, None),
                Err(Reason::LimitReached)
            );
        }
    }

    #[test]
    fn each_refusal_names_its_reason_and_spends_nothing() {
        let mut state = RetryState::default();
        let mut budget = Budget::from(GrpcTokenBucket::try_new(1, 0.1).unwrap());
        let ask_ = |s: &mut _, b: &mut _, o, d| ask(s, b, 0, o, d);
        assert_eq!(ask_(&mut state, &mut budget, Outcome::Failed, None), Err(Reason::NotRetryable));
        let close = Some(Nanos(110));
        assert_eq!(
            ask_(&mut state, &mut budget, Outcome::Rejected, close),
            Err(Reason::DeadlineTooClose)
        );
        budget.settle(
            Nanos::ZERO,
            Attempt::first(0),
            Outcome::Rejected,
            true,
            &mut crate::testing::Zero,
        );
        assert_eq!(
            ask_(&mut state, &mut budget, Outcome::Rejected, None),
            Err(Reason::BudgetExhausted)
        );
        assert_eq!(state, RetryState::default());
    }
}
