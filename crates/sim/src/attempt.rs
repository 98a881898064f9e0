//! The records of attempts and calls.

use damper_control::{Outcome, RetryState, Who};

use crate::calendar::NO_TIMER;
use crate::lanes::{Link, Waits};
use crate::plan::NEVER;
use crate::server::NO_LIST;
use crate::slab::NONE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// On its way to the service.
    Travelling,
    /// In a queue.
    Queued,
    /// A worker is busy with it.
    Working,
    /// Waits for the calls that it made.
    Calling,
    /// Waits for a cache's fetch.
    Fetching,
}

#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Whose it is; `NONE` for requests, fetches and orphans.
    pub(crate) call: u32,
    pub(crate) node: u32,
    pub(crate) step: u32,
    /// Calls of the current step that have not ended.
    pub(crate) pending: u32,
    pub(crate) station: u32,
    /// Neighbours in a queue, or the next waiter of a fetch.
    pub(crate) next: u32,
    pub(crate) previous: u32,
    /// Head of the list of calls it has open (kept only if some service cancels).
    pub(crate) calls: u32,
    /// Handle of its calendar entry.
    pub(crate) timer: u32,
    /// Key of the cache it was looked up in; `NONE`: not cacheable.
    pub(crate) key: u32,
    /// Its record with the controls of its service; `NONE`: there are none.
    pub(crate) guard: u32,
    /// The list of the queue it waits or waited in.
    pub(crate) list: u16,
    /// The user it comes from.
    pub(crate) flow: u16,
    pub(crate) class: u8,
    pub(crate) stage: Stage,
    pub(crate) orphan: bool,
    /// The work will fail.
    pub(crate) fails: bool,
    /// What was behind the first call that failed; `Success`: none did.
    pub(crate) cause: Outcome,
    /// Instant after which nobody needs it; `NEVER` unless a deadline travelled with it.
    pub(crate) deadline: u64,
    /// When it started: for requests the arrival, else when it reached the queue.
    pub(crate) since: u64,
    /// Its own work in nanoseconds.
    pub(crate) work: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) parent: u32,
    pub(crate) node: u32,
    /// `NONE` between attempts.
    pub(crate) attempt: u32,
    pub(crate) times_left: u32,
    pub(crate) state: RetryState,
    pub(crate) deadline: u64,
    pub(crate) link: Link,
    pub(crate) in_lane: bool,
    pub(crate) timer: u32,
    pub(crate) key: u32,
    pub(crate) next: u32,
    pub(crate) previous: u32,
    /// What its gates gave it for the attempt under way; `NONE`: there are none.
    pub(crate) passes: u32,
    /// The user it is made for.
    pub(crate) flow: u16,
    pub(crate) class: u8,
}

impl Waits for Call {
    #[inline]
    fn timer(&mut self) -> &mut Link {
        &mut self.link
    }
    #[inline]
    fn timer_ref(&self) -> &Link {
        &self.link
    }
}

/// Whose an attempt is, as far as a control cares. Users of different classes are different
/// people.
#[inline]
pub(crate) fn who(class: u8, flow: u16) -> Who {
    Who { class, flow: u64::from(class) << 16 | u64::from(flow), user: None }
}

impl Attempt {
    /// Whose it is.
    #[inline]
    pub(crate) fn who(&self) -> Who {
        who(self.class, self.flow)
    }

    pub(crate) fn new(call: u32, node: u32) -> Self {
        Self {
            call,
            node,
            step: 0,
            pending: 0,
            station: NONE,
            next: NONE,
            previous: NONE,
            calls: NONE,
            timer: NO_TIMER,
            key: NONE,
            guard: NONE,
            list: NO_LIST,
            flow: 0,
            class: 0,
            stage: Stage::Calling,
            orphan: false,
            fails: false,
            cause: Outcome::Success,
            deadline: NEVER,
            since: 0,
            work: 0,
        }
    }
}
