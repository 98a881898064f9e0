//! What a call owes to its budget: given back in whatever way the call ends.

use std::marker::PhantomData;
use std::sync::Arc;

use damper_control::budget::Attempt;
use damper_control::{Outcome, RetryBudget as _};
use http::HeaderMap;

use super::Shared;
use crate::body::Tail;
use crate::classify::Classify;
use crate::clock::{self, Chance};
use crate::stats::Event;

/// What the budget waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// Nothing.
    Nothing,
    /// The end of this attempt.
    Attempt(Attempt),
    /// A retry that it granted and that was not sent yet.
    Granted(u32),
}

/// The account of one call. Dropped, it settles what is open: nobody saw how the attempt ended,
/// or the retry was never sent.
pub struct Account<C, I, Res, E> {
    pub(crate) shared: Arc<Shared<C, I>>,
    pub(crate) class: u8,
    pub(crate) open: Open,
    /// Attempts that the call has made, those that no policy counts as well.
    pub(crate) attempts: u32,
    kinds: PhantomData<fn(Res, E)>,
}

impl<C, I, Res, E> std::fmt::Debug for Account<C, I, Res, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("class", &self.class).field("open", &self.open).finish()
    }
}

/// A source of chance for decisions that draw: seeded for each call that needs one.
pub(crate) fn chance() -> Chance {
    clock::chance()
}

/// For budgets that bring their own.
struct NoChance;

impl rand_core::TryRng for NoChance {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.fill(0);
        Ok(())
    }
}

impl<C, I, Res, E> Account<C, I, Res, E> {
    pub(crate) const fn new(shared: Arc<Shared<C, I>>, class: u8) -> Self {
        Self { shared, class, open: Open::Nothing, attempts: 0, kinds: PhantomData }
    }

    pub(crate) fn count(&self, event: Event) {
        self.shared.counters.count(self.class, event);
    }

    /// An attempt is sent.
    pub(crate) fn start(&mut self, attempt: Attempt) {
        self.count(Event::Attempt);
        self.open = Open::Attempt(attempt);
        self.attempts = self.attempts.saturating_add(1);
        if self.shared.budget.is_there() {
            self.shared.budget.handle().start(clock::now(), attempt);
        }
    }

    /// The open attempt has ended. This is the one place that counts a success after a retry, as
    /// the status of a gRPC reply comes after its head.
    pub(crate) fn settle(&mut self, outcome: Outcome, counts: bool) {
        let Open::Attempt(attempt) = std::mem::replace(&mut self.open, Open::Nothing) else {
            return;
        };
        self.count(Event::Ended(outcome));
        if outcome == Outcome::Success && self.attempts > 1 {
            self.count(Event::SuccessAfterRetry);
        }
        if self.shared.budget.is_there() {
            let mut budget = self.shared.budget.handle();
            budget.settle(clock::now(), attempt, outcome, counts, &mut NoChance);
        }
    }

    /// The callee said OVERLOADED.
    pub(crate) fn overloaded(&self) {
        self.count(Event::Overloaded);
        self.shared.budget.handle().overloaded(clock::now());
    }
}

impl<C, I, Res, E> Drop for Account<C, I, Res, E> {
    fn drop(&mut self) {
        match self.open {
            Open::Nothing => {}
            Open::Attempt(attempt) => {
                self.count(Event::Abandoned);
                let mut budget = self.shared.budget.handle();
                let outcome = Outcome::TimedOut;
                budget.settle(clock::now(), attempt, outcome, false, &mut NoChance);
            }
            Open::Granted(paid) => {
                self.count(Event::Abandoned);
                self.shared.budget.handle().cancel(clock::now(), paid);
            }
        }
    }
}

impl<C: Classify<Res, E>, I, Res, E> Tail for Account<C, I, Res, E> {
    fn end(mut self, trailers: Option<&HeaderMap>) {
        let outcome = self.shared.classify.trailers(trailers);
        let counts = self.shared.policy.retry.on.contains(outcome);
        self.settle(outcome, counts);
    }

    fn broke(mut self) {
        let counts = self.shared.policy.retry.on.contains(Outcome::Failed);
        self.settle(Outcome::Failed, counts);
    }
}
