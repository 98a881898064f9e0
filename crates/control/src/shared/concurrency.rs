//! A concurrency limit that many threads share.

use super::Padded;
use super::bank::Bank;
use super::sync::{AtomicU64, Ordering};
use crate::observe::Observe;
use crate::{Reason, Refusal};

/// Leave to work on one attempt, to be given back by [`Concurrency::release`].
///
/// A permit that is dropped is lost: this crate has no destructor to run, and an adapter knows
/// better when work has ended.
#[derive(Debug)]
#[must_use = "a permit that is not released is lost"]
pub struct Permit(());

/// Permits for what may be in flight, each in one of the shards.
///
/// **Bound.** Never more in flight than the limit, in any interleaving. After
/// [`Concurrency::set_limit`] has lowered it, nothing is granted until what is in flight has
/// fallen below the new one.
///
/// **Refusals.** One permit is taken at a time, where it is, so none is ever stranded. A refusal
/// means that there was an instant during the call at which all were in use. There are two
/// exceptions: others took, 16 times in a row, the permit that the call had just seen; or a
/// lowered limit is being settled, when a permit may be out of sight for each thread that
/// settles.
///
/// The limit may come from any [`ConcurrencyLimit`](crate::concurrency::ConcurrencyLimit): its
/// owner learns from samples and calls [`Concurrency::set_limit`].
///
/// ```
/// use damper_control::shared::Concurrency;
///
/// let limit = Concurrency::try_new(2, 8).unwrap();
/// let (worker, class) = (5, 0);
/// let first = limit.acquire(worker, class).unwrap();
/// let second = limit.acquire(worker + 1, class).unwrap();
/// assert!(limit.acquire(worker, class).is_err());
/// limit.release(worker, first);
/// assert_eq!(limit.in_flight(), 1);
/// # limit.release(worker, second);
/// ```
#[derive(Debug)]
pub struct Concurrency {
    permits: Bank,
    limit: Padded<AtomicU64>,
}

impl Concurrency {
    /// At most `limit` in flight. `None` unless `1 ≤ shards ≤ MAX_SHARDS`.
    #[must_use]
    pub fn try_new(limit: u32, shards: usize) -> Option<Self> {
        let permits = Bank::try_new(limit, shards)?;
        Some(Self { permits, limit: Padded(AtomicU64::new(u64::from(limit))) })
    }

    /// Takes a permit for an attempt of `class`.
    ///
    /// # Errors
    /// [`Reason::ConcurrencyLimited`] when there is none.
    #[inline]
    pub fn acquire(&self, shard: usize, class: u8) -> Result<Permit, Refusal> {
        if self.permits.take(shard, 1) {
            Ok(Permit(()))
        } else {
            Err(Refusal::new(Reason::ConcurrencyLimited, class))
        }
    }

    /// Gives a permit back. It stays with `shard`, which need not be the one it came from: pass
    /// that of whoever will want the next.
    #[inline]
    pub fn release(&self, shard: usize, permit: Permit) {
        let Permit(()) = permit;
        self.permits.add(shard, 1);
    }

    /// Changes the limit. What is in flight stays in flight.
    pub fn set_limit(&self, limit: u32) {
        // Never more than 32 bits were stored.
        let before = self.limit.0.swap(u64::from(limit), Ordering::AcqRel) as u32;
        if limit > before {
            self.permits.spread(limit - before);
        } else {
            self.permits.force(0, before - limit);
        }
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit.0.load(Ordering::Acquire) as u32
    }

    /// Attempts in flight; counted while others come and go.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        let in_flight = i64::from(self.limit()).saturating_sub(self.permits.balance());
        u32::try_from(in_flight.max(0)).unwrap_or(u32::MAX)
    }

    /// Refusals so far.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.permits.refused()
    }
}

impl Observe for Concurrency {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit()));
        see("in_flight", f64::from(self.in_flight()));
        see("refused", self.refused() as f64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn a_limit_can_be_lowered_below_what_is_in_flight() {
        let limit = Concurrency::try_new(4, 2).unwrap();
        let mut permits: Vec<Permit> = (0..3).map(|i| limit.acquire(i, 0).unwrap()).collect();
        limit.set_limit(1);
        assert_eq!((limit.limit(), limit.in_flight()), (1, 3));
        for left in [2, 1] {
            assert_eq!(
                limit.acquire(0, 3).unwrap_err(),
                Refusal::new(Reason::ConcurrencyLimited, 3)
            );
            limit.release(1, permits.pop().unwrap());
            assert_eq!(limit.in_flight(), left);
        }
        assert!(limit.acquire(0, 0).is_err(), "one of one");
        limit.release(0, permits.pop().unwrap());
        let permit = limit.acquire(1, 0).unwrap();
        assert_eq!((limit.in_flight(), limit.refused()), (1, 3));
        limit.set_limit(0);
        limit.release(0, permit);
        assert!(limit.acquire(0, 0).is_err());
    }

    proptest! {
        #[test]
        fn counts_as_one_number_would(
            limit in 0u32..20, shards in 1usize..=8,
            ops in prop::collection::vec((0u8..8, 0usize..16, 0u32..20), 0..300),
        ) {
            let control = Concurrency::try_new(limit, shards).unwrap();
            let (mut limit, mut held) = (limit, Vec::new());
            for (op, shard, to) in ops {
                match op {
                    0 => { limit = to; control.set_limit(to); }
                    1..4 => if let Some(permit) = held.pop() { control.release(shard, permit) },
                    _ => {
                        let free = (held.len() as u32) < limit;
                        let answer = control.acquire(shard, 0);
                        prop_assert_eq!(answer.is_ok(), free);
                        held.extend(answer);
                    }
                }
                prop_assert_eq!(control.in_flight(), held.len() as u32);
            }
        }
    }
}
