//! A rate limit at the door, plain and with reserves for higher classes.
//!
//! Source of the plain one: the token bucket. The other is ours, after trunk reservation in
//! telephone networks: a class may take a token only if enough of them stay for the classes
//! above it.

use rand_core::Rng;

use super::{AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::rate_limit::TokenBucket;
use crate::who::{CLASSES, Who};
use crate::{Nanos, Reason, Refusal};

/// A token bucket at the door.
#[derive(Clone, Debug)]
pub struct RateLimit {
    bucket: TokenBucket,
    /// Tokens that must stay when a class takes one, per step of class.
    reserve: f64,
    lowest: usize,
    admitted: u64,
    refused: u64,
}

const RATE: Parameter = Parameter {
    name: "rate",
    unit: Unit::Rate,
    default: RateLimit::DEFAULT_RATE,
    min: RateLimit::MIN_RATE,
    max: RateLimit::MAX_RATE,
    doc: "attempts admitted per second in the long run",
};

const BURST: Parameter = Parameter {
    name: "burst",
    unit: Unit::Count,
    default: RateLimit::DEFAULT_BURST as f64,
    min: 1.0,
    max: 4_294_967_295.0,
    doc: "attempts admitted at once after a rest",
};

const READINGS: &[Reading] = &[
    Reading::gauge("tokens", "tokens at the last question"),
    Reading::counter("admitted", "attempts admitted"),
    Reading::counter("refused", "attempts refused"),
];

pub(super) const ENTRY: Entry = Entry {
    name: "rate-limit",
    kind: Kind::Admission,
    summary: "a token bucket: what exceeds the rate is refused at once, whoever it is",
    source: "the token bucket; nginx limit_req, Envoy local_ratelimit and many more",
    rule: "\
tokens = burst at the start
each second:  tokens = min(burst, tokens + rate)
admit iff tokens >= 1, and take one",
    when: "Where the capacity is known and does not change, or was sold. It knows nothing of how \
           the service is: a rate that was right when everything was healthy is too much when a \
           dependency is slow.",
    traps: &[
        "Classes are not told apart: a flood of unimportant attempts takes the tokens of all.",
        "A burst is served by the queue behind it: choose it below what the queue holds.",
        "Attempts that are refused cost the caller a retry: tell him when to come back.",
    ],
    parameters: &[RATE, BURST],
    readings: READINGS,
    build: Build::Admission(|p| match *p {
        [rate, burst] => RateLimit::try_new(rate, whole(burst)?).map(Into::into),
        _ => None,
    }),
};

pub(super) const BY_CLASS: Entry = Entry {
    name: "rate-limit-by-class",
    kind: Kind::Admission,
    summary: "a token bucket in which tokens are kept for higher classes",
    source: "Damper; trunk reservation in telephone networks is the same idea",
    rule: "\
as `rate-limit`, but class k takes a token only if
tokens - 1 >= reserve × burst × min(k, classes - 1) / (classes - 1)
class 0 may take the last token; the lowest class leaves the whole reserve",
    when: "Instead of `rate-limit` wherever there is more than one class. Under overload the rate \
           goes to the highest classes that want it, and what they leave to the next.",
    traps: &[
        "The reserve takes from the burst of lower classes, never from the rate: with no higher traffic they get all of it.",
        "The steps must be whole tokens to mean anything: reserve × burst / (classes - 1) of 5 or more.",
        "A class below the last is treated as the last.",
    ],
    parameters: &[
        RATE,
        BURST,
        Parameter {
            name: "classes",
            unit: Unit::Count,
            default: 4.0,
            min: 2.0,
            max: CLASSES as f64,
            doc: "classes that are told apart",
        },
        Parameter {
            name: "reserve",
            unit: Unit::Percent,
            default: 50.0,
            min: 0.0,
            max: 100.0,
            doc: "share of the burst that the lowest class must leave",
        },
    ],
    readings: READINGS,
    build: Build::Admission(|p| match *p {
        [rate, burst, classes, reserve] => {
            RateLimit::by_class(rate, whole(burst)?, whole(classes)?, reserve).map(Into::into)
        }
        _ => None,
    }),
};

impl RateLimit {
    /// A round number: there is no published default.
    pub const DEFAULT_RATE: f64 = 1000.0;
    /// A round number: a tenth of a second at the default rate.
    pub const DEFAULT_BURST: u32 = 100;
    /// One in about 17 minutes.
    pub const MIN_RATE: f64 = 0.001;
    /// One in every nanosecond.
    pub const MAX_RATE: f64 = 1e9;

    /// A limit of `rate` per second with a full bucket. `None` unless `rate` is within
    /// [`RateLimit::MIN_RATE`] and [`RateLimit::MAX_RATE`] and `burst` at least 1.
    #[must_use]
    pub fn try_new(rate: f64, burst: u32) -> Option<Self> {
        if !(Self::MIN_RATE..=Self::MAX_RATE).contains(&rate) {
            return None;
        }
        let bucket = TokenBucket::try_new(rate, f64::from(burst))?;
        Some(Self { bucket, reserve: 0.0, lowest: 0, admitted: 0, refused: 0 })
    }

    /// The same with `reserve` percent of the burst kept from the lowest of `classes` classes.
    /// `None` as for [`RateLimit::try_new`], unless 2 ≤ classes ≤ 16 and 0 ≤ reserve ≤ 100, and
    /// if the reserve would never leave a token to the lowest class.
    #[must_use]
    pub fn by_class(rate: f64, burst: u32, classes: u32, reserve: f64) -> Option<Self> {
        let kept = reserve / 100.0 * f64::from(burst);
        let valid = (2..=CLASSES as u32).contains(&classes)
            && (0.0..=100.0).contains(&reserve)
            && 1.0 + kept <= f64::from(burst);
        let lowest = classes.saturating_sub(1);
        let limit = Self::try_new(rate, burst)?;
        valid.then_some(Self {
            reserve: kept / f64::from(lowest),
            lowest: lowest as usize,
            ..limit
        })
    }

    /// Tokens at the last question.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.bucket.tokens()
    }
}

impl AdmissionRule for RateLimit {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        _: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        let reserve = self.reserve * who.index().min(self.lowest) as f64;
        if self.bucket.try_acquire_above(now, reserve) {
            self.admitted += 1;
            return Ok(());
        }
        self.refused += 1;
        let earliest = self.bucket.earliest_above(now, reserve);
        Err(Refusal::new(Reason::RateLimited, who.class).until(earliest))
    }
}

impl Observe for RateLimit {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("tokens", self.tokens());
        see("admitted", self.admitted as f64);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    impl RateLimit {
        fn ask(&mut self, now: Nanos, class: u8) -> Result<(), Refusal> {
            self.admit(now, Who::of(class), &Busy::default(), &mut Zero)
        }
    }

    #[test]
    fn worked_by_hand() {
        let mut r = RateLimit::try_new(10.0, 2).unwrap();
        assert!(r.ask(MS(0), 3).is_ok() && r.ask(MS(0), 0).is_ok());
        assert_eq!(
            r.ask(MS(50), 2),
            Err(Refusal::new(Reason::RateLimited, 2).until(MS(100))),
            "half a token is there, the other half comes in 50 ms"
        );
        assert!((r.tokens() - 0.5).abs() < 1e-9);
        assert!(r.ask(MS(100), 2).is_ok());
        assert_eq!((r.admitted, r.refused), (3, 1));
    }

    /// 10 tokens, 4 classes, reserve 60 %: classes must leave 0, 2, 4, 6.
    #[test]
    fn reserves_by_hand() {
        let mut r = RateLimit::by_class(10.0, 10, 4, 60.0).unwrap();
        let served = [3u8, 2, 1, 0].map(|class| {
            let n = (0..20).filter(|_| r.ask(MS(0), class).is_ok()).count();
            (n, r.tokens())
        });
        assert_eq!(served, [(4, 6.0), (2, 4.0), (2, 2.0), (2, 0.0)]);
        let earliest = [0u8, 1, 2, 3, 9].map(|class| r.ask(MS(0), class).unwrap_err().earliest);
        let expected = [100, 300, 500, 700, 700].map(|ms| Some(MS(ms)));
        assert_eq!(earliest, expected, "each waits for its own reserve as well");
        assert!(r.ask(MS(700), 9).is_ok());
        assert!(r.ask(MS(700), 3).is_err());
    }

    /// A flood of the lowest class leaves the highest class untouched, which plain does not.
    #[test]
    fn a_flood_of_the_lowest_class_does_not_refuse_the_highest() {
        let refused = |mut r: RateLimit| {
            let mut high = 0;
            for ms in 0..10_000 {
                for _ in 0..5 {
                    let _ = r.ask(MS(ms), 3);
                }
                high += u32::from(ms % 2 == 0 && r.ask(MS(ms), 0).is_err());
            }
            high
        };
        assert_eq!(refused(RateLimit::by_class(1000.0, 100, 4, 50.0).unwrap()), 0);
        let plain = refused(RateLimit::try_new(1000.0, 100).unwrap());
        assert!(plain > 4_900, "{plain} of 5000");
    }

    #[test]
    fn refuses_impossible_settings() {
        assert!(RateLimit::try_new(0.0, 1).is_none());
        assert!(RateLimit::try_new(f64::NAN, 1).is_none());
        assert!(RateLimit::try_new(1e10, 1).is_none());
        assert!(RateLimit::try_new(1.0, 0).is_none());
        for (classes, reserve) in [(1, 50.0), (17, 50.0), (4, -1.0), (4, 100.0), (4, f64::NAN)] {
            assert!(RateLimit::by_class(10.0, 10, classes, reserve).is_none());
        }
    }

    proptest! {
        /// A refusal's `earliest` is true to the nanosecond, up to the rounding of the bucket.
        #[test]
        fn earliest_keeps_its_word(
            rate in 0.1f64..1e6, burst in 5u32..100, classes in 2u32..=4,
            asks in prop::collection::vec((0u64..1_000_000, 0u8..6), 1..200),
        ) {
            let mut r = RateLimit::by_class(rate, burst, classes, 50.0).unwrap();
            let mut now = Nanos::ZERO;
            for (step, class) in asks {
                now = now + Nanos(step);
                if let Err(refusal) = r.ask(now, class) {
                    let earliest = refusal.earliest.unwrap();
                    prop_assert!(earliest > now);
                    prop_assert!(r.clone().ask(earliest + Nanos(2), class).is_ok());
                    let sooner = earliest - Nanos(2);
                    prop_assert!(sooner <= now || r.clone().ask(sooner, class).is_err());
                }
            }
        }

        /// At any moment, who is let in would be let in with a higher class as well.
        #[test]
        fn higher_classes_come_first(asks in prop::collection::vec((0u64..5_000_000, 0u8..16), 1..300)) {
            let mut r = RateLimit::by_class(1000.0, 40, 16, 90.0).unwrap();
            let mut now = Nanos::ZERO;
            for (step, class) in asks {
                now = now + Nanos(step);
                let higher = class == 0 || r.clone().ask(now, class - 1).is_ok();
                prop_assert!(r.ask(now, class).is_err() || higher);
                prop_assert!((0.0..=40.0).contains(&r.tokens()));
            }
        }
    }
}
