//! Backoff schedules: when a retry is sent. They never bound how many.
//!
//! Source of the jitter forms: "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015)
//! and its published simulator. With base b, cap c and n = 1 for the first retry:
//!
//! | growth | nominal delay of retry n |
//! |---|---|
//! | none | 0 |
//! | constant | b |
//! | linear | min(c, b n) |
//! | exponential | min(c, b f^(n-1)) |
//!
//! | jitter | delay |
//! |---|---|
//! | none | nominal |
//! | equal | nominal/2 + U(0, nominal/2) |
//! | full | U(0, nominal) |
//! | exponential | exponential with mean nominal, at most c (memoryless: the retry orbit of queueing theory) |
//! | decorrelated | s = min(c, U(b, 3 s)), s starts at b; the growth is its own |
//!
//! The 2015 article starts the exponential at b 2 for the first retry; most libraries, and
//! this crate, start at b. Write `base` twice as large to get the article's schedule.

use rand_core::Rng;

use crate::Nanos;
use crate::chance::{below, unit};
use crate::entry::Entry;

/// The schedules that a system file can name.
pub(crate) const ENTRIES: &[&Entry] = &[];

/// How the nominal delay grows with the number of the retry.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Growth {
    /// Retry at once.
    None,
    /// The base every time.
    Constant,
    /// The base times the number of the retry.
    Linear,
    /// The base times this factor for every further retry.
    Exponential(f64),
}

/// How chance spreads the nominal delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Jitter {
    /// Not at all: callers that failed together retry together.
    None,
    /// Half fixed, half uniform.
    Equal,
    /// Uniform from zero to the nominal delay.
    Full,
    /// Uniform from the base to three times the previous delay.
    Decorrelated,
    /// Exponential with the nominal delay as its mean, as retrial queues in theory have it.
    Exponential,
}

/// A backoff schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// How the nominal delay grows.
    pub growth: Growth,
    /// The delay of the first retry before jitter.
    pub base: Nanos,
    /// No nominal delay exceeds this.
    pub cap: Nanos,
    /// How chance spreads it.
    pub jitter: Jitter,
}

impl Backoff {
    /// Retry at once.
    pub const NONE: Self =
        Self { growth: Growth::None, base: Nanos::ZERO, cap: Nanos::MAX, jitter: Jitter::None };

    /// The same delay each time.
    #[must_use]
    pub const fn constant(base: Nanos, jitter: Jitter) -> Self {
        Self { growth: Growth::Constant, base, cap: Nanos::MAX, jitter }
    }

    /// `base`, `2 base`, `3 base`, … up to `cap`.
    #[must_use]
    pub const fn linear(base: Nanos, cap: Nanos, jitter: Jitter) -> Self {
        Self { growth: Growth::Linear, base, cap, jitter }
    }

    /// `base`, `factor base`, `factor² base`, … up to `cap`.
    #[must_use]
    pub const fn exponential(base: Nanos, factor: f64, cap: Nanos, jitter: Jitter) -> Self {
        Self { growth: Growth::Exponential(factor), base, cap, jitter }
    }

    /// The delay of retry `n` (1 is the first) before jitter.
    #[inline]
    #[must_use]
    pub fn nominal(&self, n: u32) -> Nanos {
        let delay = match self.growth {
            Growth::None => Nanos::ZERO,
            Growth::Constant => self.base,
            Growth::Linear => Nanos(self.base.0.saturating_mul(u64::from(n.max(1)))),
            Growth::Exponential(factor) => {
                // Multiply step by step and stop at the cap: no overflow, and no `powi` in core.
                let mut delay = self.base.0 as f64;
                let cap = self.cap.0 as f64;
                for _ in 1..n {
                    if delay >= cap || factor <= 1.0 && delay < 1.0 {
                        break;
                    }
                    let next = delay * factor;
                    if next == delay {
                        break;
                    }
                    delay = next;
                }
                Nanos(delay as u64)
            }
        };
        delay.min(self.cap)
    }

    /// The longest possible delay of retry `n`.
    #[must_use]
    pub fn longest(&self, n: u32) -> Nanos {
        match self.jitter {
            Jitter::Decorrelated => {}
            Jitter::Exponential if self.nominal(n) == Nanos::ZERO => return Nanos::ZERO,
            Jitter::Exponential => return self.cap,
            Jitter::None | Jitter::Equal | Jitter::Full => return self.nominal(n),
        }
        let mut longest = self.base;
        for _ in 0..n {
            longest = Nanos(longest.0.saturating_mul(3)).min(self.cap);
            if longest == self.cap {
                break;
            }
        }
        longest
    }

    /// Draws the delay before retry `n` (1 is the first).
    ///
    /// `previous` is the delay before the retry before this one, `None` for the first; only
    /// decorrelated jitter looks at it.
    #[inline]
    pub fn delay<R: Rng + ?Sized>(&self, n: u32, previous: Option<Nanos>, rng: &mut R) -> Nanos {
        if self.growth == Growth::None {
            return Nanos::ZERO;
        }
        if self.jitter == Jitter::Decorrelated {
            let low = self.base.0;
            let high = previous.unwrap_or(self.base).0.saturating_mul(3).max(low);
            return Nanos(low + below(high - low, rng)).min(self.cap);
        }
        let nominal = self.nominal(n).0;
        match self.jitter {
            Jitter::Equal => Nanos(nominal - nominal / 2 + below(nominal / 2, rng)),
            Jitter::Full => Nanos(below(nominal, rng)),
            Jitter::Exponential => {
                // 1 - u is in (0, 1], so the logarithm is finite.
                Nanos((nominal as f64 * -libm::log(1.0 - unit(rng))) as u64).min(self.cap)
            }
            Jitter::None | Jitter::Decorrelated => Nanos(nominal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;
    use std::vec::Vec;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn nominals(b: Backoff) -> Vec<u64> {
        (1..=6).map(|n| b.nominal(n).0 / 1_000_000).collect()
    }

    #[test]
    fn schedules_by_hand() {
        let exponential = Backoff::exponential(MS(25), 2.0, MS(250), Jitter::None);
        assert_eq!(nominals(exponential), [25, 50, 100, 200, 250, 250]);
        let linear = Backoff::linear(MS(10), MS(35), Jitter::None);
        assert_eq!(nominals(linear), [10, 20, 30, 35, 35, 35]);
        assert_eq!(nominals(Backoff::constant(MS(7), Jitter::None)), [7; 6]);
        assert_eq!(nominals(Backoff::NONE), [0; 6]);
    }

    #[test]
    fn extreme_settings_end_and_saturate() {
        let huge = Backoff::exponential(Nanos(1), 1e300, Nanos::MAX, Jitter::None);
        assert_eq!(huge.nominal(u32::MAX), Nanos::MAX);
        let flat = Backoff::exponential(MS(1), 1.0, MS(9), Jitter::None);
        assert_eq!(flat.nominal(u32::MAX), MS(1));
        let zero = Backoff::exponential(Nanos::ZERO, 2.0, MS(9), Jitter::Full);
        assert_eq!(zero.nominal(u32::MAX), Nanos::ZERO);
    }

    #[test]
    fn decorrelated_first_draw_is_between_base_and_three_bases() {
        let b = Backoff { jitter: Jitter::Decorrelated, ..Backoff::constant(MS(5), Jitter::None) };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..1000 {
            let d = b.delay(1, None, &mut rng);
            assert!(d >= MS(5) && d < MS(15), "{d}");
        }
    }

    #[test]
    fn jitter_has_the_published_mean() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        for (jitter, mean_ms) in
            [(Jitter::None, 100.0), (Jitter::Equal, 75.0), (Jitter::Full, 50.0)]
        {
            let b = Backoff::constant(MS(100), jitter);
            let sum: f64 =
                (0..20_000).map(|_| b.delay(1, None, &mut rng).as_secs_f64() * 1e3).sum();
            assert!((sum / 20_000.0 - mean_ms).abs() < 1.0, "{jitter:?}: {}", sum / 20_000.0);
        }
    }

    proptest! {
        #[test]
        fn a_delay_never_exceeds_its_longest(
            base in 0u64..10_000_000_000, factor in 0.1f64..10.0, cap in 1u64..20_000_000_000,
            n in 1u32..40, kind in 0usize..5, seed: u64,
        ) {
            let jitter = [Jitter::None, Jitter::Equal, Jitter::Full, Jitter::Decorrelated, Jitter::Exponential][kind];
            let b = Backoff::exponential(Nanos(base), factor, Nanos(cap), jitter);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut previous = None;
            for i in 1..=n {
                let d = b.delay(i, previous, &mut rng);
                prop_assert!(d <= b.longest(i));
                prop_assert!(d <= Nanos(cap));
                previous = Some(d);
            }
        }
    }
}
