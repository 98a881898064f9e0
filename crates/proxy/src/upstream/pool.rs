//! Idle connections to one endpoint.
//!
//! The one that was used the longest ago is next (LRU). The opposite order feeds on itself: after
//! a burst the connection that finished last is reused first, and the one that finished last is the
//! one on the slowest link. A maximum age makes load move to endpoints and links that are new.

use std::collections::VecDeque;

use damper_control::Nanos;
use damper_system::sidecar::PoolOrder;

/// What a pool keeps.
pub(crate) trait Keep {
    /// Whether it can be used for another request.
    fn is_alive(&self) -> bool;
}

/// A connection with its times.
#[derive(Debug)]
pub(crate) struct Kept<C> {
    pub(crate) connection: C,
    /// When it was made.
    pub(crate) born: Nanos,
    /// Since when nobody uses it.
    since: Nanos,
}

/// When connections are too old.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ages {
    pub(crate) order: PoolOrder,
    pub(crate) max_age: Nanos,
    pub(crate) idle: Nanos,
}

/// The idle connections of one endpoint, the one used the longest ago first.
#[derive(Debug)]
pub(crate) struct Pool<C> {
    idle: VecDeque<Kept<C>>,
    ages: Ages,
}

impl<C: Keep> Pool<C> {
    pub(crate) fn new(ages: Ages) -> Self {
        Self { idle: VecDeque::new(), ages }
    }

    fn is_too_old(&self, now: Nanos, kept: &Kept<C>) -> bool {
        now.since(kept.born) >= self.ages.max_age || now.since(kept.since) >= self.ages.idle
    }

    /// A connection for a request, with when it was made.
    pub(crate) fn take(&mut self, now: Nanos) -> Option<(C, Nanos)> {
        loop {
            let kept = match self.ages.order {
                PoolOrder::Lru => self.idle.pop_front()?,
                PoolOrder::Mru => self.idle.pop_back()?,
            };
            if kept.connection.is_alive() && !self.is_too_old(now, &kept) {
                return Some((kept.connection, kept.born));
            }
        }
    }

    /// A request is done with a connection.
    pub(crate) fn put(&mut self, now: Nanos, connection: C, born: Nanos) {
        let kept = Kept { connection, born, since: now };
        if kept.connection.is_alive() && !self.is_too_old(now, &kept) {
            self.idle.push_back(kept);
        }
    }

    /// Closes what is too old, or closed by the other side.
    pub(crate) fn sweep(&mut self, now: Nanos) {
        let mut idle = std::mem::take(&mut self.idle);
        idle.retain(|kept| kept.connection.is_alive() && !self.is_too_old(now, kept));
        self.idle = idle;
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.idle.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[derive(Clone, Debug)]
    struct Link(u32, Rc<Cell<bool>>);

    impl Keep for Link {
        fn is_alive(&self) -> bool {
            self.1.get()
        }
    }

    fn link(name: u32) -> Link {
        Link(name, Rc::new(Cell::new(true)))
    }

    fn ages(order: PoolOrder) -> Ages {
        Ages { order, max_age: Nanos::from_secs(100), idle: Nanos::from_secs(10) }
    }

    fn pool(order: PoolOrder) -> Pool<Link> {
        let mut pool = Pool::new(ages(order));
        for name in 1..=3 {
            pool.put(Nanos::from_secs(1), link(name), Nanos::ZERO);
        }
        pool
    }

    #[test]
    fn the_order_is_the_one_that_was_asked_for() {
        let names = |order| {
            let mut pool = pool(order);
            std::iter::from_fn(|| pool.take(Nanos::from_secs(2)).map(|(l, _)| l.0))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(PoolOrder::Lru), [1, 2, 3]);
        assert_eq!(names(PoolOrder::Mru), [3, 2, 1]);
    }

    #[test]
    fn load_goes_round_all_connections_or_stays_on_one() {
        let used = |order| {
            let mut pool = pool(order);
            let mut counts = [0u32; 4];
            for at in 0..300u64 {
                let now = Nanos::from_secs(1) + Nanos::from_millis(at);
                let (link, born) = pool.take(now).unwrap();
                counts[link.0 as usize] += 1;
                pool.put(now, link, born);
            }
            counts
        };
        assert_eq!(used(PoolOrder::Lru), [0, 100, 100, 100]);
        assert_eq!(used(PoolOrder::Mru), [0, 0, 0, 300]);
    }

    #[test]
    fn what_is_old_idle_or_dead_is_not_used() {
        let mut pool = pool(PoolOrder::Lru);
        assert!(pool.take(Nanos::from_secs(11)).is_none(), "idle for ten seconds");
        pool.put(Nanos::from_secs(99), link(7), Nanos::ZERO);
        assert_eq!(pool.len(), 1);
        assert!(pool.take(Nanos::from_secs(100)).is_none(), "a hundred seconds old");
        pool.put(Nanos::from_secs(100), link(8), Nanos::ZERO);
        assert_eq!(pool.len(), 0, "not even taken back");
        let dead = link(9);
        pool.put(Nanos::from_secs(101), dead.clone(), Nanos::from_secs(100));
        dead.1.set(false);
        assert!(pool.take(Nanos::from_secs(102)).is_none());
        pool.put(Nanos::from_secs(102), link(10), Nanos::from_secs(100));
        pool.sweep(Nanos::from_secs(111));
        assert_eq!(pool.len(), 1);
        pool.sweep(Nanos::from_secs(112));
        assert_eq!(pool.len(), 0);
    }

    proptest! {
        /// Whatever comes and goes: nothing is handed out twice, nothing that is too old.
        #[test]
        fn each_connection_is_held_once(steps in proptest::collection::vec((0u8..3, 0u64..4000), 1..200), lru: bool) {
            let order = if lru { PoolOrder::Lru } else { PoolOrder::Mru };
            let mut pool: Pool<Link> = Pool::new(ages(order));
            let (mut out, mut next, mut now) = (Vec::new(), 0, Nanos::ZERO);
            for (step, wait) in steps {
                now = now + Nanos::from_millis(wait);
                match step {
                    0 => { next += 1; out.push((link(next), now)); }
                    1 => if let Some((link, born)) = pool.take(now) {
                        prop_assert!(now.since(born) < Nanos::from_secs(100));
                        prop_assert!(out.iter().all(|(l, _): &(Link, Nanos)| l.0 != link.0));
                        out.push((link, born));
                    },
                    _ => if let Some((link, born)) = out.pop() { pool.put(now, link, born); },
                }
            }
        }
    }
}
