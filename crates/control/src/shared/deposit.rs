//! A retry budget that calls pay into, over shards.
//!
//! Time is cut into slots of half a window. A shard has two words, one for the slot that runs
//! and one for the slot before; a word is a slot's number and the thousandths of tokens that
//! were paid in during that slot and not yet spent. A word with an older number is empty, so
//! expiry costs nothing: the next payment overwrites it. A payment or a grant is one
//! compare-and-exchange of one such word.
//!
//! A shard that has more than [`KEPT`] brings half of it to the pool, and one that has nothing
//! takes from the pool, then from the other shards.

use super::sync::{AtomicU64, Ordering};
use super::{Padded, Refusals, Shards, TOKEN, pack, unpack};
use crate::Nanos;
use crate::observe::Observe;

/// What a shard keeps before it brings half to the pool.
const KEPT: u32 = 32 * TOKEN;
/// What a shard takes from the pool, or at most from another shard, at a time.
const BATCH: u32 = 8 * TOKEN;
/// How long a shard that found nothing anywhere does not look again at the others.
const LOOK: Nanos = Nanos::from_millis(1);

/// What was paid in and is not spent: one word for slots of even number, one for odd.
type Slots = [AtomicU64; 2];

/// Retries as a share of the calls of the last window, on top of a reserve for each window.
///
/// The idea of Finagle's and tower's budgets: every call pays in a share of a token, a retry
/// costs one, and what is not spent within a window is lost. (With one owner, the control
/// `deposit` has a window that slides in ten steps; here it is two, which fit into two words.)
///
/// **Bound.** In each window (of those that follow one another without gap), no more retries
/// than `share × calls + reserve`, where the calls are those of the window and of the half
/// before it: what is paid in can be spent for at least half a window and at most a whole one.
/// Exact to a thousandth of a token in any interleaving. Peers turn 30 % into 33.3 %, and check
/// first and subtract later.
///
/// **Refusals.** May be early by what is out of reach: tokens that another thread is moving at
/// this moment, and what reached other shards in the millisecond after this one had found them
/// all empty. What is left over when a slot expires is less than one token per shard, or what
/// nobody asked for.
///
/// Time that goes back counts as standing still. A window is longer than configured by a factor
/// below 1 + 10^-8, and beyond 2^32 - 2 slots after the origin of time (at least 68 years)
/// nothing expires and no reserve is renewed.
///
/// ```
/// use damper_control::{Nanos, shared::DepositBudget};
///
/// let budget = DepositBudget::try_new(300, 1, Nanos::from_secs(10), 4).unwrap(); // 30 % and 1
/// let (worker, now) = (0, Nanos::from_millis(1));
/// for _ in 0..10 {
///     budget.deposit(worker, now);
/// }
/// let granted = (0..10).filter(|_| budget.withdraw(worker, now)).count();
/// assert_eq!(granted, 3 + 1);
/// ```
#[derive(Debug)]
pub struct DepositBudget {
    shards: Shards<Shard>,
    pool: Padded<Slots>,
    /// A window's number, and how much of its reserve is spent.
    spent: Padded<AtomicU64>,
    /// 2^64 / nanoseconds of a slot.
    reciprocal: u64,
    per_mille: u32,
    reserve: u32,
}

#[derive(Debug, Default)]
struct Shard {
    slots: Slots,
    /// Until when looking at other shards is no use, in nanoseconds.
    unlooked: AtomicU64,
    refusals: Refusals,
}

#[inline]
fn word(slots: &Slots, slot: u32) -> &AtomicU64 {
    &slots[(slot & 1) as usize]
}

/// Adds to what was paid in during `slot`, unless that has expired. What is then there.
#[inline]
fn put(slots: &Slots, slot: u32, n: u32) -> u32 {
    let at = word(slots, slot);
    let mut old = at.load(Ordering::Relaxed);
    loop {
        let (number, there) = unpack(old);
        if number > slot {
            return 0;
        }
        let sum = if number == slot { there.saturating_add(n) } else { n };
        let new = pack(slot, sum);
        match at.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return sum,
            Err(now) => old = now,
        }
    }
}

/// Takes from what was paid in during `slot` as much as `choose` says of what is there; zero
/// is for nothing.
#[inline]
fn take(slots: &Slots, slot: u32, choose: impl Fn(u32) -> u32) -> u32 {
    let at = word(slots, slot);
    let mut old = at.load(Ordering::Relaxed);
    loop {
        let (number, there) = unpack(old);
        let n = if number == slot { choose(there).min(there) } else { 0 };
        if n == 0 {
            return 0;
        }
        let new = old - u64::from(n);
        match at.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return n,
            Err(now) => old = now,
        }
    }
}

/// A whole token, or nothing.
#[inline]
fn whole(there: u32) -> u32 {
    if there >= TOKEN { TOKEN } else { 0 }
}

impl DepositBudget {
    /// Each call pays in `per_mille` / 1000 tokens, and each window has `reserve` tokens more.
    /// `None` unless `per_mille` ≤ 10,000, 1 s ≤ `window` ≤ 1 h and `1 ≤ shards ≤ MAX_SHARDS`.
    #[must_use]
    pub fn try_new(per_mille: u32, reserve: u32, window: Nanos, shards: usize) -> Option<Self> {
        let valid = per_mille <= 10 * TOKEN
            && (Nanos::from_secs(1)..=Nanos::from_secs(3600)).contains(&window);
        let shards = Shards::try_new(shards)?;
        valid.then(|| Self {
            shards,
            pool: Padded::default(),
            spent: Padded::default(),
            reciprocal: u64::MAX / (window.0 / 2),
            per_mille,
            reserve,
        })
    }

    /// A call starts: it pays in its share.
    #[inline]
    pub fn deposit(&self, shard: usize, now: Nanos) {
        let own = self.shards.at(shard);
        let slot = self.slot(own, now);
        if put(&own.slots, slot, self.per_mille) > KEPT {
            self.share(own, slot);
        }
    }

    /// Asks for one retry.
    #[inline]
    #[must_use]
    pub fn withdraw(&self, shard: usize, now: Nanos) -> bool {
        let own = self.shards.at(shard);
        let slot = self.slot(own, now);
        // What expires first is spent first.
        take(&own.slots, slot - 1, whole) > 0
            || take(&own.slots, slot, whole) > 0
            || self.withdraw_anywhere(shard, slot, now)
    }

    /// A retry that was granted is never sent: its token can be spent until the end of the next
    /// slot.
    pub fn cancel(&self, shard: usize, now: Nanos) {
        let own = self.shards.at(shard);
        put(&own.slots, self.slot(own, now), TOKEN);
    }

    /// Tokens that can be spent now, without the reserve; counted while others come and go.
    #[must_use]
    pub fn tokens(&self, now: Nanos) -> f64 {
        let all = self.shards.iter().map(|shard| &shard.slots).chain([&self.pool.0]);
        let slot = self.number(now);
        let sum: u64 = all
            .flat_map(|slots| slots.iter())
            .map(|at| unpack(at.load(Ordering::Relaxed)))
            .filter(|(number, _)| number + 1 >= slot)
            .map(|(_, there)| u64::from(there))
            .sum();
        sum as f64 / f64::from(TOKEN)
    }

    /// Refusals so far.
    #[must_use]
    pub fn denied(&self) -> u64 {
        Refusals::sum(self.shards.iter().map(|shard| &shard.refusals))
    }

    /// The slot of an instant, from 1.
    #[inline]
    fn number(&self, now: Nanos) -> u32 {
        // A multiplication, as a division would cost as much as the rest of a decision.
        let slot = (u128::from(now.0) * u128::from(self.reciprocal)) >> 64;
        u32::try_from(slot).map_or(u32::MAX, |slot| slot.saturating_add(1))
    }

    /// The slot of an instant, or a later one that the shard has seen.
    #[inline]
    fn slot(&self, own: &Shard, now: Nanos) -> u32 {
        own.slots
            .iter()
            .map(|at| unpack(at.load(Ordering::Relaxed)).0)
            .fold(self.number(now), u32::max)
    }

    #[cold]
    #[inline(never)]
    fn share(&self, own: &Shard, slot: u32) {
        let n = take(&own.slots, slot, |there| if there > KEPT { KEPT / 2 } else { 0 });
        if n > 0 {
            put(&self.pool.0, slot, n);
        }
    }

    #[cold]
    #[inline(never)]
    fn withdraw_anywhere(&self, shard: usize, slot: u32, now: Nanos) -> bool {
        let own = self.shards.at(shard);
        self.withdraw_from_pool(own, slot)
            || self.withdraw_from_others(shard, slot, now)
            || self.withdraw_from_reserve(slot)
            || {
                own.refusals.count();
                false
            }
    }

    fn withdraw_from_pool(&self, own: &Shard, slot: u32) -> bool {
        for slot in [slot - 1, slot] {
            let got = take(&self.pool.0, slot, |there| if there < TOKEN { 0 } else { BATCH });
            if got >= TOKEN {
                if got > TOKEN {
                    put(&own.slots, slot, got - TOKEN);
                }
                return true;
            }
        }
        false
    }

    fn withdraw_from_others(&self, shard: usize, slot: u32, now: Nanos) -> bool {
        let own = self.shards.at(shard);
        let unlooked = Nanos(own.unlooked.load(Ordering::Relaxed));
        if unlooked > now && unlooked.since(now) <= LOOK {
            return false;
        }
        // Of the slot before and of this one; fractions add up to a whole token.
        let mut got = [0, 0];
        for from in self.shards.from(shard) {
            for (part, slot) in [slot - 1, slot].into_iter().enumerate() {
                let sum = got[0] + got[1];
                if sum < TOKEN {
                    got[part] +=
                        take(&from.slots, slot, |there| (there / 2).clamp(TOKEN - sum, BATCH));
                }
            }
        }
        let granted = got[0] + got[1] >= TOKEN;
        if granted {
            let before = got[0].min(TOKEN);
            got[0] -= before;
            got[1] -= TOKEN - before;
        } else {
            own.unlooked.store((now + LOOK).0, Ordering::Relaxed);
        }
        for (n, slot) in got.into_iter().zip([slot - 1, slot]) {
            if n > 0 {
                put(&own.slots, slot, n);
            }
        }
        granted
    }

    fn withdraw_from_reserve(&self, slot: u32) -> bool {
        let mut old = self.spent.0.load(Ordering::Relaxed);
        loop {
            let (number, spent) = unpack(old);
            // A window is two slots, the first of them odd. A clock that lags spends of the newest.
            let window = number.max(slot.div_ceil(2));
            let spent = if number == window { spent } else { 0 };
            if spent >= self.reserve {
                return false;
            }
            let new = pack(window, spent + 1);
            match self.spent.0.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => old = now,
            }
        }
    }
}

impl Observe for DepositBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("denied", self.denied() as f64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
