//! The result format: what `--json` prints and the HTML report draws.
//!
//! Field names are a contract with the programs of others; a test holds them still.

pub mod amplification;
mod basins;
pub mod drill;
pub mod load;
mod map;
mod plan;
pub mod price;
mod rare;
pub mod scan;
mod solve;
pub mod study;

use std::collections::BTreeMap;

use crate::format;

pub use basins::{AfterTrigger, Arrow, Basins, Lasting, Plane, PlanePoint};
pub use map::{BOUNDARY, Map, MapAxis, MapCell, MapPoint};
pub use plan::{Plan, PlanClash, PlanSetting, PlanTarget};
pub use rare::{Rare, RareLevel, RarePoint};
use serde::{Deserialize, Serialize};
pub use solve::{
    AsRoutes, ClassSolution, FixedPoint, FixedPoints, Point, ServiceSolution, Simulated,
    SimulatedClass, SimulatedService, Solution, Solve, Swept,
};

/// Where a result comes from. In every result, so that it can be made again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Name of the system.
    pub system: String,
    /// Version of Damper.
    pub version: String,
    /// Seed of everything random.
    pub seed: u64,
    /// The file that was read, as the user named it.
    pub file: String,
    /// Changes made on the command line, `path=value`.
    pub set: Vec<String>,
    /// Whether the run was interrupted: what follows is what had been measured until then.
    pub partial: bool,
    /// Remarks about how the question was understood.
    pub notes: Vec<String>,
    /// What the file has and this command does not take into account.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// Something that a file has and a command does not take into account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Where it stands in a file: `services.*.health`.
    pub key: String,
    /// Who has it, by name; empty: nobody in particular.
    pub of: Vec<String>,
    /// In one sentence: what is left out, and what that means for the answer.
    pub says: String,
}

/// What `damper headroom` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Headroom {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The trigger, in words: `outage of db for 2s`.
    pub trigger: String,
    /// The trigger's name in the file.
    pub trigger_name: String,
    /// Highest load with goodput at 99 % of the offered load and no trigger. `None`: not
    /// reached by any load that was tried (nothing in the file limits it).
    pub advertised_rps: Option<f64>,
    /// Its 95 % interval.
    pub advertised_ci95: Option<[f64; 2]>,
    /// Highest load from which the system recovers by itself after the trigger.
    pub hidden_rps: Option<f64>,
    /// Its 95 % interval.
    pub hidden_ci95: Option<[f64; 2]>,
    /// The load of the file.
    pub load_rps: f64,
    /// How far the load is above hidden capacity, as a share of hidden capacity: 0.8 means
    /// 80 % above; zero or less: it would recover.
    pub exposure: Option<f64>,
    /// `stable`, `vulnerable` or `overloaded`.
    pub state: String,
    /// What holds the system down; `None` if nothing does.
    #[serde(rename = "loop")]
    pub sustaining_loop: Option<Loop>,
    /// Attempts over requests at the most amplified service, while the loop runs.
    pub amplification: f64,
    /// Changes that were tried, best first.
    pub remedies: Vec<Remedy>,
    /// Services and calls, for the drawing.
    pub graph: Graph,
    /// The run that shows the loop, at `shown_load_rps`: by default the load of the file, or
    /// one between hidden and advertised capacity if the file's load recovers.
    pub shown: Option<Simulation>,
    /// Load of `shown`.
    pub shown_load_rps: f64,
    /// Replications behind each estimate.
    pub replications: u32,
    /// Simulated requests, over all runs.
    pub simulated_requests: u64,
    /// What it costs to run stable, if a cost was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// What capacity costs, per hour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The cost as it was given.
    pub given: String,
    /// Its currency; empty: none was given.
    pub currency: String,
    /// Of 1/s of capacity.
    pub per_rps_hour: f64,
    /// What there is now: advertised capacity.
    pub now_per_hour: f64,
    /// What the load takes, and nothing more.
    pub serving_per_hour: f64,
    /// So much capacity that the load is hidden capacity. `None`: it is not known.
    pub stable: Option<Provisioned>,
    /// The price of headroom: that beyond what the load takes.
    pub headroom_per_hour: Option<f64>,
}

impl Cost {
    /// An amount without its currency: two decimals, four below one, none from a thousand on.
    #[must_use]
    pub fn number(value: f64) -> String {
        match value.abs() {
            v if !v.is_finite() => format::NONE.to_owned(),
            v if v >= 1000.0 => {
                let sign = if value < 0.0 { "-" } else { "" };
                format!("{sign}{}", format::count(v.round() as u64))
            }
            v if !(5e-7..1.0).contains(&v) => format!("{:.2}", value + 0.0),
            _ => format!("{value:.4}"),
        }
    }

    /// The same with it.
    #[must_use]
    pub fn amount(&self, value: f64) -> String {
        let number = Self::number(value);
        if self.currency.is_empty() { number } else { format!("{number} {}", self.currency) }
    }

    /// The same per hour: `13.50 EUR/h`.
    #[must_use]
    pub fn money(&self, per_hour: f64) -> String {
        format!("{}/h", self.amount(per_hour))
    }
}

/// Capacity that lets the load heal by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provisioned {
    /// Times the capacity that there is.
    pub scale: f64,
    /// Capacity, in requests per second of the system as it is.
    pub capacity_rps: f64,
    /// What that costs.
    pub per_hour: f64,
    /// Its 95 % interval.
    pub per_hour_ci95: [f64; 2],
    /// How much less that is than without the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_per_hour: Option<f64>,
}

/// A sustaining loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// Who retries (or, for a cache, who misses).
    pub caller: String,
    /// Into whose queue.
    pub service: String,
    /// `retries` or `cache misses`.
    pub kind: String,
    /// Attempts at the service over the requests it would receive if nobody retried and
    /// caches were warm, while the loop runs.
    pub amplification: f64,
    /// Share of the served work whose caller had gone, 0 to 1.
    pub wasted: f64,
    /// The story in one or two sentences.
    pub summary: String,
}

/// A change that was tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remedy {
    /// What it is, in words.
    pub name: String,
    /// The same as `--set` arguments, `path=value`.
    pub set: Vec<String>,
    /// New hidden capacity. `None`: recovers from every load that was tried below advertised.
    pub hidden_rps: Option<f64>,
    /// Its 95 % interval.
    pub hidden_ci95: Option<[f64; 2]>,
    /// Hidden capacity may be higher: some runs had more open attempts than are simulated, and
    /// count as not recovering.
    #[serde(default)]
    pub at_least: bool,
    /// New advertised capacity.
    pub advertised_rps: Option<f64>,
    /// Success under a 1 % transient error rate without overload, as the file is.
    pub success_before: f64,
    /// The same with the change. The difference is the price.
    pub success_after: f64,
    /// 95 % interval of the difference.
    pub price_ci95: [f64; 2],
    /// What it does to the loop, in words (`bounds it`, `only reschedules it`, …).
    pub verdict: String,
    /// What it then costs to run stable, if a cost was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Provisioned>,
}

/// What `damper simulate` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulate {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The trigger, in words; empty: none.
    pub trigger: String,
    /// The run.
    #[serde(flatten)]
    pub run: Simulation,
    /// Services and calls, for the drawing.
    pub graph: Graph,
}

/// One experiment, over all its replications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// `stable`, `metastable` or `overloaded` (`vulnerable` needs `headroom`).
    pub state: String,
    /// Seconds from the end of the trigger until goodput was back; `None`: it was not.
    pub recovery_s: Option<f64>,
    /// The recovery was not seen: it follows from what drains or fills.
    #[serde(default)]
    pub projected: bool,
    /// How the state was decided, in words.
    pub reason: String,
    /// Requests per second, all classes.
    pub load_rps: f64,
    /// Replications.
    pub replications: u32,
    /// Replications that recovered (or never left).
    pub recovered: u32,
    /// Simulated seconds that were measured, over all replications (without warm-up).
    pub measured_s: f64,
    /// Simulated events, over all replications.
    pub events: u64,
    /// Requests by class.
    pub classes: BTreeMap<String, ClassResult>,
    /// Class names, highest first (maps have no order of importance).
    pub class_order: Vec<String>,
    /// Attempts by service.
    pub services: BTreeMap<String, ServiceResult>,
    /// Service names in the order of the file.
    pub service_order: Vec<String>,
    /// Attempts per request and per good request over all services that do work.
    pub calls_per_request: f64,
    /// The same per good request; `None`: there was none.
    pub calls_per_success: Option<f64>,
    /// What a healthy system needs per request.
    pub floor_calls_per_request: f64,
    /// What controls refused: one for each control that is set.
    #[serde(default)]
    pub controls: Vec<ControlResult>,
    /// The first replication over time.
    pub series: Series,
}

/// What one control refused. Counts over all replications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControlResult {
    /// Where it is: `caller -> callee`, or a service.
    pub place: String,
    /// Its key in the system file.
    pub key: String,
    /// Its name in the registry.
    pub name: String,
    /// How often it refused, shed or dropped. A control that never did has not acted.
    pub refused: u64,
}

/// How the requests of one class ended. Counts over all replications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassResult {
    /// Arrived.
    pub offered: u64,
    /// Good reply, in time.
    pub good: u64,
    /// Given up after a rejection.
    pub rejected: u64,
    /// Given up after a timeout.
    pub timed_out: u64,
    /// Given up after a failure, of the callee or further down.
    pub failed: u64,
    /// Dropped by an overload control.
    pub shed: u64,
    /// Not ended when the run was.
    pub unfinished: u64,
    /// Share of the ended requests that were not good.
    pub rejection: f64,
    /// Its 95 % interval (over replications, or over batches of one).
    pub rejection_ci95: [f64; 2],
    /// Median latency of good requests, seconds.
    pub latency_p50_s: f64,
    /// 99th percentile, seconds.
    pub latency_p99_s: f64,
}

/// What one service saw. Counts over all replications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceResult {
    /// Attempts received.
    pub attempts: u64,
    /// Attempts over the requests it would receive if nobody retried (and caches were warm).
    pub amplification: f64,
    /// Share of its work whose caller had gone, 0 to 1.
    pub wasted: f64,
    /// Mean share of busy workers, or of the rate limit used.
    pub utilisation: f64,
    /// How attempts ended for the callee: served in time.
    pub served: u64,
    /// Refused at once for want of room.
    pub rejected: u64,
    /// Turned away or dropped by a control that prefers others.
    #[serde(default)]
    pub shed: u64,
    /// The same by class.
    #[serde(default)]
    pub shed_by_class: BTreeMap<String, u64>,
    /// Served after their caller had gone.
    pub abandoned: u64,
    /// Dropped or cancelled before the work was done, their caller having gone.
    pub dropped: u64,
    /// Failed by itself.
    pub failed: u64,
    /// Failed further down.
    pub failed_below: u64,
    /// Mean time in the queue, seconds.
    pub queue_delay_mean_s: f64,
    /// 99th percentile, seconds.
    pub queue_delay_p99_s: f64,
    /// Longest queue.
    pub queue_max: u64,
}

/// Time series: one entry per point, each of `interval_s`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Width of a point in seconds.
    pub interval_s: f64,
    /// When the trigger starts and ends, seconds from the start of the run.
    pub trigger_s: Option<[f64; 2]>,
    /// Start of each point, seconds from the start of the run.
    pub t_s: Vec<f64>,
    /// Requests offered per second.
    pub offered_rps: Vec<f64>,
    /// Attempts per second at all services with a capacity.
    pub attempts_rps: Vec<f64>,
    /// Good replies per second.
    pub goodput_rps: Vec<f64>,
    /// All replies per second, in time or not, wanted or not.
    pub throughput_rps: Vec<f64>,
    /// By service with a capacity: what it went through.
    pub services: BTreeMap<String, ServiceSeries>,
}

/// One service over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceSeries {
    /// Attempts per second.
    pub attempts_rps: Vec<f64>,
    /// Mean time in the queue of what left it, seconds; `null` where nothing did.
    pub queue_delay_s: Vec<Option<f64>>,
    /// Waiting attempts at the end of the point.
    pub queue: Vec<u64>,
    /// Rejections per second.
    pub rejected_rps: Vec<f64>,
    /// Share of the work whose caller had gone, 0 to 1.
    pub wasted: Vec<f64>,
}

/// The call graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Services, caches and the client.
    pub nodes: Vec<Node>,
    /// Calls.
    pub edges: Vec<GraphEdge>,
}

/// A node of the call graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// `client`, `service` or `cache`.
    pub kind: String,
    /// Attempts per second it can serve for ever; `None`: no limit.
    pub capacity_rps: Option<f64>,
    /// Attempts over requests in the run that is shown.
    pub amplification: Option<f64>,
    /// Attempts per second, where a solution is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_rps: Option<f64>,
    /// The probability that an attempt is rejected, where a solution is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<f64>,
}

/// An edge of the call graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// Who calls.
    pub from: String,
    /// Whom.
    pub to: String,
    /// Calls per execution of the caller when all is well.
    pub calls: f64,
    /// Retries after the first attempt, by class (highest first).
    pub limit: Vec<u32>,
    /// Timeout per attempt in seconds.
    pub timeout_s: Option<f64>,
    /// Attempts per second in the run that is shown.
    pub attempts_rps: Option<f64>,
    /// Whether it is part of the sustaining loop.
    pub in_loop: bool,
    /// What its layers multiply to, in words, where that is shown instead of a limit: `×3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplies: Option<String>,
}
