//! Envoy's retry budget, with its published accounting.
//!
//! Source: Envoy `CircuitBreakers.Thresholds.RetryBudget` and the router's retry state.
//!
//! ```text
//! limit   = max(floor(budget_percent / 100 × (active + pending)), min_retry_concurrency)
//! allowed = retries < limit
//! ```
//!
//! `retries` counts a slot from the decision, through the backoff, to the end of the retried
//! attempt; a request that waits in backoff is in neither `active` nor `pending`. Numerator
//! and denominator thus describe different populations (envoy issue 30205): when many
//! requests fail at once and wait, only `min_retry_concurrency` of them may. A retry in
//! flight counts on both sides (issue 25501). Both are kept here as published.

use rand_core::Rng;

use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// Envoy's retry budget.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvoyRetryBudget {
    percent: f64,
    min_retry_concurrency: u32,
    active: u32,
    retries: u32,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "envoy",
    kind: Kind::Budget,
    summary: "Envoy's retry budget: concurrent retries as a share of concurrent requests, with its published accounting (envoy#30205)",
    source: "Envoy CircuitBreakers.Thresholds.RetryBudget, router retry state; issues 30205, 25501, 25660",
    rule: "\
limit   = max(floor(percent / 100 × active), min_retry_concurrency)
allowed = retries < limit
retries: from the decision, through the backoff, to the end of the retried attempt
active:  attempts in flight or pending; an attempt that waits in backoff is not in it",
    when: "What an Envoy or Istio mesh does today. To simulate it, not to copy it: `ratio` is the \
           same idea with one population on both sides.",
    traps: &[
        "Requests that wait in backoff are missing from the base (30205): when many fail at once, only `min_retry_concurrency` of them may retry, whatever the percentage.",
        "A running retry counts as a retry and as a request (25501).",
        "Clusters with little traffic live on `min_retry_concurrency` (25660).",
        "It bounds concurrency, not rate: short attempts make many retries per second.",
    ],
    parameters: &[
        Parameter {
            name: "percent",
            unit: Unit::Percent,
            default: EnvoyRetryBudget::DEFAULT_PERCENT,
            min: 0.0,
            max: 100.0,
            doc: "retries as a share of active and pending requests",
        },
        Parameter {
            name: "min_retry_concurrency",
            unit: Unit::Count,
            default: EnvoyRetryBudget::DEFAULT_MIN_RETRY_CONCURRENCY as f64,
            min: 0.0,
            max: 4_294_967_295.0,
            doc: "retries always allowed at the same time",
        },
    ],
    readings: &[
        Reading::gauge("active", "attempts in flight"),
        Reading::gauge("retries", "retries scheduled or in flight"),
        Reading::gauge("limit", "retries that may be scheduled or in flight now"),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied (upstream_rq_retry_overflow)"),
    ],
    build: Build::Budget(|p| match *p {
        [percent, floor] => EnvoyRetryBudget::try_new(percent, whole(floor)?).map(Into::into),
        _ => None,
    }),
};

impl EnvoyRetryBudget {
    /// Envoy's default `budget_percent`.
    pub const DEFAULT_PERCENT: f64 = 20.0;
    /// Envoy's default `min_retry_concurrency`.
    pub const DEFAULT_MIN_RETRY_CONCURRENCY: u32 = 3;

    /// A budget of `percent` of the concurrent requests. `None` unless 0 ≤ percent ≤ 100.
    #[must_use]
    pub fn try_new(percent: f64, min_retry_concurrency: u32) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then_some(Self {
            percent,
            min_retry_concurrency,
            active: 0,
            retries: 0,
            granted: 0,
            denied: 0,
        })
    }

    /// How many retries may be scheduled or in flight now.
    #[inline]
    #[must_use]
    pub fn limit(&self) -> u32 {
        let share = (self.percent / 100.0 * f64::from(self.active)) as u32;
        share.max(self.min_retry_concurrency)
    }

    /// Retries scheduled or in flight.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries
    }
}

impl RetryBudget for EnvoyRetryBudget {
    #[inline]
    fn start(&mut self, _: Nanos, _: Attempt) {
        self.active = self.active.saturating_add(1);
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        attempt: Attempt,
        _: Outcome,
        _: bool,
        _: &mut R,
    ) {
        self.active = self.active.saturating_sub(1);
        if attempt.is_retry() {
            self.retries = self.retries.saturating_sub(1);
        }
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        _: Attempt,
        _: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        let allowed = self.retries < self.limit();
        if allowed {
            self.retries += 1;
            self.granted += 1;
        } else {
            self.denied += 1;
        }
        allowed.then_some(1)
    }

    #[inline]
    fn cancel(&mut self, _: Nanos, _: u32) {
        self.retries = self.retries.saturating_sub(1);
    }
}

impl Observe for EnvoyRetryBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("active", f64::from(self.active));
        see("retries", f64::from(self.retries));
        see("limit", f64::from(self.limit()));
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    const RETRY: Attempt = Attempt { class: 0, retries: 1, paid: 1 };

    impl EnvoyRetryBudget {
        fn send(&mut self, retry: bool) {
            self.start(Nanos::ZERO, if retry { RETRY } else { Attempt::first(0) });
        }

        fn end(&mut self, retry: bool) {
            let attempt = if retry { RETRY } else { Attempt::first(0) };
            self.settle(Nanos::ZERO, attempt, Outcome::Failed, true, &mut Zero);
        }

        fn ask(&mut self) -> bool {
            self.withdraw(Nanos::ZERO, Attempt::first(0), Outcome::Failed, &mut Zero).is_some()
        }
    }

    fn with_active(active: u32) -> EnvoyRetryBudget {
        let mut b = EnvoyRetryBudget::try_new(20.0, 3).unwrap();
        for _ in 0..active {
            b.send(false);
        }
        b
    }

    #[test]
    fn limit_by_hand() {
        for (active, limit) in [(0, 3), (14, 3), (20, 4), (25, 5), (100, 20)] {
            assert_eq!(with_active(active).limit(), limit, "{active} active");
        }
    }

    /// Issue 30205: a hundred requests fail together; those in backoff are not in the base.
    #[test]
    fn requests_in_backoff_are_left_out_of_the_base() {
        let mut b = with_active(100);
        for _ in 0..100 {
            b.end(false);
        }
        let granted = (0..100).filter(|_| b.ask()).count();
        assert_eq!(granted, 3, "the floor, not 20 % of 100");
    }

    #[test]
    fn a_slot_is_held_from_decision_to_the_end_of_the_retry() {
        let mut b = with_active(0);
        assert!(b.ask() && b.ask() && b.ask());
        assert!(!b.ask());
        b.send(true);
        assert_eq!(b.retries(), 3, "sending does not free it");
        b.end(true);
        assert!(b.ask(), "its end does");
        b.cancel(Nanos::ZERO, 1);
        assert_eq!(b.retries(), 2, "so does leaving the backoff");
    }

    proptest! {
        #[test]
        fn never_more_retries_than_the_limit_at_the_decision(
            percent in 0.0f64..=100.0, floor in 0u32..10, ops in prop::collection::vec(0u8..4, 0..500),
        ) {
            let mut b = EnvoyRetryBudget::try_new(percent, floor).unwrap();
            for op in ops {
                match op {
                    0 => b.send(false),
                    1 => b.end(false),
                    2 => { if b.ask() { prop_assert!(b.retries() <= b.limit()); b.send(true); } }
                    _ => b.end(true),
                }
            }
        }
    }
}
