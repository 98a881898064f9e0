//! A retry budget that is asked before a request and settled after it.
//!
//! Envoy makes the retries by itself; a filter is asked once, before the first attempt, and learns
//! from the last answer how many attempts there were. So a request is allowed as many retries as
//! the budget would give at that moment, nothing is taken, and what was used is paid at the end. What
//! cannot be paid then is owed, nothing is granted while anything is owed, and what comes in pays
//! first.
//!
//! # Bound
//!
//! In the long run the retries that were made are those that the budget's own rule grants. At any
//! moment they exceed it by at most what is owed, which is at most the retries that requests in
//! flight were allowed when the budget ran dry: limit × requests in flight.
//!
//! Each worker thread has an account of its own: no shared word, no call out of the virtual
//! machine. What a budget takes in grows with the requests of its own worker, so shares of requests
//! add up to the share of all; what it starts with (`max_tokens`, `min_per_s`, ARB's least stock of
//! three) is there once for each worker: with W workers at most W times.

use damper_control::budget::{AdaptiveBudget, Attempt, DepositBudget, GrpcTokenBucket};
use damper_control::{Budget, Nanos, Outcome, RetryBudget as _};
use rand_core::Rng;

use super::config;

/// Most retries that are owed: beyond, what is known of them is wrong anyway.
const MOST_OWED: u32 = 100_000;

/// Most attempts that an answer is believed to have had.
pub(super) const MOST_ATTEMPTS: u32 = 1000;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Account {
    budget: Budget,
    owed: u32,
    /// Whether a retry costs something; gRPC's throttle is paid by failures.
    charged: bool,
}

/// The budget that is written. `None`: its control does not take the numbers.
pub(super) fn budget(written: &config::Budget) -> Option<Budget> {
    let ms = |ms: Option<u32>, otherwise: Nanos| {
        ms.map_or(otherwise, |ms| Nanos::from_millis(u64::from(ms)))
    };
    match *written {
        config::Budget::TokenBucket { max_tokens, token_ratio } => GrpcTokenBucket::try_new(
            max_tokens.unwrap_or(GrpcTokenBucket::DEFAULT_MAX_TOKENS),
            token_ratio.unwrap_or(GrpcTokenBucket::DEFAULT_TOKEN_RATIO),
        )
        .map(Into::into),
        config::Budget::Ratio { percent, min_per_s } => DepositBudget::try_new(
            percent.unwrap_or(DepositBudget::DEFAULT_PERCENT),
            min_per_s.unwrap_or(DepositBudget::DEFAULT_MIN_PER_SECOND),
            DepositBudget::DEFAULT_TTL,
        )
        .map(Into::into),
        config::Budget::Arb { max_percent, min_percent, memory_ms, hold_ms } => {
            AdaptiveBudget::try_new(
                max_percent.unwrap_or(AdaptiveBudget::DEFAULT_MAX_PERCENT),
                min_percent.unwrap_or(AdaptiveBudget::DEFAULT_MIN_PERCENT),
                ms(memory_ms, Nanos::from_secs(10)),
                Nanos::from_secs(1),
                ms(hold_ms, Nanos::from_secs(5)),
            )
            .map(Into::into)
        }
    }
}

impl Account {
    pub(super) fn new(budget: Budget) -> Self {
        let charged = !matches!(budget, Budget::GrpcTokenBucket(_));
        Self { budget, owed: 0, charged }
    }

    /// A request of `class` starts: how many of `limit` retries it is allowed.
    pub(super) fn start(&mut self, now: Nanos, class: u8, limit: u32, rng: &mut impl Rng) -> u32 {
        let first = Attempt::first(class);
        self.budget.start(now, first);
        while self.owed > 0 && self.budget.withdraw(now, first, Outcome::Failed, rng).is_some() {
            self.owed -= 1;
        }
        if self.owed > 0 {
            return 0;
        }
        let (mut granted, mut paid) = (0, 0);
        while granted < limit {
            let attempt = Attempt { class, retries: granted, paid };
            let Some(cost) = self.budget.withdraw(now, attempt, Outcome::Failed, rng) else {
                break;
            };
            paid = cost;
            granted += 1;
        }
        // It was only asked what would be granted.
        for _ in 0..granted {
            self.budget.cancel(now, paid);
        }
        granted
    }

    /// A request of `class` has ended after so many attempts. `retryable`: the last one ended in a way
    /// that is retried.
    pub(super) fn settle(
        &mut self,
        now: Nanos,
        class: u8,
        attempts: u32,
        last: Outcome,
        retryable: bool,
        rng: &mut impl Rng,
    ) {
        let attempts = attempts.clamp(1, MOST_ATTEMPTS);
        for retries in 0..attempts - 1 {
            let attempt = Attempt { class, retries, paid: u32::from(retries > 0) };
            self.budget.settle(now, attempt, Outcome::Failed, true, rng);
            let paid =
                !self.charged || self.budget.withdraw(now, attempt, Outcome::Failed, rng).is_some();
            self.owed = (self.owed + u32::from(!paid)).min(MOST_OWED);
            self.budget.start(now, Attempt { class, retries: retries + 1, paid: 1 });
        }
        let retries = attempts - 1;
        let attempt = Attempt { class, retries, paid: u32::from(retries > 0) };
        self.budget.settle(now, attempt, last, retryable, rng);
    }

    /// The destination said OVERLOADED.
    pub(super) fn overloaded(&mut self, now: Nanos) {
        self.budget.overloaded(now);
    }

    /// Whether the callers of this service should be told OVERLOADED.
    pub(super) fn passes_on(&self, now: Nanos) -> bool {
        self.budget.passes_on(now)
    }

    /// Whether the outcome of the last attempt matters to it.
    pub(super) fn needs_outcome(&self) -> bool {
        !matches!(self.budget, Budget::DepositBudget(_))
    }
}

#[cfg(test)]
mod tests;
