//! What was measured beside what was said.

use serde::Serialize;

use super::program::Measured;
use super::said::{Attempts, Said};

/// How what was said holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// The same number; or endless, and it had to be stopped.
    Exact,
    /// The count cannot be known, and is within the bounds that are given, with a reason.
    Within,
    /// Bounds that hold where a number could have been read.
    Vague,
    /// Bounds that hold, without a word about why there is no number.
    NoReason,
    /// A larger number than there were attempts.
    Over,
    /// A smaller number than there were attempts.
    Under,
    /// No policy was found, and there were several attempts.
    NotFound,
    /// The program never asked.
    DidNotRun,
}

impl Verdict {
    pub(super) const ALL: [Self; 8] = [
        Self::Exact,
        Self::Within,
        Self::Vague,
        Self::NoReason,
        Self::Over,
        Self::Under,
        Self::NotFound,
        Self::DidNotRun,
    ];

    /// As it is printed; what must not be is in capitals.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Within => "within",
            Self::Vague => "vague",
            Self::NoReason => "no reason",
            Self::Over => "over",
            Self::Under => "UNDER",
            Self::NotFound => "NOT FOUND",
            Self::DidNotRun => "DID NOT RUN",
        }
    }

    /// Whether less was said than there was.
    pub(super) fn is_below(self) -> bool {
        matches!(self, Self::Under | Self::NotFound)
    }

    /// Compares. `knowable`: whether the count can be read from the text.
    pub(super) fn of(measured: Measured, said: &Said, knowable: bool) -> Self {
        let Measured { count, stopped } = measured;
        if count == 0 {
            return Self::DidNotRun;
        }
        match said.attempts {
            _ if said.by.is_empty() && (count > 1 || stopped) => Self::NotFound,
            Attempts::Infinite if stopped => Self::Exact,
            Attempts::Infinite => Self::Over,
            // Who was stopped would have gone on.
            Attempts::Exact(said) if said < count || stopped => Self::Under,
            Attempts::Exact(said) if said > count => Self::Over,
            Attempts::Exact(_) => Self::Exact,
            Attempts::Between(_, Some(high), _) if high < count => Self::Under,
            Attempts::Between(low, ..) if low > count => Self::Over,
            Attempts::Between(..) if knowable => Self::Vague,
            Attempts::Between(..) if said.why.is_empty() => Self::NoReason,
            Attempts::Between(..) => Self::Within,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(attempts: Attempts) -> Said {
        Said { attempts, by: vec!["x".to_owned()], why: vec!["a parameter".to_owned()] }
    }

    #[test]
    fn a_number_must_be_the_same() {
        let of = |count, stopped, attempts| {
            Verdict::of(Measured { count, stopped }, &said(attempts), true)
        };
        assert_eq!(of(3, false, Attempts::Exact(3)), Verdict::Exact);
        assert_eq!(of(3, false, Attempts::Exact(4)), Verdict::Over);
        assert_eq!(of(3, false, Attempts::Exact(2)), Verdict::Under);
        assert_eq!(of(50, true, Attempts::Exact(50)), Verdict::Under, "it would have gone on");
        assert_eq!(of(50, true, Attempts::Infinite), Verdict::Exact);
        assert_eq!(of(3, false, Attempts::Infinite), Verdict::Over);
        assert_eq!(of(0, false, Attempts::Exact(1)), Verdict::DidNotRun);
    }

    #[test]
    fn bounds_must_hold_and_have_a_reason() {
        let of = |count, high, knowable| {
            let said = said(Attempts::Between(2, high, None));
            Verdict::of(Measured { count, stopped: false }, &said, knowable)
        };
        assert_eq!(of(3, Some(4), false), Verdict::Within);
        assert_eq!(of(3, None, false), Verdict::Within);
        assert_eq!(of(3, Some(4), true), Verdict::Vague);
        assert_eq!(of(5, Some(4), false), Verdict::Under);
        assert_eq!(of(1, Some(4), false), Verdict::Over);
        let mut silent = said(Attempts::Between(1, None, None));
        silent.why.clear();
        let three = Measured { count: 3, stopped: false };
        assert_eq!(Verdict::of(three, &silent, false), Verdict::NoReason);
    }

    #[test]
    fn nothing_found_is_one_attempt() {
        let nothing = Said { attempts: Attempts::Exact(1), by: Vec::new(), why: Vec::new() };
        let of = |count| Verdict::of(Measured { count, stopped: false }, &nothing, true);
        assert_eq!((of(1), of(2)), (Verdict::Exact, Verdict::NotFound));
    }
}
