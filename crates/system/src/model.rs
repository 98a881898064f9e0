//! A system as every solver sees it: names resolved to ids, units gone into types, values
//! checked. Only the loader and [`crate::SystemFile::lower`] make one.

mod controls;
mod dist;
mod lever;
mod load;
mod mechanism;
mod spec;
mod trigger;

use damper_control::admission::Admission;
use damper_control::concurrency::Limit;
use damper_control::gate::Gate;
use damper_control::queue::{DropRule, Order};
use damper_control::{Backoff, Budget, Nanos, Pushback, Retry, RetryOn};

pub use dist::Dist;
pub use lever::Pull;
pub use load::{Arrivals, Load};
pub use mechanism::{
    Autoscale, Election, ErrorLog, Failover, Health, Lease, Mechanisms, Pauses, Pool, PoolOrder,
    Start, Starting,
};
pub use spec::{Made, Spec};
pub use trigger::{Action, ActionKind, Spike, Trigger};

/// Index of a service in [`System::services`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(pub u32);

/// Index of a cache in [`System::caches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheId(pub u32);

/// Index of a class in [`System::classes`]; 0 is the highest.
pub type ClassId = u8;

/// A whole system: what a file describes.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Priority classes, highest first; at least one, at most 16.
    pub classes: Vec<String>,
    /// Services, in the order of the file.
    pub services: Vec<Service>,
    /// Caches, in the order of the file.
    pub caches: Vec<Cache>,
    /// Load by class.
    pub load: Vec<Load>,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// Users by class, from whom requests come evenly; at least one, at most 65,536.
    pub users: Vec<u32>,
    /// What a request does.
    pub work: Work,
    /// Policies, to be looked up with [`System::policy`].
    pub policies: Policies,
    /// What can go wrong.
    pub triggers: Vec<Trigger>,
    /// How it is watched.
    pub experiment: Experiment,
}

/// A service: queue, workers, and how it fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Workers per instance; `None`: no limit.
    pub workers: Option<u32>,
    /// Instances, each with its own queue and workers.
    pub instances: u32,
    /// How callers choose an instance.
    pub balance: Balance,
    /// Time that a worker needs for one attempt, without what it waits for.
    pub service_time: Dist,
    /// Rejects what exceeds it, at once, before the queue (one bucket for all instances).
    pub rate_limit: Option<RateLimit>,
    /// Attempts that may wait per instance; `None`: no limit. A full queue rejects at once.
    pub queue: Option<u32>,
    /// Which waiting attempt is next.
    pub order: Spec<Order>,
    /// Which waiting attempts are dropped; `None`: none.
    pub drop: Option<Spec<DropRule>>,
    /// Whom it lets in; `None`: everybody.
    pub admission: Option<Spec<Admission>>,
    /// How many attempts may be in flight at each instance, queued ones included; `None`: as
    /// many as there is room for.
    pub concurrency: Option<Spec<Limit>>,
    /// Shares by class: partitions of `concurrency`, levels of a fair order.
    pub shares: Option<Vec<f64>>,
    /// When it tells its callers that it is overloaded; `None`: never.
    pub overloaded: Option<Overloaded>,
    /// What it tells callers that it turns away; `None`: nothing.
    pub pushback: Option<Pushback>,
    /// What the operator does, in the order of time.
    pub lever: Vec<Pull>,
    /// Probability that an attempt fails after its work (`failed`).
    pub failure: f64,
    /// Work of a failing attempt in multiples of its service time.
    pub error_cost: f64,
    /// What happens to work whose caller left.
    pub on_abandon: OnAbandon,
    /// How busy workers slow each other down.
    pub contention: Contention,
    /// Whether a worker stays occupied while it waits for the calls it makes (a thread per
    /// request). Otherwise it is free again after its own work.
    pub blocking: bool,
    /// What its instances do by themselves, and what is done to them.
    pub mechanisms: Mechanisms,
}

impl Service {
    /// Instances that there can be: all of them, or as many as it may scale to.
    #[must_use]
    pub fn most_instances(&self) -> u32 {
        self.mechanisms.autoscale.map_or(self.instances, |a| a.max)
    }

    /// Attempts per second that it can serve for ever: workers over mean service time, over
    /// all instances, or its rate limit if that is less. `None`: no limit. Instances are those
    /// that it begins with: an autoscaler is not asked.
    #[must_use]
    pub fn capacity(&self) -> Option<f64> {
        self.capacity_of(self.instances)
    }

    /// The same with all the instances that there can be.
    #[must_use]
    pub fn most_capacity(&self) -> Option<f64> {
        self.capacity_of(self.most_instances())
    }

    fn capacity_of(&self, instances: u32) -> Option<f64> {
        let mean = self.service_time.mean().as_secs_f64();
        let workers =
            self.workers.filter(|_| mean > 0.0).map(|w| f64::from(w) * f64::from(instances) / mean);
        let limit = self.rate_limit.map(|l| l.rate);
        match (workers, limit) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// A rate limit: tokens per second and the largest burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Tokens per second, positive.
    pub rate: f64,
    /// Largest burst in tokens, at least one.
    pub burst: f64,
}

/// When a service says OVERLOADED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overloaded {
    /// Its queue is fuller than this share of its limit.
    pub queue: f64,
    /// More than this share of its workers is busy, over a second.
    pub cpu: f64,
    /// How long it goes on saying so.
    pub hold: Nanos,
}

impl Default for Overloaded {
    /// 80 % and 90 %, as Adaptive Retry Budgeting has them.
    fn default() -> Self {
        Self { queue: 0.8, cpu: 0.9, hold: Nanos::ZERO }
    }
}

/// How callers choose an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn.
    RoundRobin,
    /// Uniformly at random.
    Random,
    /// The one with the fewest attempts queued or in service.
    LeastLoaded,
}

/// What a service does with an attempt whose caller has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAbandon {
    /// It does not know, and does the work.
    Finish,
    /// It looks when a worker takes the attempt up, and drops it then.
    Skip,
    /// It notices at once: leaves the queue, stops the work, cancels the calls it made.
    Cancel,
}

/// Universal scalability law: with n busy workers an attempt takes
/// 1 + α (n - 1) + β n (n - 1) times its service time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contention {
    /// Contention per other busy worker.
    pub alpha: f64,
    /// Coherence cost per pair of busy workers.
    pub beta: f64,
}

/// A cache in front of a service. Calling the cache is calling the service through it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// Its name, as calls use it.
    pub name: String,
    /// What it caches.
    pub store: ServiceId,
    /// Who asks the store after a miss.
    pub mode: CacheMode,
    /// Share of the requests that go to the hot keys; the rest never hits.
    pub hit_rate: f64,
    /// Number of hot keys, asked for uniformly. A warm cache holds all of them.
    pub hot_keys: u32,
    /// Which replies of the store fill it.
    pub fill: Fill,
}

/// Who asks the store after a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMode {
    /// The caller, under its own timeout and retries, and the caller fills the cache.
    LookAside,
    /// The cache, once per key however many wait for it, without a timeout.
    ReadThrough,
}

/// Which replies of the store fill a look-aside cache (a read-through cache is filled by all).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Those that reach a caller that still waits.
    InTime,
    /// Late ones too.
    Always,
}

/// What a request does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Call trees.
    Requests(Vec<RequestType>),
    /// A routing matrix.
    Routes(Routes),
}

/// A request type and its call tree.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestType {
    /// Its name.
    pub name: String,
    /// Share of the requests, by class. Sums to one over the types, for each class.
    pub share: Vec<f64>,
    /// What the client calls.
    pub steps: Vec<Step>,
}

/// Calls made at the same time; the next step starts when all have succeeded.
pub type Step = Vec<Call>;

/// One call of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Whom.
    pub target: Target,
    /// How many times in a row, at least one.
    pub times: u32,
    /// Probability that it is made at all.
    pub chance: f64,
    /// What the callee then does, step by step.
    pub steps: Vec<Step>,
}

/// Whom a call goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A service.
    Service(ServiceId),
    /// A service through a cache.
    Cache(CacheId),
}

/// A routing matrix for each class: after its own work a service calls at most one other,
/// drawn from its row; what is missing to one is the probability to reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Routes {
    /// By class: where requests enter, (service, probability), summing to one.
    pub entry: Vec<Vec<(ServiceId, f64)>>,
    /// By class, by service: (next service, probability), summing to at most one.
    pub rows: Vec<Vec<Vec<(ServiceId, f64)>>>,
}

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// Outside: `client` in the file.
    Client,
    /// A service.
    Service(ServiceId),
    /// A read-through cache, `NAME` in the file.
    Cache(CacheId),
}

/// All policies of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    /// The policy of every call that occurs in [`System::work`], fully merged: edge over callee
    /// over default over [`Policy::default`]. Ordered as first met in the work.
    pub edges: Vec<Edge>,
}

/// One (caller, callee) pair and its policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Who calls.
    pub caller: Caller,
    /// Whom. A call through a look-aside cache has the cache as its target.
    pub target: Target,
    /// How.
    pub policy: Policy,
}

/// How a caller calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Per attempt; `None`: waits for ever.
    pub timeout: Option<Nanos>,
    /// For the call over all its attempts; `None`: no bound of its own.
    pub deadline: Option<Nanos>,
    /// Whether the deadline (and the attempt's timeout) goes with the call, so that the callee
    /// drops work that is too late and makes no calls after it.
    pub deadline_travels: bool,
    /// Limits, conditions, backoff.
    pub retry: Retry,
    /// The budget in its initial state; every (caller, callee) pair has its own.
    pub budget: Spec<Budget>,
    /// Slows or refuses the caller's own attempts; `None`: never.
    pub throttle: Option<Spec<Gate>>,
    /// Refuses attempts to a callee that fails; `None`: never.
    pub breaker: Option<Spec<Gate>>,
    /// Whether a call may be made twice. If not, only attempts that were refused before any work
    /// are retried.
    pub idempotent: bool,
    /// Whether the caller does what a pushback says.
    pub heeds_pushback: bool,
    /// How long an attempt needs at least: a retry that could not end before the deadline is not
    /// sent.
    pub needs: Nanos,
}

impl Default for Policy {
    /// No timeout, no deadline, no retries; once `limit` is set: every ending but success, at
    /// once, without a budget.
    fn default() -> Self {
        Self {
            timeout: None,
            deadline: None,
            deadline_travels: false,
            retry: Retry {
                limits: damper_control::RetryLimits::uniform(0),
                on: RetryOn::ALL,
                backoff: Backoff::NONE,
            },
            budget: Spec::none(),
            throttle: None,
            breaker: None,
            idempotent: true,
            heeds_pushback: true,
            needs: Nanos::ZERO,
        }
    }
}

/// How a system is watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Not measured.
    pub warmup: Nanos,
    /// The trigger starts here, counted from the start of the run; at or after `warmup`.
    pub trigger_at: Nanos,
    /// Index into [`System::triggers`]; `None`: nothing goes wrong.
    pub trigger: Option<usize>,
    /// How long it is watched after the trigger has ended.
    pub watch: Nanos,
    /// Recovered when goodput is at least this share of the offered load.
    pub recovered_at: f64,
    /// … for this long.
    pub hold: Nanos,
    /// A reply later than this is not good, whatever the caller's timeout says.
    pub good_within: Option<Nanos>,
    /// Seed of everything random.
    pub seed: u64,
    /// Independent replications.
    pub replications: u32,
    /// Whose load `headroom` varies; `None`: all classes in proportion.
    pub vary: Option<ClassId>,
    /// Width of a point of the time series at first; long runs double it.
    pub interval: Nanos,
}

impl System {
    /// The policy of a call; the default policy if the pair does not occur in the work.
    #[must_use]
    pub fn policy(&self, caller: Caller, target: Target) -> Policy {
        self.edge(caller, target).map_or_else(Policy::default, |e| e.policy.clone())
    }

    /// The edge of a call, if it occurs in the work.
    #[must_use]
    pub fn edge(&self, caller: Caller, target: Target) -> Option<&Edge> {
        self.policies.edges.iter().find(|e| e.caller == caller && e.target == target)
    }

    /// A caller's name as the file writes it.
    #[must_use]
    pub fn caller_name(&self, caller: Caller) -> &str {
        match caller {
            Caller::Client => "client",
            Caller::Service(s) => &self.services[s.0 as usize].name,
            Caller::Cache(c) => &self.caches[c.0 as usize].name,
        }
    }

    /// A target's name as the file writes it.
    #[must_use]
    pub fn target_name(&self, target: Target) -> &str {
        match target {
            Target::Service(s) => &self.services[s.0 as usize].name,
            Target::Cache(c) => &self.caches[c.0 as usize].name,
        }
    }

    /// The service that does the work of a call: itself, or the store behind the cache.
    #[must_use]
    pub fn server_of(&self, target: Target) -> ServiceId {
        match target {
            Target::Service(s) => s,
            Target::Cache(c) => self.caches[c.0 as usize].store,
        }
    }

    /// Whether a trigger restarts a service.
    #[must_use]
    pub fn restarts(&self, service: ServiceId) -> bool {
        let actions = self.triggers.iter().flat_map(|t| &t.actions);
        let mut kinds = actions.map(|a| &a.kind);
        kinds.any(
            |k| matches!(k, ActionKind::Restart { services, .. } if services.contains(&service)),
        )
    }

    /// Requests per second over all classes (means of shaped loads).
    #[must_use]
    pub fn total_load(&self) -> f64 {
        self.load.iter().map(Load::mean).sum()
    }

    /// Brings the load of all classes together to so many requests per second: each class in
    /// proportion, or, where the experiment varies one class, that one alone. A load of zero stays.
    pub fn bring_to(&mut self, total: f64) {
        let now = self.total_load();
        let Some(class) = self.experiment.vary.map(usize::from) else {
            if now > 0.0 {
                self.load.iter_mut().for_each(|load| *load = load.scaled(total / now));
            }
            return;
        };
        if let Some(load) = self.load.get_mut(class) {
            let own = load.mean();
            if own > 0.0 {
                *load = load.scaled(((total - (now - own)) / own).max(0.0));
            }
        }
    }
}
