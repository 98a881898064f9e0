//! Timer lanes: timeouts of equal length fire in the order in which they were set, so a
//! linked list per length is a calendar with constant cost, and cancelling is unlinking.

use crate::slab::{NONE, Slab};

/// A record that can wait in a lane.
pub(crate) trait Waits {
    fn timer(&mut self) -> &mut Link;
    fn timer_ref(&self) -> &Link;
}

/// A record's place in a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    at: u64,
    seq: u64,
    previous: u32,
    next: u32,
}

impl Link {
    pub(crate) const IDLE: Self = Self { at: 0, seq: 0, previous: NONE, next: NONE };
}

/// The most lanes that are worth a linear look at every event.
pub(crate) const MOST_LANES: usize = 8;

/// "Not in a lane."
pub(crate) const NO_LANE: u8 = u8::MAX;

#[derive(Clone, Copy, Debug)]
struct Lane {
    at: u64,
    seq: u64,
    head: u32,
    tail: u32,
}

/// One list per timeout length.
#[derive(Clone, Debug)]
pub(crate) struct Lanes(Vec<Lane>);

impl Lanes {
    pub(crate) fn new(count: usize) -> Self {
        let empty = Lane { at: u64::MAX, seq: u64::MAX, head: NONE, tail: NONE };
        Self(vec![empty; count.min(MOST_LANES)])
    }

    /// Time, scheduling number and lane of the first timer.
    #[inline]
    pub(crate) fn peek(&self) -> (u64, u64, usize) {
        let mut first = (u64::MAX, u64::MAX, usize::MAX);
        for (i, lane) in self.0.iter().enumerate() {
            if (lane.at, lane.seq) < (first.0, first.1) {
                first = (lane.at, lane.seq, i);
            }
        }
        first
    }

    #[inline]
    pub(crate) fn push<T: Waits>(
        &mut self,
        lane: u8,
        at: u64,
        seq: u64,
        id: u32,
        all: &mut Slab<T>,
    ) {
        let lane = &mut self.0[lane as usize];
        *all[id].timer() = Link { at, seq, previous: lane.tail, next: NONE };
        if lane.tail == NONE {
            (lane.head, lane.at, lane.seq) = (id, at, seq);
        } else {
            all[lane.tail].timer().next = id;
        }
        lane.tail = id;
    }

    /// Takes a timer out, wherever it stands.
    #[inline]
    pub(crate) fn remove<T: Waits>(&mut self, lane: u8, id: u32, all: &mut Slab<T>) {
        let Link { previous, next, .. } = *all[id].timer_ref();
        let lane = &mut self.0[lane as usize];
        if next == NONE {
            lane.tail = previous;
        } else {
            all[next].timer().previous = previous;
        }
        if previous != NONE {
            all[previous].timer().next = next;
            return;
        }
        lane.head = next;
        (lane.at, lane.seq) = if next == NONE {
            (u64::MAX, u64::MAX)
        } else {
            let head = all[next].timer_ref();
            (head.at, head.seq)
        };
    }

    /// Lanes in which a timer waits.
    pub(crate) fn busy(&self) -> usize {
        self.0.iter().filter(|lane| lane.head != NONE).count()
    }

    /// The record whose timer is first in this lane.
    #[inline]
    pub(crate) fn head(&self, lane: usize) -> u32 {
        self.0[lane].head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Record(Link);
    impl Waits for Record {
        fn timer(&mut self) -> &mut Link {
            &mut self.0
        }
        fn timer_ref(&self) -> &Link {
            &self.0
        }
    }

    #[test]
    fn first_set_fires_first_and_removal_is_anywhere() {
        let mut all = Slab::new();
        let mut lanes = Lanes::new(2);
        let ids: Vec<u32> = (0..5).map(|_| all.insert(Record(Link::IDLE))).collect();
        for (i, id) in ids.iter().enumerate() {
            lanes.push((i % 2) as u8, 10 + i as u64, i as u64, *id, &mut all);
        }
        assert_eq!(lanes.peek(), (10, 0, 0));
        lanes.remove(0, ids[2], &mut all); // middle of lane 0
        lanes.remove(1, ids[1], &mut all); // head of lane 1
        let mut order = Vec::new();
        while lanes.peek().2 != usize::MAX {
            let lane = lanes.peek().2;
            let id = lanes.head(lane);
            order.push(id);
            lanes.remove(lane as u8, id, &mut all);
        }
        assert_eq!(order, [ids[0], ids[3], ids[4]]);
    }
}
