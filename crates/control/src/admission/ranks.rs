//! The priorities of the last arrivals, for rules that refuse a share of them.

use alloc::boxed::Box;
use alloc::vec;

use crate::who::{CLASSES, COHORTS};

/// How many arrivals are remembered, as Cinnamon and failsafe-go do.
const MEMORY: usize = 1000;
const RANKS: usize = CLASSES * COHORTS as usize;

/// A ring of ranks with their histogram.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    ring: Box<[u16]>,
    next: usize,
    len: usize,
    counts: Box<[u16]>,
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
        }
    }

    #[inline]
    pub(super) fn push(&mut self, rank: u32) {
        let rank = (rank as usize).min(RANKS - 1);
        let slot = &mut self.ring[self.next];
        if self.len == MEMORY {
            self.counts[usize::from(*slot)] -= 1;
        } else {
            self.len += 1;
        }
        *slot = rank as u16;
        self.counts[rank] += 1;
        self.next = if self.next + 1 == MEMORY { 0 } else { self.next + 1 };
    }

    /// The lowest rank such that at most a share `ratio` of the arrivals is at or beyond it.
    pub(super) fn threshold(&self, ratio: f64) -> u32 {
        let allowed = ratio * self.len as f64;
        let (mut beyond, mut rank) = (0.0, RANKS);
        while rank > 0 {
            beyond += f64::from(self.counts[rank - 1]);
            if beyond > allowed {
                break;
            }
            rank -= 1;
        }
        // Where nobody is refused, nobody new is either: an empty rank is not a reason.
        if allowed == 0.0 { Self::BEYOND } else { rank as u32 }
    }

    /// The highest rank at or beyond which there is at least a share `ratio` of the arrivals.
    pub(super) fn quantile(&self, ratio: f64) -> u32 {
        let wanted = ratio * self.len as f64;
        let (mut beyond, mut rank) = (0.0, RANKS - 1);
        while rank > 0 {
            beyond += f64::from(self.counts[rank]);
            if beyond >= wanted {
                break;
            }
            rank -= 1;
        }
        rank as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }
}
