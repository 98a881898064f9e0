//! The retry budget of failsafe-go.
//!
//! Source: failsafe-go `budget` (v0.9.7). Concurrency, like Envoy's, with its own comparison:
//!
//! ```text
//! denied  = retries >= min_concurrency  and  retries / executions > max_rate
//! granted: retries += 1, executions += 1;  both back when the retried attempt ends
//! ```
//!
//! The comparison looks at the state before the retry and is strict, so the retry that is granted
//! can be the one that passes the rate. `executions` has the first attempts in flight and the
//! retries from their grant. The source does not say whether a call whose retry waits is still an
//! execution of its own; here the retry stands for it.

use rand_core::Rng;

use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// failsafe-go's retry budget.
#[derive(Clone, Debug, PartialEq)]
pub struct FailsafeBudget {
    max_rate: f64,
    min_concurrency: u32,
    executions: u32,
    retries: u32,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "failsafe",
    kind: Kind::Budget,
    summary: "failsafe-go's retry budget: concurrent retries as a share of executions, one more than it says",
    source: "failsafe-go budget, v0.9.7; issue 66, PRs 139 and 141",
    rule: "\
denied if retries >= min_concurrency and retries / executions > max_rate
granted: retries += 1, executions += 1
end of the retried attempt, or its abandonment: retries -= 1, executions -= 1
executions: first attempts in flight, and retries from the decision to their end",
    when: "What a Go program with failsafe-go does. To simulate it: `ratio` keeps to its percentage.",
    traps: &[
        "The comparison is strict and looks at the state before the retry: one more than the rate can run (4 of 16 is 25 %, under a budget of 20 %).",
        "Retries are in the base, so the rate is one of all executions: 20 % allows 25 retries beside 100 first attempts, and one more.",
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
            "first attempts in flight, and retries scheduled or in flight",
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
            executions: 0,
            retries: 0,
            granted: 0,
            denied: 0,
        })
    }

    fn release(&mut self) {
        self.retries = self.retries.saturating_sub(1);
        self.executions = self.executions.saturating_sub(1);
    }
}

impl RetryBudget for FailsafeBudget {
    #[inline]
    fn start(&mut self, _: Nanos, attempt: Attempt) {
        if !attempt.is_retry() {
            self.executions = self.executions.saturating_add(1);
        }
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
        if attempt.is_retry() {
            self.release();
        } else {
            self.executions = self.executions.saturating_sub(1);
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
        // 0 / 0 is not greater than anything, as in Go.
        let rate = f64::from(self.retries) / f64::from(self.executions);
        if self.retries >= self.min_concurrency && rate > self.max_rate {
            self.denied += 1;
            return None;
        }
        self.retries = self.retries.saturating_add(1);
        self.executions = self.executions.saturating_add(1);
        self.granted += 1;
        Some(1)
    }

    #[inline]
    fn cancel(&mut self, _: Nanos, _: u32) {
        self.release();
    }
}

impl Observe for FailsafeBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("executions", f64::from(self.executions));
        see("retries", f64::from(self.retries));
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::RatioBudget;
    use crate::testing::Zero;
    use proptest::prelude::*;

    const FIRST: Attempt = Attempt::first(0);
    const RETRY: Attempt = Attempt { class: 0, retries: 1, paid: 1 };

    /// `firsts` attempts in flight, then grants until it denies, without anything ending.
    fn grants(b: &mut impl RetryBudget, firsts: u32) -> u32 {
        for _ in 0..firsts {
            b.start(Nanos::ZERO, FIRST);
        }
        (0..10_000)
            .take_while(|_| b.withdraw(Nanos::ZERO, FIRST, Outcome::Failed, &mut Zero).is_some())
            .count() as u32
    }

    /// 12 first attempts: 3 retries make 3 / 15 = 20 %, which is not more than 20 %.
    #[test]
    fn one_more_than_the_rate() {
        let mut b = FailsafeBudget::try_new(20.0, 3).unwrap();
        assert_eq!(grants(&mut b, 12), 4);
        assert_eq!((b.retries, b.executions, b.denied), (4, 16, 1));
        assert!(f64::from(b.retries) / f64::from(b.executions) == 0.25);
        // 100: 25 / 125 is 20 %, so a 26th is granted: 26 / 126 = 20.6 %.
        let mut b = FailsafeBudget::try_new(20.0, 3).unwrap();
        assert_eq!(grants(&mut b, 100), 26);
    }

    /// Sixteen calls, of which four fail: `ratio` keeps to 20 %.
    #[test]
    fn the_fourth_of_sixteen() {
        fn fourth(b: &mut impl RetryBudget) -> [bool; 4] {
            (0..16).for_each(|_| b.start(Nanos::ZERO, FIRST));
            [(); 4].map(|()| {
                b.settle(Nanos::ZERO, FIRST, Outcome::Failed, true, &mut Zero);
                b.withdraw(Nanos::ZERO, FIRST, Outcome::Failed, &mut Zero).is_some()
            })
        }
        let mut failsafe = FailsafeBudget::try_new(20.0, 3).unwrap();
        assert_eq!(fourth(&mut failsafe), [true; 4], "4 of 16 are 25 %");
        let mut ratio = RatioBudget::try_new(20.0, 3).unwrap();
        assert_eq!(fourth(&mut ratio), [true, true, true, false]);
    }

    #[test]
    fn the_minimum_by_hand() {
        for (firsts, granted) in [(0, 3), (1, 3), (7, 3), (8, 3), (12, 4), (16, 5)] {
            let mut b = FailsafeBudget::try_new(20.0, 3).unwrap();
            assert_eq!(grants(&mut b, firsts), granted, "{firsts}");
        }
        let mut b = FailsafeBudget::try_new(0.0, 0).unwrap();
        assert_eq!(grants(&mut b, 5), 1, "even 0 % grants one");
    }

    #[test]
    fn a_permit_is_held_to_the_end_of_the_retry() {
        let mut b = FailsafeBudget::try_new(20.0, 3).unwrap();
        assert_eq!(grants(&mut b, 0), 3);
        b.start(Nanos::ZERO, RETRY);
        assert_eq!((b.retries, b.executions), (3, 3), "sending changes nothing");
        b.settle(Nanos::ZERO, RETRY, Outcome::Failed, true, &mut Zero);
        assert_eq!((b.retries, b.executions), (2, 2));
        b.cancel(Nanos::ZERO, 1);
        assert_eq!((b.retries, b.executions), (1, 1));
    }

    proptest! {
        #[test]
        fn at_most_one_above_the_rate(
            rate in 0.0f64..=100.0, floor in 0u32..10, ops in prop::collection::vec(0u8..5, 0..500),
        ) {
            let mut b = FailsafeBudget::try_new(rate, floor).unwrap();
            let (mut firsts, mut retries) = (0u32, 0u32);
            for op in ops {
                match op {
                    0 => { b.start(Nanos::ZERO, FIRST); firsts += 1; }
                    1 if firsts > 0 => {
                        b.settle(Nanos::ZERO, FIRST, Outcome::Failed, true, &mut Zero);
                        firsts -= 1;
                    }
                    2 if retries > 0 => {
                        b.settle(Nanos::ZERO, RETRY, Outcome::Success, true, &mut Zero);
                        retries -= 1;
                    }
                    3 if retries > 0 => { b.cancel(Nanos::ZERO, 1); retries -= 1; }
                    4 if b.withdraw(Nanos::ZERO, FIRST, Outcome::Failed, &mut Zero).is_some() => {
                        let before = f64::from(retries) * 100.0;
                        retries += 1;
                        let all = f64::from(firsts + retries - 1);
                        prop_assert!(retries <= floor.max(1) || before <= rate * all + 1e-9);
                    }
                    _ => {}
                }
                prop_assert_eq!((b.retries, b.executions), (retries, firsts + retries));
            }
        }
    }
}
