//! A count over a sliding window, in slices that lie on a fixed grid of time.
//!
//! Slice edges are multiples of the width since the origin of time, whenever the events come, so
//! the window neither stretches nor shrinks with the traffic. A gap of any length costs at most
//! one pass over the ring. If time goes back, events count in the newest slice.

use crate::Nanos;

/// Events in the slice that is open now and in the `N - 1` before it.
///
/// Every span of `N - 1` widths lies within it; it reaches back at most `N` widths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slices<const N: usize> {
    width: u64,
    /// Where the open slice ends.
    ends: u64,
    /// The open slice.
    at: usize,
    counts: [u32; N],
    total: u64,
}

impl<const N: usize> Slices<N> {
    /// Nothing seen, in slices of this width (at least 1 ns).
    pub(super) const fn new(width: Nanos) -> Self {
        let width = if width.0 == 0 { 1 } else { width.0 };
        Self { width, ends: width, at: 0, counts: [0; N], total: 0 }
    }

    /// Lets the slices go that are too old at `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Nanos) {
        if now.0 >= self.ends {
            self.expire(now.0);
        }
    }

    #[cold]
    fn expire(&mut self, now: u64) {
        // The last slice that u64 can hold never ends.
        if self.ends == u64::MAX {
            return;
        }
        let steps = (now - self.ends) / self.width + 1;
        if steps >= N as u64 {
            self.clear();
        } else {
            for _ in 0..steps {
                self.at = if self.at + 1 == N { 0 } else { self.at + 1 };
                self.total -= u64::from(self.counts[self.at]);
                self.counts[self.at] = 0;
            }
        }
        self.ends = self.ends.saturating_add(steps.saturating_mul(self.width));
    }

    /// Counts one event in the open slice.
    #[inline]
    pub(super) fn record(&mut self) {
        if self.counts[self.at] < u32::MAX {
            self.counts[self.at] += 1;
            self.total += 1;
        }
    }

    /// Takes one event back. Which one is not known, so it is the oldest: any other choice could
    /// shorten how long the events that stay are remembered.
    pub(super) fn take_back(&mut self) {
        for i in (self.at + 1..N).chain(0..=self.at) {
            if self.counts[i] > 0 {
                self.counts[i] -= 1;
                self.total -= 1;
                return;
            }
        }
    }

    /// Forgets all events; the grid stays.
    pub(super) fn clear(&mut self) {
        self.counts = [0; N];
        self.total = 0;
    }

    /// Events in the window.
    #[inline]
    pub(super) const fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn slices_go_one_by_one_by_hand() {
        let mut w = Slices::<3>::new(Nanos(10));
        for (now, total) in [(0, 1), (9, 2), (10, 3), (29, 4), (30, 3), (39, 4), (40, 4), (69, 2)] {
            w.advance(Nanos(now));
            w.record();
            assert_eq!(w.total(), total, "at {now}");
        }
        w.advance(Nanos(u64::MAX));
        assert_eq!(w.total(), 0);
    }

    #[test]
    fn time_may_go_back_and_end() {
        let mut w = Slices::<3>::new(Nanos(10));
        w.advance(Nanos(u64::MAX));
        w.record();
        w.advance(Nanos(0));
        w.record();
        for _ in 0..5 {
            w.advance(Nanos(u64::MAX));
        }
        assert_eq!(w.total(), 2, "both are in the last slice there is");
    }

    #[test]
    fn takes_back_the_oldest() {
        let mut w = Slices::<3>::new(Nanos(10));
        for now in [5, 15, 25] {
            w.advance(Nanos(now));
            w.record();
        }
        w.take_back();
        w.advance(Nanos(30));
        assert_eq!(w.total(), 2, "the one of slice 0 is gone already");
        w.record();
        w.take_back();
        w.advance(Nanos(40));
        assert_eq!(w.total(), 2, "and now the one of slice 1, which stands behind slice 3");
        w.take_back();
        w.take_back();
        w.take_back();
        assert_eq!(w.total(), 0);
    }

    proptest! {
        #[test]
        fn counts_what_lies_on_its_grid(
            width in 1u64..50, gaps in prop::collection::vec(0u64..200, 1..100),
        ) {
            let mut w = Slices::<5>::new(Nanos(width));
            let (mut now, mut events) = (0, Vec::new());
            for gap in gaps {
                now += gap;
                w.advance(Nanos(now));
                w.record();
                events.push(now);
                let inside = events.iter().filter(|&&e| e / width + 5 > now / width).count();
                prop_assert_eq!(w.total(), inside as u64);
            }
        }

        #[test]
        fn any_times_are_fine(width in any::<u64>(), times in prop::collection::vec(any::<u64>(), 1..50)) {
            let mut w = Slices::<4>::new(Nanos(width));
            for (i, t) in times.into_iter().enumerate() {
                w.advance(Nanos(t));
                w.record();
                prop_assert!(w.total() <= i as u64 + 1 && w.total() >= 1);
            }
        }
    }
}
