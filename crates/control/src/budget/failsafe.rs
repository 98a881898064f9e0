//! The retry budget of failsafe-go.
//!
//! Source: failsafe-go `budget` (v0.9.7). Concurrency, like Envoy's, with its own comparison:
//!
//! ```text
//! executions = open calls + retries
//! denied     = retries >= min_concurrency  and  retries / executions > max_rate
//! ```
//!
//! The comparison looks at the state before the retry and is strict, so the retry that is granted
//! can be the one that passes the rate. An execution is recorded for each call, from its first
//! attempt to its end for good, and one more for each retry with a permit: a call that retries
//! counts twice.
//!
//! One thing differs. failsafe-go takes the permit after the backoff; a budget here is asked before
//! it, so that a retry which waits holds its permit.
//!
//! Which calls are open is found out as `ratio` does it: a call whose attempt has just ended in a
//! failure that the policy retries may still ask, and is closed with the next instant if it has
//! not.

use rand_core::Rng;

use super::calls::OpenCalls;
use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// failsafe-go's retry budget.
#[derive(Clone, Debug, PartialEq)]
pub struct FailsafeBudget {
    max_rate: f64,
    min_concurrency: u32,
    calls: OpenCalls,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "failsafe",
    kind: Kind::Budget,
    summary: "failsafe-go's retry budget: concurrent retries as a share of executions, one more than it says",
    source: "failsafe-go budget and retrypolicy, v0.9.7; issue 66, PRs 139 and 141",
    rule: "\
executions = open calls + retries: a call that retries counts twice
denied if retries >= min_concurrency and retries / executions > max_rate
retries:    from the decision to the end of the retried attempt, or its abandonment
open calls: from the first attempt to the end for good, backoff included",
    when: "What a Go program with failsafe-go does. To simulate it: `ratio` keeps to its percentage.",
    traps: &[
        "The comparison is strict and looks at the state before the retry: one more than the rate can run (4 of 16 executions are 25 %, under a budget of 20 %).",
        "A retry is in the base beside its call, so the rate is one of all executions: 20 % allows 25 retries for 100 open calls, and one more.",
        "failsafe-go asks after the backoff: a retry that waits holds no permit, and one that is denied has waited for nothing. Here the permit is held through the backoff.",
        "Loading and adding are separate atomics: concurrent callers can pass together.",
        "Before 0.9.7 the minimum was wrong and an exhausted budget failed a hedge (139, 141).",
        "It bounds concurrency, not rate: short attempts make many retries per second.",
    ],
    parameters: &[
        Parameter {
            name: "max_rate",
            unit: Unit::Percent,
            default: FailsafeBudget::DEFAULT_MAX_RATE,
            min: 0.0,
            max: 100.0,
            doc: "retries as a share of executions",
        },
        Parameter {
            name: "min_concurrency",
            unit: Unit::Count,
            default: FailsafeBudget::DEFAULT_MIN_CONCURRENCY as f64,
            min: 0.0,
            max: 4_294_967_295.0,
            doc: "retries always allowed at the same time",
        },
    ],
    readings: &[
        Reading::gauge(
            "executions",
            "open calls, and once more those with a retry scheduled or in flight",
        ),
        Reading::gauge("retries", "retries scheduled or in flight"),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied (ErrExceeded)"),
    ],
    build: Build::Budget(|p| match *p {
        [rate, floor] => FailsafeBudget::try_new(rate, whole(floor)?).map(Into::into),
        _ => None,
    }),
};

impl FailsafeBudget {
    /// failsafe-go's default rate, in percent.
    pub const DEFAULT_MAX_RATE: f64 = 20.0;
    /// failsafe-go's default minimum.
    pub const DEFAULT_MIN_CONCURRENCY: u32 = 3;

    /// A budget of `max_rate` percent of the executions. `None` unless 0 ≤ `max_rate` ≤ 100.
    #[must_use]
    pub fn try_new(max_rate: f64, min_concurrency: u32) -> Option<Self> {
        (0.0..=100.0).contains(&max_rate).then_some(Self {
            max_rate: max_rate / 100.0,
            min_concurrency,
            calls: OpenCalls::NONE,
            granted: 0,
            denied: 0,
        })
    }

    /// Open calls, and retries with a permit.
    #[inline]
    const fn executions(&self) -> u64 {
        self.calls.count() + self.calls.retries as u64
    }
}

impl RetryBudget for FailsafeBudget {
    #[inline]
    fn start(&mut self, now: Nanos, attempt: Attempt) {
        self.calls.start(now, attempt);
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        retryable: bool,
        _: &mut R,
    ) {
        self.calls.settle(now, attempt, outcome, retryable);
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        _: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        self.calls.ask(now);
        let rate = f64::from(self.calls.retries) / self.executions() as f64;
        let allowed = self.calls.retries < self.min_concurrency || rate <= self.max_rate;
        self.calls.answer(allowed);
        self.granted += u64::from(allowed);
        self.denied += u64::from(!allowed);
        allowed.then_some(1)
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, _: u32) {
        self.calls.cancel(now);
    }
}

impl Observe for FailsafeBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("executions", self.executions() as f64);
        see("retries", f64::from(self.calls.retries));
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{EnvoyRetryBudget, RatioBudget};
    use crate::testing::Zero;
    use proptest::prelude::*;

    const FIRST: Attempt = Attempt::first(0);
    const RETRY: Attempt = Attempt { class: 0, retries: 1, paid: 1 };

    fn fail(b: &mut impl RetryBudget, attempt: Attempt) {
        b.settle(Nanos::ZERO, attempt, Outcome::Failed, true, &mut Zero);
    }

    fn ask(b: &mut impl RetryBudget) -> bool {
        b.withdraw(Nanos::ZERO, FIRST, Outcome::Failed, &mut Zero).is_some()
    }

    /// So many calls fail at once, and then all ask.
    fn grants(b: &mut impl RetryBudget, calls: u32) -> usize {
        (0..calls).for_each(|_| b.start(Nanos::ZERO, FIRST));
        (0..calls).for_each(|_| fail(b, FIRST));
        (0..calls).filter(|_| ask(b)).count()
    }

    fn failsafe() -> FailsafeBudget {
        FailsafeBudget::try_new(20.0, 3).unwrap()
    }

    /// 12 calls: 3 retries make 3 / 15 = 20 %, which is not more than 20 %, so a fourth follows and
    /// 4 / 16 are 25 %. 100 calls: 25 / 125 is 20 %, so a 26th is granted.
    #[test]
    fn one_more_than_the_rate() {
        for (calls, granted) in [(1, 1), (3, 3), (8, 3), (11, 3), (12, 4), (16, 5), (100, 26)] {
            assert_eq!(grants(&mut failsafe(), calls), granted, "{calls}");
        }
        let mut b = failsafe();
        (0..12).for_each(|_| b.start(Nanos::ZERO, FIRST));
        for executions in [13, 14, 15, 16] {
            fail(&mut b, FIRST);
            assert!(ask(&mut b));
            assert_eq!(b.executions(), executions);
        }
        fail(&mut b, FIRST);
        assert!(!ask(&mut b), "4 / 16");
        assert_eq!(
            (b.calls.retries, b.executions(), b.denied),
            (4, 15, 1),
            "denied, its call is closed"
        );
        let mut none = FailsafeBudget::try_new(0.0, 0).unwrap();
        assert_eq!(grants(&mut none, 5), 1, "even 0 % grants one");
    }

    /// Calls whose first attempt has ended are executions still: a hundred that fail at once are
    /// not left with the minimum, as Envoy leaves them (30205).
    #[test]
    fn a_call_that_waits_stays_in_the_base() {
        let mut envoy = EnvoyRetryBudget::try_new(20.0, 3).unwrap();
        assert_eq!((grants(&mut envoy, 100), grants(&mut failsafe(), 100)), (3, 26));
        let mut ratio = RatioBudget::try_new(20.0, 3).unwrap();
        assert_eq!(grants(&mut ratio, 100), 20, "which keeps to its percentage");
    }

    #[test]
    fn a_permit_is_held_to_the_end_of_the_retry() {
        let mut b = failsafe();
        assert_eq!(grants(&mut b, 3), 3);
        b.start(Nanos::ZERO, RETRY);
        assert_eq!((b.calls.retries, b.executions()), (3, 6), "sending changes nothing");
        b.settle(Nanos::ZERO, RETRY, Outcome::Success, true, &mut Zero);
        assert_eq!((b.calls.retries, b.executions()), (2, 4));
        b.cancel(Nanos::ZERO, 1);
        assert_eq!((b.calls.retries, b.executions()), (1, 2));
        // The caller left in the middle of the attempt: nobody will ask.
        b.settle(Nanos::ZERO, RETRY, Outcome::TimedOut, false, &mut Zero);
        assert_eq!((b.calls.retries, b.executions()), (0, 0));
    }

    #[test]
    fn who_does_not_ask_at_once_is_closed() {
        let mut b = failsafe();
        (0..2).for_each(|_| b.start(Nanos::ZERO, FIRST));
        fail(&mut b, FIRST);
        assert_eq!(b.executions(), 2);
        b.start(Nanos(1), FIRST);
        assert_eq!(b.executions(), 2, "one in flight since, one new");
    }

    proptest! {
        #[test]
        fn at_most_one_above_the_rate(
            rate in 0.0f64..=100.0, floor in 0u32..10, ops in prop::collection::vec(0u8..6, 0..500),
        ) {
            let mut b = FailsafeBudget::try_new(rate, floor).unwrap();
            let (mut firsts, mut retries) = (0u32, 0u32);
            for (now, op) in (0..).zip(ops) {
                let now = Nanos(now);
                let mut asks = false;
                match op {
                    0 | 1 => { b.start(now, FIRST); firsts += 1; }
                    2 if firsts > 0 => {
                        b.settle(now, FIRST, Outcome::Failed, true, &mut Zero);
                        (firsts, asks) = (firsts - 1, true);
                    }
                    3 if retries > 0 => {
                        b.settle(now, RETRY, Outcome::Failed, true, &mut Zero);
                        (retries, asks) = (retries - 1, true);
                    }
                    4 if retries > 0 => {
                        b.settle(now, RETRY, Outcome::Success, true, &mut Zero);
                        retries -= 1;
                    }
                    5 if retries > 0 => { b.cancel(now, 1); retries -= 1; }
                    _ => {}
                }
                if asks && b.withdraw(now, FIRST, Outcome::Failed, &mut Zero).is_some() {
                    let executions = f64::from(firsts + retries + 1 + retries);
                    let within = f64::from(retries) * 100.0 <= rate * executions + 1e-9;
                    prop_assert!(within || retries < floor);
                    retries += 1;
                }
                prop_assert_eq!((b.calls.retries, b.executions()), (retries, u64::from(firsts + 2 * retries)));
            }
        }
    }
}
