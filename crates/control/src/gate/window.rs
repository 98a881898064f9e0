//! Counts over a time that slides, in slices.

use alloc::boxed::Box;
use alloc::vec;

use crate::Nanos;

/// `F` counts over the last `n` slices of time, the one that has begun included.
///
/// Slices lie at multiples of their width, so the time covered is between `n - 1` and `n`
/// widths. A clock that goes back a little counts into the newest slice; one that goes back by
/// more than the whole window starts it afresh, since what it then holds would never leave.
#[derive(Clone, Debug)]
pub(super) struct Window<const F: usize> {
    slices: Box<[[u32; F]]>,
    sums: [u64; F],
    width: u64,
    /// The number of the newest slice since the origin of time.
    newest: u64,
}

impl<const F: usize> Window<F> {
    /// `n` slices over `span`; none of them is shorter than a nanosecond.
    pub(super) fn new(span: Nanos, n: usize) -> Self {
        let n = n.max(1);
        let width = (span.0 / n as u64).max(1);
        Self { slices: vec![[0; F]; n].into(), sums: [0; F], width, newest: 0 }
    }

    /// Leaves behind what is too old.
    pub(super) fn advance(&mut self, now: Nanos) {
        let slice = now.0 / self.width;
        let n = self.slices.len() as u64;
        let gone = if slice >= self.newest {
            (slice - self.newest).min(n)
        } else if self.newest - slice >= n {
            n
        } else {
            return;
        };
        for i in 1..=gone {
            let at = ((self.newest % n + i) % n) as usize;
            for (sum, count) in self.sums.iter_mut().zip(&mut self.slices[at]) {
                *sum -= u64::from(*count);
                *count = 0;
            }
        }
        if gone > 0 {
            self.newest = slice;
        }
    }

    /// Counts at `now`.
    pub(super) fn add(&mut self, now: Nanos, counts: [u32; F]) {
        self.advance(now);
        let at = (self.newest % self.slices.len() as u64) as usize;
        for ((sum, here), more) in self.sums.iter_mut().zip(&mut self.slices[at]).zip(counts) {
            let room = more.min(u32::MAX - *here);
            *here += room;
            *sum += u64::from(room);
        }
    }

    /// What has been counted, as of the last [`Window::advance`].
    pub(super) fn sums(&self) -> [u64; F] {
        self.sums
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.slices.fill([0; F]);
        self.sums = [0; F];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn slices_leave_one_by_one() {
        let mut w = Window::<1>::new(ms(300), 3);
        w.add(ms(0), [1]);
        w.add(ms(150), [2]);
        w.add(ms(299), [4]);
        assert_eq!(w.sums(), [7]);
        for (at, sum) in [(300, 6), (399, 6), (400, 4), (500, 0)] {
            w.advance(ms(at));
            assert_eq!(w.sums(), [sum], "{at} ms");
        }
    }

    #[test]
    fn a_clock_that_goes_back_a_little_counts_now_and_one_that_goes_back_far_starts_afresh() {
        let mut w = Window::<1>::new(ms(300), 3);
        w.add(ms(1_000), [1]);
        w.add(ms(900), [1]);
        assert_eq!(w.sums(), [2]);
        w.add(ms(100), [1]);
        assert_eq!(w.sums(), [1], "what was counted in the future is gone");
        w.advance(Nanos::MAX);
        assert_eq!(w.sums(), [0]);
    }

    #[test]
    fn a_full_slice_stays_full() {
        let mut w = Window::<1>::new(ms(300), 3);
        w.add(ms(0), [u32::MAX]);
        w.add(ms(0), [7]);
        assert_eq!(w.sums(), [u64::from(u32::MAX)]);
        w.advance(ms(300));
        assert_eq!(w.sums(), [0]);
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_slices(
            n in 1usize..10, steps in prop::collection::vec((any::<bool>(), any::<u64>(), 0u32..5), 0..200),
        ) {
            let mut w = Window::<2>::new(ms(70), n);
            let mut now = Nanos(1 << 40);
            for (back, step, count) in steps {
                let step = Nanos(step >> (step % 64));
                now = if back { now - step } else { now + step };
                w.add(now, [count, 1]);
                for (f, sum) in w.sums().into_iter().enumerate() {
                    prop_assert_eq!(sum, w.slices.iter().map(|s| u64::from(s[f])).sum::<u64>());
                }
            }
        }
    }
}
