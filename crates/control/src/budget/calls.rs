//! The calls that are open, as a budget on concurrency sees them.
//!
//! A call is in one of three states: its first attempt is in flight, its retry waits or is in
//! flight, or it is undecided: its attempt has just ended in a way that is retried, and it may
//! still ask. Whoever asks does so at the instant of that end, so an undecided call that has not
//! asked by the next instant is closed.

use super::Attempt;
use crate::{Nanos, Outcome};

/// Open calls by state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenCalls {
    /// First attempts in flight.
    pub(super) firsts: u32,
    /// Retries scheduled or in flight.
    pub(super) retries: u32,
    /// Calls that may ask, at `instant` only.
    pub(super) undecided: u32,
    instant: Nanos,
}

impl OpenCalls {
    pub(super) const NONE: Self =
        Self { firsts: 0, retries: 0, undecided: 0, instant: Nanos::ZERO };

    /// All of them, each once.
    #[inline]
    pub(super) const fn count(&self) -> u64 {
        self.firsts as u64 + self.retries as u64 + self.undecided as u64
    }

    /// Closes the calls that have not asked at the instant of their end.
    #[inline]
    fn at(&mut self, now: Nanos) {
        if now != self.instant {
            self.instant = now;
            self.undecided = 0;
        }
    }

    #[inline]
    pub(super) fn start(&mut self, now: Nanos, attempt: Attempt) {
        self.at(now);
        if !attempt.is_retry() {
            self.firsts = self.firsts.saturating_add(1);
        }
    }

    #[inline]
    pub(super) fn settle(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        retryable: bool,
    ) {
        self.at(now);
        let state = if attempt.is_retry() { &mut self.retries } else { &mut self.firsts };
        *state = state.saturating_sub(1);
        if retryable && outcome != Outcome::Success {
            self.undecided = self.undecided.saturating_add(1);
        }
    }

    /// A call asks: it is open, also if its caller's clock moved between the end and the question.
    #[inline]
    pub(super) fn ask(&mut self, now: Nanos) {
        self.at(now);
        self.undecided = self.undecided.max(1);
    }

    /// The call that has asked is answered.
    #[inline]
    pub(super) fn answer(&mut self, granted: bool) {
        self.undecided = self.undecided.saturating_sub(1);
        if granted {
            self.retries = self.retries.saturating_add(1);
        }
    }

    #[inline]
    pub(super) fn cancel(&mut self, now: Nanos) {
        self.at(now);
        self.retries = self.retries.saturating_sub(1);
    }
}
