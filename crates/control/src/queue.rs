//! Queues: which waiting attempt is next ([`QueueOrder`]), and which is dropped ([`DropFrom`]).
//!
//! The attempts themselves are the adapter's. It keeps as many lists as
//! [`QueueOrder::lists`] says; each attempt joins one at its tail and leaves it at either side.
//!
//! Adding an order or a drop rule: a module here with its source named at the top and its
//! entry, and a line in one of the two tables below.

mod adaptive_lifo;
mod apf;
mod codel;
mod codel_min_delay;
mod codel_timeout;
pub mod drop_tracker;
mod fair;
mod hbase_codel;
mod keep;
pub mod levels;
mod max_wait;
pub mod shuffle;
mod simple;
#[cfg(test)]
mod tests;
pub mod width;

pub use adaptive_lifo::AdaptiveLifo;
pub use apf::{Apf, ApfConfig};
pub use codel::Codel;
pub use codel_min_delay::CodelMinDelay;
pub use codel_timeout::CodelTimeout;
pub use hbase_codel::HbaseCodel;
pub use keep::Keep;
pub use max_wait::{MaxWait, wait_limit};
pub use simple::{Fifo, Lifo, Priority};

use crate::observe::Observe;
use crate::who::Who;
use crate::{Nanos, Refusal};

/// Which end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The attempt that has waited longest.
    Oldest,
    /// The attempt that came last.
    Newest,
}

/// Which waiting attempt is next.
pub trait QueueOrder: Observe {
    /// How many lists the adapter keeps.
    fn lists(&self) -> usize;

    /// An attempt joins: the list at whose tail it waits. `waiting` and `most` are the attempts
    /// that wait in all lists and how many may (`u32::MAX`: no limit).
    ///
    /// # Errors
    /// A [`Refusal`] if there is no place for it.
    fn join(&mut self, now: Nanos, who: Who, waiting: u32, most: u32) -> Result<usize, Refusal>;

    /// A worker is free: the list and the side to serve next; that attempt leaves the queue.
    /// `None`: nobody waits, or nobody who waits may be served now.
    fn next(&mut self, now: Nanos) -> Option<(usize, Side)>;

    /// An attempt that waited in `list` went away without having been [`QueueOrder::next`].
    fn left(&mut self, now: Nanos, list: usize);

    /// An attempt that was `next` from `list` has been worked on for `worked`, or was dropped
    /// instead (zero).
    #[inline]
    fn done(&mut self, now: Nanos, list: usize, worked: Nanos) {
        let _ = (now, list, worked);
    }

    /// Whether a free worker may be idle although somebody waits: then an attempt must join and
    /// be `next` even if there is a free worker when it comes.
    #[inline]
    fn holds_back(&self) -> bool {
        false
    }
}

/// Which waiting attempts are dropped.
pub trait DropFrom: Observe {
    /// An attempt joins a queue in which `waiting` others wait.
    #[inline]
    fn joined(&mut self, now: Nanos, waiting: u32) {
        let _ = (now, waiting);
    }

    /// A worker takes an attempt that waited for `waited`; `waiting` others stay. `true`: it is
    /// to be dropped, and the worker takes the next.
    fn drops(&mut self, now: Nanos, waited: Nanos, waiting: u32) -> bool;
}

pub(crate) mod order {
    //! The table of orders.
    use alloc::boxed::Box;

    use super::{
        AdaptiveLifo, Apf, Fifo, Lifo, Nanos, Priority, QueueOrder, Refusal, Side, Who,
        adaptive_lifo, apf, simple,
    };
    use crate::family::family;

    family! {
        /// Any order of service.
        Order, each {
            /// First in, first out.
            Fifo(Fifo) = [simple::FIFO];
            /// Last in, first out.
            Lifo(Lifo) = [simple::LIFO];
            /// First in first out while the queue is short, newest first while it is long.
            AdaptiveLifo(AdaptiveLifo) = [adaptive_lifo::ENTRY];
            /// The highest class first.
            Priority(Priority) = [simple::PRIORITY];
            /// Kubernetes' priority and fairness.
            Apf(Box<Apf>) = [apf::ENTRY];
        }
    }

    impl QueueOrder for Order {
        #[inline]
        fn lists(&self) -> usize {
            each!(self, o => o.lists())
        }

        #[inline]
        fn join(
            &mut self,
            now: Nanos,
            who: Who,
            waiting: u32,
            most: u32,
        ) -> Result<usize, Refusal> {
            each!(self, o => o.join(now, who, waiting, most))
        }

        #[inline]
        fn next(&mut self, now: Nanos) -> Option<(usize, Side)> {
            each!(self, o => o.next(now))
        }

        #[inline]
        fn left(&mut self, now: Nanos, list: usize) {
            each!(self, o => o.left(now, list));
        }

        #[inline]
        fn done(&mut self, now: Nanos, list: usize, worked: Nanos) {
            each!(self, o => o.done(now, list, worked));
        }

        #[inline]
        fn holds_back(&self) -> bool {
            each!(self, o => o.holds_back())
        }
    }
}

pub(crate) mod rule {
    //! The table of drop rules.
    use super::{
        Codel, CodelMinDelay, CodelTimeout, DropFrom, HbaseCodel, Keep, MaxWait, Nanos, codel,
        codel_min_delay, codel_timeout, hbase_codel, keep, max_wait,
    };
    use crate::family::family;

    family! {
        /// Any drop rule.
        DropRule, each {
            /// Drops nothing.
            Keep(Keep) = [keep::ENTRY];
            /// Drops whoever waited longer than a bound.
            MaxWait(MaxWait) = [max_wait::ENTRY];
            /// "Fail at Scale": a short time-out while the queue does not get empty.
            CodelTimeout(CodelTimeout) = [codel_timeout::ENTRY];
            /// CoDel as folly has it.
            CodelMinDelay(CodelMinDelay) = [codel_min_delay::ENTRY];
            /// CoDel as HBase has it.
            HbaseCodel(HbaseCodel) = [hbase_codel::ENTRY];
            /// CoDel as for packets.
            Codel(Codel) = [codel::ENTRY];
        }
    }

    impl DropFrom for DropRule {
        #[inline]
        fn joined(&mut self, now: Nanos, waiting: u32) {
            each!(self, r => r.joined(now, waiting));
        }

        #[inline]
        fn drops(&mut self, now: Nanos, waited: Nanos, waiting: u32) -> bool {
            each!(self, r => r.drops(now, waited, waiting))
        }
    }
}

pub use order::Order;
pub use rule::DropRule;
