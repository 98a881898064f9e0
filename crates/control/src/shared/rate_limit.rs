//! A rate limit that many threads share.

use super::sync::{AtomicU64, Ordering};
use super::{Padded, Refusals, Shards};
use crate::observe::Observe;
use crate::{Nanos, Reason, Refusal};

/// Most tokens that a shard takes at a time.
const MOST: u64 = 64;
/// A shard whose tokens are being fetched by one of its threads.
const FETCHING: u64 = u64::MAX;

/// `rate` per second, and at most `burst` at once.
///
/// The generic cell rate algorithm in one word, which holds the instant at which the bucket will
/// be full again (the theoretical arrival time). A shard takes a batch of tokens from that word
/// and spends them by itself. What shards may keep is part of the burst, at most half of it;
/// with a burst below two per shard there are no batches, and every decision is on the one word.
///
/// **Bound.** In any span of t seconds at most `burst + rate × t`, in any interleaving.
///
/// **Refusals.** A shard does not see what others keep, up to [`RateLimit::kept`] tokens each.
/// Those are not lost, only spent late; but a burst may find less than `burst`, by what all
/// shards may keep, which is at most half. The rate is not affected, except that the time
/// between tokens is rounded up to a nanosecond.
///
/// Time may stand still or go back: that adds nothing.
///
/// ```
/// use damper_control::{Nanos, shared::RateLimit};
///
/// let limit = RateLimit::try_new(10.0, 2, 1).unwrap();
/// let (worker, class) = (0, 0);
/// assert!(limit.acquire(worker, Nanos::ZERO, class).is_ok());
/// assert!(limit.acquire(worker, Nanos::ZERO, class).is_ok());
/// let refusal = limit.acquire(worker, Nanos::ZERO, class).unwrap_err();
/// assert_eq!(refusal.earliest, Some(Nanos::from_millis(100)));
/// ```
#[derive(Debug)]
pub struct RateLimit {
    shards: Shards<Shard>,
    full_at: Padded<AtomicU64>,
    /// Nanoseconds from one token to the next.
    interval: u64,
    /// Nanoseconds from empty to full, without what shards keep.
    depth: u64,
    batch: u64,
}

#[derive(Debug, Default)]
struct Shard {
    tokens: AtomicU64,
    refusals: Refusals,
}

impl RateLimit {
    /// A full bucket. `None` unless `rate` (per second) is in 10^-6..=10^9, `burst` in
    /// 1..=10^9, and `1 ≤ shards ≤ MAX_SHARDS`.
    #[must_use]
    pub fn try_new(rate: f64, burst: u32, shards: usize) -> Option<Self> {
        let valid = (1e-6..=1e9).contains(&rate) && (1..=1_000_000_000).contains(&burst);
        let shards = Shards::<Shard>::try_new(shards).filter(|_| valid)?;
        let (burst, count) = (u64::from(burst), shards.len() as u64);
        let interval = libm::ceil(1e9 / rate) as u64;
        let batch = (burst / (2 * count) + 1).min(MOST);
        let depth = interval.saturating_mul(burst - count * (batch - 1));
        for shard in shards.iter() {
            shard.tokens.store(batch - 1, Ordering::Relaxed);
        }
        Some(Self { shards, full_at: Padded::default(), interval, depth, batch })
    }

    /// Takes a token for an attempt of `class`.
    ///
    /// # Errors
    /// [`Reason::RateLimited`] with the earliest instant at which there could be one.
    #[inline]
    pub fn acquire(&self, shard: usize, now: Nanos, class: u8) -> Result<(), Refusal> {
        let own = self.shards.at(shard);
        if self.batch > 1 {
            let mut tokens = own.tokens.load(Ordering::Relaxed);
            while tokens != 0 && tokens != FETCHING {
                match own.tokens.compare_exchange_weak(
                    tokens,
                    tokens - 1,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return Ok(()),
                    Err(now) => tokens = now,
                }
            }
        }
        self.fetch(own, now, class)
    }

    /// Most tokens that a shard keeps.
    #[must_use]
    pub fn kept(&self) -> u32 {
        // Below MOST.
        (self.batch - 1) as u32
    }

    /// Refusals so far.
    #[must_use]
    pub fn refused(&self) -> u64 {
        Refusals::sum(self.shards.iter().map(|shard| &shard.refusals))
    }

    /// Takes a batch from the bucket, spends one and keeps the rest.
    fn fetch(&self, own: &Shard, now: Nanos, class: u8) -> Result<(), Refusal> {
        if self.batch == 1 {
            return self.take(own, now, class, 1).map(|_| ());
        }
        // Only one of the threads of a shard fetches a batch, so that the shard never keeps
        // more than one; the others help themselves.
        let alone =
            own.tokens.compare_exchange(0, FETCHING, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let got = self.take(own, now, class, if alone { self.batch } else { 1 });
        if alone {
            own.tokens.store(got.map_or(0, |got| got - 1), Ordering::Release);
        }
        got.map(|_| ())
    }

    /// Takes up to `most` tokens from the bucket, at least one.
    #[inline]
    fn take(&self, own: &Shard, now: Nanos, class: u8, most: u64) -> Result<u64, Refusal> {
        let mut full_at = self.full_at.0.load(Ordering::Relaxed);
        loop {
            let from = full_at.max(now.0);
            let room = now.0.saturating_add(self.depth).saturating_sub(from);
            if room < self.interval {
                own.refusals.count();
                // One token is there when it is `interval` before empty: `from + interval - depth`.
                let wait = (from - now.0).saturating_add(self.interval).saturating_sub(self.depth);
                return Err(Refusal::new(Reason::RateLimited, class).until(now + Nanos(wait)));
            }
            let got = if most == 1 { 1 } else { (room / self.interval).min(most) };
            match self.full_at.0.compare_exchange_weak(
                full_at,
                from + got * self.interval,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(got),
                Err(now) => full_at = now,
            }
        }
    }
}

impl Observe for RateLimit {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("refused", self.refused() as f64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn at(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn admitted(limit: &RateLimit, shard: usize, now: Nanos, asked: usize) -> usize {
        (0..asked).filter(|_| limit.acquire(shard, now, 0).is_ok()).count()
    }

    #[test]
    fn worked_by_hand() {
        let limit = RateLimit::try_new(10.0, 1, 1).unwrap();
        assert_eq!(limit.kept(), 0, "no batches of so little");
        assert_eq!(admitted(&limit, 0, at(0), 3), 1);
        assert_eq!(admitted(&limit, 0, at(99), 3), 0);
        assert_eq!(admitted(&limit, 0, at(100), 3), 1);
        assert_eq!(admitted(&limit, 0, at(50), 3), 0, "a clock that goes back adds nothing");
        assert_eq!(admitted(&limit, 0, at(100_000), 3), 1, "no more than the burst is kept");
        assert_eq!(limit.refused(), 2 + 3 + 2 + 3 + 2);
    }

    #[test]
    fn says_when_to_come_back() {
        let limit = RateLimit::try_new(1000.0, 100, 8).unwrap();
        let mut now = at(5);
        for _ in 0..1000 {
            match limit.acquire(3, now, 2) {
                Ok(()) => {}
                Err(refusal) => {
                    assert_eq!((refusal.reason, refusal.class), (Reason::RateLimited, 2));
                    let earliest = refusal.earliest.unwrap();
                    assert!(earliest > now);
                    assert!(limit.acquire(3, Nanos(earliest.0 - 1), 2).is_err());
                    now = earliest;
                    assert!(limit.acquire(3, now, 2).is_ok());
                }
            }
        }
    }

    #[test]
    fn shards_together_have_the_burst() {
        let limit = RateLimit::try_new(1.0, 100, 4).unwrap();
        assert_eq!(limit.kept(), 12);
        assert_eq!(admitted(&limit, 0, at(0), 100), 100 - 3 * 12, "but for what others keep");
        assert_eq!((1..4).map(|shard| admitted(&limit, shard, at(0), 100)).sum::<usize>(), 36);
        let later = Nanos::from_secs(1000);
        assert_eq!(admitted(&limit, 2, later, 100), 100 - 4 * 12, "what a late burst finds");
    }

    #[test]
    fn extremes_neither_panic_nor_admit_more() {
        for (rate, burst) in [(1e-6, 1_000_000_000), (1e9, 1), (1e9, 1_000_000_000)] {
            let limit = RateLimit::try_new(rate, burst, 1).unwrap();
            for now in [Nanos::MAX, Nanos::ZERO, Nanos(u64::MAX - 1), Nanos::MAX] {
                let _ = limit.acquire(0, now, 0);
            }
        }
        for (rate, burst, shards) in [
            (0.0, 1, 1),
            (f64::NAN, 1, 1),
            (f64::INFINITY, 1, 1),
            (-1.0, 1, 1),
            (2e9, 1, 1),
            (1.0, 0, 1),
            (1.0, 1_000_000_001, 1),
            (1.0, 1, 0),
        ] {
            assert!(RateLimit::try_new(rate, burst, shards).is_none());
        }
    }

    proptest! {
        #[test]
        fn no_window_admits_more_than_burst_plus_rate(
            rate in 1u32..1000, burst in 1u32..60, shards in 1usize..=4,
            steps in prop::collection::vec((0usize..8, 0u64..20_000_000), 1..300),
        ) {
            let limit = RateLimit::try_new(f64::from(rate), burst, shards).unwrap();
            let mut now = Nanos::ZERO;
            let mut admitted = Vec::new();
            for (shard, step) in steps {
                now = now + Nanos(step);
                if limit.acquire(shard, now, 0).is_ok() {
                    admitted.push(now);
                }
            }
            for i in 0..admitted.len() {
                for j in i..admitted.len() {
                    let span = (admitted[j] - admitted[i]).as_secs_f64();
                    let bound = f64::from(burst) + f64::from(rate) * span;
                    prop_assert!((j - i + 1) as f64 <= bound + 1e-6);
                }
            }
        }
    }
}
