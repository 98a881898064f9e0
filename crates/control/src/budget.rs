//! Retry budgets: how many retries, over all calls that share one.
//!
//! A budget sees every attempt on the calls it guards, in this order:
//!
//! 1. [`RetryBudget::start`] when an attempt is sent, first or retry;
//! 2. [`RetryBudget::settle`] when it ends, with its outcome and whether the policy retries that;
//!    one whose caller left before it ended is a timeout that is not retried, for nobody saw how
//!    it ended;
//! 3. [`RetryBudget::withdraw`] if the caller wants to retry: the answer, and what it cost;
//! 4. [`RetryBudget::cancel`] if a retry that was granted is then never sent (its caller left
//!    during the backoff).
//!
//! [`RetryBudget::overloaded`] tells it that the callee said OVERLOADED.
//!
//! Adding one: a module here with its source named at the top and its entry, and a line in the
//! table below.

mod arb;
mod aws;
mod calls;
mod deposit;
mod envoy;
mod failsafe;
mod finagle;
mod google;
mod grpc;
mod per_minute;
mod ratio;
mod retry_guard;
mod share;
mod tower;
mod unlimited;
mod window;

use alloc::boxed::Box;

use rand_core::Rng;

pub use arb::AdaptiveBudget;
pub use aws::AwsRetryQuota;
pub use deposit::DepositBudget;
pub use envoy::EnvoyRetryBudget;
pub use failsafe::FailsafeBudget;
pub use finagle::FinagleBudget;
pub use google::GoogleRetryRatio;
pub use grpc::GrpcTokenBucket;
pub use per_minute::PerMinute;
pub use ratio::RatioBudget;
pub use retry_guard::RetryGuard;
pub use tower::{Deposits, TpsBudget};
pub use unlimited::Unlimited;

use crate::family::family;
use crate::observe::Observe;
use crate::{Nanos, Outcome};

/// What a budget needs to know about an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The priority class of its call; 0 is the highest.
    pub class: u8,
    /// Retries before it: 0 is the first attempt of a call.
    pub retries: u32,
    /// What the budget charged for it; 0 for a first attempt.
    pub paid: u32,
}

impl Attempt {
    /// The first attempt of a call of this class.
    #[must_use]
    pub const fn first(class: u8) -> Self {
        Self { class, retries: 0, paid: 0 }
    }

    /// Whether it is not the first of its call.
    #[inline]
    #[must_use]
    pub const fn is_retry(self) -> bool {
        self.retries > 0
    }
}

/// Whether nobody saw how an attempt ended: its caller left, or does not retry timeouts.
#[inline]
const fn unseen(outcome: Outcome, retryable: bool) -> bool {
    matches!(outcome, Outcome::TimedOut) && !retryable
}

/// A retry budget.
pub trait RetryBudget: Observe {
    /// An attempt is sent.
    #[inline]
    fn start(&mut self, now: Nanos, attempt: Attempt) {
        let _ = (now, attempt);
    }

    /// An attempt has ended. `retryable`: the policy retries this outcome. `rng` serves budgets
    /// that draw on a failure.
    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        retryable: bool,
        rng: &mut R,
    ) {
        let _ = (now, attempt, outcome, retryable, rng);
    }

    /// Asks for one retry after `attempt` has ended in `outcome`: what it cost (at least 1), to
    /// be handed back as [`Attempt::paid`] of the retry. `None`: denied.
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        rng: &mut R,
    ) -> Option<u32>;

    /// A retry that was granted is never sent; `paid` is what it cost.
    #[inline]
    fn cancel(&mut self, now: Nanos, paid: u32) {
        let _ = (now, paid);
    }

    /// The callee, or something below it, said that it is overloaded.
    #[inline]
    fn overloaded(&mut self, now: Nanos) {
        let _ = now;
    }

    /// Whether whoever owns this budget should itself tell its callers that what is below it is
    /// overloaded.
    #[inline]
    fn passes_on(&self, now: Nanos) -> bool {
        let _ = now;
        false
    }

    /// Whether [`RetryBudget::overloaded`] means anything to it.
    fn listens(&self) -> bool {
        false
    }
}

family! {
    /// Any retry budget.
    Budget, each {
        /// No bound: every retry that the limit allows is granted.
        Unlimited(Unlimited) = [unlimited::ENTRY];
        /// gRPC's retry throttle.
        GrpcTokenBucket(GrpcTokenBucket) = [grpc::ENTRY];
        /// Envoy's ratio budget, with its published accounting.
        EnvoyRetryBudget(EnvoyRetryBudget) = [envoy::ENTRY];
        /// Envoy's idea with one population on both sides.
        RatioBudget(RatioBudget) = [ratio::ENTRY];
        /// The retry quota of the AWS SDKs, both versions.
        AwsRetryQuota(AwsRetryQuota) = [aws::STANDARD, aws::NEW];
        /// Finagle's windowed budget.
        FinagleBudget(FinagleBudget) = [finagle::ENTRY];
        /// tower's windowed budget, with tower's and with Linkerd's deposits.
        TpsBudget(TpsBudget) = [tower::TOWER, tower::LINKERD];
        /// The idea of both with exact arithmetic.
        DepositBudget(DepositBudget) = [deposit::ENTRY];
        /// Google's ratio per client.
        GoogleRetryRatio(GoogleRetryRatio) = [google::ENTRY];
        /// A number of retries per minute.
        PerMinute(PerMinute) = [per_minute::ENTRY];
        /// failsafe-go's budget.
        FailsafeBudget(FailsafeBudget) = [failsafe::ENTRY];
        /// Adaptive Retry Budgeting.
        AdaptiveBudget(AdaptiveBudget) = [arb::ENTRY];
        /// RetryGuard's switch.
        RetryGuard(Box<RetryGuard>) = [retry_guard::ENTRY];
    }
}

impl Budget {
    /// No budget.
    pub const NONE: Self = Self::Unlimited(Unlimited::NEW);
}

impl Default for Budget {
    fn default() -> Self {
        Self::NONE
    }
}

impl RetryBudget for Budget {
    #[inline]
    fn start(&mut self, now: Nanos, attempt: Attempt) {
        each!(self, b => b.start(now, attempt));
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        retryable: bool,
        rng: &mut R,
    ) {
        each!(self, b => b.settle(now, attempt, outcome, retryable, rng));
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        rng: &mut R,
    ) -> Option<u32> {
        each!(self, b => b.withdraw(now, attempt, outcome, rng))
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, paid: u32) {
        each!(self, b => b.cancel(now, paid));
    }

    #[inline]
    fn overloaded(&mut self, now: Nanos) {
        each!(self, b => b.overloaded(now));
    }

    #[inline]
    fn passes_on(&self, now: Nanos) -> bool {
        each!(self, b => b.passes_on(now))
    }

    fn listens(&self) -> bool {
        each!(self, b => b.listens())
    }
}

#[cfg(test)]
mod tests;
