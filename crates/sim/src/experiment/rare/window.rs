//! The last seconds of a run, and whether they were a collapse.

use std::collections::VecDeque;

use crate::checkpoint::Pulse;

/// Below this share of what is offered, over a whole window, a system has collapsed.
const COLLAPSED: f64 = 0.5;
/// Requests without which a window says nothing.
const ENOUGH: u64 = 50;

/// The last intervals, as many as a window is wide, or more until they hold enough requests.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    ticks: usize,
    last: VecDeque<Pulse>,
    sum: Pulse,
}

impl Window {
    /// An empty one of so many intervals.
    pub(crate) fn new(ticks: usize) -> Self {
        Self { ticks: ticks.max(1), last: VecDeque::new(), sum: Pulse::default() }
    }

    pub(crate) fn ticks(&self) -> usize {
        self.ticks
    }

    pub(crate) fn push(&mut self, pulse: Pulse) {
        self.last.push_back(pulse);
        self.sum.offered += pulse.offered;
        self.sum.good += pulse.good;
        while self.last.len() > self.ticks
            && let Some(oldest) = self.last.front()
            && self.sum.offered - oldest.offered >= ENOUGH
        {
            self.sum.offered -= oldest.offered;
            self.sum.good -= oldest.good;
            self.last.pop_front();
        }
    }

    fn says_something(&self) -> bool {
        self.last.len() >= self.ticks && self.sum.offered >= ENOUGH
    }

    /// Less than half was served well, all the time.
    pub(crate) fn collapsed(&self) -> bool {
        self.says_something() && (self.sum.good as f64) < COLLAPSED * self.sum.offered as f64
    }

    /// At least this share was served well.
    pub(crate) fn served(&self, share: f64) -> bool {
        self.says_something() && self.sum.good as f64 >= share * self.sum.offered as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_slides_and_waits_for_enough() {
        let mut w = Window::new(3);
        let pulse = |offered, good| Pulse { offered, good };
        w.push(pulse(40, 0));
        w.push(pulse(40, 0));
        assert!(!w.collapsed(), "too short");
        w.push(pulse(40, 40));
        assert!(w.collapsed());
        w.push(pulse(40, 40));
        assert!(!w.collapsed() && !w.served(0.9), "two thirds");
        w.push(pulse(40, 40));
        assert!(w.served(1.0));
        let mut slow = Window::new(2);
        for _ in 0..9 {
            slow.push(pulse(5, 0));
            assert!(!slow.collapsed());
        }
        slow.push(pulse(5, 0));
        assert!(slow.collapsed(), "fifty requests");
    }
}
