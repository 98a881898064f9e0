//! The retry quota of the AWS SDKs.
//!
//! Source: botocore `retries/standard.py` and `retries/quota.py`; the costs of 2026 are botocore's
//! `AWS_NEW_RETRIES_2026`, default since 1.44. One quota for each client object.
//!
//! ```text
//! retry:                 if cost > quota: denied, else quota -= cost
//! success without retry: quota = min(max, quota + 1)
//! success after retries: quota = min(max, quota + what the last retry cost)
//! any other end:         nothing
//! ```
//!
//! botocore counts the reward after the whole call; a success always ends its call, so it is the
//! same as counting it when the attempt ends. "Throttling" is an outcome in which the callee
//! refused or shed; a timeout is [`Outcome::TimedOut`].

use rand_core::Rng;

use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// The retry quota of the AWS SDKs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsRetryQuota {
    quota: u32,
    max: u32,
    /// By [`Outcome::index`].
    costs: [u32; 6],
    granted: u64,
    denied: u64,
}

const QUOTA: Parameter = Parameter {
    name: "quota",
    unit: Unit::Count,
    default: AwsRetryQuota::DEFAULT_QUOTA as f64,
    min: 1.0,
    max: 1_000_000.0,
    doc: "capacity at the start, and the most there can be",
};

const fn cost(name: &'static str, default: u32, doc: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Count, default: default as f64, min: 1.0, max: 1_000_000.0, doc }
}

const READINGS: &[Reading] = &[
    Reading::gauge("quota", "capacity left"),
    Reading::counter("granted", "retries granted"),
    Reading::counter("denied", "retries denied (RetryQuotaReached)"),
];

const TRAPS: &[&str] = &[
    "Only what the last retry cost comes back: a call that needs two retries and succeeds is one retry poorer for ever.",
    "A call that fails in the end returns nothing, and a final answer that is not a success (a 404) does not refill it either.",
    "It belongs to a client object: a client made for every request has a full quota every time.",
    "One retryer shared by several clients lets them starve each other (aws-sdk-go-base 915).",
    "It has been configured and absent: aws-sdk-rust 1234 ran without a quota, aws-sdk-go-v2 3550 never refills in adaptive mode.",
    "A retry that is abandoned in its backoff returns nothing.",
    "The SDKs disagree on what costs more: smithy-rs takes 10 for every transient error, a 503 too, botocore for timeouts only.",
];

pub(super) const STANDARD: Entry = Entry {
    name: "aws-standard",
    kind: Kind::Budget,
    summary: "the retry quota of the AWS SDKs, standard mode: 500, 5 for a retry, 10 after a timeout",
    source: "botocore retries/standard.py, quota.py; SDKs since 2016, smithy-rs; aws-sdk-rust issue 1234",
    rule: "\
quota = 500 at the start
retry:                  cost = timeout_cost after a timeout, else retry_cost
                        allowed if cost <= quota; then quota -= cost
success without retry:  quota = min(500, quota + 1)
success after retries:  quota = min(500, quota + cost of the last retry)
failure:                nothing",
    when: "What most AWS clients did until 2026. Drained, it allows one retry for five clean \
           successes, so at full success it pays for itself and in an outage it stops.",
    traps: TRAPS,
    parameters: &[
        QUOTA,
        cost("retry_cost", 5, "what a retry costs"),
        cost("timeout_cost", 10, "what a retry after a timeout costs"),
    ],
    readings: READINGS,
    build: Build::Budget(|p| match *p {
        [quota, retry, timeout] => {
            AwsRetryQuota::standard(whole(quota)?, whole(retry)?, whole(timeout)?).map(Into::into)
        }
        _ => None,
    }),
};

pub(super) const NEW: Entry = Entry {
    name: "aws-2026",
    kind: Kind::Budget,
    summary: "the retry quota of the AWS SDKs as of 2026: 500, 14 for a retry, 5 after throttling",
    source: "botocore 1.43.3 (AWS_NEW_RETRIES_2026), default since 1.44; smithy-rs RetrySpec v2.1",
    rule: "\
quota = 500 at the start
retry:                  cost = throttling_cost if the callee refused or shed, else retry_cost
                        allowed if cost <= quota; then quota -= cost
success without retry:  quota = min(500, quota + 1)
success after retries:  quota = min(500, quota + cost of the last retry)
failure:                nothing",
    when: "What AWS clients do since 2026: 35 retries at the start, then one for fourteen clean \
           successes. A refusal is cheap because the callee did no work for it.",
    traps: TRAPS,
    parameters: &[
        QUOTA,
        cost("retry_cost", 14, "what a retry costs"),
        cost("throttling_cost", 5, "what a retry costs after the callee refused or shed"),
    ],
    readings: READINGS,
    build: Build::Budget(|p| match *p {
        [quota, retry, throttling] => {
            AwsRetryQuota::new_2026(whole(quota)?, whole(retry)?, whole(throttling)?)
                .map(Into::into)
        }
        _ => None,
    }),
};

impl AwsRetryQuota {
    /// The capacity of every version.
    pub const DEFAULT_QUOTA: u32 = 500;

    /// Standard mode. `None` unless all three are in 1..=1,000,000.
    #[must_use]
    pub fn standard(quota: u32, retry_cost: u32, timeout_cost: u32) -> Option<Self> {
        let mut costs = [retry_cost; 6];
        costs[Outcome::TimedOut.index()] = timeout_cost;
        Self::full(quota, costs)
    }

    /// The costs of 2026. `None` unless all three are in 1..=1,000,000.
    #[must_use]
    pub fn new_2026(quota: u32, retry_cost: u32, throttling_cost: u32) -> Option<Self> {
        let mut costs = [retry_cost; 6];
        costs[Outcome::Rejected.index()] = throttling_cost;
        costs[Outcome::Shed.index()] = throttling_cost;
        Self::full(quota, costs)
    }

    fn full(quota: u32, costs: [u32; 6]) -> Option<Self> {
        let valid = |x| (1..=1_000_000).contains(&x);
        (valid(quota) && costs.iter().all(|&c| valid(c))).then_some(Self {
            quota,
            max: quota,
            costs,
            granted: 0,
            denied: 0,
        })
    }

    /// Capacity left.
    #[must_use]
    pub const fn quota(&self) -> u32 {
        self.quota
    }
}

impl RetryBudget for AwsRetryQuota {
    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        _: bool,
        _: &mut R,
    ) {
        if outcome == Outcome::Success {
            let reward = if attempt.is_retry() { attempt.paid } else { 1 };
            self.quota = self.quota.saturating_add(reward).min(self.max);
        }
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        _: Attempt,
        outcome: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        let cost = self.costs[outcome.index()];
        if let Some(left) = self.quota.checked_sub(cost) {
            self.quota = left;
            self.granted += 1;
            Some(cost)
        } else {
            self.denied += 1;
            None
        }
    }
}

impl Observe for AwsRetryQuota {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("quota", f64::from(self.quota));
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RetryState;
    use crate::testing::Zero;
    use proptest::prelude::*;

    fn standard() -> AwsRetryQuota {
        AwsRetryQuota::standard(500, 5, 10).unwrap()
    }

    fn new_2026() -> AwsRetryQuota {
        AwsRetryQuota::new_2026(500, 14, 5).unwrap()
    }

    /// One call with at most `limit` retries: how many it got.
    fn call(b: &mut AwsRetryQuota, ends: &[Outcome], limit: u32) -> u32 {
        let mut state = RetryState::default();
        for &end in ends {
            b.settle(Nanos::ZERO, state.attempt(0), end, true, &mut Zero);
            if end == Outcome::Success || state.retries == limit {
                break;
            }
            match b.withdraw(Nanos::ZERO, state.attempt(0), end, &mut Zero) {
                Some(paid) => (state.retries, state.paid) = (state.retries + 1, paid),
                None => break,
            }
        }
        state.retries
    }

    use Outcome::{Failed, Rejected, Shed, Success, TimedOut};

    #[test]
    fn fifty_failing_calls_of_three_attempts_drain_it() {
        let mut b = standard();
        for i in 1..=50 {
            assert_eq!(call(&mut b, &[Failed; 3], 2), 2, "call {i}");
            assert_eq!(b.quota(), 500 - 10 * i);
        }
        assert_eq!(call(&mut b, &[Failed; 3], 2), 0, "call 51 is not retried");
        assert_eq!((b.quota(), b.granted, b.denied), (0, 100, 1));
    }

    #[test]
    fn drained_it_takes_five_clean_successes_for_a_retry() {
        let mut b = standard();
        while call(&mut b, &[Failed; 3], 2) > 0 {}
        for quota in 1..=4 {
            call(&mut b, &[Success], 2);
            assert_eq!((b.quota(), call(&mut b, &[Failed; 3], 2)), (quota, 0));
        }
        call(&mut b, &[Success], 2);
        assert_eq!(call(&mut b, &[Failed; 3], 2), 1);
        assert_eq!(b.quota(), 0);
    }

    #[test]
    fn a_timeout_costs_ten_until_2026_and_throttling_five_from_then() {
        for (mut b, costs) in [
            (standard(), [(TimedOut, 10), (Failed, 5), (Rejected, 5), (Shed, 5)]),
            (new_2026(), [(TimedOut, 14), (Failed, 14), (Rejected, 5), (Shed, 5)]),
        ] {
            for (outcome, cost) in costs {
                let before = b.quota();
                assert_eq!(call(&mut b, &[outcome; 2], 1), 1);
                assert_eq!(before - b.quota(), cost, "{outcome:?}");
            }
        }
        let mut timeouts = standard();
        assert_eq!((0..99).map(|_| call(&mut timeouts, &[TimedOut; 2], 1)).sum::<u32>(), 50);
        let mut failures = new_2026();
        assert_eq!((0..99).map(|_| call(&mut failures, &[Failed; 2], 1)).sum::<u32>(), 35);
        assert_eq!(failures.quota(), 10, "35 × 14 = 490; the rest buys two retries of throttling");
        assert_eq!((0..9).map(|_| call(&mut failures, &[Rejected; 2], 1)).sum::<u32>(), 2);
    }

    /// The known fault: a call that needed two retries returns one of them.
    #[test]
    fn only_the_last_amount_comes_back() {
        let mut b = standard();
        call(&mut b, &[Failed, Success], 2);
        assert_eq!(b.quota(), 500, "one retry: all of it");
        call(&mut b, &[Failed, Failed, Success], 2);
        assert_eq!(b.quota(), 495, "two: half of it");
        call(&mut b, &[TimedOut, Failed, Success], 2);
        assert_eq!(b.quota(), 485, "the timeout's ten are gone, the failure's five are back");
        call(&mut b, &[Failed, TimedOut, Success], 2);
        assert_eq!(b.quota(), 480, "and the other way round");
        for _ in 0..96 {
            call(&mut b, &[Failed, Failed, Success], 2);
        }
        assert_eq!(b.quota(), 0, "though every call succeeded");
        assert_eq!(call(&mut b, &[Failed, Success], 2), 0);
    }

    #[test]
    fn what_fails_in_the_end_returns_nothing() {
        let mut b = standard();
        call(&mut b, &[Failed; 3], 2);
        for _ in 0..100 {
            call(&mut b, &[Failed], 0);
        }
        assert_eq!(b.quota(), 490);
    }

    #[test]
    fn refuses_impossible_settings() {
        for (quota, cost, other) in [(0, 5, 5), (500, 0, 5), (500, 5, 0), (1_000_001, 5, 5)] {
            assert!(AwsRetryQuota::standard(quota, cost, other).is_none());
            assert!(AwsRetryQuota::new_2026(quota, cost, other).is_none());
        }
    }

    proptest! {
        #[test]
        fn a_retry_is_paid_for_by_clean_successes(
            ops in prop::collection::vec((0usize..6, any::<bool>(), any::<u32>()), 0..500),
        ) {
            let mut b = standard();
            let (mut clean, mut granted) = (0u64, 0u64);
            for (i, ask, paid) in ops {
                let outcome = Outcome::ALL[i];
                if ask && outcome != Success {
                    granted += u64::from(b.withdraw(Nanos::ZERO, Attempt::first(0), outcome, &mut Zero).is_some());
                } else {
                    b.settle(Nanos::ZERO, Attempt::first(0), outcome, true, &mut Zero);
                    clean += u64::from(outcome == Success);
                }
                prop_assert!(b.quota() <= 500);
                prop_assert!(5 * granted <= 500 + clean);
                // Whatever comes back, it is never more than full.
                let mut full = b.clone();
                let retry = Attempt { class: 0, retries: 1, paid };
                full.settle(Nanos::ZERO, retry, Success, true, &mut Zero);
                prop_assert!(full.quota() <= 500);
            }
        }
    }
}
