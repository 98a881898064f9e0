//! What can go wrong.

use damper_control::Nanos;

use super::{CacheId, ClassId, ServiceId};

/// Something that goes wrong for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Its name.
    pub name: String,
    /// What happens; several actions may overlap.
    pub actions: Vec<Action>,
}

impl Trigger {
    /// From its start to the end of its last action.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.actions.iter().map(|a| a.after + a.lasts).max().unwrap_or(Nanos::ZERO)
    }
}

/// One part of a trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// What.
    pub kind: ActionKind,
    /// Starts this long after the trigger.
    pub after: Nanos,
    /// Lasts this long (zero for a cache flush; until the last instance for a restart).
    pub lasts: Nanos,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionKind {
    /// The services stop working. `refuse`: they reject every attempt meanwhile; otherwise
    /// they accept and keep silent, and the queue grows.
    Outage {
        /// Which.
        services: Vec<ServiceId>,
        /// Reject instead of keeping silent.
        refuse: bool,
    },
    /// Service times are multiplied.
    Slowdown {
        /// Which.
        services: Vec<ServiceId>,
        /// By how much.
        factor: f64,
    },
    /// This share of the workers and of the rate limit is gone.
    CapacityLoss {
        /// Which.
        services: Vec<ServiceId>,
        /// Share lost, 0 to 1.
        share: f64,
    },
    /// Attempts fail with this probability (if it is above their own).
    ErrorRate {
        /// Which.
        services: Vec<ServiceId>,
        /// Probability of failure.
        rate: f64,
    },
    /// Every attempt takes this much longer to reach the service; no worker is occupied by it.
    AddedLatency {
        /// Which.
        services: Vec<ServiceId>,
        /// How much.
        latency: Nanos,
    },
    /// The load is multiplied, or set.
    LoadSpike {
        /// Which class; `None`: all.
        class: Option<ClassId>,
        /// How high.
        height: Spike,
    },
    /// The caches lose everything.
    CacheFlush {
        /// Which.
        caches: Vec<CacheId>,
    },
    /// The instances are restarted, one after another: each loses what waits, and starts.
    Restart {
        /// Which.
        services: Vec<ServiceId>,
        /// Between two instances of a service; zero: all at once.
        gap: Nanos,
    },
}

/// How high a load spike is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spike {
    /// Times the load.
    Factor(f64),
    /// Requests per second in place of the load (all classes together, in their proportions).
    Rate(f64),
}
