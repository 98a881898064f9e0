//! Google's per-client retry ratio.
//!
//! Source: the SRE book, chapter 21: a client retries only while retries are below 10 % of its
//! requests. The book does not say how long a client remembers; the window is that of its
//! adaptive throttling, two minutes. Requests are all that the client sends, retries among them.
//!
//! Retries are counted when they are granted, so that callers who ask at the same time do not
//! all see a ratio that is still low.

use rand_core::Rng;

use super::share::{Share, WHOLE};
use super::window::Slices;
use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

const SLICES: usize = 12;

/// Google's per-client retry ratio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoogleRetryRatio {
    share: Share,
    firsts: Slices<SLICES>,
    retries: Slices<SLICES>,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "google",
    kind: Kind::Budget,
    summary: "Google's per-client ratio: retry only while retries are below 10 % of requests",
    source: "Site Reliability Engineering (2016), chapter 21, retry rules",
    rule: "\
requests = first attempts sent + retries granted, over the last `window`
allowed  = retries granted over the last `window` < percent × requests
a retry that is not sent after all is taken back
window: 12 slices on a fixed grid",
    when: "Clients with steady traffic, beside a limit of 3 attempts and a rule that only the layer \
           directly above retries. Growth in a total outage is 1.11 with 10 %, against 3 with the \
           limit alone.",
    traps: &[
        "There is no floor: a client that calls once in `window` may retry once, because 0 retries are below 10 % of one request; then not until its tenth call.",
        "The ratio is one of all requests, retries included: 10 % allows one retry for nine first attempts.",
        "After a burst of first attempts its share of retries may go in one instant.",
    ],
    parameters: &[
        Parameter {
            name: "percent",
            unit: Unit::Percent,
            default: GoogleRetryRatio::DEFAULT_PERCENT,
            min: 0.0,
            max: 100.0,
            doc: "retries as a share of requests; three decimals are kept, so 0 or at least 0.0005",
        },
        Parameter {
            name: "window",
            unit: Unit::Duration,
            default: 120.0,
            min: 0.001,
            max: 86_400.0,
            doc: "how long requests and retries count",
        },
    ],
    readings: &[
        Reading::gauge("requests", "first attempts and retries in the window"),
        Reading::gauge("retries", "retries in the window"),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied"),
    ],
    build: Build::Budget(|p| match *p {
        [percent, window] => GoogleRetryRatio::try_new(percent, seconds(window)?).map(Into::into),
        _ => None,
    }),
};

impl GoogleRetryRatio {
    /// The book's percentage.
    pub const DEFAULT_PERCENT: f64 = 10.0;
    /// The window of the book's adaptive throttling.
    pub const DEFAULT_WINDOW: Nanos = Nanos::from_secs(120);

    /// A client that has sent nothing yet. `None` unless `percent` is in 0..=100 (and 0 or at
    /// least 0.0005) and `window` in 1 ms..=1 day.
    #[must_use]
    pub fn try_new(percent: f64, window: Nanos) -> Option<Self> {
        let share = Share::try_new(percent, 100.0)?;
        let valid = (Nanos::from_millis(1)..=Nanos::from_secs(86_400)).contains(&window);
        let width = Nanos(window.0.div_ceil(SLICES as u64));
        valid.then(|| Self {
            share,
            firsts: Slices::new(width),
            retries: Slices::new(width),
            granted: 0,
            denied: 0,
        })
    }

    /// First attempts and retries in the window.
    #[inline]
    const fn requests(&self) -> u64 {
        self.firsts.total() + self.retries.total()
    }
}

impl RetryBudget for GoogleRetryRatio {
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
        if self.retries.total().saturating_mul(WHOLE) < self.share.of(self.requests()) {
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

impl Observe for GoogleRetryRatio {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("requests", self.requests() as f64);
        see("retries", self.retries.total() as f64);
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

    fn google(percent: f64) -> GoogleRetryRatio {
        GoogleRetryRatio::try_new(percent, GoogleRetryRatio::DEFAULT_WINDOW).unwrap()
    }

    impl GoogleRetryRatio {
        fn send(&mut self, now: u64) {
            self.start(Nanos::from_secs(now), FIRST);
        }

        fn ask(&mut self, now: u64) -> bool {
            self.withdraw(Nanos::from_secs(now), FIRST, Outcome::Failed, &mut Zero).is_some()
        }
    }

    #[test]
    fn the_first_calls_by_hand() {
        let mut b = google(10.0);
        assert!(!b.ask(0), "0 of 0 is not below 10 %");
        // Call by call, each fails: retries after each call.
        let mut retries = Vec::new();
        for _ in 0..20 {
            b.send(0);
            retries.push(b.ask(0));
        }
        // 0/1 is below 10 %; 1/n is below it from n = 11, that is with the 10th first attempt;
        // 2/n from n = 21: the 19th.
        let granted: Vec<usize> = (1..=20).filter(|i| retries[i - 1]).collect();
        assert_eq!(granted, [1, 10, 19]);
        assert_eq!((b.requests(), b.retries.total(), b.granted, b.denied), (23, 3, 3, 18));
    }

    #[test]
    fn a_hundred_that_fail_at_once() {
        let mut b = google(10.0);
        (0..100).for_each(|_| b.send(0));
        let granted = (0..100).filter(|_| b.ask(0)).count();
        assert_eq!(granted, 12, "11 of 111 is below 10 %, 12 of 112 is not");
    }

    #[test]
    fn the_window_slides_and_a_retry_not_sent_is_taken_back() {
        let mut b = google(10.0);
        b.send(0);
        assert!(b.ask(0));
        b.send(119);
        assert!(!b.ask(119), "1 of 3");
        assert!(b.ask(120), "0 of 1: the first call and its retry are forgotten");
        assert!(!b.ask(120));
        b.cancel(Nanos::from_secs(120), 1);
        assert!(b.ask(120));
    }

    #[test]
    fn refuses_impossible_settings() {
        let window = GoogleRetryRatio::DEFAULT_WINDOW;
        for (percent, window) in [
            (-1.0, window),
            (101.0, window),
            (f64::NAN, window),
            (10.0, Nanos(999_999)),
            (10.0, Nanos::from_secs(86_401)),
        ] {
            assert!(GoogleRetryRatio::try_new(percent, window).is_none());
        }
        let mut none = google(0.0);
        none.send(0);
        assert!(!none.ask(0));
    }

    proptest! {
        /// Growth: r < p (f + r) + 1.
        #[test]
        fn retries_stay_below_their_share_of_requests(
            percent in 0u32..100, ops in prop::collection::vec(any::<bool>(), 0..500),
        ) {
            let mut b = google(f64::from(percent));
            let (mut firsts, mut retries) = (0, 0);
            for first in ops {
                if first {
                    b.send(5);
                    firsts += 1;
                } else if b.ask(5) {
                    retries += 1;
                }
                prop_assert!(retries == 0 || (retries - 1) * 100 < percent * (firsts + retries - 1));
            }
        }

        #[test]
        fn any_times_are_fine(times in prop::collection::vec((any::<u64>(), 0u8..3), 0..200)) {
            let mut b = google(10.0);
            for (now, event) in times {
                match event {
                    0 => b.start(Nanos(now), FIRST),
                    1 => b.cancel(Nanos(now), 1),
                    _ => { b.withdraw(Nanos(now), FIRST, Outcome::Failed, &mut Zero); }
                }
            }
        }
    }
}
