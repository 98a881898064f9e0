//! What happens to requests, calls and attempts, for whoever watches a run.
//!
//! Without the feature `observe` this is nothing: no field, no test, no call.

use damper_control::Outcome;

/// Something that happened. Requests and attempts share their numbers, and a number is used again
/// once what it stood for has ended; the same holds for calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "observe"), allow(unreachable_pub))]
pub enum Happened {
    /// A request arrived. `root` tells requests of different types apart.
    Request {
        /// Its number.
        attempt: u32,
        /// The root of its call tree.
        root: u32,
    },
    /// A request has ended.
    RequestEnded {
        /// Its number.
        attempt: u32,
        /// How.
        outcome: Outcome,
    },
    /// An attempt, or a request, makes a call.
    Called {
        /// The call.
        call: u32,
        /// Who makes it.
        parent: u32,
        /// Index of the service that is called.
        service: u32,
    },
    /// A call sends an attempt.
    Sent {
        /// The call.
        call: u32,
        /// The attempt; `None`: it was turned away at the door.
        attempt: Option<u32>,
    },
    /// The attempt of a call has ended, as the caller sees it.
    Ended {
        /// The call.
        call: u32,
        /// How.
        outcome: Outcome,
    },
    /// A service is done with an attempt, whether its caller still waits or not.
    Left {
        /// The attempt.
        attempt: u32,
        /// How; `None`: it was not worked on to its end.
        outcome: Option<Outcome>,
    },
}

/// Whoever watches a run. Copies of a run may go on on other threads, though nobody watches those.
#[cfg(feature = "observe")]
pub trait Observer: Send + Sync {
    /// Something happened at this instant, in nanoseconds from the start of the run.
    fn see(&mut self, at: u64, what: Happened);
}

/// The observer of a run, if there is one.
#[derive(Default)]
pub(crate) struct Watch<'a> {
    #[cfg(feature = "observe")]
    pub(crate) observer: Option<&'a mut dyn Observer>,
    /// Without observers nothing is borrowed.
    pub(crate) nothing: std::marker::PhantomData<&'a ()>,
}

impl Watch<'_> {
    #[inline(always)]
    #[allow(unused_variables, reason = "without observers nobody is told")]
    pub(crate) fn see(&mut self, at: u64, what: Happened) {
        #[cfg(feature = "observe")]
        if let Some(observer) = &mut self.observer {
            observer.see(at, what);
        }
    }
}
