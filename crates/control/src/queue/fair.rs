//! Fair queuing over the flows of one priority level, in virtual time.
//!
//! Source: Kubernetes `fairqueuing/queueset`. The level's progress R grows, per second, by its
//! seats in use over the number of its active queues. Each queue has the R at which its next
//! dispatch starts; the queue with the least is next. The numbers and their rounding are those
//! of Kubernetes: R counts 10 ns of one seat, and starts over before it overflows.
//!
//! An attempt has one seat. A request of several seats, and one that keeps its seats for a while
//! after it is done, are Kubernetes' estimates of its lists and writes; nothing here has those.

use alloc::boxed::Box;
use alloc::vec;

use super::shuffle::{Dealer, MOST_HAND, mix};
use crate::Nanos;

/// The service that is charged for when it begins, and corrected when it ends.
const GUESS: Nanos = Nanos::from_millis(3);

/// A span of one seat in units of R.
const fn units(span: Nanos) -> u64 {
    span.0 / 10 + (span.0 % 10 >= 5) as u64
}

/// By how much R is set back when it gets too large, and from where on that is.
const BACK: u64 = u64::MAX / 2;
const HIGH: u64 = BACK + BACK / 2;

/// The key of a queue in which nobody waits.
const IDLE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Queue {
    /// The R at which the next dispatch starts.
    next_start: u64,
    waiting: u32,
    executing: u32,
    /// Where the oldest is in this queue's ring.
    head: u32,
}

impl Queue {
    const fn active(&self) -> bool {
        self.waiting > 0 || self.executing > 0
    }
}

/// The queues of one priority level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FairQueues {
    queues: Box<[Queue]>,
    /// A ring per queue of `length` values of R, one for each that waits: R when it came.
    arrivals: Box<[u64]>,
    /// Where the next dispatch of each queue starts, and [`IDLE`] if nobody waits in it.
    keys: Box<[u64]>,
    dealer: Dealer,
    length: u32,
    limit: u32,
    r: u64,
    now: Nanos,
    /// The queue dispatched last.
    robin: usize,
    enqueues: u64,
    active: u32,
    waiting: u32,
    executing: u32,
    epochs: u64,
}

impl FairQueues {
    /// As many empty queues as the deck of `dealer` has cards, each for `length` attempts.
    pub(super) fn new(dealer: Dealer, length: u32, limit: u32) -> Self {
        let n = dealer.deck() as usize;
        Self {
            queues: vec![Queue::default(); n].into(),
            arrivals: vec![0; n * length as usize].into(),
            keys: vec![IDLE; n].into(),
            dealer,
            length,
            limit,
            r: 0,
            now: Nanos::ZERO,
            robin: 0,
            enqueues: 0,
            active: 0,
            waiting: 0,
            executing: 0,
            epochs: 0,
        }
    }

    pub(super) const fn dealer(&self) -> &Dealer {
        &self.dealer
    }

    pub(super) const fn length(&self) -> u32 {
        self.length
    }

    pub(super) const fn waiting(&self) -> u32 {
        self.waiting
    }

    pub(super) const fn executing(&self) -> u32 {
        self.executing
    }

    /// Waiting and executing.
    pub(super) const fn demand(&self) -> u32 {
        self.waiting + self.executing
    }

    pub(super) const fn limit(&self) -> u32 {
        self.limit
    }

    /// The seats that may be used: a level that has lent all it has may still use one, or whoever
    /// waits there would wait for somebody else's attempt to lend anew.
    fn seats(&self) -> u32 {
        self.limit.max(1)
    }

    pub(super) const fn epochs(&self) -> u64 {
        self.epochs
    }

    /// R in seconds of a seat.
    pub(super) fn progress_s(&self) -> f64 {
        self.r as f64 / 1e8
    }

    /// Sets the seats.
    pub(super) fn set_limit(&mut self, now: Nanos, limit: u32) {
        self.sync(now);
        self.limit = limit;
    }

    /// Virtual time up to `now`, in the state that has held since the last call.
    fn sync(&mut self, now: Nanos) {
        let dt = now.since(self.now);
        self.now = now;
        if self.active == 0 || dt.0 == 0 {
            return;
        }
        let seats = f64::from(self.demand().min(self.seats()));
        let growth = seats / f64::from(self.active) * dt.0 as f64 / 10.0;
        // A jump of the clock by centuries may not overflow.
        self.r += ((growth + 0.5) as u64).min(u64::MAX - HIGH);
        if self.r >= HIGH {
            self.r -= BACK;
            self.epochs += 1;
            for queue in &mut self.queues {
                queue.next_start = queue.next_start.saturating_sub(BACK);
            }
            for arrival in &mut self.arrivals {
                *arrival = arrival.saturating_sub(BACK);
            }
            (0..self.queues.len()).for_each(|index| self.settle(index));
        }
    }

    /// An attempt of `flow` comes: the queue in which it waits. `None`: that queue is full.
    pub(super) fn join(&mut self, now: Nanos, flow: u64) -> Option<usize> {
        self.sync(now);
        let index = self.choose(flow);
        let queue = &mut self.queues[index];
        if queue.waiting >= self.length {
            return None;
        }
        if !queue.active() {
            queue.next_start = self.r;
            self.active += 1;
        }
        let at = (queue.head + queue.waiting) % self.length;
        self.arrivals[index * self.length as usize + at as usize] = self.r;
        queue.waiting += 1;
        self.waiting += 1;
        self.settle(index);
        Some(index)
    }

    /// The queue of the flow's hand with the least work waiting. Where the search begins moves
    /// on with each attempt, so that no queue is the favourite of hands that overlap.
    fn choose(&mut self, flow: u64) -> usize {
        let mut cards = [0; MOST_HAND];
        let hand = self.dealer.deal(mix(flow), &mut cards);
        let offset = (self.enqueues % hand.len() as u64) as usize;
        self.enqueues = self.enqueues.wrapping_add(1);
        let (before, from) = hand.split_at(offset);
        let mut best = from[0] as usize;
        for card in from[1..].iter().chain(before) {
            if self.queues[*card as usize].waiting < self.queues[best].waiting {
                best = *card as usize;
            }
        }
        best
    }

    /// Whether a seat is free and somebody waits for it.
    pub(super) fn ready(&self) -> bool {
        self.waiting > 0 && self.executing < self.seats()
    }

    /// The queue whose oldest is next, which leaves it for a seat. `None`: nobody waits.
    pub(super) fn dispatch(&mut self, now: Nanos) -> Option<usize> {
        self.sync(now);
        let index = self.first()?;
        self.robin = index;
        self.pop(index);
        let queue = &mut self.queues[index];
        queue.executing += 1;
        queue.next_start = queue.next_start.saturating_add(units(GUESS));
        self.executing += 1;
        self.settle(index);
        Some(index)
    }

    /// The queue whose next dispatch starts first, of those in which somebody waits; of several
    /// the first after the one dispatched last. All queues are looked at, as in Kubernetes: 64
    /// numbers in a row take less time than to keep them in order.
    fn first(&self) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        // Four minima at a time, of which none waits for another.
        let (fours, rest) = self.keys.as_chunks::<4>();
        let least = fours.iter().fold([IDLE; 4], |least, keys| {
            [0, 1, 2, 3].map(|i| if keys[i] < least[i] { keys[i] } else { least[i] })
        });
        let least = least.iter().chain(rest).copied().fold(IDLE, u64::min);
        let (upto, after) = self.keys.split_at(self.robin + 1);
        let position = |keys: &[u64]| keys.iter().position(|key| *key == least);
        position(after).map(|i| upto.len() + i).or_else(|| position(upto))
    }

    /// One fewer waits in the queue. The adapter does not say who of them it is that left: it is
    /// taken to be the oldest, whose caller loses patience first.
    fn pop(&mut self, index: usize) -> bool {
        let queue = &mut self.queues[index];
        if queue.waiting == 0 {
            return false;
        }
        queue.waiting -= 1;
        queue.head = (queue.head + 1) % self.length;
        self.waiting -= 1;
        true
    }

    /// An attempt that waited in the queue went away. Whether there was one.
    pub(super) fn left(&mut self, now: Nanos, index: usize) -> bool {
        self.sync(now);
        let waited = index < self.queues.len() && self.pop(index);
        if waited {
            self.active -= u32::from(!self.queues[index].active());
            self.settle(index);
        }
        waited
    }

    /// A seat is free again after `worked`: the guess is replaced by it.
    pub(super) fn done(&mut self, now: Nanos, index: usize, worked: Nanos) -> bool {
        self.sync(now);
        let Some(queue) = self.queues.get_mut(index).filter(|q| q.executing > 0) else {
            return false;
        };
        queue.executing -= 1;
        let start = queue.next_start.saturating_add(units(worked - GUESS));
        queue.next_start = start.saturating_sub(units(GUESS - worked));
        self.executing -= 1;
        self.active -= u32::from(!queue.active());
        self.settle(index);
        true
    }

    /// After each change of a queue: no dispatch starts before its oldest came. Otherwise a queue
    /// that cannot use its part would save it up (wind up), and later push all others aside.
    fn settle(&mut self, index: usize) {
        let queue = &mut self.queues[index];
        self.keys[index] = IDLE;
        if queue.waiting > 0 {
            let oldest = self.arrivals[index * self.length as usize + queue.head as usize];
            queue.next_start = queue.next_start.max(oldest).min(IDLE - 1);
            self.keys[index] = queue.next_start;
        }
    }
}

#[cfg(test)]
mod tests;
