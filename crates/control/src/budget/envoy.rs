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

/// Envoy's retry budget.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvoyRetryBudget {
    percent: f64,
    min_retry_concurrency: u32,
    active: u32,
    retries: u32,
}

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

    #[inline]
    pub(super) fn start(&mut self, _retry: bool) {
        self.active = self.active.saturating_add(1);
    }

    #[inline]
    pub(super) fn settle(&mut self, retry: bool) {
        self.active = self.active.saturating_sub(1);
        if retry {
            self.retries = self.retries.saturating_sub(1);
        }
    }

    #[inline]
    pub(super) fn withdraw(&mut self) -> bool {
        let allowed = self.retries < self.limit();
        if allowed {
            self.retries += 1;
        }
        allowed
    }

    #[inline]
    pub(super) fn cancel(&mut self) {
        self.retries = self.retries.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_active(active: u32) -> EnvoyRetryBudget {
        let mut b = EnvoyRetryBudget::try_new(20.0, 3).unwrap();
        for _ in 0..active {
            b.start(false);
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
            b.settle(false);
        }
        let granted = (0..100).filter(|_| b.withdraw()).count();
        assert_eq!(granted, 3, "the floor, not 20 % of 100");
    }

    #[test]
    fn a_slot_is_held_from_decision_to_the_end_of_the_retry() {
        let mut b = with_active(0);
        assert!(b.withdraw() && b.withdraw() && b.withdraw());
        assert!(!b.withdraw());
        b.start(true);
        assert_eq!(b.retries(), 3, "sending does not free it");
        b.settle(true);
        assert!(b.withdraw(), "its end does");
        b.cancel();
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
                    0 => b.start(false),
                    1 => b.settle(false),
                    2 => { if b.withdraw() { prop_assert!(b.retries() <= b.limit()); b.start(true); } }
                    _ => b.settle(true),
                }
            }
        }
    }
}
