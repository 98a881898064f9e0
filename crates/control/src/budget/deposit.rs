//! Retries as an exact share of first attempts over a sliding window, and a minimum.
//!
//! Source: ours. The idea of Finagle, tower and Linkerd (see `finagle`, `tower`) without what goes
//! wrong there:
//!
//! - the percentage is exact to three decimals, in whole numbers (tower issue 857);
//! - slices lie on a fixed grid, so the window neither stretches nor halves with the traffic;
//! - a gap of any length costs one pass over ten slices;
//! - every first attempt pays in when it is sent, whatever becomes of it, so that the sum bounds
//!   the load that retries add to the load there is, in an outage too;
//! - a retry that is granted and then not sent is given back.
//!
//! ```text
//! allowed = percent × first attempts in the window + min_per_second × ttl - retries in the window >= 1
//! ```
//!
//! Promise: when a retry is granted, it and those granted in the 9/10 `ttl` before it are no more
//! than `percent` of the first attempts in the `ttl` before it, plus `min_per_second × ttl`.

use rand_core::Rng;

use super::share::{Share, WHOLE};
use super::tower::{MIN_PER_SECOND, TTL};
use super::window::Slices;
use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

const SLICES: usize = 10;

/// Retries as an exact share of first attempts over a sliding window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DepositBudget {
    share: Share,
    /// In units of 1 / [`WHOLE`] retries.
    reserve: u64,
    firsts: Slices<SLICES>,
    retries: Slices<SLICES>,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "deposit",
    kind: Kind::Budget,
    summary: "retries as an exact share of first attempts over ten seconds, plus a minimum: Finagle's and tower's budget, corrected",
    source: "Damper; corrects tower issue 857 and the windows of tower and Finagle",
    rule: "\
first attempt sent: counted for ttl
allowed = percent × first attempts + min_per_second × ttl - retries granted >= 1, all over the last ttl
a retry that is not sent after all is given back
window: the open slice and the 9 before it, each ttl / 10, on a grid that does not move",
    when: "A caller that should add at most a fixed share to its own load, in good times and bad. \
           The one to choose if there is no other wish.",
    traps: &[
        "The minimum is not a rate: min_per_second × ttl retries may go in one instant. Set it to what the callee stands.",
        "In an outage it still allows its percentage: amplification is 1 + percent for as long as it lasts. `arb` goes down to its floor instead.",
        "It counts the first attempts of the calls that share it; one budget for several callees lets a bad one use up the others' retries (linkerd 737).",
    ],
    parameters: &[
        Parameter {
            name: "percent",
            unit: Unit::Percent,
            default: DepositBudget::DEFAULT_PERCENT,
            min: 0.0,
            max: 1000.0,
            doc: "retries as a share of first attempts; three decimals are kept, so 0 or at least 0.0005",
        },
        MIN_PER_SECOND,
        TTL,
    ],
    readings: &[
        Reading::gauge("balance", "retries that could be granted now"),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied"),
    ],
    build: Build::Budget(|p| match *p {
        [percent, min, ttl] => {
            DepositBudget::try_new(percent, whole(min)?, seconds(ttl)?).map(Into::into)
        }
        _ => None,
    }),
};

impl DepositBudget {
    /// Finagle's default percentage.
    pub const DEFAULT_PERCENT: f64 = 20.0;
    /// Finagle's default minimum.
    pub const DEFAULT_MIN_PER_SECOND: u32 = 10;
    /// Finagle's default memory.
    pub const DEFAULT_TTL: Nanos = Nanos::from_secs(10);

    /// A budget with nothing in it but its minimum. `None` unless `percent` is in 0..=1000 (and 0
    /// or at least 0.0005), `min_per_second` below 2^31 - 1, and `ttl` in 1..=60 s.
    #[must_use]
    pub fn try_new(percent: f64, min_per_second: u32, ttl: Nanos) -> Option<Self> {
        let valid = min_per_second < i32::MAX as u32
            && (Nanos::from_secs(1)..=Nanos::from_secs(60)).contains(&ttl);
        let width = Nanos(ttl.0.div_ceil(SLICES as u64));
        // At most 2^31 × 60 s × 10^5 × 10^9 / 10^9, in 128 bits on the way.
        let reserve = u128::from(min_per_second) * u128::from(ttl.0) * u128::from(WHOLE);
        let share = Share::try_new(percent, 1000.0)?;
        valid.then(|| Self {
            share,
            reserve: (reserve / 1_000_000_000) as u64,
            firsts: Slices::new(width),
            retries: Slices::new(width),
            granted: 0,
            denied: 0,
        })
    }

    /// Retries that could be granted now.
    #[inline]
    #[must_use]
    pub fn balance(&self) -> u64 {
        let deposits = self.share.of(self.firsts.total()).saturating_add(self.reserve);
        deposits.saturating_sub(self.retries.total().saturating_mul(WHOLE)) / WHOLE
    }
}

impl RetryBudget for DepositBudget {
    #[inline]
    fn start(&mut self, now: Nanos, attempt: Attempt) {
        if !attempt.is_retry() {
            self.firsts.advance(now);
            self.firsts.record();
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
        self.firsts.advance(now);
        self.retries.advance(now);
        let deposits = self.share.of(self.firsts.total()).saturating_add(self.reserve);
        if (self.retries.total() + 1).saturating_mul(WHOLE) <= deposits {
            self.retries.record();
            self.granted += 1;
            Some(1)
        } else {
            self.denied += 1;
            None
        }
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, _: u32) {
        self.retries.advance(now);
        self.retries.take_back();
    }
}

impl Observe for DepositBudget {
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
    use std::vec::Vec;

    const FIRST: Attempt = Attempt::first(0);

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn deposit(percent: f64, min: u32) -> DepositBudget {
        DepositBudget::try_new(percent, min, DepositBudget::DEFAULT_TTL).unwrap()
    }

    impl DepositBudget {
        fn put(&mut self, now: Nanos) {
            self.start(now, FIRST);
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
        let mut b = deposit(20.0, 10);
        assert_eq!(b.balance(), 100);
        assert_eq!(b.drain(ms(0)), 100);
        for _ in 0..4 {
            b.put(ms(0));
            assert_eq!((b.balance(), b.ask(ms(0))), (0, false));
        }
        b.put(ms(0));
        assert_eq!((b.balance(), b.ask(ms(0))), (1, true));
        assert_eq!((b.balance(), b.granted, b.denied), (0, 101, 5));
        assert_eq!(b.drain(Nanos::from_secs(11)), 100, "after 11 s idle");
    }

    /// The scenario of tower issue 857 (see the tests of `tower`), for every percentage.
    #[test]
    fn a_percentage_is_what_it_says() {
        for percent in 0..=1000 {
            let mut b = deposit(f64::from(percent), 0);
            (0..1000).for_each(|_| b.put(ms(0)));
            assert_eq!(b.drain(ms(0)), percent * 10, "{percent} %");
        }
        let mut b = deposit(33.333, 0);
        (0..100_000).for_each(|_| b.put(ms(0)));
        assert_eq!(b.drain(ms(0)), 33_333);
    }

    /// The scenarios in which `tower` forgets early and `finagle` late.
    #[test]
    fn it_forgets_after_its_ttl_however_often_it_is_asked() {
        for (apart, again) in [(7, 10_003), (1000, 10_000), (1999, 11_994)] {
            let mut b = deposit(20.0, 10);
            assert_eq!(b.drain(ms(0)), 100);
            let back = (1..).map(|i| apart * i).find(|&now| b.ask(ms(now))).unwrap();
            assert_eq!(back, again, "the first question at or after 10 s, every {apart} ms");
        }
    }

    #[test]
    fn the_minimum_counts_parts_of_seconds_and_a_retry_not_sent_comes_back() {
        let mut b = DepositBudget::try_new(20.0, 1, ms(1500)).unwrap();
        assert_eq!(b.drain(ms(0)), 1);
        (0..2).for_each(|_| b.put(ms(0)));
        assert!(!b.ask(ms(0)), "1.5 + 0.4 - 1 = 0.9");
        b.put(ms(0));
        assert!(b.ask(ms(0)), "1.5 + 0.6 - 1 = 1.1");
        b.cancel(ms(0), 1);
        assert_eq!(b.drain(ms(0)), 1);
        (0..9).for_each(|_| b.cancel(ms(0), 1));
        assert_eq!(b.drain(ms(0)), 2, "no more than there were");
    }

    #[test]
    fn extreme_and_impossible_settings() {
        assert_eq!(deposit(0.0, 0).drain(ms(0)), 0);
        let most = DepositBudget::try_new(1000.0, i32::MAX as u32 - 1, Nanos::from_secs(60));
        assert_eq!(most.unwrap().balance(), 60 * (i32::MAX as u64 - 1));
        let ttl = DepositBudget::DEFAULT_TTL;
        for (percent, min, ttl) in [
            (-1.0, 10, ttl),
            (f64::NAN, 10, ttl),
            (1000.1, 10, ttl),
            (20.0, i32::MAX as u32, ttl),
            (20.0, 10, ms(999)),
            (20.0, 10, ms(60_001)),
        ] {
            assert!(DepositBudget::try_new(percent, min, ttl).is_none(), "{percent} {min} {ttl}");
        }
    }

    proptest! {
        /// The promise in the module's documentation.
        #[test]
        fn no_span_has_more_than_its_share(
            percent in 0u32..=200, min in 0u32..3,
            events in prop::collection::vec((0u64..400, 0u8..8), 0..400),
        ) {
            let mut b = DepositBudget::try_new(f64::from(percent), min, Nanos::from_secs(1)).unwrap();
            let (mut now, mut firsts, mut retries) = (0, Vec::new(), Vec::new());
            for (gap, event) in events {
                now += gap / 10;
                match event {
                    0..4 => { b.put(ms(now)); firsts.push(now); }
                    // Only what was granted can be left unsent.
                    7 if !retries.is_empty() => { b.cancel(ms(now), 1); retries.pop(); }
                    _ => if b.ask(ms(now)) {
                        retries.push(now);
                        let since = |list: &[u64], span| {
                            list.iter().filter(|&&t| t + span > now).count() as u64
                        };
                        let allowed = since(&firsts, 1000) * u64::from(percent) + u64::from(min) * 100;
                        prop_assert!(since(&retries, 900) * 100 <= allowed);
                    },
                }
            }
        }

        #[test]
        fn any_times_are_fine(
            percent in 1.0f64..=1000.0,
            times in prop::collection::vec((any::<u64>(), 0u8..3), 0..200),
        ) {
            let mut b = deposit(percent, 1);
            for (now, event) in times {
                match event {
                    0 => b.put(Nanos(now)),
                    1 => b.cancel(Nanos(now), 1),
                    _ => { b.ask(Nanos(now)); }
                }
            }
            let _ = b.balance();
        }
    }
}
