//! gRPC's retry throttle: a token bucket that failures drain and successes refill.
//!
//! Source: gRFC A6, "retryThrottling". `tokens` starts at `maxTokens`; a counted failure
//! takes one, a success adds `tokenRatio`, a retry is allowed while tokens exceed half of
//! `maxTokens`. A counted failure is one whose status the policy retries. In the long run
//! retries stop when failures / attempts exceed ratio / (1 + ratio).
//!
//! Tokens are kept in thousandths, as the specification's three decimals and the Java and
//! C-core implementations do.

use crate::Outcome;

const MILLI: u32 = 1000;

/// gRPC's retry throttle (gRFC A6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcTokenBucket {
    tokens: u32,
    max: u32,
    ratio: u32,
}

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
        let valid = (1..=1000).contains(&max_tokens) && ratio > 0 && token_ratio.is_finite();
        valid.then_some(Self { tokens: max_tokens * MILLI, max: max_tokens * MILLI, ratio })
    }

    /// Tokens left.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        f64::from(self.tokens) / f64::from(MILLI)
    }

    #[inline]
    pub(super) fn settle(&mut self, outcome: Outcome, retryable: bool) {
        if outcome == Outcome::Success {
            self.tokens = self.tokens.saturating_add(self.ratio).min(self.max);
        } else if retryable {
            self.tokens = self.tokens.saturating_sub(MILLI);
        }
    }

    #[inline]
    pub(super) fn withdraw(&mut self) -> bool {
        self.tokens > self.max / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Worked by hand from A6 with maxTokens 10, tokenRatio 0.1.
    #[test]
    fn a6_vectors() {
        let mut b = GrpcTokenBucket::try_new(10, 0.1).unwrap();
        for (tokens, allowed) in [(9.0, true), (8.0, true), (7.0, true), (6.0, true), (5.0, false)]
        {
            b.settle(Outcome::Rejected, true);
            assert_eq!(b.tokens(), tokens);
            assert_eq!(b.withdraw(), allowed, "at {tokens}");
        }
        for _ in 0..11 {
            b.settle(Outcome::Success, true);
        }
        assert_eq!(b.tokens(), 6.1);
        b.settle(Outcome::Failed, true);
        assert_eq!(b.tokens(), 5.1);
        assert!(b.withdraw());
    }

    #[test]
    fn other_failures_leave_it_alone_and_it_never_goes_below_zero() {
        let mut b = GrpcTokenBucket::try_new(1, 0.5466).unwrap();
        b.settle(Outcome::Failed, false);
        assert_eq!(b.tokens(), 1.0);
        b.settle(Outcome::Failed, true);
        b.settle(Outcome::Failed, true);
        assert_eq!(b.tokens(), 0.0);
        b.settle(Outcome::Success, true);
        assert_eq!(b.tokens(), 0.546, "three decimals, cut");
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
                    0 => b.settle(Outcome::Success, true),
                    1 => b.settle(Outcome::TimedOut, true),
                    _ => b.settle(Outcome::Failed, false),
                }
                prop_assert!(b.tokens() >= 0.0 && b.tokens() <= f64::from(max));
                prop_assert_eq!(b.withdraw(), b.tokens() > f64::from(max) / 2.0);
            }
        }
    }
}
