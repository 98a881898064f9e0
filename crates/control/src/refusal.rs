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
