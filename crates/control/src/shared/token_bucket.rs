//! gRPC's retry throttle, shared by many threads.

use super::sync::{AtomicU64, Ordering};
use super::{Padded, Refusals, Shards, TOKEN};
use crate::observe::Observe;

/// gRPC's retry throttle (gRFC A6): a failure takes a token, a success adds `token_ratio`, and
/// retries are allowed while there are more than half of `max_tokens`.
///
/// The rule is that of [`GrpcTokenBucket`](crate::budget::GrpcTokenBucket).
///
/// **Bound.** Adding and clamping are one compare-and-exchange, so that every answer is one that
/// some order of the calls gives. (Peers whose addition and clamp are two steps lose tokens or
/// exceed the maximum: grpc-java 4060, grpc-swift 1689.)
///
/// A success when the bucket is full, and a failure when it is empty, write nothing: threads
/// share the word without a fight while all is well, and when nothing works any more. Between
/// the two they take turns on it.
///
/// ```
/// use damper_control::shared::TokenBucket;
///
/// let bucket = TokenBucket::try_new(10, 0.1, 4).unwrap();
/// let worker = 0;
/// let allowed = (0..10).filter(|_| bucket.failure(worker)).count();
/// assert_eq!(allowed, 4, "after the fifth, half is left");
/// ```
#[derive(Debug)]
pub struct TokenBucket {
    /// Thousandths.
    tokens: Padded<AtomicU64>,
    refusals: Shards<Refusals>,
    max: u64,
    ratio: u64,
}

impl TokenBucket {
    /// A full bucket. `None` unless `max_tokens` is in 1..=1000, `token_ratio` in 0.001..=1000
    /// (three decimals are kept, as A6 says), and `1 ≤ shards ≤ MAX_SHARDS`. Only refusals are
    /// counted in shards.
    #[must_use]
    pub fn try_new(max_tokens: u32, token_ratio: f64, shards: usize) -> Option<Self> {
        // The smallest addend corrects for ratios whose decimal form is not exact in binary.
        let ratio = (token_ratio * f64::from(TOKEN) + 1e-6) as u64;
        let valid =
            (1..=1000).contains(&max_tokens) && ratio > 0 && (0.0..=1000.0).contains(&token_ratio);
        let refusals = Shards::try_new(shards).filter(|_| valid)?;
        let max = u64::from(max_tokens) * u64::from(TOKEN);
        Some(Self { tokens: Padded(AtomicU64::new(max)), refusals, max, ratio })
    }

    /// An attempt succeeded.
    #[inline]
    pub fn success(&self) {
        self.update(|tokens| (tokens + self.ratio).min(self.max));
    }

    /// An attempt ended in an outcome that the policy retries: whether it may be retried.
    #[inline]
    pub fn failure(&self, shard: usize) -> bool {
        let left = self.update(|tokens| tokens.saturating_sub(u64::from(TOKEN)));
        let allowed = left > self.max / 2;
        if !allowed {
            self.refusals.at(shard).count();
        }
        allowed
    }

    /// Whether a retry would be allowed now.
    #[inline]
    #[must_use]
    pub fn allows(&self) -> bool {
        self.tokens.0.load(Ordering::Acquire) > self.max / 2
    }

    /// Tokens left.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.tokens.0.load(Ordering::Acquire) as f64 / f64::from(TOKEN)
    }

    /// Refusals so far.
    #[must_use]
    pub fn denied(&self) -> u64 {
        Refusals::sum(self.refusals.iter())
    }

    /// Changes what is there; what is there then.
    #[inline]
    fn update(&self, change: impl Fn(u64) -> u64) -> u64 {
        let mut tokens = self.tokens.0.load(Ordering::Acquire);
        loop {
            let changed = change(tokens);
            if changed == tokens {
                return tokens;
            }
            match self.tokens.0.compare_exchange_weak(
                tokens,
                changed,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return changed,
                Err(now) => tokens = now,
            }
        }
    }
}

impl Observe for TokenBucket {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("tokens", self.tokens());
        see("denied", self.denied() as f64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::budget::{Attempt, GrpcTokenBucket, RetryBudget};
    use crate::testing::Zero;
    use crate::{Nanos, Outcome};
    use proptest::prelude::*;

    /// A6 with 10 and 0.1: refused after the fifth failure, and then 11 successes are enough.
    #[test]
    fn worked_by_hand() {
        let bucket = TokenBucket::try_new(10, 0.1, 2).unwrap();
        for allowed in [true, true, true, true, false] {
            assert_eq!(bucket.failure(0), allowed);
        }
        assert!(!bucket.allows());
        (0..11).for_each(|_| bucket.success());
        assert!((bucket.tokens() - 6.1).abs() < 1e-9);
        assert!(bucket.failure(1), "5.1");
        assert_eq!(bucket.denied(), 1);
    }

    proptest! {
        #[test]
        fn answers_as_the_single_owner_does(
            max in 1u32..=1000, ratio in 0.001f64..5.0, ops in prop::collection::vec(0u8..3, 0..500),
        ) {
            let shared = TokenBucket::try_new(max, ratio, 2).unwrap();
            let mut single = GrpcTokenBucket::try_new(max, ratio).unwrap();
            let first = Attempt::first(0);
            for op in ops {
                let outcome = if op == 0 { Outcome::Success } else { Outcome::Failed };
                single.settle(Nanos::ZERO, first, outcome, true, &mut Zero);
                if op == 0 {
                    shared.success();
                } else {
                    let allowed = single.withdraw(Nanos::ZERO, first, outcome, &mut Zero);
                    prop_assert_eq!(shared.failure(0), allowed.is_some());
                }
                prop_assert_eq!(shared.tokens(), single.tokens());
            }
        }
    }
}
