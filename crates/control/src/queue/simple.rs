//! The plain orders: first in first out, last in first out, the highest class first.
//!
//! Source: queueing theory; for priorities Cobham (1954), without preemption.

use super::{Order, QueueOrder, Side};
use crate::entry::{Build, Entry, Kind};
use crate::observe::{Observe, Reading};
use crate::who::{CLASSES, Who};
use crate::{Nanos, Reason, Refusal};

/// First in, first out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fifo {
    waiting: u32,
    rejected: u64,
}

/// Last in, first out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifo {
    waiting: u32,
    rejected: u64,
}

/// The highest class first; first in, first out within a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Priority {
    waiting: [u32; CLASSES],
    rejected: u64,
}

pub(super) const FIFO: Entry = Entry {
    name: "fifo",
    kind: Kind::Order,
    summary: "first in, first out",
    source: "queueing theory",
    rule: "next = the oldest",
    when: "Without overload it is the fairest. Under overload every attempt waits as long as the \
           whole queue, and callers who time out leave work behind that nobody needs.",
    traps: &["The oldest attempt that still has a caller is always about to lose it."],
    parameters: &[],
    readings: &[
        Reading::gauge("waiting", "attempts that wait"),
        Reading::counter("rejected", "attempts that found the queue full"),
    ],
    build: Build::Order(|p| p.is_empty().then(|| Order::Fifo(Fifo::default()))),
};

pub(super) const LIFO: Entry = Entry {
    name: "lifo",
    summary: "last in, first out",
    rule: "next = the newest",
    when: "Under overload the newest still has a caller. Without overload it is unfair for \
           nothing: `adaptive-lifo` changes over.",
    traps: &["The oldest wait for ever, unless a drop rule or their caller ends it."],
    build: Build::Order(|p| p.is_empty().then(|| Order::Lifo(Lifo::default()))),
    ..FIFO
};

pub(super) const PRIORITY: Entry = Entry {
    name: "priority",
    summary: "the highest class first; first in, first out within a class",
    source: "queueing theory: Cobham's priority queue without preemption",
    rule: "next = the oldest of the highest class that waits",
    when: "Where classes differ in importance and the highest alone cannot overload the service.",
    traps: &["Low classes starve while high ones fill the capacity."],
    build: Build::Order(|p| p.is_empty().then(|| Order::Priority(Priority::default()))),
    ..FIFO
};

/// The attempt of `who` finds as many waiting as may.
#[inline]
pub(super) fn full(who: Who) -> Refusal {
    Refusal::new(Reason::QueueFull, who.class)
}

macro_rules! one_list {
    ($order:ident, $side:expr) => {
        impl QueueOrder for $order {
            #[inline]
            fn lists(&self) -> usize {
                1
            }

            #[inline]
            fn join(
                &mut self,
                _: Nanos,
                who: Who,
                waiting: u32,
                most: u32,
            ) -> Result<usize, Refusal> {
                if waiting >= most {
                    self.rejected += 1;
                    return Err(full(who));
                }
                self.waiting += 1;
                Ok(0)
            }

            #[inline]
            fn next(&mut self, _: Nanos) -> Option<(usize, Side)> {
                self.waiting = self.waiting.checked_sub(1)?;
                Some((0, $side))
            }

            #[inline]
            fn left(&mut self, _: Nanos, _: usize) {
                self.waiting = self.waiting.saturating_sub(1);
            }
        }

        impl Observe for $order {
            fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
                see("waiting", f64::from(self.waiting));
                see("rejected", self.rejected as f64);
            }
        }
    };
}

one_list!(Fifo, Side::Oldest);
one_list!(Lifo, Side::Newest);

impl QueueOrder for Priority {
    #[inline]
    fn lists(&self) -> usize {
        CLASSES
    }

    #[inline]
    fn join(&mut self, _: Nanos, who: Who, waiting: u32, most: u32) -> Result<usize, Refusal> {
        if waiting >= most {
            self.rejected += 1;
            return Err(full(who));
        }
        self.waiting[who.index()] += 1;
        Ok(who.index())
    }

    #[inline]
    fn next(&mut self, _: Nanos) -> Option<(usize, Side)> {
        let list = self.waiting.iter().position(|n| *n > 0)?;
        self.waiting[list] -= 1;
        Some((list, Side::Oldest))
    }

    #[inline]
    fn left(&mut self, _: Nanos, list: usize) {
        if let Some(waiting) = self.waiting.get_mut(list) {
            *waiting = waiting.saturating_sub(1);
        }
    }
}

impl Observe for Priority {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("waiting", self.waiting.iter().copied().map(f64::from).sum());
        see("rejected", self.rejected as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_hand() {
        let now = Nanos::ZERO;
        let mut fifo = Fifo::default();
        assert_eq!(fifo.next(now), None);
        assert_eq!(fifo.join(now, Who::of(0), 0, 1), Ok(0));
        assert_eq!(fifo.join(now, Who::of(3), 1, 1), Err(Refusal::new(Reason::QueueFull, 3)));
        assert_eq!(fifo.rejected, 1);
        assert_eq!(fifo.next(now), Some((0, Side::Oldest)));
        let mut lifo = Lifo::default();
        assert_eq!(lifo.join(now, Who::of(0), 0, 9), Ok(0));
        assert_eq!(lifo.next(now), Some((0, Side::Newest)));
        assert_eq!(lifo.next(now), None);
        let mut priority = Priority::default();
        for class in [2, 0, 2] {
            assert_eq!(priority.join(now, Who::of(class), 0, 9), Ok(usize::from(class)));
        }
        assert_eq!(priority.next(now), Some((0, Side::Oldest)));
        assert_eq!(priority.next(now), Some((2, Side::Oldest)));
        assert_eq!(priority.join(now, Who::of(1), 9, 9), Err(Refusal::new(Reason::QueueFull, 1)));
        assert_eq!(priority.rejected, 1);
        priority.left(now, 2);
        assert_eq!(priority.next(now), None);
    }
}
