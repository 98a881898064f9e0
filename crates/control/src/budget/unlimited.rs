//! No budget: every retry that its call's limit allows is granted.
//!
//! Source: what most clients do when nobody has said anything.

use rand_core::Rng;

use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// No budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unlimited {
    granted: u64,
}

impl Unlimited {
    pub(super) const NEW: Self = Self { granted: 0 };
}

pub(super) const ENTRY: Entry = Entry {
    name: "none",
    kind: Kind::Budget,
    summary: "no budget: every retry that the limit allows is granted",
    source: "what a client does when nobody has said anything",
    rule: "allowed = true",
    when: "Never on a path that can be overloaded: with a limit of k retries a failing callee \
           receives 1 + k times its load, and each layer multiplies.",
    traps: &["A limit bounds one call. Only a budget bounds the load of all of them."],
    parameters: &[],
    readings: &[
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "always 0: it denies nothing"),
    ],
    build: Build::Budget(|p| p.is_empty().then(|| Unlimited::default().into())),
};

impl RetryBudget for Unlimited {
    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        _: Attempt,
        _: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        self.granted += 1;
        Some(1)
    }
}

impl Observe for Unlimited {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("granted", self.granted as f64);
        see("denied", 0.0);
    }
}
