//! Controls that many threads share: lock-free, and sharded where one word would be fought over.
//!
//! The other modules of this crate are single-owner state machines (`&mut self`). Where the hot
//! path of a server cannot afford an owner, these take `&self`. None of them locks, waits or
//! allocates on a decision.
//!
//! # Bounds
//!
//! What a control may never exceed (permits in flight, retries, admissions) holds for any number
//! of threads and any interleaving: a check and what it decides about are one atomic operation,
//! and a token is always in one place, or on its way in the registers of one thread. What is on
//! its way, or in another shard, can make an answer stricter for a moment, never looser; each
//! type says by how much.
//!
//! Refusals are counted, on the shard that they happen on. Grants are not: counting them would
//! cost nearly as much as deciding.
//!
//! # Shards
//!
//! Every method takes the `shard` to work on: any number, for instance the index of the worker
//! thread. It is reduced to the shards that there are. The answer is right with any number;
//! threads that pass different ones do not disturb each other. This crate has no operating
//! system below it, and so cannot ask which thread it is on.
//!
//! Two threads on one shard are slower, not wrong. As many shards as worker threads is best:
//! more only make a refusal look at more places.

mod bank;
mod concurrency;
mod deposit;
mod rate_limit;
mod ratio;
mod sharded_ratio;
mod sync;
mod token_bucket;

pub use concurrency::{Concurrency, Permit};
pub use deposit::DepositBudget;
pub use rate_limit::RateLimit;
pub use ratio::RatioBudget;
pub use sharded_ratio::ShardedRatioBudget;
pub use token_bucket::TokenBucket;

use alloc::boxed::Box;

use sync::{AtomicU64, Ordering};

/// Most shards that a control may have: what a refusal may have to look at.
pub const MAX_SHARDS: usize = 64;

/// A thousandth of a token is the unit of account of every budget here.
const TOKEN: u32 = 1000;

/// Alone on its cache line, and on the one that the prefetcher brings along.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

/// A power of two of shards, each on its own cache lines.
#[derive(Debug)]
struct Shards<T> {
    each: Box<[Padded<T>]>,
    mask: usize,
}

impl<T: Default> Shards<T> {
    /// At least `count` of them; `None` unless `1 ≤ count ≤ MAX_SHARDS`.
    fn try_new(count: usize) -> Option<Self> {
        let count = (1..=MAX_SHARDS).contains(&count).then(|| count.next_power_of_two())?;
        Some(Self { each: (0..count).map(|_| Padded::default()).collect(), mask: count - 1 })
    }
}

impl<T> Shards<T> {
    #[inline]
    fn at(&self, shard: usize) -> &T {
        &self.each[shard & self.mask].0
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.each.iter().map(|shard| &shard.0)
    }

    /// All of them, that of `shard` first.
    fn from(&self, shard: usize) -> impl Iterator<Item = &T> {
        (0..self.each.len()).map(move |step| self.at(shard.wrapping_add(step)))
    }

    fn len(&self) -> usize {
        self.each.len()
    }
}

/// Refusals, counted where nobody else counts.
#[derive(Debug, Default)]
struct Refusals(AtomicU64);

impl Refusals {
    #[inline]
    fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> u64 {
        all.map(|one| one.0.load(Ordering::Relaxed)).sum()
    }
}

/// Two halves of a word.
#[inline]
const fn pack(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// The halves of a word, the high one first.
#[inline]
const fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn any_number_is_a_shard() {
        let shards = Shards::<Refusals>::try_new(3).unwrap();
        assert_eq!(shards.len(), 4);
        for shard in [0, 3, 4, usize::MAX] {
            shards.at(shard).count();
            assert_eq!(shards.from(shard).count(), 4);
        }
        assert_eq!(Refusals::sum(shards.iter()), 4);
        let own: Vec<u64> = shards.iter().map(|s| s.0.load(Ordering::Relaxed)).collect();
        assert_eq!(own, [2, 0, 0, 2]);
    }

    #[test]
    fn shards_have_bounds() {
        for (count, there) in [(0, None), (1, Some(1)), (5, Some(8)), (64, Some(64)), (65, None)] {
            assert_eq!(Shards::<Refusals>::try_new(count).map(|s| s.len()), there, "{count}");
        }
    }

    #[test]
    fn a_shard_is_alone_on_its_lines() {
        assert_eq!(size_of::<Padded<AtomicU64>>(), 128);
        assert_eq!(align_of::<Padded<AtomicU64>>(), 128);
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(high: u32, low: u32) {
            prop_assert_eq!(unpack(pack(high, low)), (high, low));
        }
    }
}
