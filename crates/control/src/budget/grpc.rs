//! gRPC's retry throttle: a token bucket that failures drain and successes refill.
//!
//! Source: gRFC A6, "retryThrottling". `tokens` starts at `maxTokens`; a counted failure
//! takes one, a success adds `tokenRatio`, a retry is allowed while tokens exceed half of
//! `maxTokens`. A counted failure is one whose status the policy retries. In the long run
//! retries stop when failures / attempts exceed ratio / (1 + ratio).
//!
//! Tokens are kept in thousandths, as the specification's three decimals and the Java and
//! C-core implementations do.
//!
//! What a new configuration does to the level is not in the specification and differs:
//! [`GrpcTokenBucket::reconfigured`] is C-core's way, [`GrpcTokenBucket::refilled`] grpc-go's.

use rand_core::Rng;

use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

const MILLI: u32 = 1000;

/// gRPC's retry throttle (gRFC A6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcTokenBucket {
    tokens: u32,
    max: u32,
    ratio: u32,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "token-bucket",
    kind: Kind::Budget,
    summary: "gRPC's retry throttle: failures drain it, successes refill it; no retries at half or below",
    source: "gRFC A6 (retryThrottling); grpc-java RetriableStream, grpc C-core retry_throttle",
    rule: "\
tokens = max_tokens at the start
counted failure (an outcome that the policy retries):  tokens = max(0, tokens - 1)
success:                                               tokens = min(max_tokens, tokens + token_ratio)
retry allowed:                                         tokens > max_tokens / 2, after the decrement",
    when: "Clients that talk to one service by one channel, where successes are frequent. In the \
           long run retries stop when more than token_ratio / (1 + token_ratio) of the attempts \
           fail: 9.1 % with the defaults.",
    traps: &[
        "`max_tokens` is an absolute number of failures, not a rate: nothing says how to size it (grpc-go 7539).",
        "There is no refill by time: an idle client keeps its drained bucket for ever.",
        "grpc-go makes a full bucket with every update of the service configuration.",
        "grpc-java before 1.66 parsed it in the default service configuration and never installed it (11274).",
        "An attempt costs a token when it fails, also if it is not retried.",
    ],
    parameters: &[
        Parameter {
            name: "max_tokens",
            unit: Unit::Count,
            default: GrpcTokenBucket::DEFAULT_MAX_TOKENS as f64,
            min: 1.0,
            max: 1000.0,
            doc: "tokens when full",
        },
        Parameter {
            name: "token_ratio",
            unit: Unit::Number,
            default: GrpcTokenBucket::DEFAULT_TOKEN_RATIO,
            min: 0.001,
            max: 1000.0,
            doc: "tokens that a success adds; three decimals are kept",
        },
    ],
    readings: &[
        Reading::gauge("tokens", "tokens left"),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied"),
    ],
    build: Build::Budget(|p| match *p {
        [max, ratio] => GrpcTokenBucket::try_new(whole(max)?, ratio).map(Into::into),
        _ => None,
    }),
};

impl GrpcTokenBucket {
    /// The example used throughout A6.
    pub const DEFAULT_MAX_TOKENS: u32 = 10;
    /// The example used throughout A6.
    pub const DEFAULT_TOKEN_RATIO: f64 = 0.1;

    /// A full bucket. `None` unless `max_tokens` is in 1..=1000 and `token_ratio` positive
    /// and at least 0.001 (A6 keeps three decimals).
    #[must_use]
    pub fn try_new(max_tokens: u32, token_ratio: f64) -> Option<Self> {
        // The smallest addend corrects for ratios whose decimal form is not exact in binary.
        let ratio = (token_ratio * f64::from(MILLI) + 1e-6) as u32;
        let valid =
            (1..=1000).contains(&max_tokens) && ratio > 0 && (0.0..=1000.0).contains(&token_ratio);
        valid.then(|| Self {
            tokens: max_tokens * MILLI,
            max: max_tokens * MILLI,
            ratio,
            granted: 0,
            denied: 0,
        })
    }

    /// What it was made with: `max_tokens` and `token_ratio`, for a form of it that threads share.
    #[must_use]
    pub fn settings(&self) -> (u32, f64) {
        (self.max / MILLI, f64::from(self.ratio) / f64::from(MILLI))
    }

    /// The bucket after a new configuration as C-core does it: as full, in proportion, as it was.
    /// `None` for settings that [`GrpcTokenBucket::try_new`] refuses.
    #[must_use]
    pub fn reconfigured(&self, max_tokens: u32, token_ratio: f64) -> Option<Self> {
        let new = self.refilled(max_tokens, token_ratio)?;
        // Both are at most a million, so the product fits and the quotient is at most the new one.
        let tokens = u64::from(self.tokens) * u64::from(new.max) / u64::from(self.max);
        Some(Self { tokens: tokens as u32, ..new })
    }

    /// The bucket after a new configuration as grpc-go does it: full, whatever it was. Every update
    /// of the service configuration lets a drained client retry again, in the middle of an outage
    /// too. `None` for settings that [`GrpcTokenBucket::try_new`] refuses.
    #[must_use]
    pub fn refilled(&self, max_tokens: u32, token_ratio: f64) -> Option<Self> {
        let new = Self::try_new(max_tokens, token_ratio)?;
        Some(Self { granted: self.granted, denied: self.denied, ..new })
    }

    /// Tokens left.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        f64::from(self.tokens) / f64::from(MILLI)
    }
}

impl RetryBudget for GrpcTokenBucket {
    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        _: Attempt,
        outcome: Outcome,
        retryable: bool,
        _: &mut R,
    ) {
        if outcome == Outcome::Success {
            self.tokens = self.tokens.saturating_add(self.ratio).min(self.max);
        } else if retryable {
            self.tokens = self.tokens.saturating_sub(MILLI);
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
        let allowed = self.tokens > self.max / 2;
        self.granted += u64::from(allowed);
        self.denied += u64::from(!allowed);
        allowed.then_some(1)
    }
}

impl Observe for GrpcTokenBucket {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("tokens", self.tokens());
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    impl GrpcTokenBucket {
        fn end(&mut self, outcome: Outcome, retryable: bool) {
            self.settle(Nanos::ZERO, Attempt::first(0), outcome, retryable, &mut Zero);
        }

        fn ask(&mut self) -> bool {
            self.withdraw(Nanos::ZERO, Attempt::first(0), Outcome::Failed, &mut Zero).is_some()
        }
    }

    /// Worked by hand from A6 with maxTokens 10, tokenRatio 0.1.
    #[test]
    fn a6_vectors() {
        let mut b = GrpcTokenBucket::try_new(10, 0.1).unwrap();
        for (tokens, allowed) in [(9.0, true), (8.0, true), (7.0, true), (6.0, true), (5.0, false)]
        {
            b.end(Outcome::Rejected, true);
            assert_eq!(b.tokens(), tokens);
            assert_eq!(b.ask(), allowed, "at {tokens}");
        }
        for _ in 0..11 {
            b.end(Outcome::Success, true);
        }
        assert_eq!(b.tokens(), 6.1);
        b.end(Outcome::Failed, true);
        assert_eq!(b.tokens(), 5.1);
        assert!(b.ask());
    }

    #[test]
    fn other_failures_leave_it_alone_and_it_never_goes_below_zero() {
        let mut b = GrpcTokenBucket::try_new(1, 0.5466).unwrap();
        b.end(Outcome::Failed, false);
        assert_eq!(b.tokens(), 1.0);
        b.end(Outcome::Failed, true);
        b.end(Outcome::Failed, true);
        assert_eq!(b.tokens(), 0.0);
        b.end(Outcome::Success, true);
        assert_eq!(b.tokens(), 0.546, "three decimals, cut");
    }

    /// A drained client gets the same configuration again, and every call fails.
    #[test]
    fn a_new_configuration_refills_the_bucket_of_grpc_go_only() {
        let storm = |update: fn(&GrpcTokenBucket) -> GrpcTokenBucket| {
            let mut b = GrpcTokenBucket::try_new(10, 0.1).unwrap();
            for _ in 0..5 {
                for _ in 0..100 {
                    b.end(Outcome::Failed, true);
                    b.ask();
                }
                b = update(&b);
            }
            (b.granted, b.denied)
        };
        assert_eq!(storm(|b| b.reconfigured(10, 0.1).unwrap()), (4, 496), "C-core");
        assert_eq!(storm(|b| b.refilled(10, 0.1).unwrap()), (20, 480), "grpc-go: 4 per update");
    }

    #[test]
    fn a_new_configuration_keeps_the_level_in_proportion() {
        let mut b = GrpcTokenBucket::try_new(10, 0.1).unwrap();
        (0..4).for_each(|_| b.end(Outcome::Failed, true));
        assert!(b.ask());
        for (max, tokens) in [(10, 6.0), (20, 12.0), (5, 3.0), (1000, 600.0), (1, 0.6)] {
            let new = b.reconfigured(max, 0.5).unwrap();
            assert_eq!((new.tokens(), new.max, new.ratio), (tokens, max * MILLI, 500));
            assert_eq!((new.granted, new.denied), (1, 0), "counters go on");
            assert_eq!(b.refilled(max, 0.5).unwrap().tokens(), f64::from(max));
        }
        assert!(b.reconfigured(0, 0.1).is_none() && b.refilled(10, f64::NAN).is_none());
    }

    #[test]
    fn refuses_impossible_settings() {
        for (max, ratio) in
            [(0, 0.1), (1001, 0.1), (10, 0.0), (10, -1.0), (10, 0.0001), (10, f64::NAN)]
        {
            assert!(GrpcTokenBucket::try_new(max, ratio).is_none(), "{max} {ratio}");
        }
    }

    proptest! {
        #[test]
        fn tokens_stay_in_range(max in 1u32..=1000, ratio in 0.001f64..1000.0, ends in prop::collection::vec(0u8..3, 0..500)) {
            let mut b = GrpcTokenBucket::try_new(max, ratio).unwrap();
            for end in ends {
                match end {
                    0 => b.end(Outcome::Success, true),
                    1 => b.end(Outcome::TimedOut, true),
                    _ => b.end(Outcome::Failed, false),
                }
                prop_assert!(b.tokens() >= 0.0 && b.tokens() <= f64::from(max));
                prop_assert_eq!(b.ask(), b.tokens() > f64::from(max) / 2.0);
            }
        }
    }
}
