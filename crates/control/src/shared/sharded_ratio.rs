//! Concurrent retries as a share of concurrent calls, over shards.

use super::TOKEN;
use super::bank::Bank;
use super::ratio::valid;
use crate::observe::Observe;

/// Concurrent retries as a share of concurrent calls, on top of a reserve:
/// `retries ≤ reserve + share × open` at every grant, with both sides summed over all shards.
///
/// As [`RatioBudget`](super::RatioBudget), but threads on different shards do not disturb each
/// other, and the reserve adds to the share, where there it is the least that is allowed: the
/// larger of two numbers cannot be split into shards, their sum can.
///
/// **Bound.** Exact, to a thousandth of a retry, in any interleaving. A call that ends while
/// retries live on its share leaves a debt, and nothing is granted before that is paid.
///
/// **Refusals.** What is free in fractions on several shards is gathered. A refusal means that
/// less than one retry was free at some instant during the call, except that fractions which
/// another thread is gathering or settling at this moment are out of sight.
///
/// ```
/// use damper_control::shared::ShardedRatioBudget;
///
/// let budget = ShardedRatioBudget::try_new(200, 0, 4).unwrap(); // 20 %
/// for worker in 0..5 {
///     budget.start(worker);
/// }
/// assert!(budget.withdraw(0));
/// assert!(!budget.withdraw(1), "one of five is out");
/// budget.done(0);
/// budget.end(0);
/// assert!(!budget.withdraw(0), "20 % of four is less than one");
/// ```
#[derive(Debug)]
pub struct ShardedRatioBudget {
    free: Bank,
    per_mille: u32,
}

impl ShardedRatioBudget {
    /// `per_mille` / 1000 retries for each open call, and `reserve` more. `None` unless
    /// `per_mille` ≤ 10,000, `reserve` ≤ 1,000,000 and `1 ≤ shards ≤ MAX_SHARDS`.
    #[must_use]
    pub fn try_new(per_mille: u32, reserve: u32, shards: usize) -> Option<Self> {
        let free = valid(per_mille, reserve).then(|| reserve * TOKEN)?;
        Some(Self { free: Bank::try_new(free, shards)?, per_mille })
    }

    /// A call starts: before its first attempt.
    #[inline]
    pub fn start(&self, shard: usize) {
        self.free.add(shard, self.per_mille);
    }

    /// A call has ended, whatever its attempts did.
    #[inline]
    pub fn end(&self, shard: usize) {
        self.free.force(shard, self.per_mille);
    }

    /// Asks for one retry, which counts from now on, through its backoff, until
    /// [`ShardedRatioBudget::done`].
    #[inline]
    #[must_use]
    pub fn withdraw(&self, shard: usize) -> bool {
        self.free.take(shard, TOKEN)
    }

    /// A granted retry has ended, or is never sent.
    #[inline]
    pub fn done(&self, shard: usize) {
        self.free.add(shard, TOKEN);
    }

    /// Refusals so far.
    #[must_use]
    pub fn denied(&self) -> u64 {
        self.free.refused()
    }
}

impl Observe for ShardedRatioBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("free", self.free.balance() as f64 / f64::from(TOKEN));
        see("denied", self.denied() as f64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ratio_is_the_one_configured() {
        // 30 %, which tower's budget takes for a third (tower#857).
        let budget = ShardedRatioBudget::try_new(300, 0, 8).unwrap();
        for call in 0..1000 {
            budget.start(call);
        }
        assert_eq!((0..1000).filter(|worker| budget.withdraw(*worker)).count(), 300);
        assert_eq!(budget.denied(), 700);
    }

    #[test]
    fn calls_that_end_first_leave_a_debt() {
        let budget = ShardedRatioBudget::try_new(500, 1, 2).unwrap();
        budget.start(0);
        budget.start(1);
        assert!(budget.withdraw(0) && budget.withdraw(1) && !budget.withdraw(0));
        budget.end(0);
        budget.end(1);
        budget.done(0);
        assert!(!budget.withdraw(0), "the other lives on the reserve");
        budget.done(1);
        assert!(budget.withdraw(0));
    }

    proptest! {
        #[test]
        fn grants_as_one_number_would(
            per_mille in 0u32..2000, reserve in 0u32..3, shards in 1usize..=8,
            ops in prop::collection::vec((0u8..5, 0usize..16), 0..300),
        ) {
            let budget = ShardedRatioBudget::try_new(per_mille, reserve, shards).unwrap();
            let (mut open, mut retries) = (0, 0);
            for (op, shard) in ops {
                match op {
                    0 => { budget.start(shard); open += 1; }
                    1 if open > 0 => { budget.end(shard); open -= 1; }
                    2 if retries > 0 => { budget.done(shard); retries -= 1; }
                    _ => {
                        let allowed = (retries + 1) * TOKEN <= reserve * TOKEN + open * per_mille;
                        prop_assert_eq!(budget.withdraw(shard), allowed);
                        retries += u32::from(allowed);
                    }
                }
            }
        }
    }
}
