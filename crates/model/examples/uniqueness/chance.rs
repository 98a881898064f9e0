//! Draws. What a case is made of depends on the seed and on its number only, never on which
//! thread comes to it, or when.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A stream of draws of its own.
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The stream of one place: a seed, the number of a network, the number of a start.
    pub(crate) fn at(path: [u64; 3]) -> Self {
        let state = path.iter().fold(0, |state: u64, step| {
            SplitMix64::seed_from_u64(state.rotate_left(23) ^ step).next_u64()
        });
        Self(Xoshiro256PlusPlus::seed_from_u64(state))
    }

    /// From 0 up to, and without, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "53 bits")]
        let draw = (self.0.next_u64() >> 11) as f64;
        draw / 9_007_199_254_740_992.0
    }

    /// From `low` up to `high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// From `low` up to `high`, every order of magnitude as likely as the next.
    pub(crate) fn scaled(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    /// From `low` to `high`, both included.
    pub(crate) fn whole(&mut self, low: usize, high: usize) -> usize {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
        #[allow(clippy::cast_sign_loss, reason = "small counts")]
        let above = (self.unit() * (high - low + 1) as f64) as usize;
        low + above
    }

    /// Whether something of this probability happens.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}
