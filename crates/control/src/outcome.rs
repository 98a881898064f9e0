//! How an attempt ended, and which endings a policy retries.

use core::ops::{BitAnd, BitOr};

/// How one attempt ended, as its caller saw it.
///
/// Rejected, timed out, failed and shed are different ends with different cures, so
/// they are counted apart everywhere. (Abandonment is the callee's view of an attempt
/// whose caller left; the caller itself sees [`Outcome::TimedOut`].)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// A good reply, in time.
    Success,
    /// The callee refused before doing any work (rate limit, full queue).
    Rejected,
    /// No reply within the attempt's timeout.
    TimedOut,
    /// The callee itself failed after it had started to work.
    Failed,
    /// The callee works, but something further down did not: a failure passed up.
    FailedBelow,
    /// An overload control chose to drop it to save more important work.
    Shed,
}

impl Outcome {
    /// Every outcome, in the order of [`Outcome::index`].
    pub const ALL: [Self; 6] = [
        Self::Success,
        Self::Rejected,
        Self::TimedOut,
        Self::Failed,
        Self::FailedBelow,
        Self::Shed,
    ];

    /// A dense index for counters, `0..6`.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Success => 0,
            Self::Rejected => 1,
            Self::TimedOut => 2,
            Self::Failed => 3,
            Self::FailedBelow => 4,
            Self::Shed => 5,
        }
    }
}

/// The set of outcomes that a policy retries (`on:` in the system file).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RetryOn(u8);

impl RetryOn {
    /// Retries nothing.
    pub const NONE: Self = Self(0);
    /// The callee refused before doing any work.
    pub const REJECTED: Self = Self(1 << Outcome::Rejected.index());
    /// The attempt timed out.
    pub const TIMED_OUT: Self = Self(1 << Outcome::TimedOut.index());
    /// The callee itself failed.
    pub const FAILED: Self = Self(1 << Outcome::Failed.index());
    /// Something below the callee failed.
    pub const FAILED_BELOW: Self = Self(1 << Outcome::FailedBelow.index());
    /// The callee shed it.
    pub const SHED: Self = Self(1 << Outcome::Shed.index());
    /// Every ending but success: what a retry that does not look retries.
    pub const ALL: Self = Self(
        Self::REJECTED.0 | Self::TIMED_OUT.0 | Self::FAILED.0 | Self::FAILED_BELOW.0 | Self::SHED.0,
    );

    /// The endings before any work was done: safe to retry even if doing the work twice is not.
    pub const BEFORE_WORK: Self = Self(Self::REJECTED.0 | Self::SHED.0);

    /// Names as the system file writes them.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("rejected", Self::REJECTED),
        ("timeout", Self::TIMED_OUT),
        ("failed", Self::FAILED),
        ("downstream", Self::FAILED_BELOW),
        ("shed", Self::SHED),
    ];

    /// Whether `outcome` is in the set. Success never is.
    #[inline]
    #[must_use]
    pub const fn contains(self, outcome: Outcome) -> bool {
        self.0 & (1 << outcome.index()) != 0
    }

    /// The set without the members of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The set for calls whose work must not be done twice: only what is in it and came
    /// [before any work](Self::BEFORE_WORK).
    #[must_use]
    pub const fn for_unsafe_calls(self) -> Self {
        Self(self.0 & Self::BEFORE_WORK.0)
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for RetryOn {
    type Output = Self;
    fn bitor(self, rhs: Self) -> Self {
        Self(self.0 | rhs.0)
    }
}

impl BitAnd for RetryOn {
    type Output = Self;
    fn bitand(self, rhs: Self) -> Self {
        Self(self.0 & rhs.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_never_retried() {
        assert!(!RetryOn::ALL.contains(Outcome::Success));
        for outcome in Outcome::ALL.into_iter().skip(1) {
            assert!(RetryOn::ALL.contains(outcome), "{outcome:?}");
            assert!(!RetryOn::NONE.contains(outcome), "{outcome:?}");
        }
    }

    #[test]
    fn indices_are_dense_and_names_cover_all() {
        for (i, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome.index(), i);
        }
        let named = RetryOn::NAMES.iter().fold(RetryOn::NONE, |all, (_, on)| all | *on);
        assert_eq!(named, RetryOn::ALL);
        assert!(!RetryOn::ALL.without(RetryOn::FAILED).contains(Outcome::Failed));
    }

    #[test]
    fn an_unsafe_call_is_retried_only_before_work() {
        let narrowed = RetryOn::ALL.for_unsafe_calls();
        for outcome in Outcome::ALL {
            let before = matches!(outcome, Outcome::Rejected | Outcome::Shed);
            assert_eq!(narrowed.contains(outcome), before, "{outcome:?}");
        }
        let on = RetryOn::TIMED_OUT | RetryOn::SHED;
        assert_eq!(on.for_unsafe_calls(), RetryOn::SHED, "it narrows, and never adds");
        assert_eq!(on & RetryOn::ALL, on);
        assert!(RetryOn::TIMED_OUT.for_unsafe_calls().is_empty());
    }
}
