//! Rate limits: a capacity that rejects what exceeds it, at once.
//!
//! The token bucket counts what may be spent; the generic cell rate algorithm (GCRA, ITU-T I.371)
//! keeps one instant instead. For a whole number of nanoseconds between emissions both admit the
//! same.

mod gcra;

pub use gcra::Gcra;

use crate::Nanos;

/// A token bucket: `rate` tokens per second, at most `burst` of them.
///
/// Starts full. Refills when asked, from the time that has passed; a clock that stands still
/// or goes back adds nothing.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    per_nano: f64,
    burst: f64,
    tokens: f64,
    last: Nanos,
}

impl TokenBucket {
    /// A full bucket. `None` unless `rate` (per second) is positive and finite and `burst` is
    /// finite and at least one.
    #[must_use]
    pub fn try_new(rate: f64, burst: f64) -> Option<Self> {
        let valid = rate > 0.0 && rate.is_finite() && burst >= 1.0 && burst.is_finite();
        valid.then_some(Self { per_nano: rate / 1e9, burst, tokens: burst, last: Nanos::ZERO })
    }

    /// Takes one token, or refuses and changes nothing but the refill.
    #[inline]
    pub fn try_acquire(&mut self, now: Nanos) -> bool {
        self.try_acquire_above(now, 0.0)
    }

    /// Takes one token if at least `reserve` of them stay for others, or refuses and changes
    /// nothing but the refill.
    #[inline]
    pub fn try_acquire_above(&mut self, now: Nanos, reserve: f64) -> bool {
        self.refill(now);
        let allowed = self.tokens >= 1.0 + reserve;
        if allowed {
            self.tokens -= 1.0;
        }
        allowed
    }

    /// Changes the rate from `now` on; what has been earned stays.
    pub fn set_rate(&mut self, now: Nanos, rate: f64) {
        self.refill(now);
        self.per_nano = rate.max(0.0) / 1e9;
    }

    /// Tokens at the last question.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.tokens
    }

    /// When one token will be there; `now` if it already is.
    #[must_use]
    pub fn earliest(&self, now: Nanos) -> Nanos {
        self.earliest_above(now, 0.0)
    }

    /// When one token above `reserve` will be there, if nobody else takes any; `now` if it
    /// already is.
    #[must_use]
    pub fn earliest_above(&self, now: Nanos, reserve: f64) -> Nanos {
        let missing = 1.0 + reserve - self.tokens - now.since(self.last).0 as f64 * self.per_nano;
        if missing <= 0.0 {
            return now;
        }
        // A rounding error of a token is still a wait: an answer of "now" to somebody who was
        // just refused would have him ask for ever without time passing.
        now + Nanos(((missing / self.per_nano + 0.5) as u64).max(1))
    }

    #[inline]
    fn refill(&mut self, now: Nanos) {
        if now > self.last {
            let earned = now.since(self.last).0 as f64 * self.per_nano;
            self.tokens = (self.tokens + earned).min(self.burst);
            self.last = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn worked_by_hand() {
        let mut b = TokenBucket::try_new(10.0, 2.0).unwrap();
        let at = Nanos::from_millis;
        assert!(b.try_acquire(at(0)) && b.try_acquire(at(0)), "the burst");
        assert!(!b.try_acquire(at(0)));
        assert_eq!(b.earliest(at(0)), at(100));
        assert!(!b.try_acquire(at(99)));
        assert!(b.try_acquire(at(100)));
        assert!(!b.try_acquire(at(50)), "a clock that goes back adds nothing");
        assert!(b.try_acquire(at(10_000)) && b.try_acquire(at(10_000)));
        assert!(!b.try_acquire(at(10_000)), "no more than the burst is kept");
    }

    #[test]
    fn refuses_impossible_settings() {
        for (rate, burst) in
            [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, 0.5), (1.0, f64::INFINITY)]
        {
            assert!(TokenBucket::try_new(rate, burst).is_none(), "{rate} {burst}");
        }
    }

    proptest! {
        #[test]
        fn no_window_admits_more_than_burst_plus_rate(
            rate in 0.5f64..1000.0, burst in 1.0f64..50.0,
            steps in prop::collection::vec(0u64..20_000_000, 1..400),
        ) {
            let mut bucket = TokenBucket::try_new(rate, burst).unwrap();
            let mut now = Nanos::ZERO;
            let mut admitted = Vec::new();
            for step in steps {
                now = now + Nanos(step);
                if bucket.try_acquire(now) {
                    admitted.push(now);
                }
            }
            for i in 0..admitted.len() {
                for j in i..admitted.len() {
                    let span = (admitted[j] - admitted[i]).as_secs_f64();
                    prop_assert!((j - i + 1) as f64 <= burst + rate * span + 1e-6);
                }
            }
        }
    }
}
