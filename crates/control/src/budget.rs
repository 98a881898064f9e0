//! Retry budgets: how many retries, over all calls that share one.
//!
//! A budget sees every attempt on the calls it guards, in this order:
//!
//! 1. [`Budget::start`] when an attempt is sent, first or retry;
//! 2. [`Budget::settle`] when it ends, with its outcome and whether the policy retries that;
//! 3. [`Budget::withdraw`] if the caller wants to retry: the answer;
//! 4. [`Budget::cancel`] if a retry that was granted is then never sent (its caller left
//!    during the backoff).
//!
//! Adding one: a module here with its source named at the top, a variant of [`Budget`], a row
//! in [`crate::registry`].

mod envoy;
mod grpc;

pub use envoy::EnvoyRetryBudget;
pub use grpc::GrpcTokenBucket;

use crate::{Outcome, Reason};

/// Any retry budget, by enum so that a decision is a jump and not an allocation.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Budget {
    /// No bound: every retry that the limit allows is granted.
    #[default]
    Unlimited,
    /// gRPC's retry throttle.
    GrpcTokenBucket(GrpcTokenBucket),
    /// Envoy's ratio budget, with its published accounting.
    Envoy(EnvoyRetryBudget),
}

impl Budget {
    /// An attempt is sent. `retry`: it is not the first of its call.
    #[inline]
    pub fn start(&mut self, retry: bool) {
        match self {
            Self::Unlimited | Self::GrpcTokenBucket(_) => {}
            Self::Envoy(b) => b.start(retry),
        }
    }

    /// An attempt has ended. `retryable`: the policy retries this outcome.
    #[inline]
    pub fn settle(&mut self, retry: bool, outcome: Outcome, retryable: bool) {
        match self {
            Self::Unlimited => {}
            Self::GrpcTokenBucket(b) => b.settle(outcome, retryable),
            Self::Envoy(b) => b.settle(retry),
        }
    }

    /// Asks for one retry.
    ///
    /// # Errors
    /// [`Reason::BudgetExhausted`] when the budget denies it; the failure is then final.
    #[inline]
    pub fn withdraw(&mut self) -> Result<(), Reason> {
        let granted = match self {
            Self::Unlimited => true,
            Self::GrpcTokenBucket(b) => b.withdraw(),
            Self::Envoy(b) => b.withdraw(),
        };
        if granted { Ok(()) } else { Err(Reason::BudgetExhausted) }
    }

    /// A retry that was granted is never sent.
    #[inline]
    pub fn cancel(&mut self) {
        match self {
            Self::Unlimited | Self::GrpcTokenBucket(_) => {}
            Self::Envoy(b) => b.cancel(),
        }
    }
}

impl From<GrpcTokenBucket> for Budget {
    fn from(budget: GrpcTokenBucket) -> Self {
        Self::GrpcTokenBucket(budget)
    }
}

impl From<EnvoyRetryBudget> for Budget {
    fn from(budget: EnvoyRetryBudget) -> Self {
        Self::Envoy(budget)
    }
}
