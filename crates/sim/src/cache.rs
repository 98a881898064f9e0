//! Caches: which keys are warm, who fetches, who fills.

use std::collections::HashMap;

use damper_control::Outcome;

use crate::slab::NONE;
use crate::world::{Attempt, Ready, Stage, World};

/// The contents of a cache: one bit for each hot key. Other keys are never kept.
#[derive(Clone, Debug)]
pub(crate) struct CacheState {
    warm: Vec<u64>,
    keys: u32,
    cold: u32,
    /// Read-through only: key to (fetch, first waiter).
    fetches: HashMap<u32, u32>,
}

impl CacheState {
    pub(crate) fn warm(keys: u32) -> Self {
        let words = (keys as usize).div_ceil(64);
        Self { warm: vec![u64::MAX; words], keys, cold: 0, fetches: HashMap::new() }
    }

    pub(crate) fn flush(&mut self) {
        self.warm.fill(0);
        self.cold = self.keys;
    }

    fn holds(&self, key: u32) -> bool {
        self.warm[(key / 64) as usize] >> (key % 64) & 1 == 1
    }

    fn fill(&mut self, key: u32) {
        if !self.holds(key) {
            self.warm[(key / 64) as usize] |= 1 << (key % 64);
            self.cold -= 1;
        }
    }
}

/// Marks a call whose key was drawn and is not cacheable.
const NEVER_HITS: u32 = NONE - 1;

impl World<'_> {
    /// Looks a call's key up (drawing it for the first attempt); whether it was there.
    pub(crate) fn look_up(&mut self, call: u32, cache: u32) -> bool {
        let plan = &self.plan.caches[cache as usize];
        let state = &self.caches[cache as usize];
        if self.calls[call].key == NONE {
            let hot = plan.hot_keys > 0 && self.work_stream.chance(plan.hit_rate);
            let key = if hot { self.work_stream.below(plan.hot_keys) } else { NEVER_HITS };
            self.calls[call].key = key;
        }
        let key = self.calls[call].key;
        if key == NEVER_HITS {
            return false;
        }
        let hit = state.holds(key);
        if !hit && self.measuring {
            let edge = self.plan.nodes[self.calls[call].node as usize].edge;
            self.edge_stats[edge as usize].hot_misses += 1;
        }
        hit
    }

    /// A reply of the store to a look-aside caller.
    pub(crate) fn fill(&mut self, cache: usize, key: u32, in_time: bool) {
        if key < NEVER_HITS && (in_time || self.plan.caches[cache].fill_late) {
            self.caches[cache].fill(key);
        }
    }

    /// An attempt waits for the cache to fetch its key: joins a fetch, or starts one.
    pub(crate) fn wait_for_fetch(&mut self, attempt: u32, cache: u32, fetch_node: u32) {
        let a = &mut self.attempts[attempt];
        a.stage = Stage::Fetching;
        let (key, class, flow) = (a.key, a.class, a.flow);
        let joined = if key == NEVER_HITS {
            None
        } else {
            self.caches[cache as usize].fetches.get(&key).copied()
        };
        let fetch = joined.unwrap_or_else(|| {
            // For whoever asked first.
            let new = Attempt::new(NONE, fetch_node);
            let start = Attempt { class, flow, key, since: self.now, ..new };
            let fetch = self.attempts.insert(start);
            if key != NEVER_HITS {
                self.caches[cache as usize].fetches.insert(key, fetch);
            }
            fetch
        });
        // The fetch's queue link is free: it heads the list of those who wait for it.
        self.attempts[attempt].next = self.attempts[fetch].next;
        self.attempts[fetch].next = attempt;
        if joined.is_none() {
            self.next_step(fetch);
        }
    }

    /// A fetch has ended: fills the cache and answers everybody who waited.
    pub(crate) fn fetched(&mut self, fetch: u32, cache: u32, cause: Outcome) {
        let Attempt { key, next: mut waiter, .. } = self.attempts[fetch];
        self.attempts.free(fetch);
        if key != NEVER_HITS {
            let state = &mut self.caches[cache as usize];
            state.fetches.remove(&key);
            if cause == Outcome::Success {
                state.fill(key);
            }
        }
        let outcome =
            if cause == Outcome::Success { Outcome::Success } else { Outcome::FailedBelow };
        while waiter != NONE {
            let Attempt { next, call, .. } = self.attempts[waiter];
            self.attempts.free(waiter);
            if call != NONE {
                self.ready.push(Ready::Ended(call, outcome, cause));
            }
            waiter = next;
        }
    }

    /// Fetches under way, over all caches, that others may join.
    pub(crate) fn open_fetches(&self) -> usize {
        self.caches.iter().map(|c| c.fetches.len()).sum()
    }

    /// Hot keys that no cache holds, whether they are being fetched or not.
    pub(crate) fn missing_keys(&self) -> u64 {
        self.caches.iter().map(|c| u64::from(c.cold)).sum()
    }

    /// Hot keys that nobody has in the cache and nobody is fetching: work still to come.
    pub(crate) fn cold_keys(&self) -> u64 {
        self.caches.iter().map(|c| u64::from(c.cold).saturating_sub(c.fetches.len() as u64)).sum()
    }
}
