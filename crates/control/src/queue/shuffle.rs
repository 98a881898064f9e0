//! Shuffle sharding: every flow has a hand of queues, dealt from a hash of it.
//!
//! Source: Kubernetes `pkg/util/shufflesharding`. A hash V deals `hand` of `deck` cards:
//!
//! ```text
//! r(i) = V mod (deck - i);  V = V / (deck - i)                     for i in 0..hand
//! card(i) = r(i), then for j = i-1 down to 0: one more if it is r(j) or above
//! ```
//!
//! Kubernetes takes for V the first eight bytes of a SHA-256 over names. The names are the
//! adapter's, and so is that hash: a control gets [`Who::flow`](crate::Who), and [`mix`] makes
//! each bit of it count, so that numbers in a row do as well as hashes.

use alloc::vec;

/// Most cards of a hand: sixteen need more than [`MOST_BITS`] of every deck.
pub const MOST_HAND: usize = 15;

/// Most bits of a hash that a hand may use up, of the 64 there are.
pub const MOST_BITS: u32 = 60;

/// Deals hands of a deck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealer {
    deck: u32,
    hand: usize,
    /// 2^64 / (deck - i), cut: a division takes longer than all the rest of a deal.
    reciprocals: [u64; MOST_HAND],
}

/// Bits of a hash that a hand uses up: ceil(log2(deck) × hand).
#[must_use]
pub fn entropy_bits(deck: u32, hand: u32) -> u32 {
    libm::ceil(libm::log2(f64::from(deck)) * f64::from(hand)) as u32
}

/// Spreads a flow over 64 bits (the finaliser of SplitMix64): a bijection, so different flows
/// stay different.
#[inline]
#[must_use]
pub const fn mix(flow: u64) -> u64 {
    let mut z = flow.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Dealer {
    /// Deals `hand` of `deck` cards. `None` unless 1 ≤ `hand` ≤ `deck` ≤ 2^26 and the hand needs
    /// at most [`MOST_BITS`].
    #[must_use]
    pub fn try_new(deck: u32, hand: u32) -> Option<Self> {
        let valid = (1..=deck).contains(&hand)
            && hand as usize <= MOST_HAND
            && deck <= 1 << 26
            && entropy_bits(deck, hand) <= MOST_BITS;
        let mut reciprocals = [u64::MAX; MOST_HAND];
        for (i, r) in reciprocals.iter_mut().enumerate().take(hand as usize) {
            let left = u128::from(deck).saturating_sub(i as u128).max(1);
            *r = u64::try_from((1u128 << 64) / left).unwrap_or(u64::MAX);
        }
        valid.then_some(Self { deck, hand: hand as usize, reciprocals })
    }

    /// How many cards a hand has.
    #[must_use]
    pub const fn hand(&self) -> u32 {
        self.hand as u32
    }

    /// How many cards there are.
    #[must_use]
    pub const fn deck(&self) -> u32 {
        self.deck
    }

    /// The hand of a hash, in the order in which it is dealt.
    #[inline]
    pub fn deal<'a>(&self, hash: u64, cards: &'a mut [u32; MOST_HAND]) -> &'a [u32] {
        let mut rest = hash;
        let mut remainders = [0u32; MOST_HAND];
        for i in 0..self.hand {
            let left = u64::from(self.deck) - i as u64;
            let mut quotient = ((u128::from(rest) * u128::from(self.reciprocals[i])) >> 64) as u64;
            let mut remainder = rest - quotient * left;
            if remainder >= left {
                // The reciprocal is cut: the quotient may be one too small, never more.
                quotient += 1;
                remainder -= left;
            }
            remainders[i] = remainder as u32;
            rest = quotient;
            let mut card = remainder as u32;
            for j in (0..i).rev() {
                card += u32::from(card >= remainders[j]);
            }
            cards[i] = card;
        }
        &cards[..self.hand]
    }
}

/// The probability that all queues of a flow are among those of `elephants` other flows, if each
/// has a random hand of `hand` out of `queues`. `None` unless 1 ≤ `hand` ≤ `queues` ≤ 4096 and
/// `hand` is at most [`MOST_HAND`].
///
/// With P(u) the probability that the elephants together have u queues,
/// `P(u → u+k) = C(N-u, k) × C(u, H-k) / C(N, H)`, and the result is the sum of
/// `P(u) × C(u, H) / C(N, H)`.
#[must_use]
pub fn collision_probability(queues: u32, hand: u32, elephants: u32) -> Option<f64> {
    if !(1..=queues).contains(&hand) || hand as usize > MOST_HAND || queues > 4096 {
        return None;
    }
    let (n, h) = (queues as usize, hand as usize);
    let hands = choose(n, h);
    let mut union = vec![0.0; n + 1];
    union[0] = 1.0;
    // Once they have all queues, more of them change nothing.
    for _ in 0..elephants.min(1 << 16) {
        let mut grown = vec![0.0; n + 1];
        for (u, p) in union.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for k in 0..=h.min(n - u) {
                grown[u + k] += p * choose(n - u, k) * choose(u, h - k) / hands;
            }
        }
        union = grown;
    }
    Some(union.iter().enumerate().map(|(u, p)| p * choose(u, h) / hands).sum())
}

/// C(n, k).
fn choose(n: usize, k: usize) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::vec::Vec;

    fn deal(deck: u32, hand: u32, hash: u64) -> Vec<u32> {
        Dealer::try_new(deck, hand).unwrap().deal(hash, &mut [0; MOST_HAND]).to_vec()
    }

    /// By hand. 0 deals the first cards; 1 + 2×6 + 0×30: remainders 1, 2, 0, of which 2 is
    /// not below 1 and becomes 3, and 0 stays.
    #[test]
    fn deals_by_hand() {
        assert_eq!(deal(6, 6, 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(deal(6, 3, 1 + 2 * 6), [1, 3, 0]);
        // Remainders 5, 4, 3: the last hands of all.
        assert_eq!(deal(6, 3, 5 + 4 * 6 + 3 * 30), [5, 4, 3]);
        // Remainders 0, 0, 0 and 2, 1, 1: 1 ≥ r(1) = 1 makes 2, 2 ≥ r(0) = 2 makes 3.
        assert_eq!(deal(6, 3, 2 + 6 + 30), [2, 1, 3]);
        assert_eq!(deal(1, 1, u64::MAX), [0]);
    }

    #[test]
    fn entropy() {
        for (deck, hand, bits) in [(64, 6, 36), (128, 6, 42), (16, 4, 16), (16, 15, 60), (1, 1, 0)]
        {
            assert_eq!(entropy_bits(deck, hand), bits, "{hand} of {deck}");
            assert!(Dealer::try_new(deck, hand).is_some());
        }
        assert!(entropy_bits(128, 9) == 63 && Dealer::try_new(128, 9).is_none());
        assert!(Dealer::try_new(128, 8).is_some());
        for (deck, hand) in [(0, 0), (0, 1), (4, 0), (4, 5), (u32::MAX, 1), ((1 << 26) + 1, 1)] {
            assert!(Dealer::try_new(deck, hand).is_none(), "{hand} of {deck}");
        }
    }

    /// As Kubernetes' own test: over the hashes below 20 × 19 × 18 every hand of three comes as
    /// often as there are orders of it.
    #[test]
    fn every_hand_is_as_likely() {
        let dealer = Dealer::try_new(20, 3).unwrap();
        let mut seen: HashMap<Vec<u32>, u32> = HashMap::new();
        for hash in 0..20 * 19 * 18 {
            let mut hand = dealer.deal(hash, &mut [0; MOST_HAND]).to_vec();
            hand.sort_unstable();
            *seen.entry(hand).or_default() += 1;
        }
        assert_eq!(seen.len(), 1140, "C(20, 3)");
        assert!(seen.values().all(|n| *n == 6), "3! orders each");
    }

    /// The table of 10.4 to its four digits, and "1 in 5.4 billion".
    #[test]
    fn collisions() {
        for (hand, queues, expected) in [
            (6, 128, [1.844e-10, 1.614e-5, 0.02212]),
            (6, 64, [1.334e-8, 7.472e-4, 0.2420]),
            (4, 16, [5.495e-4, 0.1936, 0.9603]),
            (8, 64, [2.259e-10, 4.887e-4, 0.3594]),
            (8, 128, [6.994e-13, 3.406e-6, 0.02746]),
            (12, 32, [4.429e-9, 0.1143, 0.9935]),
        ] {
            for (elephants, expected) in [1, 4, 16].into_iter().zip(expected) {
                let p = collision_probability(queues, hand, elephants).unwrap();
                assert!((p / expected - 1.0).abs() < 4e-4, "{hand} of {queues}, {elephants}: {p}");
            }
        }
        let odds = 1.0 / collision_probability(128, 6, 1).unwrap();
        assert!((odds - 5_423_611_200.0).abs() < 1.0, "C(128, 6): {odds}");
        assert_eq!(collision_probability(128, 6, 0), Some(0.0));
        assert_eq!(collision_probability(1, 1, 1), Some(1.0));
        for (queues, hand) in [(0, 0), (4, 5), (4097, 1), (64, 16)] {
            assert_eq!(collision_probability(queues, hand, 1), None);
        }
    }

    proptest! {
        #[test]
        fn a_deal_is_that_of_plain_division(deck in 1u32..=1 << 26, hand in 1u32..=15, hash: u64) {
            let Some(dealer) = Dealer::try_new(deck, hand) else { return Ok(()) };
            let (mut rest, mut remainders, mut expected) = (hash, Vec::new(), Vec::new());
            for i in 0..hand {
                remainders.push((rest % u64::from(deck - i)) as u32);
                rest /= u64::from(deck - i);
                let mut card = remainders[i as usize];
                for r in remainders[..i as usize].iter().rev() {
                    card += u32::from(card >= *r);
                }
                expected.push(card);
            }
            let mut cards = [0; MOST_HAND];
            prop_assert_eq!(dealer.deal(hash, &mut cards), expected.as_slice());
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(expected.len(), hand as usize);
            prop_assert!(expected.iter().all(|c| *c < deck));
        }
    }
}
