//! A system as every solver sees it: names resolved to ids, units gone into types, values
//! checked. Only the loader and [`crate::SystemFile::lower`] make one.

use damper_control::{Backoff, Budget, Nanos, Retry, RetryOn};

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
    pub order: Order,
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
}

impl Service {
    /// Attempts per second that it can serve for ever: workers over mean service time, over
    /// all instances, or its rate limit if that is less. `None`: no limit.
    #[must_use]
    pub fn capacity(&self) -> Option<f64> {
        let mean = self.service_time.mean().as_secs_f64();
        let workers = self
            .workers
            .filter(|_| mean > 0.0)
            .map(|w| f64::from(w) * f64::from(self.instances) / mean);
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

/// The order of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First in, first out.
    Fifo,
    /// Last in, first out.
    Lifo,
    /// The highest class first; first in, first out within a class.
    Priority,
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

/// A distribution of durations.
#[derive(Clone, Debug, PartialEq)]
pub enum Dist {
    /// Always the same.
    Deterministic(Nanos),
    /// Exponential with this mean.
    Exponential(Nanos),
    /// Sum of `stages` exponentials; squared coefficient of variation 1 / stages.
    Erlang {
        /// Mean of the sum.
        mean: Nanos,
        /// Number of stages, at least one.
        stages: u32,
    },
    /// Lognormal with this mean and coefficient of variation.
    Lognormal {
        /// Mean.
        mean: Nanos,
        /// Standard deviation over mean.
        cv: f64,
    },
    /// Two exponentials with balanced means.
    Hyperexponential {
        /// Mean.
        mean: Nanos,
        /// Coefficient of variation, at least one.
        cv: f64,
    },
    /// Pareto (type I) with this mean and tail index.
    Pareto {
        /// Mean.
        mean: Nanos,
        /// Tail index α, above one.
        alpha: f64,
    },
    /// One of these values, each as often as its weight says.
    Empirical(Vec<(Nanos, f64)>),
}

impl Dist {
    /// No time.
    pub const ZERO: Self = Self::Deterministic(Nanos::ZERO);

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Nanos {
        match self {
            Self::Deterministic(mean)
            | Self::Exponential(mean)
            | Self::Erlang { mean, .. }
            | Self::Lognormal { mean, .. }
            | Self::Hyperexponential { mean, .. }
            | Self::Pareto { mean, .. } => *mean,
            Self::Empirical(values) => {
                let weight: f64 = values.iter().map(|(_, w)| w).sum();
                let sum: f64 = values.iter().map(|(t, w)| t.as_secs_f64() * w).sum();
                Nanos::from_secs_f64(sum / weight)
            }
        }
    }
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

/// Load of one class in requests per second (first attempts).
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Always the same.
    Constant(f64),
    /// Piecewise linear through points (time, rate), constant before and after. A step is two
    /// points at the same time.
    Profile(Vec<(Nanos, f64)>),
    /// `base`, raised to `peak` for `length` at the start of every `every`.
    Burst {
        /// Between bursts.
        base: f64,
        /// During bursts.
        peak: f64,
        /// From the start of a burst to the start of the next.
        every: Nanos,
        /// How long a burst lasts.
        length: Nanos,
    },
}

impl Load {
    /// The rate at `t`, per second.
    #[must_use]
    pub fn at(&self, t: Nanos) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Burst { base, peak, every, length } => {
                if t.0 % every.0.max(1) < length.0 {
                    *peak
                } else {
                    *base
                }
            }
            Self::Profile(points) => {
                let next = points.partition_point(|(at, _)| *at <= t);
                match (next.checked_sub(1).map(|i| points[i]), points.get(next)) {
                    (Some((t0, r0)), Some(&(t1, r1))) => {
                        r0 + (r1 - r0) * ((t - t0).as_secs_f64() / (t1 - t0).as_secs_f64())
                    }
                    (Some((_, rate)), None) | (None, Some(&(_, rate))) => rate,
                    (None, None) => 0.0,
                }
            }
        }
    }

    /// The highest rate ever, per second.
    #[must_use]
    pub fn peak(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Burst { base, peak, .. } => base.max(*peak),
            Self::Profile(points) => points.iter().map(|p| p.1).fold(0.0, f64::max),
        }
    }

    /// The mean rate over a profile's span, a burst's period, or for ever.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Burst { base, peak, every, length } => {
                let share = length.as_secs_f64() / every.as_secs_f64();
                base + (peak - base) * share
            }
            Self::Profile(points) => {
                let area: f64 = points
                    .windows(2)
                    .map(|w| (w[0].1 + w[1].1) / 2.0 * (w[1].0 - w[0].0).as_secs_f64())
                    .sum();
                match (points.first(), points.last()) {
                    (Some(a), Some(b)) if b.0 > a.0 => area / (b.0 - a.0).as_secs_f64(),
                    (_, Some(b)) => b.1,
                    _ => 0.0,
                }
            }
        }
    }

    /// The same shape, `factor` times as high.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        match self {
            Self::Constant(rate) => Self::Constant(rate * factor),
            Self::Burst { base, peak, every, length } => Self::Burst {
                base: base * factor,
                peak: peak * factor,
                every: *every,
                length: *length,
            },
            Self::Profile(points) => {
                Self::Profile(points.iter().map(|(t, r)| (*t, r * factor)).collect())
            }
        }
    }
}

/// How requests arrive, for every class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Independently of each other.
    Poisson,
    /// At even distances.
    Deterministic,
    /// A Poisson process that is switched on and off (exponential spells with these means); its
    /// mean rate over time is the load.
    Bursty {
        /// Mean length of an on spell.
        on: Nanos,
        /// Mean length of an off spell.
        off: Nanos,
        /// Rate while off, as a share of the rate while on.
        idle: f64,
    },
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
    pub budget: BudgetSpec,
}

/// A named budget with its parameters.
#[derive(Clone, Debug)]
pub struct BudgetSpec {
    /// Its name in the registry, or `none`.
    pub kind: &'static str,
    /// Its parameters, in the registry's order.
    pub parameters: Vec<f64>,
    /// In its initial state.
    pub initial: Budget,
}

impl PartialEq for BudgetSpec {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.parameters == other.parameters
    }
}

impl BudgetSpec {
    /// No budget.
    #[must_use]
    pub fn none() -> Self {
        Self { kind: "none", parameters: Vec::new(), initial: Budget::Unlimited }
    }
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
            budget: BudgetSpec::none(),
        }
    }
}

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
    /// Lasts this long (zero for a cache flush).
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
}

/// How high a load spike is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spike {
    /// Times the load.
    Factor(f64),
    /// Requests per second in place of the load (all classes together, in their proportions).
    Rate(f64),
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

    /// Requests per second over all classes (means of shaped loads).
    #[must_use]
    pub fn total_load(&self) -> f64 {
        self.load.iter().map(Load::mean).sum()
    }
}
