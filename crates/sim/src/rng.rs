//! Randomness: independent streams by purpose, and samplers that give the same bits on
//! every machine.
//!
//! Logarithms and exponentials come from `libm`, not from the platform, so that a seed
//! replays to the byte anywhere.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream is for. Separate streams keep arrivals and service times the same when a
/// policy changes, so that two settings are compared on the same traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Arrivals,
    Service,
    Work,
    Control,
    Errors,
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stream(pub(crate) Xoshiro256PlusPlus);

impl Stream {
    /// The stream of a seed, a replication, a purpose and an index within it (a class).
    pub(crate) fn new(seed: u64, replication: u32, purpose: Purpose, index: u32) -> Self {
        // SplitMix64's finaliser over each part in turn: nearby seeds give unrelated streams.
        let mut state = mix(seed ^ 0x6461_6d70_6572_0001);
        for part in [u64::from(replication), purpose as u64, u64::from(index)] {
            state = mix(state.wrapping_add(part.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        }
        Self(Xoshiro256PlusPlus::seed_from_u64(state))
    }

    /// Uniform in [0, 1), 53 bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Whether an event of this probability happens; draws nothing for 0 and 1.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        probability >= 1.0 || probability > 0.0 && self.unit() < probability
    }

    /// Uniform in `0..n`.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.0.next_u64() as u32) * u64::from(n)) >> 32) as u32
    }

    /// Standard normal (Box–Muller, one of the pair).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }

    /// Exponential with mean one, by the ziggurat of Marsaglia and Tsang with 256 layers.
    #[inline]
    pub(crate) fn exponential(&mut self, table: &Ziggurat) -> f64 {
        loop {
            let bits = self.0.next_u64();
            let layer = (bits & 0xff) as usize;
            let x = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * table.x[layer];
            if x < table.x[layer + 1] {
                return x;
            }
            if layer == 0 {
                return Ziggurat::TAIL - libm::log(1.0 - self.unit());
            }
            let height = table.f[layer + 1] + (table.f[layer] - table.f[layer + 1]) * self.unit();
            if height < libm::exp(-x) {
                return x;
            }
        }
    }
}

/// A seed out of another and what tells it apart.
pub(crate) fn derived(seed: u64, parts: &[u64]) -> u64 {
    parts.iter().fold(mix(seed ^ 0x6461_6d70_6572_0002), |state, part| {
        mix(state.wrapping_add(part.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(1))
    })
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Layer edges of the exponential ziggurat. Parameters: Marsaglia and Tsang, "The Ziggurat
/// Method for Generating Random Variables" (2000), for 256 layers.
#[derive(Clone, Debug)]
pub(crate) struct Ziggurat {
    x: [f64; 257],
    f: [f64; 257],
}

impl Ziggurat {
    const TAIL: f64 = 7.697_117_470_131_05;
    const AREA: f64 = 0.003_949_659_822_581_557;

    pub(crate) fn new() -> Self {
        let mut x = [0.0; 257];
        x[0] = Self::AREA / libm::exp(-Self::TAIL);
        x[1] = Self::TAIL;
        for i in 2..256 {
            x[i] = -libm::log(Self::AREA / x[i - 1] + libm::exp(-x[i - 1]));
        }
        Self { f: x.map(|x| libm::exp(-x)), x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(n: usize, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = draw();
            sum += x;
            squares += x * x;
        }
        let mean = sum / n as f64;
        (mean, squares / n as f64 - mean * mean)
    }

    #[test]
    fn exponential_has_mean_variance_and_tail_one() {
        let table = Ziggurat::new();
        let mut s = Stream::new(1, 0, Purpose::Service, 0);
        let (mean, variance) = moments(1_000_000, || s.exponential(&table));
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        for cut in [0.5, 2.0, 5.0, 8.0] {
            let n: u32 = 2_000_000;
            let above =
                (0..n).filter(|_| s.exponential(&table) > cut).count() as f64 / f64::from(n);
            let expected = libm::exp(-cut);
            let error = 5.0 * libm::sqrt(expected / f64::from(n));
            assert!((above - expected).abs() < error, "P(X > {cut}) = {above}, not {expected}");
        }
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut s = Stream::new(1, 0, Purpose::Work, 0);
        let (mean, variance) = moments(500_000, || s.normal());
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.01, "{mean} {variance}");
    }

    #[test]
    fn streams_differ_by_every_part_and_repeat() {
        let first = |seed, rep, purpose, i| Stream::new(seed, rep, purpose, i).0.next_u64();
        let base = first(1, 0, Purpose::Arrivals, 0);
        assert_eq!(base, first(1, 0, Purpose::Arrivals, 0));
        for other in [
            first(2, 0, Purpose::Arrivals, 0),
            first(1, 1, Purpose::Arrivals, 0),
            first(1, 0, Purpose::Service, 0),
            first(1, 0, Purpose::Arrivals, 1),
        ] {
            assert_ne!(base, other);
        }
    }
}
