//! Per-class retry limits: the DiffTry mechanism.
//!
//! Source: DiffTry, "prioritising requests by retries" (arXiv 2610.20567). Each priority
//! class has its own number of retries after the first attempt. The decision needs no state,
//! no overload signal and no coordination; while nothing is rejected, nothing changes.

use alloc::boxed::Box;

use crate::entry::{Build, Entry, Kind, Parameter, Unit};

pub(crate) const ENTRIES: &[&Entry] = &[&ENTRY];

const ENTRY: Entry = Entry {
    name: "class-limits",
    kind: Kind::Limit,
    summary: "retries after the first attempt by priority class: DiffTry's rule for who gets through an overload",
    source: "DiffTry, prioritising requests by retries (arXiv 2610.20567)",
    rule: "retry allowed = retries of this call so far < limit[class]",
    when: "Wherever requests differ in importance. It needs no state, no signal of overload and no \
           coordination; while nothing is rejected, nothing changes. It decides who gets through, \
           not how much load there is: put a budget beside it.",
    traps: &[
        "A limit counts retries: 1 means two attempts.",
        "Limits multiply over layers. Retry at one layer.",
    ],
    parameters: &[Parameter {
        name: "limit",
        unit: Unit::Count,
        default: 0.0,
        min: 0.0,
        max: 1_000_000.0,
        doc: "retries after the first attempt, for all classes or by class",
    }],
    readings: &[],
    build: Build::Section,
};

/// Retries after the first attempt, by class (index 0 is the highest class).
///
/// A class beyond the end of the list uses the last entry, so a list of one entry is a
/// limit without priorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryLimits(Box<[u32]>);

impl RetryLimits {
    /// The same limit for every class.
    #[must_use]
    pub fn uniform(limit: u32) -> Self {
        Self([limit].into())
    }

    /// The limit of `class`: how many retries may follow its first attempt.
    #[inline]
    #[must_use]
    pub fn limit(&self, class: u8) -> u32 {
        match self.0.get(usize::from(class)) {
            Some(limit) => *limit,
            None => self.0.last().copied().unwrap_or(0),
        }
    }

    /// The largest limit of any class.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.0.iter().copied().max().unwrap_or(0)
    }

    /// Whether two classes have different limits.
    #[must_use]
    pub fn differ(&self) -> bool {
        self.0.windows(2).any(|w| w[0] != w[1])
    }
}

impl<T: Into<Box<[u32]>>> From<T> for RetryLimits {
    fn from(limits: T) -> Self {
        Self(limits.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_own_limit() {
        let k = RetryLimits::from([5, 1]);
        assert_eq!((k.limit(0), k.limit(1), k.limit(7)), (5, 1, 1));
        assert_eq!(k.max(), 5);
        assert!(k.differ());
        assert!(!RetryLimits::uniform(3).differ());
        assert_eq!(RetryLimits::from([0u32; 0]).limit(0), 0);
    }
}
