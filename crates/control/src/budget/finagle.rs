//! Finagle's `RetryBudget`.
//!
//! Source: finagle-core `service/RetryBudget.scala` and `RequeueFilter.scala`, util-core
//! `WindowedAdder`. A request that succeeds, at whichever attempt, puts in 1000, a retry takes
//! 1000 / ratio, and both are forgotten after `ttl`; a reserve allows some retries without any
//! deposit.
//!
//! Kept as published: whole numbers by truncation (a scale of 1000 makes the error small: 30 % acts
//! as 30.003 %), a clock in milliseconds, and slices that begin when they are looked at, so that a
//! quiet client's window stretches to nearly twice its `ttl`. Earlier revisions put in for every
//! request, whatever came of it.
//!
//! Left out: each request may use at most a fifth of the balance that it found at its start, rounded
//! up (20 retries with a fresh budget). That is a limit of one call, which a budget does not see.

use rand_core::Rng;

use super::tower::{MIN_PER_SECOND, PERCENT, TTL};
use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

const SCALE: f64 = 1000.0;
/// The slices of the window, without the one that is open.
const CLOSED: usize = 9;
const MILLI: u64 = 1_000_000;

/// Finagle's `RetryBudget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinagleBudget {
    deposit: i64,
    withdraw: i64,
    reserve: i64,
    /// In milliseconds, as `old`.
    window: u64,
    writer: i64,
    closed: [i64; CLOSED],
    at: usize,
    old: u64,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "finagle",
    kind: Kind::Budget,
    summary: "Finagle's RetryBudget: a share of successes over ten seconds plus a minimum per second",
    source: "finagle-core RetryBudget, RequeueFilter; util-core WindowedAdder",
    rule: "\
p = percent / 100
p = 0: deposit 0,    withdraw 1
else:  deposit 1000, withdraw trunc(1000 / p)
reserve = min_per_second × whole seconds of ttl × withdraw
request succeeds, at whichever attempt: bucket += deposit
allowed = bucket + reserve >= withdraw; then bucket -= withdraw
bucket: a sum over the slice that is open and the 9 before it, each ttl / 10 or, if nobody looks, up to twice that",
    when: "What Finagle clients do, and where tower's and Linkerd's budgets come from. `deposit` is \
           the same idea with exact arithmetic, fed by first attempts instead of successes.",
    traps: &[
        "The reserve is not a rate: min_per_second × ttl retries (100) may go in one instant, whatever the load.",
        "In a total outage nothing is put in: it lives on its reserve, 10 per second on average.",
        "Whoever is looked at less often than every ttl / 10 has a longer window.",
        "The `RetryFilter` that an application adds pays in for every request as it begins, whatever becomes of it; this is the filter that every client has.",
        "The retry is paid for even if the backoff schedule then turns out to be at its end.",
    ],
    parameters: &[PERCENT, MIN_PER_SECOND, TTL],
    readings: &[
        Reading::gauge("balance", "retries that could be granted now (retries/budget)"),
        Reading::counter("granted", "retries granted (retries/requeues)"),
        Reading::counter("denied", "retries denied (retries/budget_exhausted)"),
    ],
    build: Build::Budget(|p| match *p {
        [percent, min, ttl] => {
            FinagleBudget::try_new(percent, whole(min)?, seconds(ttl)?).map(Into::into)
        }
        _ => None,
    }),
};

impl FinagleBudget {
    /// A budget with nothing in it but its reserve. `None` unless `percent` is in 0..=100,000,
    /// `min_per_second` below 2^31 - 1 and `ttl` in 1..=60 s.
    #[must_use]
    pub fn try_new(percent: f64, min_per_second: u32, ttl: Nanos) -> Option<Self> {
        let valid = (0.0..=100_000.0).contains(&percent)
            && min_per_second < i32::MAX as u32
            && (Nanos::from_secs(1)..=Nanos::from_secs(60)).contains(&ttl);
        let ratio = percent / 100.0;
        let (deposit, withdraw) =
            if ratio == 0.0 { (0, 1) } else { (1000, i64::from((SCALE / ratio) as i32)) };
        let seconds = (ttl.0 / 1_000_000_000) as i64;
        valid.then(|| Self {
            deposit,
            withdraw,
            reserve: i64::from(min_per_second).saturating_mul(seconds).saturating_mul(withdraw),
            window: ttl.0 / MILLI / (CLOSED as u64 + 1),
            writer: 0,
            closed: [0; CLOSED],
            at: 0,
            old: 0,
            granted: 0,
            denied: 0,
        })
    }

    /// Retries that could be granted now.
    #[must_use]
    pub fn balance(&self) -> i64 {
        self.sum() / self.withdraw
    }

    #[inline]
    fn sum(&self) -> i64 {
        let closed = self.closed.iter().fold(0i64, |sum, s| sum.saturating_add(*s));
        self.writer.saturating_add(closed).saturating_add(self.reserve)
    }

    #[inline]
    fn expire(&mut self, now: Nanos) {
        let gone = (now.0 / MILLI).saturating_sub(self.old);
        if gone >= self.window {
            self.turn(gone);
        }
    }

    #[cold]
    fn turn(&mut self, gone: u64) {
        self.closed[self.at] = core::mem::take(&mut self.writer);
        self.at = (self.at + 1) % CLOSED;
        for _ in 0..(gone / self.window - 1).min(CLOSED as u64) {
            self.closed[self.at] = 0;
            self.at = (self.at + 1) % CLOSED;
        }
        self.old += gone;
    }
}

impl RetryBudget for FinagleBudget {
    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        outcome: Outcome,
        _: bool,
        _: &mut R,
    ) {
        if outcome == Outcome::Success {
            self.expire(now);
            self.writer = self.writer.saturating_add(self.deposit);
        }
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        _: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        self.expire(now);
        if self.sum() >= self.withdraw {
            self.writer = self.writer.saturating_sub(self.withdraw);
            self.granted += 1;
            Some(1)
        } else {
            self.denied += 1;
            None
        }
    }
}

impl Observe for FinagleBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("balance", self.balance() as f64);
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    const FIRST: Attempt = Attempt::first(0);
    const RETRY: Attempt = Attempt { class: 0, retries: 1, paid: 1 };

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn finagle(percent: f64, min: u32) -> FinagleBudget {
        FinagleBudget::try_new(percent, min, Nanos::from_secs(10)).unwrap()
    }

    impl FinagleBudget {
        fn put(&mut self, now: Nanos) {
            self.settle(now, FIRST, Outcome::Success, true, &mut Zero);
        }

        fn ask(&mut self, now: Nanos) -> bool {
            self.withdraw(now, FIRST, Outcome::Failed, &mut Zero).is_some()
        }

        fn drain(&mut self, now: Nanos) -> u32 {
            (0..100_000).take_while(|_| self.ask(now)).count() as u32
        }
    }

    #[test]
    fn default_vectors() {
        let mut b = finagle(20.0, 10);
        assert_eq!((b.deposit, b.withdraw, b.reserve, b.balance()), (1000, 5000, 500_000, 100));
        assert_eq!(b.drain(ms(0)), 100);
        for i in 1..=4 {
            b.put(ms(0));
            assert_eq!((b.sum(), b.ask(ms(0))), (i * 1000, false));
        }
        b.put(ms(0));
        assert_eq!((b.sum(), b.ask(ms(0))), (5000, true));
        assert_eq!((b.balance(), b.granted, b.denied), (0, 101, 5));
        b.settle(ms(0), FIRST, Outcome::Failed, false, &mut Zero);
        b.settle(ms(0), RETRY, Outcome::Failed, true, &mut Zero);
        assert_eq!(b.sum(), 0, "a failure puts nothing in");
        b.settle(ms(0), RETRY, Outcome::Success, true, &mut Zero);
        assert_eq!(b.sum(), 1000, "a request that was saved by a retry succeeded");
    }

    #[test]
    fn slices_by_hand() {
        let mut b = finagle(100.0, 0);
        let state = |b: &FinagleBudget| (b.at, b.writer, b.closed, b.old);
        b.put(ms(999));
        assert_eq!(state(&b), (0, 1000, [0; 9], 0));
        b.put(ms(1000));
        assert_eq!(state(&b), (1, 1000, [1000, 0, 0, 0, 0, 0, 0, 0, 0], 1000));
        b.put(ms(2999));
        assert_eq!(
            state(&b),
            (2, 1000, [1000, 1000, 0, 0, 0, 0, 0, 0, 0], 2999),
            "1.999 s are one slice: nothing is skipped"
        );
        b.put(ms(4999));
        assert_eq!(state(&b), (4, 1000, [1000, 1000, 1000, 0, 0, 0, 0, 0, 0], 4999), "one skipped");
        b.put(ms(3000));
        assert_eq!((b.writer, b.old), (2000, 4999), "time went back");
        b.put(Nanos::MAX);
        assert_eq!((b.closed, b.writer), ([0; 9], 1000));
    }

    #[test]
    fn busy_it_forgets_after_its_ttl_and_quiet_after_nearly_twice() {
        for (apart, again) in [(7, 10_010), (1000, 10_000), (1999, 19_990)] {
            let mut b = finagle(20.0, 10);
            assert_eq!(b.drain(ms(0)), 100);
            let back = (1..).map(|i| apart * i).find(|&now| b.ask(ms(now))).unwrap();
            assert_eq!(back, again, "asked every {apart} ms");
        }
        let mut b = finagle(20.0, 10);
        b.drain(ms(0));
        assert_eq!(b.drain(ms(11_000)), 100, "after 11 s idle");
    }

    #[test]
    fn the_scale_makes_truncation_small() {
        for (percent, bought) in [(30.0, 30_003), (40.0, 40_000), (60.0, 60_024), (70.0, 70_028)] {
            let mut b = finagle(percent, 0);
            (0..100_000).for_each(|_| b.put(ms(0)));
            assert_eq!(b.drain(ms(0)), bought, "{percent} % of 100,000");
        }
    }

    #[test]
    fn extreme_and_impossible_settings() {
        assert_eq!(finagle(0.0, 10).drain(ms(0)), 100);
        assert_eq!(finagle(0.0, 0).drain(ms(0)), 0, "Finagle's empty budget");
        assert_eq!(finagle(100_000.0, 1).withdraw, 1);
        assert_eq!(finagle(1e-300, 1).balance(), 10);
        let ttl = Nanos::from_secs(10);
        for (percent, min, ttl) in [
            (-1.0, 10, ttl),
            (f64::NAN, 10, ttl),
            (100_001.0, 10, ttl),
            (20.0, i32::MAX as u32, ttl),
            (20.0, 10, ms(999)),
            (20.0, 10, ms(60_001)),
        ] {
            assert!(FinagleBudget::try_new(percent, min, ttl).is_none(), "{percent} {min} {ttl}");
        }
    }

    proptest! {
        #[test]
        fn never_pays_out_more_than_was_put_in(
            percent in 1u32..=1000, gaps in prop::collection::vec((0u64..300, any::<bool>()), 0..400),
        ) {
            let mut b = finagle(f64::from(percent), 1);
            let (mut now, mut put, mut granted) = (0, 0i64, 0i64);
            for (gap, ask) in gaps {
                now += gap;
                if ask {
                    granted += i64::from(b.ask(ms(now)));
                } else {
                    b.put(ms(now));
                    put += 1;
                }
                // An entry lives at least nine slices, so the reserve is back that often at most.
                let reserves = now as i64 / 9000 + 1;
                prop_assert!(granted * b.withdraw <= put * b.deposit + b.reserve * reserves);
            }
        }

        #[test]
        fn any_times_are_fine(
            percent in 0.0f64..=100_000.0,
            times in prop::collection::vec((any::<u64>(), any::<bool>()), 0..200),
        ) {
            let mut b = finagle(percent, 65_535);
            for (now, ask) in times {
                if ask { b.ask(Nanos(now)); } else { b.put(Nanos(now)); }
            }
        }
    }
}
