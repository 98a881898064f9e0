//! A process-wide number of retries per minute.
//!
//! Source: the SRE book, chapter 22, which gives 60 retries per minute in a process as an example
//! and nothing about how to count. Ours: counted in 31 slices of a thirtieth of the window on a
//! fixed grid. Any window lies within 31 of them, so no window whatever holds more than the bound,
//! at the price that a retry is remembered for up to a thirtieth longer.

use rand_core::Rng;

use super::window::Slices;
use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

const SLICES: usize = 31;

/// A process-wide number of retries per minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerMinute {
    retries: u32,
    sent: Slices<SLICES>,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "per-minute",
    kind: Kind::Budget,
    summary: "a fixed number of retries per minute for the whole process, never more in any minute",
    source: "Site Reliability Engineering (2016), chapter 22: 60 retries per minute in a process",
    rule: "\
allowed = retries granted in the last window < retries
a retry that is not sent after all is taken back
window: the open slice and the 30 before it, each window / 30, on a grid that does not move",
    when: "A process with little traffic, or a bound that must hold whatever the load is. Share one \
           among all callees of the process.",
    traps: &[
        "It does not grow with traffic: at 1000 requests per second 60 per minute is 0.1 %.",
        "All of it may go in one instant, and then nothing for the rest of the window.",
        "A fleet has as many of them as processes.",
    ],
    parameters: &[
        Parameter {
            name: "retries",
            unit: Unit::Count,
            default: PerMinute::DEFAULT_RETRIES as f64,
            min: 0.0,
            max: 4_294_967_295.0,
            doc: "retries in any window",
        },
        Parameter {
            name: "window",
            unit: Unit::Duration,
            default: 60.0,
            min: 0.001,
            max: 86_400.0,
            doc: "how long a window is",
        },
    ],
    readings: &[
        Reading::gauge("retries", "retries in the window"),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied"),
    ],
    build: Build::Budget(|p| match *p {
        [retries, window] => PerMinute::try_new(whole(retries)?, seconds(window)?).map(Into::into),
        _ => None,
    }),
};

impl PerMinute {
    /// The book's example.
    pub const DEFAULT_RETRIES: u32 = 60;
    /// One minute.
    pub const DEFAULT_WINDOW: Nanos = Nanos::from_secs(60);

    /// `retries` in any `window`. `None` unless `window` is in 1 ms..=1 day.
    #[must_use]
    pub fn try_new(retries: u32, window: Nanos) -> Option<Self> {
        let valid = (Nanos::from_millis(1)..=Nanos::from_secs(86_400)).contains(&window);
        valid.then(|| Self {
            retries,
            sent: Slices::new(Nanos(window.0.div_ceil(SLICES as u64 - 1))),
            granted: 0,
            denied: 0,
        })
    }
}

impl RetryBudget for PerMinute {
    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        _: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        self.sent.advance(now);
        if self.sent.total() < u64::from(self.retries) {
            self.sent.record();
            self.granted += 1;
            Some(1)
        } else {
            self.denied += 1;
            None
        }
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, _: u32) {
        self.sent.advance(now);
        self.sent.take_back();
    }
}

impl Observe for PerMinute {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("retries", self.sent.total() as f64);
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

    fn ask(b: &mut PerMinute, now: Nanos) -> bool {
        b.withdraw(now, Attempt::first(0), Outcome::Failed, &mut Zero).is_some()
    }

    #[test]
    fn sixty_in_a_minute_by_hand() {
        let mut b = PerMinute::try_new(60, PerMinute::DEFAULT_WINDOW).unwrap();
        for i in 1..=60 {
            assert!(ask(&mut b, Nanos::from_secs(1)));
            assert_eq!((b.sent.total(), b.granted, b.denied), (i, i, 0));
        }
        for s in [1, 30, 60, 61] {
            assert!(!ask(&mut b, Nanos::from_secs(s)), "at {s} s");
        }
        // Slice 0 ends at 2 s and is let go a window later.
        assert!(!ask(&mut b, Nanos::from_millis(61_999)));
        assert!(ask(&mut b, Nanos::from_secs(62)));
        assert_eq!((b.sent.total(), b.granted, b.denied), (1, 61, 5));
    }

    #[test]
    fn a_retry_that_is_not_sent_is_taken_back() {
        let mut b = PerMinute::try_new(1, PerMinute::DEFAULT_WINDOW).unwrap();
        assert!(ask(&mut b, Nanos::ZERO));
        assert!(!ask(&mut b, Nanos::ZERO));
        b.cancel(Nanos::ZERO, 1);
        b.cancel(Nanos::ZERO, 1);
        assert!(ask(&mut b, Nanos::ZERO));
        assert!(!ask(&mut b, Nanos::ZERO));
    }

    #[test]
    fn refuses_impossible_settings() {
        for window in [Nanos(0), Nanos(999_999), Nanos::from_secs(86_401), Nanos::MAX] {
            assert!(PerMinute::try_new(60, window).is_none());
        }
        assert!(!ask(&mut PerMinute::try_new(0, Nanos::from_secs(1)).unwrap(), Nanos::ZERO));
    }

    proptest! {
        #[test]
        fn no_minute_has_more_than_the_bound(
            retries in 0u32..20, window in 1_000_000u64..100_000_000,
            gaps in prop::collection::vec(0u64..20_000_000, 0..400),
        ) {
            let mut b = PerMinute::try_new(retries, Nanos(window)).unwrap();
            let (mut now, mut granted) = (0, Vec::<u64>::new());
            for gap in gaps {
                now += gap;
                if ask(&mut b, Nanos(now)) {
                    granted.push(now);
                }
                // Windows are half open, and any that is too full would end at a grant.
                let inside = granted.iter().filter(|&&g| g + window > now).count();
                prop_assert!(inside <= retries as usize);
            }
        }

        #[test]
        fn any_times_are_fine(times in prop::collection::vec((any::<u64>(), any::<bool>()), 0..200)) {
            let mut b = PerMinute::try_new(2, PerMinute::DEFAULT_WINDOW).unwrap();
            for (now, cancel) in times {
                if cancel { b.cancel(Nanos(now), 1); } else { ask(&mut b, Nanos(now)); }
                prop_assert!(b.sent.total() <= 2);
            }
        }
    }
}
