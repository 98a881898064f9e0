//! The event calendar: a 4-ary heap whose entries can be taken out again.
//!
//! Ties are broken by the order of scheduling, which makes runs deterministic. A cancelled
//! event leaves the heap at once: with timeouts that hardly ever fire, a heap that only
//! marked them would be mostly dead weight.

/// "No handle."
pub(crate) const NO_TIMER: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: u64,
    seq: u64,
    slot: u32,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn before(&self, other: &Self) -> bool {
        (self.at, self.seq) < (other.at, other.seq)
    }
}

/// Events in the order of their time, then of their scheduling.
#[derive(Clone, Debug)]
pub(crate) struct Calendar<E> {
    heap: Vec<Entry<E>>,
    /// Where in the heap the entry of a cancellable event is, by handle.
    place: Vec<u32>,
    free: Vec<u32>,
    seq: u64,
    /// The root has been handed out and its place is not yet filled. What an event schedules next
    /// goes there, which saves one of the two ways through the heap.
    hole: bool,
}

impl<E: Copy> Calendar<E> {
    pub(crate) fn new() -> Self {
        Self { heap: Vec::new(), place: Vec::new(), free: Vec::new(), seq: 0, hole: false }
    }

    /// The next number in the order of scheduling, for timers that are kept elsewhere.
    #[inline]
    pub(crate) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// Time and scheduling number of the first event.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<(u64, u64)> {
        self.fill_hole();
        self.heap.first().map(|e| (e.at, e.seq))
    }

    /// Schedules an event that is never cancelled.
    #[inline]
    pub(crate) fn push(&mut self, at: u64, event: E) {
        let seq = self.next_seq();
        self.insert(Entry { at, seq, slot: NO_TIMER, event });
    }

    /// Schedules an event and returns the handle to [`Calendar::cancel`] it with. The handle is
    /// void once the event has come or was cancelled.
    #[inline]
    pub(crate) fn push_timer(&mut self, at: u64, event: E) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.place.push(0);
            (self.place.len() - 1) as u32
        });
        let seq = self.next_seq();
        self.insert(Entry { at, seq, slot, event });
        slot
    }

    /// Takes a scheduled event out.
    pub(crate) fn cancel(&mut self, slot: u32) {
        self.fill_hole();
        let hole = self.place[slot as usize] as usize;
        self.free.push(slot);
        let Some(last) = self.heap.pop() else { return };
        if hole == self.heap.len() {
            return;
        }
        if hole > 0 && last.before(&self.heap[(hole - 1) / 4]) {
            self.sift_up(hole, last);
        } else {
            self.sift_down(hole, last);
        }
    }

    /// Events that have not come.
    pub(crate) fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    /// Takes the first event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, E)> {
        self.fill_hole();
        let first = *self.heap.first()?;
        self.release(first.slot);
        self.hole = true;
        Some((first.at, first.event))
    }

    #[inline]
    fn fill_hole(&mut self) {
        if !self.hole {
            return;
        }
        self.hole = false;
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(0, last);
        }
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        if slot != NO_TIMER {
            self.free.push(slot);
        }
    }

    #[inline]
    fn insert(&mut self, entry: Entry<E>) {
        if self.hole {
            self.hole = false;
            self.sift_down(0, entry);
            return;
        }
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1, entry);
    }

    #[inline]
    fn put(&mut self, i: usize, entry: Entry<E>) {
        if entry.slot != NO_TIMER {
            self.place[entry.slot as usize] = i as u32;
        }
        self.heap[i] = entry;
    }

    #[inline]
    fn sift_up(&mut self, mut i: usize, entry: Entry<E>) {
        while i > 0 {
            let parent = (i - 1) / 4;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.put(i, self.heap[parent]);
            i = parent;
        }
        self.put(i, entry);
    }

    #[inline]
    fn sift_down(&mut self, mut i: usize, entry: Entry<E>) {
        loop {
            let first = 4 * i + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + 4).min(self.heap.len());
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&entry) {
                break;
            }
            self.put(i, self.heap[least]);
            i = least;
        }
        self.put(i, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn ties_come_in_the_order_of_scheduling() {
        let mut c = Calendar::new();
        for i in 0..100 {
            c.push(7, i);
        }
        let order: Vec<i32> = std::iter::from_fn(|| c.pop().map(|e| e.1)).collect();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    proptest! {
        /// Against an ordered map: the same order, with cancellations in between, and nothing
        /// cancelled stays inside.
        #[test]
        fn behaves_like_an_ordered_map(ops in prop::collection::vec((0u8..5, 0u64..50, any::<prop::sample::Index>()), 1..400)) {
            let mut calendar = Calendar::new();
            let mut model: BTreeMap<(u64, usize), Option<u32>> = BTreeMap::new();
            for (n, (op, at, which)) in ops.into_iter().enumerate() {
                match op {
                    0 => { calendar.push(at, n); model.insert((at, n), None); }
                    1 | 2 => { let h = calendar.push_timer(at, n); model.insert((at, n), Some(h)); }
                    3 => {
                        let timers: Vec<_> = model.iter().filter_map(|(k, h)| h.map(|h| (*k, h))).collect();
                        if !timers.is_empty() {
                            let (key, handle) = timers[which.index(timers.len())];
                            calendar.cancel(handle);
                            model.remove(&key);
                        }
                    }
                    _ => prop_assert_eq!(calendar.pop(), model.pop_first().map(|(k, _)| k)),
                }
                prop_assert_eq!(calendar.len(), model.len());
                // Looking fills the hole that a taken event leaves: look now and then only.
                if at % 3 == 0 {
                    prop_assert_eq!(calendar.peek().map(|p| p.0), model.keys().next().map(|k| k.0));
                }
            }
            while let Some((key, _)) = model.pop_first() {
                prop_assert_eq!(calendar.pop(), Some(key));
            }
        }
    }
}
