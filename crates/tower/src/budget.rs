//! A retry budget that every clone of a layer shares.
//!
//! gRPC's token bucket has a form of atomics, which is used for it. Every other budget of
//! `damper-control` is a state machine with one owner: it lies behind a mutex that is held for one
//! step of it and for nothing else, never across an await. Each attempt takes it twice, and each
//! retry once more; uncontended that is some 20 ns each, and threads that meet at it wait for each
//! other's step. A call without a budget takes nothing.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use damper_control::budget::Attempt;
use damper_control::observe::Observe;
use damper_control::shared::{DepositBudget, TokenBucket};
use damper_control::{Budget, Nanos, Outcome, RetryBudget};
use rand_core::Rng;

use crate::clock::{self, Chance};

/// A budget for all clones of a layer, and for all layers that are given a clone of it.
#[derive(Clone, Debug)]
pub struct SharedBudget(Arc<Form>);

enum Form {
    None,
    Tokens(TokenBucket),
    Deposits(DepositBudget),
    Any(Mutex<(Budget, Chance)>),
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no budget"),
            Self::Tokens(bucket) => bucket.fmt(f),
            Self::Deposits(deposits) => deposits.fmt(f),
            Self::Any(any) => lock(any).0.fmt(f),
        }
    }
}

/// A step of a control does not panic, and if it did, its state is still whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shards of a shared form: enough for the threads of a large machine.
const SHARDS: usize = 16;

/// A number for this thread, so that threads do not meet on a shard.
fn shard() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    OWN.try_with(|own| *own).unwrap_or(0)
}

impl Default for SharedBudget {
    fn default() -> Self {
        Self::new(Budget::NONE)
    }
}

impl From<Budget> for SharedBudget {
    fn from(budget: Budget) -> Self {
        Self::new(budget)
    }
}

impl From<DepositBudget> for SharedBudget {
    /// Deposits that expire, by atomics.
    fn from(budget: DepositBudget) -> Self {
        Self(Arc::new(Form::Deposits(budget)))
    }
}

impl SharedBudget {
    /// Shares a budget, in its form of atomics if it has one and is new.
    #[must_use]
    pub fn new(budget: Budget) -> Self {
        let shared = match &budget {
            Budget::Unlimited(_) => Some(Form::None),
            Budget::GrpcTokenBucket(bucket) => {
                let (max, ratio) = bucket.settings();
                let full = bucket.tokens() >= f64::from(max);
                TokenBucket::try_new(max, ratio, SHARDS).filter(|_| full).map(Form::Tokens)
            }
            _ => None,
        };
        Self(Arc::new(shared.unwrap_or_else(|| Form::Any(Mutex::new((budget, clock::chance()))))))
    }

    /// Whether it bounds anything.
    #[must_use]
    pub fn is_there(&self) -> bool {
        !matches!(*self.0, Form::None)
    }

    /// Whether whoever owns it should tell its own callers that what is below is overloaded.
    #[must_use]
    pub fn passes_on(&self) -> bool {
        match &*self.0 {
            Form::Any(any) => lock(any).0.passes_on(clock::now()),
            _ => false,
        }
    }

    /// What it shows, reading by reading.
    pub fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        Handle(self).observe(see);
    }

    /// To take a step of it.
    pub(crate) const fn handle(&self) -> Handle<'_> {
        Handle(self)
    }
}

/// A shared budget as the decision wants one.
pub(crate) struct Handle<'a>(&'a SharedBudget);

impl Observe for Handle<'_> {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match &*self.0.0 {
            Form::None => {}
            Form::Tokens(bucket) => bucket.observe(see),
            Form::Deposits(deposits) => deposits.observe(see),
            Form::Any(any) => lock(any).0.observe(see),
        }
    }
}

impl RetryBudget for Handle<'_> {
    fn start(&mut self, now: Nanos, attempt: Attempt) {
        match &*self.0.0 {
            Form::None | Form::Tokens(_) => {}
            Form::Deposits(deposits) => {
                if !attempt.is_retry() {
                    deposits.deposit(shard(), now);
                }
            }
            Form::Any(any) => lock(any).0.start(now, attempt),
        }
    }

    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        retryable: bool,
        _: &mut R,
    ) {
        match &*self.0.0 {
            Form::None | Form::Deposits(_) => {}
            Form::Tokens(bucket) => match outcome {
                Outcome::Success => bucket.success(),
                _ if retryable => {
                    bucket.failure(shard());
                }
                _ => {}
            },
            Form::Any(any) => {
                let (budget, chance) = &mut *lock(any);
                budget.settle(now, attempt, outcome, retryable, chance);
            }
        }
    }

    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        match &*self.0.0 {
            Form::None => Some(1),
            Form::Tokens(bucket) => bucket.allows().then_some(1),
            Form::Deposits(deposits) => deposits.withdraw(shard(), now).then_some(1),
            Form::Any(any) => {
                let (budget, chance) = &mut *lock(any);
                budget.withdraw(now, attempt, outcome, chance)
            }
        }
    }

    fn cancel(&mut self, now: Nanos, paid: u32) {
        match &*self.0.0 {
            Form::None | Form::Tokens(_) => {}
            Form::Deposits(deposits) => deposits.cancel(shard(), now),
            Form::Any(any) => lock(any).0.cancel(now, paid),
        }
    }

    fn overloaded(&mut self, now: Nanos) {
        if let Form::Any(any) = &*self.0.0 {
            lock(any).0.overloaded(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_control::budget::GrpcTokenBucket;

    /// The form of atomics and the state machine answer alike.
    #[test]
    fn tokens_by_atomics_are_the_tokens_of_the_state_machine() {
        let bucket = GrpcTokenBucket::try_new(10, 0.1).unwrap();
        let shared = SharedBudget::new(Budget::from(bucket));
        assert!(matches!(*shared.0, Form::Tokens(_)));
        let mut own = Budget::from(GrpcTokenBucket::try_new(10, 0.1).unwrap());
        let mut chance = clock::chance();
        let (now, first) = (Nanos(1), Attempt::first(0));
        for step in 0..200u32 {
            let outcome = if step % 7 < 2 { Outcome::Failed } else { Outcome::Success };
            let retryable = outcome != Outcome::Success;
            own.settle(now, first, outcome, retryable, &mut chance);
            shared.handle().settle(now, first, outcome, retryable, &mut chance);
            assert_eq!(
                shared.handle().withdraw(now, first, outcome, &mut chance).is_some(),
                own.withdraw(now, first, outcome, &mut chance).is_some(),
                "{step}"
            );
        }
    }
}
