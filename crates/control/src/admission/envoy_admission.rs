//! Envoy's admission control: rejects by chance as the success rate falls.
//!
//! Source: Envoy `admission_control` filter (1.36). A proxy-side form of Google's client
//! throttling in which rejected requests are not counted.

use alloc::boxed::Box;
use alloc::vec;

use rand_core::Rng;

use super::{AdmissionRule, Busy};
use crate::chance::below;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::who::Who;
use crate::{Nanos, Outcome, Reason, Refusal};

const SECOND: Nanos = Nanos::from_secs(1);

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    start: Nanos,
    requests: u64,
    successes: u64,
}

/// Envoy's admission control filter.
#[derive(Clone, Debug)]
pub struct EnvoyAdmission {
    window: Nanos,
    exponent: f64,
    success_rate: f64,
    rps: u32,
    most: f64,
    /// A ring: `len` buckets from `oldest` on.
    buckets: Box<[Bucket]>,
    oldest: usize,
    len: usize,
    requests: u64,
    successes: u64,
    probability: f64,
    succeeded: u64,
    failed: u64,
    refused: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "envoy-admission",
    kind: Kind::Admission,
    summary: "Envoy's admission control: rejects by chance as the success rate of the last 30 s falls",
    source: "Envoy admission_control filter 1.36; envoy#36415",
    rule: "\
n, s: attempts that ended and that succeeded, in 1-second buckets over the window
avg_rps = floor(n / max(window, age of the oldest bucket));  below rps_threshold: admit
p = max(0, (n - s / sr_threshold) / (n + 1)) ^ (1 / aggression)
p = min(p, max_rejection_probability)
refuse with probability p, in steps of 1/10,000
refused attempts are not counted, nor are those of which nobody knows how they ended
success: a good reply; all else is a reply of 500 or above (a full queue answers 503)",
    when: "At the door of a service whose failures mean overload. It looks at the outcome only: a \
           service that is slow and answers in the end is left alone (36415).",
    traps: &[
        "Refused attempts leave no trace, so that p is not that of Google's client throttling for the same load.",
        "Envoy takes a reply of 429 for a success. An attempt that ended as rejected counts as a failure here, because a full queue says 503.",
        "It rejects whoever comes: classes are not told apart.",
        "A failing dependency makes it refuse attempts that do not need that dependency.",
        "Each worker thread of Envoy counts for itself; here there is one count.",
        "With aggression above 1 the original takes a root of a negative number when all is well, and lives because a comparison with NaN is false. Here zero comes first.",
    ],
    parameters: &[
        Parameter {
            name: "sampling_window",
            unit: Unit::Duration,
            default: 30.0,
            min: 1.0,
            max: 3600.0,
            doc: "how long an attempt is remembered; cut to whole seconds",
        },
        Parameter {
            name: "aggression",
            unit: Unit::Number,
            default: 1.0,
            min: 1.0,
            max: 1000.0,
            doc: "1: linear; more rejects sooner (Envoy takes values below 1 for 1)",
        },
        Parameter {
            name: "sr_threshold",
            unit: Unit::Percent,
            default: 95.0,
            min: 1.0,
            max: 100.0,
            doc: "success rate below which it begins to reject",
        },
        Parameter {
            name: "rps_threshold",
            unit: Unit::Count,
            default: 0.0,
            min: 0.0,
            max: 4_294_967_295.0,
            doc: "average attempts per second below which all are admitted",
        },
        Parameter {
            name: "max_rejection_probability",
            unit: Unit::Percent,
            default: 80.0,
            min: 0.0,
            max: 100.0,
            doc: "never rejects more than this share",
        },
    ],
    readings: &[
        Reading::gauge("probability", "probability of a rejection at the last question"),
        Reading::counter("succeeded", "admitted attempts that succeeded (rq_success)"),
        Reading::counter("failed", "admitted attempts that failed (rq_failure)"),
        Reading::counter("refused", "attempts rejected (rq_rejected)"),
    ],
    build: Build::Admission(|p| match *p {
        [window, aggression, sr, rps, most] => {
            EnvoyAdmission::try_new(seconds(window)?, aggression, sr, whole(rps)?, most)
                .map(Into::into)
        }
        _ => None,
    }),
};

impl EnvoyAdmission {
    /// A filter that has seen nothing. `None` unless the window is 1 s to 1 h, aggression 1 to
    /// 1000, `sr_threshold` 1 to 100 percent and `most` 0 to 100 percent.
    #[must_use]
    pub fn try_new(
        window: Nanos,
        aggression: f64,
        sr_threshold: f64,
        rps_threshold: u32,
        most: f64,
    ) -> Option<Self> {
        let whole = window.0 / SECOND.0;
        let valid = (SECOND..=Nanos::from_secs(3600)).contains(&window)
            && (1.0..=1000.0).contains(&aggression)
            && (1.0..=100.0).contains(&sr_threshold)
            && (0.0..=100.0).contains(&most);
        valid.then(|| Self {
            window: Nanos::from_secs(whole),
            exponent: 1.0 / aggression,
            success_rate: sr_threshold / 100.0,
            rps: rps_threshold,
            most: most / 100.0,
            // Buckets are a second apart or more, so that no more than these are young enough.
            buckets: vec![Bucket::default(); whole as usize + 1].into_boxed_slice(),
            oldest: 0,
            len: 0,
            requests: 0,
            successes: 0,
            probability: 0.0,
            succeeded: 0,
            failed: 0,
            refused: 0,
        })
    }

    /// Whether a reply with this outcome would have an HTTP status below 500.
    fn good(outcome: Outcome) -> bool {
        // A full queue, a shed attempt and a lapsed deadline are answered by 503 and 504.
        outcome == Outcome::Success
    }

    fn purge(&mut self, now: Nanos) {
        // A clock that went back by more than the window: the buckets are of another time, and
        // would stay until it has come there again.
        if self.len > 0 && self.buckets[self.oldest].start > now + self.window {
            (self.len, self.requests, self.successes) = (0, 0, 0);
        }
        while self.len > 0 {
            let bucket = self.buckets[self.oldest];
            if now.since(bucket.start) < self.window {
                break;
            }
            self.requests -= bucket.requests;
            self.successes -= bucket.successes;
            self.oldest = (self.oldest + 1) % self.buckets.len();
            self.len -= 1;
        }
    }

    /// The bucket of `now`.
    fn newest(&mut self, now: Nanos) -> usize {
        self.purge(now);
        let size = self.buckets.len();
        let last = (self.oldest + self.len + size - 1) % size;
        // A full ring can only mean a clock that went back; the newest then takes what comes.
        if self.len == size || (self.len > 0 && now.since(self.buckets[last].start) < SECOND) {
            return last;
        }
        let next = (self.oldest + self.len) % size;
        self.buckets[next] = Bucket { start: now, ..Bucket::default() };
        self.len += 1;
        next
    }

    fn rejection_probability(&self, now: Nanos) -> f64 {
        if self.requests == 0 {
            return 0.0;
        }
        let age = now.since(self.buckets[self.oldest].start);
        let average = self.requests / (age.0 / SECOND.0).max(self.window.0 / SECOND.0);
        if average < u64::from(self.rps) {
            return 0.0;
        }
        let n = self.requests as f64;
        let base = (n - self.successes as f64 / self.success_rate) / (n + 1.0);
        libm::pow(base.max(0.0), self.exponent).min(self.most)
    }
}

impl AdmissionRule for EnvoyAdmission {
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        _: &Busy,
        rng: &mut R,
    ) -> Result<(), Refusal> {
        const STEPS: u64 = 10_000;
        self.purge(now);
        self.probability = self.rejection_probability(now);
        if self.probability > 0.0 && (below(STEPS, rng) as f64) < self.probability * STEPS as f64 {
            self.refused += 1;
            return Err(Refusal::new(Reason::Shed, who.class));
        }
        Ok(())
    }

    fn settle(&mut self, now: Nanos, _: Who, _: Nanos, outcome: Option<Outcome>) {
        let Some(outcome) = outcome else { return };
        let bucket = self.newest(now);
        let good = Self::good(outcome);
        self.buckets[bucket].requests += 1;
        self.buckets[bucket].successes += u64::from(good);
        self.requests += 1;
        self.successes += u64::from(good);
        self.succeeded += u64::from(good);
        self.failed += u64::from(!good);
    }
}

impl Observe for EnvoyAdmission {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("probability", self.probability);
        see("succeeded", self.succeeded as f64);
        see("failed", self.failed as f64);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    impl EnvoyAdmission {
        fn end(&mut self, now: Nanos, n: u32, outcome: Outcome) {
            for _ in 0..n {
                self.settle(now, Who::default(), Nanos::ZERO, Some(outcome));
            }
        }

        fn ask<R: Rng>(&mut self, now: Nanos, rng: &mut R) -> bool {
            self.admit(now, Who::of(0), &Busy::default(), rng).is_ok()
        }
    }

    fn after(aggression: f64, successes: u32) -> EnvoyAdmission {
        let mut e = EnvoyAdmission::try_new(S(30), aggression, 95.0, 0, 80.0).unwrap();
        e.end(S(1), successes, Outcome::Success);
        e.end(S(1), 100 - successes, Outcome::Failed);
        e
    }

    #[test]
    fn published_vectors() {
        for (aggression, successes, p) in [
            (1.0, 95, 0.0),
            (1.0, 90, 0.0521),
            (1.0, 80, 0.1563),
            (1.0, 50, 0.4690),
            (1.0, 10, 0.8),
            (2.0, 95, 0.0),
            (2.0, 90, 0.2283),
            (2.0, 80, 0.3954),
            (2.0, 50, 0.6848),
        ] {
            let mut e = after(aggression, successes);
            e.ask(S(1), &mut Zero);
            let shown = (e.probability * 1e4 + 0.5).floor() / 1e4;
            assert_eq!(shown, p, "aggression {aggression}, {successes} of 100");
        }
    }

    /// 8000 of 10,000 draws are below 80 %: 7999 is the last of them.
    #[test]
    fn a_draw_at_the_probability_is_admitted() {
        struct Draw(u64);
        impl rand_core::TryRng for Draw {
            type Error = core::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok((self.0 >> 32) as u32)
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(self.0)
            }
            fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
                bytes.fill(0);
                Ok(())
            }
        }
        // 0.8 × 2^64 is 14,757,395,258,967,641,292.8.
        let mut e = after(1.0, 10);
        assert!(!e.ask(S(1), &mut Draw(14_757_395_258_967_641_292)), "7999");
        assert!(e.ask(S(1), &mut Draw(14_757_395_258_967_641_293)), "8000");
    }

    /// All succeeded: the base is (100 - 105.3) / 101 < 0, whose root is not a number.
    #[test]
    fn a_negative_base_is_no_rejection() {
        let mut e = after(2.0, 100);
        assert!(libm::pow(-0.05, 0.5).is_nan());
        assert!(e.ask(S(1), &mut Zero));
        assert_eq!(e.probability, 0.0);
    }

    #[test]
    fn rejects_the_share_it_says_and_does_not_count_them() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut e = after(1.0, 50);
        let refused = (0..100_000).filter(|_| !e.ask(S(2), &mut rng)).count();
        // 4 standard deviations of a binomial with p = 0.469.
        assert!((46_270..=47_530).contains(&refused), "{refused}");
        assert_eq!(e.refused, refused as u64);
        assert_eq!((e.requests, e.successes), (100, 50), "as before");
    }

    #[test]
    fn buckets_by_hand() {
        let mut e = EnvoyAdmission::try_new(S(3), 1.0, 50.0, 0, 80.0).unwrap();
        let ms = Nanos::from_millis;
        for (now, len, requests) in
            [(0, 1, 1), (999, 1, 2), (1_500, 2, 3), (2_400, 2, 4), (2_500, 3, 5), (3_000, 2, 4)]
        {
            e.end(ms(now), 1, Outcome::Failed);
            assert_eq!((e.len, e.requests), (len, requests), "at {now}");
        }
        e.settle(ms(3_000), Who::default(), Nanos::ZERO, None);
        assert_eq!(e.requests, 4, "an end that nobody knows is not recorded");
        assert!(e.ask(S(100), &mut Zero), "all forgotten");
        assert_eq!((e.len, e.requests, e.successes), (0, 0, 0));
        e.end(S(100), 5, Outcome::Failed);
        e.end(S(98), 5, Outcome::Failed);
        assert_eq!((e.len, e.requests), (1, 10), "a clock that went back a little");
        e.end(S(2), 5, Outcome::Failed);
        assert_eq!((e.len, e.requests), (1, 5), "and a lot");
    }

    /// 300 in 30 s are 10 a second.
    #[test]
    fn few_attempts_are_left_alone() {
        for (threshold, admitted) in [(10, false), (11, true)] {
            let mut e = EnvoyAdmission::try_new(S(30), 1.0, 95.0, threshold, 80.0).unwrap();
            e.end(S(1), 300, Outcome::TimedOut);
            assert_eq!(e.ask(S(1), &mut Zero), admitted, "threshold {threshold}");
        }
    }

    #[test]
    fn a_good_reply_is_the_only_success() {
        let mut e = EnvoyAdmission::try_new(S(30), 1.0, 95.0, 0, 80.0).unwrap();
        for outcome in Outcome::ALL {
            e.end(S(1), 1, outcome);
        }
        assert_eq!((e.requests, e.successes, e.succeeded, e.failed), (6, 1, 1, 5));
    }

    #[test]
    fn refuses_impossible_settings() {
        for (window, aggression, sr, most) in [
            (S(0), 1.0, 95.0, 80.0),
            (S(3601), 1.0, 95.0, 80.0),
            (S(30), 0.5, 95.0, 80.0),
            (S(30), f64::NAN, 95.0, 80.0),
            (S(30), 1.0, 0.0, 80.0),
            (S(30), 1.0, 95.0, 101.0),
        ] {
            assert!(EnvoyAdmission::try_new(window, aggression, sr, 0, most).is_none());
        }
    }

    proptest! {
        /// Whatever the clock does, the totals are the sums of the buckets and p is in range.
        #[test]
        fn totals_are_those_of_the_buckets(
            steps in prop::collection::vec((any::<u64>(), 0u64..40_000, any::<bool>()), 1..300),
        ) {
            let mut e = EnvoyAdmission::try_new(S(30), 3.0, 95.0, 0, 80.0).unwrap();
            for (i, (wild, ms, good)) in steps.into_iter().enumerate() {
                let now = if i % 7 == 0 { Nanos(wild) } else { Nanos::from_millis(ms) };
                e.end(now, 1, if good { Outcome::Success } else { Outcome::Failed });
                e.ask(now, &mut Zero);
                let mut sums = (0, 0);
                for k in 0..e.len {
                    let b = e.buckets[(e.oldest + k) % e.buckets.len()];
                    sums = (sums.0 + b.requests, sums.1 + b.successes);
                }
                prop_assert_eq!(sums, (e.requests, e.successes));
                prop_assert!((0.0..=0.8).contains(&e.probability));
            }
        }
    }
}
