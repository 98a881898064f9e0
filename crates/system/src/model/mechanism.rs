//! What instances do by themselves, and what is done to them: health checks, scaling, pauses,
//! starts, leases, elections, failover, pools, error logs.
//!
//! Each is off unless the file names it. Only the simulator knows them.

use std::fmt;

use damper_control::Nanos;

use super::{ClassId, ServiceId};

/// The mechanisms of a service; `Default`: none.
#[derive(Clone, Default, PartialEq)]
pub struct Mechanisms {
    /// Checks that take slow or silent instances out of rotation.
    pub health: Option<Health>,
    /// Instances that come and go with utilisation.
    pub autoscale: Option<Autoscale>,
    /// Pauses of the whole instance whose length depends on what is in it.
    pub pauses: Option<Pauses>,
    /// What an instance has to do before it serves.
    pub start: Option<Start>,
    /// A lease without which an instance does not serve.
    pub lease: Option<Lease>,
    /// A leader that is replaced when it is late.
    pub election: Option<Election>,
    /// Where its load goes when it fails.
    pub failover: Option<Failover>,
    /// Connections that callers keep to its instances.
    pub pool: Option<Pool>,
    /// What a failure writes, and where.
    pub error_log: Option<ErrorLog>,
    /// The class of the calls that it makes, whatever it works on.
    pub calls_as: Option<ClassId>,
}

/// Lists what is there, so that a service without mechanisms is one short line.
impl fmt::Debug for Mechanisms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Mechanisms");
        macro_rules! there {
            ($($name:ident),*) => {
                $(if let Some(m) = &self.$name {
                    out.field(stringify!($name), m);
                })*
            };
        }
        there!(health, autoscale, pauses, start, lease, election, failover, pool, error_log);
        there!(calls_as);
        out.finish()
    }
}

impl Mechanisms {
    /// Whether instances differ from each other, or from what they were.
    #[must_use]
    pub fn moves_instances(&self) -> bool {
        self.health.is_some()
            || self.autoscale.is_some()
            || self.pauses.is_some()
            || self.start.is_some()
            || self.lease.is_some()
            || self.election.is_some()
            || self.pool.is_some()
    }
}

/// A health check: each instance is asked every `interval`, and has passed when a request that
/// came now would be answered within `timeout`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Health {
    /// Between two checks of an instance.
    pub interval: Nanos,
    /// A check that takes longer has failed.
    pub timeout: Nanos,
    /// Failures in a row that take an instance out.
    pub unhealthy: u32,
    /// Successes in a row that bring it back.
    pub healthy: u32,
    /// How long it stays out at least.
    pub removed_for: Nanos,
    /// With fewer than this share of the instances healthy, all are used (panic threshold).
    pub panic: f64,
    /// Whether an instance that is taken out is restarted.
    pub restart: bool,
}

/// Instances in proportion to utilisation, as the Horizontal Pod Autoscaler of Kubernetes has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Autoscale {
    /// The fewest instances.
    pub min: u32,
    /// The most instances.
    pub max: u32,
    /// Share of the workers that should be busy.
    pub target: f64,
    /// Nothing is changed while utilisation is this close to its target, as a share of it.
    pub tolerance: f64,
    /// Between two decisions.
    pub interval: Nanos,
    /// From a decision to an instance that starts.
    pub provision: Nanos,
    /// The most instances that are being provisioned at a time: a quota.
    pub at_once: u32,
    /// How busy instances that start are taken to be.
    pub starting: Starting,
    /// No more come than the least that was wanted over so long.
    pub up_after: Nanos,
    /// No fewer stay than the most that was wanted over so long.
    pub down_after: Nanos,
    /// Over `up_every` so many times as many may be reached, or `up_by` more if that is more.
    pub up_times: f64,
    /// See `up_times`.
    pub up_by: u32,
    /// See `up_times`.
    pub up_every: Nanos,
}

/// How busy instances that start are taken to be, when more are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starting {
    /// Not at all: nothing is wanted twice.
    Idle,
    /// As busy as those that serve: what is under way makes more wanted.
    Busy,
}

/// A stop of the whole instance to collect garbage: it comes when what was allocated since the
/// last one no longer fits beside what is alive, and lasts longer the more is alive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// Attempts whose garbage and live memory fill the heap.
    pub heap: u32,
    /// Length of a pause of an idle instance.
    pub base: Nanos,
    /// More for every attempt that waits or is worked on.
    pub per_live: Nanos,
}

/// What an instance does before it serves, and how it is at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// How long it takes without the calls.
    pub takes: Nanos,
    /// Whom it calls, and how many times in a row. A failure begins them all anew.
    pub calls: Option<(ServiceId, u32)>,
    /// How long after a failure it begins anew.
    pub again: Nanos,
    /// How long it is cold.
    pub cold_for: Nanos,
    /// Its service times in multiples while it is cold.
    pub cold: f64,
}

/// A lease (or a membership) that an instance renews with a service, and serves nothing without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lease {
    /// With whom.
    pub from: ServiceId,
    /// How often.
    pub every: Nanos,
    /// How long it is good for after a renewal.
    pub lasts: Nanos,
    /// How long after a failure it asks again.
    pub again: Nanos,
}

/// A leader that tells it is alive through the same queue as everybody.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Election {
    /// Between two heartbeats.
    pub heartbeat: Nanos,
    /// A heartbeat later than this deposes the leader.
    pub timeout: Nanos,
    /// How long there is none then.
    pub takes: Nanos,
}

/// Another service that gets the load while this one fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failover {
    /// Which.
    pub to: ServiceId,
    /// Fewer than this share of its attempts ended well.
    pub below: f64,
    /// Over so long.
    pub window: Nanos,
    /// How long it gets nothing then.
    pub back_after: Nanos,
}

/// Connections that are kept, each to one instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// Which idle connection is next.
    pub order: PoolOrder,
    /// An older one is closed instead of used; `None`: never.
    pub max_age: Option<Nanos>,
}

/// Which idle connection is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolOrder {
    /// The one that came back last.
    MostRecent,
    /// The one that has been idle longest.
    LeastRecent,
}

/// What an attempt that fails writes before it replies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorLog {
    /// The service that takes it: a disk, a collector.
    pub to: ServiceId,
    /// Lines, one call each.
    pub lines: u32,
    /// Whether a reply to a caller that has gone is a failure, too: a broken pipe.
    pub abandoned: bool,
}
