//! Concurrent retries as a share of concurrent calls, in one word.

use super::sync::{AtomicU64, Ordering};
use super::{Padded, Refusals, Shards, TOKEN, pack, unpack};
use crate::observe::Observe;

/// Concurrent retries as a share of concurrent calls: a retry is granted while
/// `retries < max(floor(share × open), least)`.
///
/// The idea of Envoy's retry budget with one population on both sides: a call is open from its
/// first attempt to its end, backoff included, and a retry counts from the grant, through its
/// backoff, to its end (envoy issue 30205). The control `ratio` is the same with one owner.
///
/// **Bound.** Calls and retries are two halves of one word, and a grant is one
/// compare-and-exchange of both: exact in any interleaving, and so is every refusal. Peers check
/// first and subtract later.
///
/// All threads write one word. Where more than one thread is always at it,
/// [`ShardedRatioBudget`](super::ShardedRatioBudget) is several times faster.
///
/// ```
/// use damper_control::shared::RatioBudget;
///
/// let budget = RatioBudget::try_new(200, 1, 4).unwrap(); // 20 %, at least 1
/// for _ in 0..10 {
///     budget.start();
/// }
/// assert!(budget.withdraw(0) && budget.withdraw(1));
/// assert!(!budget.withdraw(0), "two of ten are out");
/// ```
#[derive(Debug)]
pub struct RatioBudget {
    /// Open calls, retries.
    word: Padded<AtomicU64>,
    refusals: Shards<Refusals>,
    per_mille: u32,
    least: u32,
}

/// Whether a share and a number of retries are in range.
pub(super) const fn valid(per_mille: u32, retries: u32) -> bool {
    per_mille <= 10 * TOKEN && retries <= 1_000_000
}

impl RatioBudget {
    /// `per_mille` / 1000 retries for each open call, and never less than `least`. `None` unless
    /// `per_mille` ≤ 10,000, `least` ≤ 1,000,000 and `1 ≤ shards ≤ MAX_SHARDS`. Only refusals
    /// are counted in shards.
    #[must_use]
    pub fn try_new(per_mille: u32, least: u32, shards: usize) -> Option<Self> {
        let refusals = Shards::try_new(shards)?;
        valid(per_mille, least).then(|| Self {
            word: Padded::default(),
            refusals,
            per_mille,
            least,
        })
    }

    /// A call starts: before its first attempt. At most 2^32 - 1 calls may be open.
    #[inline]
    pub fn start(&self) {
        self.word.0.fetch_add(pack(1, 0), Ordering::AcqRel);
    }

    /// A call has ended, whatever its attempts did. One that never started changes nothing.
    #[inline]
    pub fn end(&self) {
        self.lower(pack(1, 0), |word| unpack(word).0);
    }

    /// Asks for one retry, which counts from now on, through its backoff, until
    /// [`RatioBudget::done`].
    #[inline]
    #[must_use]
    pub fn withdraw(&self, shard: usize) -> bool {
        let mut word = self.word.0.load(Ordering::Acquire);
        while unpack(word).1 < self.limit(unpack(word).0) {
            match self.word.0.compare_exchange_weak(
                word,
                word + pack(0, 1),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        self.refusals.at(shard).count();
        false
    }

    /// A granted retry has ended, or is never sent. One that was not granted changes nothing.
    #[inline]
    pub fn done(&self) {
        self.lower(pack(0, 1), |word| unpack(word).1);
    }

    /// Open calls, and retries that wait or are in flight.
    #[must_use]
    pub fn open_and_retries(&self) -> (u32, u32) {
        unpack(self.word.0.load(Ordering::Acquire))
    }

    /// Refusals so far.
    #[must_use]
    pub fn denied(&self) -> u64 {
        Refusals::sum(self.refusals.iter())
    }

    #[inline]
    fn limit(&self, open: u32) -> u32 {
        let share = u64::from(open) * u64::from(self.per_mille) / u64::from(TOKEN);
        u32::try_from(share).unwrap_or(u32::MAX).max(self.least)
    }

    /// Subtracts `by` unless that half of the word is already zero.
    #[inline]
    fn lower(&self, by: u64, half: impl Fn(u64) -> u32) {
        let mut word = self.word.0.load(Ordering::Acquire);
        while half(word) > 0 {
            match self.word.0.compare_exchange_weak(
                word,
                word - by,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}

impl Observe for RatioBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let (open, retries) = self.open_and_retries();
        see("open", f64::from(open));
        see("retries", f64::from(retries));
        see("limit", f64::from(self.limit(open)));
        see("denied", self.denied() as f64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Envoy's vectors.
    #[test]
    fn limit_by_hand() {
        let budget = RatioBudget::try_new(200, 3, 1).unwrap();
        for (open, limit) in [(0, 3), (14, 3), (20, 4), (25, 5), (100, 20), (u32::MAX, 858_993_459)]
        {
            assert_eq!(budget.limit(open), limit, "{open} open");
        }
    }

    #[test]
    fn the_ratio_is_the_one_configured() {
        for (per_mille, granted) in [(0, 0), (300, 300), (333, 333), (600, 600), (10_000, 1000)] {
            let budget = RatioBudget::try_new(per_mille, 0, 1).unwrap();
            (0..1000).for_each(|_| budget.start());
            assert_eq!((0..1000).filter(|_| budget.withdraw(0)).count(), granted);
            assert_eq!(budget.denied(), 1000 - granted as u64);
        }
    }

    #[test]
    fn what_ended_frees_and_nothing_underflows() {
        let budget = RatioBudget::try_new(500, 0, 1).unwrap();
        budget.end();
        budget.done();
        assert_eq!(budget.open_and_retries(), (0, 0));
        budget.start();
        budget.start();
        assert!(budget.withdraw(0) && !budget.withdraw(0));
        budget.end();
        budget.done();
        assert!(!budget.withdraw(0), "half of one call is no retry");
        assert_eq!(budget.open_and_retries(), (1, 0));
    }

    #[test]
    fn refuses_impossible_settings() {
        for (per_mille, least, shards) in [(10_001, 0, 1), (200, 1_000_001, 1), (200, 3, 0)] {
            assert!(RatioBudget::try_new(per_mille, least, shards).is_none());
        }
    }
}
