//! The priorities of the last arrivals, for rules that refuse a share of them.

use alloc::boxed::Box;
use alloc::vec;

use crate::who::{CLASSES, COHORTS};

/// How many arrivals are remembered, as Cinnamon and failsafe-go do.
const MEMORY: usize = 1000;
const RANKS: usize = CLASSES * COHORTS as usize;

/// Ranks that are counted together as well. With a second level of sums a push stays a few
/// steps, and a question looks at a hundred neighbours in place of two thousand; a Fenwick tree
/// would make the question cheaper and the push, of which there are more, much dearer.
const BLOCK: usize = 32;

/// The ranks of the last arrivals in a ring, and how many there are of each.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    ring: Box<[u16]>,
    next: usize,
    len: usize,
    counts: Box<[u16]>,
    blocks: [u16; RANKS / BLOCK],
}

impl Ranks {
    /// A threshold that refuses nobody.
    pub(super) const BEYOND: u32 = RANKS as u32;

    pub(super) fn new() -> Self {
        Self {
            ring: vec![0; MEMORY].into_boxed_slice(),
            next: 0,
            len: 0,
            counts: vec![0; RANKS].into_boxed_slice(),
            blocks: [0; RANKS / BLOCK],
        }
    }

    #[inline]
    pub(super) fn push(&mut self, rank: u32) {
        let rank = (rank as usize).min(RANKS - 1);
        if self.len == MEMORY {
            let gone = usize::from(self.ring[self.next]);
            self.counts[gone] -= 1;
            self.blocks[gone / BLOCK] -= 1;
        } else {
            self.len += 1;
        }
        self.ring[self.next] = rank as u16;
        self.counts[rank] += 1;
        self.blocks[rank / BLOCK] += 1;
        self.next = if self.next + 1 == MEMORY { 0 } else { self.next + 1 };
    }

    /// How many are remembered.
    pub(super) fn len(&self) -> u32 {
        self.len as u32
    }

    /// Arrivals at or beyond `rank`.
    #[inline]
    pub(super) fn beyond(&self, rank: u32) -> u32 {
        let rank = (rank as usize).min(RANKS);
        let whole = rank.div_ceil(BLOCK);
        let part = &self.counts[rank..whole * BLOCK];
        // No sum can exceed MEMORY, which fits.
        u32::from(part.iter().sum::<u16>() + self.blocks[whole..].iter().sum::<u16>())
    }

    /// The lowest rank such that at most a share `ratio` of the arrivals is at or beyond it.
    pub(super) fn threshold(&self, ratio: f64) -> u32 {
        let allowed = ratio * self.len as f64;
        if allowed <= 0.0 {
            // Where nobody is refused, nobody new is either: an empty rank is not a reason.
            return Self::BEYOND;
        }
        self.first(|beyond| f64::from(beyond) <= allowed)
    }

    /// The highest rank at or beyond which there is at least a share `ratio` of the arrivals.
    pub(super) fn quantile(&self, ratio: f64) -> u32 {
        let wanted = ratio * self.len as f64;
        self.first(|beyond| f64::from(beyond) < wanted).saturating_sub(1)
    }

    /// The first rank beyond which there are so few; they become fewer with every rank.
    fn first(&self, few: impl Fn(u32) -> bool) -> u32 {
        let (mut low, mut high) = (0, Self::BEYOND);
        while low < high {
            let middle = low.midpoint(high);
            if few(self.beyond(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of ten arrivals 5 have rank 0, 3 rank 130 and 2 rank 300.
    #[test]
    fn worked_by_hand() {
        let mut ranks = Ranks::new();
        assert_eq!((ranks.threshold(0.5), ranks.len()), (Ranks::BEYOND, 0));
        for (rank, n) in [(0, 5), (130, 3), (300, 2)] {
            (0..n).for_each(|_| ranks.push(rank));
        }
        assert_eq!([0, 1, 130, 131, 300, 301].map(|r| ranks.beyond(r)), [10, 5, 5, 2, 2, 0]);
        for (ratio, threshold, quantile) in [
            (0.0, Ranks::BEYOND, 2047),
            (0.1, 301, 300),
            (0.2, 131, 300),
            (0.3, 131, 130),
            (0.49, 131, 130),
            (0.5, 1, 130),
            (0.99, 1, 0),
            (1.0, 0, 0),
        ] {
            assert_eq!(ranks.threshold(ratio), threshold, "{ratio}");
            assert_eq!(ranks.quantile(ratio), quantile, "{ratio}");
        }
        (0..998).for_each(|_| ranks.push(7));
        assert_eq!(ranks.threshold(0.002), 8, "two of rank 300 and 998 of rank 7 are left");
        (0..2).for_each(|_| ranks.push(7));
        assert_eq!(ranks.threshold(0.001), 8, "no more than 1000 are remembered");
        assert_eq!((ranks.beyond(7), ranks.beyond(8), ranks.len()), (1000, 0, 1000));
    }

    proptest! {
        /// A share is never exceeded, and one more rank would exceed it.
        #[test]
        fn threshold_and_quantile_are_the_share(
            pushed in prop::collection::vec(0u32..2048, 1..2500), ratio in 0.001f64..=1.0,
            rank in 0u32..2048,
        ) {
            let mut ranks = Ranks::new();
            pushed.iter().for_each(|rank| ranks.push(*rank));
            let kept = &pushed[pushed.len().saturating_sub(1000)..];
            let beyond = |rank: u32| kept.iter().filter(|r| **r >= rank).count() as u32;
            prop_assert_eq!(ranks.beyond(rank), beyond(rank));
            let share = |rank: u32| f64::from(beyond(rank)) - ratio * kept.len() as f64;
            let threshold = ranks.threshold(ratio);
            prop_assert!(share(threshold) <= 0.0);
            prop_assert!(threshold == 0 || share(threshold - 1) > 0.0);
            let quantile = ranks.quantile(ratio);
            prop_assert!(share(quantile) >= 0.0 && share(quantile + 1) < 0.0);
        }
    }
}
