//! What is known of a failure when a retry is decided.

use crate::conditions::{Conditions, Reply};
use crate::pushback::Pushback;
use crate::{Nanos, Outcome, RetryOn};

/// A failed attempt, as far as the decision about a retry needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The priority class of the call; 0 is the highest.
    pub class: u8,
    /// How the attempt ended.
    pub outcome: Outcome,
    /// What the callee said about coming back.
    pub pushback: Option<Pushback>,
    /// How long an attempt needs at least: a retry that could not end before the deadline is not
    /// sent.
    pub needs: Nanos,
    /// What finer conditions say than the outcome does. It can forbid what
    /// [`Retry::on`](crate::Retry::on) allows, not allow what that forbids.
    pub eligible: bool,
}

impl Failure {
    /// A failure of which nothing but its outcome is known.
    #[inline]
    #[must_use]
    pub const fn new(class: u8, outcome: Outcome) -> Self {
        Self { class, outcome, pushback: None, needs: Nanos::ZERO, eligible: true }
    }

    /// A failure as its protocol tells it. Let [`Retry::on`](crate::Retry::on) be
    /// [`RetryOn::ALL`] for the conditions to decide alone.
    ///
    /// A good reply that the conditions retry (Envoy's `retriable-headers` can ask for that)
    /// is a failure.
    #[must_use]
    pub fn of(class: u8, reply: &Reply<'_>, conditions: &Conditions) -> Self {
        let eligible = conditions.retries(reply);
        let outcome = match reply.outcome() {
            Outcome::Success if eligible => Outcome::Failed,
            outcome => outcome,
        };
        Self { eligible, ..Self::new(class, outcome) }
    }

    /// The same with what the callee said about coming back.
    #[must_use]
    pub const fn pushed_back(self, pushback: Option<Pushback>) -> Self {
        Self { pushback, ..self }
    }

    /// The same with what an attempt needs at least.
    #[must_use]
    pub const fn needing(self, needs: Nanos) -> Self {
        Self { needs, ..self }
    }

    /// Whether a policy for these outcomes retries it, as far as its end decides it.
    #[inline]
    #[must_use]
    pub const fn is_retryable(&self, on: RetryOn) -> bool {
        self.eligible && on.contains(self.outcome)
    }

    /// Whether it counts against a budget of retryable failures: the `retryable` of
    /// [`RetryBudget::settle`](crate::RetryBudget::settle). It does if the policy retries it, and
    /// also if the callee said not to come back, whatever the policy says (A6).
    #[inline]
    #[must_use]
    pub fn counts(&self, on: RetryOn) -> bool {
        let stopped = self.pushback == Some(Pushback::Stop) && self.outcome != Outcome::Success;
        stopped || self.is_retryable(on)
    }
}
