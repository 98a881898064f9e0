//! A refusal is a value: it says why, for which class, and when trying again could help.

use crate::Nanos;

/// Why a control refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The outcome is not one that the policy retries.
    NotRetryable,
    /// The class has used up its retry limit.
    LimitReached,
    /// The retry budget is exhausted.
    BudgetExhausted,
    /// The next attempt could not finish before the deadline.
    DeadlineTooClose,
    /// A rate limit has no token.
    RateLimited,
    /// The callee said when not to come back, or not to come back at all.
    PushedBack,
    /// The caller's own throttle refuses to send.
    Throttled,
    /// A circuit breaker is open.
    BreakerOpen,
    /// A concurrency limit is reached.
    ConcurrencyLimited,
    /// A queue is full.
    QueueFull,
    /// It waited too long, and was dropped from a queue.
    WaitedTooLong,
    /// Shed so that more important work can be done.
    Shed,
    /// The operator's lever.
    Lever,
}

/// A refused decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The priority class that was refused; 0 is the highest.
    pub class: u8,
    /// The earliest instant at which the same question could be answered otherwise, where
    /// the control can tell. `None`: it depends on what others do, or never.
    pub earliest: Option<Nanos>,
}

impl Refusal {
    /// A refusal that cannot tell when it would be another answer.
    #[inline]
    #[must_use]
    pub const fn new(reason: Reason, class: u8) -> Self {
        Self { reason, class, earliest: None }
    }

    /// The same, with the instant from which the answer could be another.
    #[inline]
    #[must_use]
    pub const fn until(self, earliest: Nanos) -> Self {
        Self { earliest: Some(earliest), ..self }
    }
}
