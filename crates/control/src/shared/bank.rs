//! An amount that many threads take from and add to, split over shards.
//!
//! A shard is one word: how often something was added, and what is there. Taking is one
//! compare-and-exchange on the own shard. When that has too little, the others are asked, and
//! what they give goes to the taker; nothing is moved ahead of need, so nothing is ever out of
//! sight of a taker of one unit.
//!
//! **Refusing.** A shard that was seen with too little can only have gained by an addition, and
//! additions are counted. Two looks at all shards with equal counts therefore prove that there
//! was an instant between them at which all together had too little.
//!
//! **Debt.** What must be taken and is not there is owed. Nothing is given while there is debt,
//! and additions pay it first.

use super::sync::{AtomicU64, Ordering};
use super::{Padded, Refusals, Shards, pack, unpack};

/// How often a taker that was overtaken by others looks again.
const ROUNDS: u32 = 16;

/// See the module.
#[derive(Debug)]
pub(super) struct Bank {
    shards: Shards<Shard>,
    debt: Padded<AtomicU64>,
}

#[derive(Debug, Default)]
struct Shard {
    /// Additions (mod 2^32), amount.
    word: AtomicU64,
    refusals: Refusals,
}

impl Shard {
    /// Takes exactly `n`, or nothing.
    #[inline]
    fn take(&self, n: u32) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while unpack(word).1 >= n {
            // The amount is in the low half: no borrow, the count of additions stays.
            match self.word.compare_exchange_weak(
                word,
                word - u64::from(n),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Takes what there is, up to `n`.
    fn take_some(&self, n: u32) -> u32 {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let some = unpack(word).1.min(n);
            if some == 0 {
                return 0;
            }
            match self.word.compare_exchange_weak(
                word,
                word - u64::from(some),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return some,
                Err(now) => word = now,
            }
        }
    }

    #[inline]
    fn add(&self, n: u32) {
        // An amount beyond 32 bits loses 2^32: less is then given, never more.
        self.word.fetch_add(pack(1, n), Ordering::AcqRel);
    }
}

impl Bank {
    /// Has `amount`, evenly spread. `None` unless `1 ≤ shards ≤ MAX_SHARDS`.
    pub(super) fn try_new(amount: u32, shards: usize) -> Option<Self> {
        let bank = Self { shards: Shards::try_new(shards)?, debt: Padded::default() };
        bank.spread(amount);
        Some(bank)
    }

    /// Takes `n`, or counts a refusal.
    #[inline]
    pub(super) fn take(&self, shard: usize, n: u32) -> bool {
        let free = self.debt.0.load(Ordering::Acquire) == 0;
        (free && self.shards.at(shard).take(n)) || self.take_anywhere(shard, n)
    }

    /// Takes `n` from wherever it is.
    #[cold]
    #[inline(never)]
    fn take_anywhere(&self, shard: usize, n: u32) -> bool {
        for _ in 0..ROUNDS {
            if !self.settle() {
                break;
            }
            let (amount, additions) = self.look();
            if amount < u64::from(n) {
                if self.look().1 == additions {
                    break;
                }
                continue;
            }
            let got = self.gather(shard, n);
            if got == n {
                return true;
            }
            if got > 0 {
                self.add(shard, got);
            }
        }
        self.shards.at(shard).refusals.count();
        false
    }

    /// Takes `n` even if it is not there.
    #[inline]
    pub(super) fn force(&self, shard: usize, n: u32) {
        if !self.shards.at(shard).take(n) {
            let owed = n - self.gather(shard, n);
            if owed > 0 {
                self.debt.0.fetch_add(u64::from(owed), Ordering::AcqRel);
            }
        }
    }

    /// Adds `n`.
    #[inline]
    pub(super) fn add(&self, shard: usize, n: u32) {
        let rest = if self.debt.0.load(Ordering::Acquire) == 0 { n } else { self.pay(n) };
        if rest > 0 {
            self.shards.at(shard).add(rest);
        }
    }

    /// Adds `n`, a part of it to every shard.
    pub(super) fn spread(&self, n: u32) {
        // At most MAX_SHARDS.
        let count = self.shards.len() as u32;
        for shard in 0..count {
            let part = n / count + u32::from(shard < n % count);
            if part > 0 {
                self.add(shard as usize, part);
            }
        }
    }

    /// What is there, less what is owed. Others may change it while it is counted.
    pub(super) fn balance(&self) -> i64 {
        let owed = self.debt.0.load(Ordering::Acquire);
        self.look().0.cast_signed().saturating_sub(i64::try_from(owed).unwrap_or(i64::MAX))
    }

    /// Refusals so far.
    pub(super) fn refused(&self) -> u64 {
        Refusals::sum(self.shards.iter().map(|shard| &shard.refusals))
    }

    /// What all shards have, and how often something was added to them. Counts only grow, so
    /// equal sums are equal counts.
    fn look(&self) -> (u64, u64) {
        self.shards.iter().fold((0, 0), |(amounts, counts), shard| {
            let (additions, amount) = unpack(shard.word.load(Ordering::Acquire));
            (amounts + u64::from(amount), counts + u64::from(additions))
        })
    }

    /// Takes up to `n` from all shards, the own one first.
    fn gather(&self, shard: usize, n: u32) -> u32 {
        let mut got = 0;
        for shard in self.shards.from(shard) {
            got += shard.take_some(n - got);
            if got == n {
                break;
            }
        }
        got
    }

    /// Pays debt from the shards; whether none is left.
    fn settle(&self) -> bool {
        for shard in self.shards.iter() {
            let debt = self.debt.0.load(Ordering::Acquire);
            if debt == 0 {
                return true;
            }
            let got = shard.take_some(u32::try_from(debt).unwrap_or(u32::MAX));
            let rest = self.pay(got);
            if rest > 0 {
                shard.add(rest);
            }
        }
        self.debt.0.load(Ordering::Acquire) == 0
    }

    /// Pays debt with up to `n`; what is left of `n`.
    fn pay(&self, n: u32) -> u32 {
        let mut debt = self.debt.0.load(Ordering::Acquire);
        loop {
            let paid = u32::try_from(debt).unwrap_or(u32::MAX).min(n);
            if paid == 0 {
                return n;
            }
            match self.debt.0.compare_exchange_weak(
                debt,
                debt - u64::from(paid),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return n - paid,
                Err(now) => debt = now,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn takes_from_any_shard() {
        let bank = Bank::try_new(10, 4).unwrap();
        assert_eq!((0..20).filter(|_| bank.take(2, 1)).count(), 10);
        assert_eq!((bank.balance(), bank.refused()), (0, 10));
        bank.add(3, 1);
        assert!(bank.take(0, 1), "what was added elsewhere");
    }

    #[test]
    fn gathers_fractions() {
        let bank = Bank::try_new(1000, 4).unwrap();
        assert!(bank.take(0, 1000), "250 in each");
        bank.add(0, 400);
        bank.add(1, 599);
        assert!(!bank.take(2, 1000));
        bank.add(3, 1);
        assert!(bank.take(2, 1000));
        assert_eq!(bank.balance(), 0);
    }

    #[test]
    fn debt_is_paid_first() {
        let bank = Bank::try_new(3, 2).unwrap();
        bank.force(0, 5);
        assert_eq!(bank.balance(), -2);
        assert!(!bank.take(0, 1));
        bank.add(1, 2);
        assert!(!bank.take(1, 1));
        bank.add(1, 1);
        assert!(bank.take(0, 1));
    }

    proptest! {
        #[test]
        fn is_a_sum(
            start in 0u32..50, shards in 1usize..=8,
            ops in prop::collection::vec((0u8..3, 0usize..16, 1u32..20), 0..200),
        ) {
            let bank = Bank::try_new(start, shards).unwrap();
            let mut sum = i64::from(start);
            for (op, shard, n) in ops {
                let n64 = i64::from(n);
                match op {
                    0 => { bank.add(shard, n); sum += n64; }
                    1 => { bank.force(shard, n); sum -= n64; }
                    _ => {
                        let taken = bank.take(shard, n);
                        prop_assert_eq!(taken, sum >= n64, "{} of {}", n, sum);
                        if taken { sum -= n64; }
                    }
                }
                prop_assert_eq!(bank.balance(), sum);
            }
        }
    }
}
