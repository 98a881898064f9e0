//! What `damper solve` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Graph, Origin};

/// What `damper solve` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Solve {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The system as it is; absent in a sweep.
    #[serde(flatten)]
    pub solution: Option<Solution>,
    /// The call graph of the system as it is; absent in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
    /// The points of a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// The field that is swept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<Swept>,
    /// The field that is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varied: Option<String>,
}

/// The field of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Swept {
    /// Its path.
    pub path: String,
    /// What stands behind its numbers: `/s`, `%`, `ms`, nothing.
    pub unit: String,
}

/// One point of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The assignments that make it, `path=value`.
    pub at: Vec<String>,
    /// The number of the swept field, in its unit; absent if none is swept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The value of the varied field; absent if none is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The system there.
    #[serde(flatten)]
    pub solution: Solution,
}

/// The analytic solution of one system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// Requests per second, all classes.
    pub load_rps: f64,
    /// By class.
    pub classes: BTreeMap<String, ClassSolution>,
    /// Class names, highest first.
    pub class_order: Vec<String>,
    /// By service.
    pub services: BTreeMap<String, ServiceSolution>,
    /// Service names in the order of the file.
    pub service_order: Vec<String>,
    /// Attempts per request at services with a capacity.
    pub calls_per_request: f64,
    /// The same per request that completes; `None`: none does.
    pub calls_per_success: Option<f64>,
    /// What a healthy system needs per request.
    pub floor_calls_per_request: f64,
    /// Load below which the system heals by itself; `None`: it wastes no work, or there is no
    /// closed form.
    pub hidden_rps: Option<f64>,
    /// The service that has it.
    pub weakest: Option<String>,
    /// Whether it is guaranteed that there is no other solution.
    pub unique: bool,
    /// Why, or why not.
    pub unique_because: String,
    /// Rounds of the iteration.
    pub iterations: u64,
    /// The largest amount by which an equation is missed, relative to the largest rate.
    pub residual: f64,
    /// What iterating from random points found; absent unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_points: Option<FixedPoints>,
    /// The same call trees read as a routing chain; absent where the file has no trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_routes: Option<AsRoutes>,
    /// The simulator on the same system; absent unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
}

/// One class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassSolution {
    /// Requests per second.
    pub load_rps: f64,
    /// Share of the requests that do not complete.
    pub rejection: f64,
    /// Share that completes.
    pub completion: f64,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceSolution {
    /// Probability that one attempt is rejected.
    pub s: f64,
    /// Attempts per second by class.
    pub attempts_rps: BTreeMap<String, f64>,
    /// Accepted attempts over capacity; `None`: no capacity.
    pub utilisation: Option<f64>,
    /// Attempts over those of a system in which nothing fails.
    pub amplification: f64,
    /// The same if everything fails that can be retried.
    pub worst_amplification: f64,
    /// Load of the whole system below which this service heals by itself; `None`: it wastes no
    /// work.
    pub hidden_rps: Option<f64>,
}

/// What iterating from random points found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FixedPoints {
    /// Different solutions, the printed one among them. The search ends at a hundred.
    pub found: u64,
    /// Starts that were made.
    pub starts: u64,
    /// Starts that did not come to rest.
    pub unsettled: u64,
    /// Each solution, the printed one first.
    pub solutions: Vec<FixedPoint>,
}

/// One solution of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FixedPoint {
    /// Starts that ended here.
    pub starts: u64,
    /// By service, the probability that one attempt is rejected.
    pub s: BTreeMap<String, f64>,
}

/// Call trees as a routing chain: a request is handed on, and a hop that fails is repeated by
/// itself, without what came before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AsRoutes {
    /// Whether the readings differ by more than 0.1 percentage points of a class's rejection, or
    /// one percent of the calls per request.
    pub differs: bool,
    /// Share of the requests that do not complete, by class.
    pub rejection: BTreeMap<String, f64>,
    /// By service, the probability that one attempt is rejected.
    pub s: BTreeMap<String, f64>,
    /// Attempts per request at services with a capacity.
    pub calls_per_request: f64,
    /// The same per request that completes; `None`: none does.
    pub calls_per_success: Option<f64>,
    /// What this reading leaves out.
    pub remarks: Vec<String>,
}

/// The simulator beside the solution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// By class.
    pub classes: BTreeMap<String, SimulatedClass>,
    /// Attempts per request at services with a capacity.
    pub calls_per_request: f64,
    /// Its 95 % interval.
    pub calls_per_request_ci95: [f64; 2],
    /// The solution's calls per request less this.
    pub calls_per_request_difference: f64,
    /// The 95 % interval of the difference.
    pub calls_per_request_difference_ci95: [f64; 2],
    /// By service.
    pub services: BTreeMap<String, SimulatedService>,
    /// Replications.
    pub replications: u32,
}

/// One class, simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulatedClass {
    /// Share of the ended requests that were not good.
    pub rejection: f64,
    /// Its 95 % interval.
    pub rejection_ci95: [f64; 2],
    /// The solution's rejection less this.
    pub difference: f64,
    /// The 95 % interval of the difference.
    pub difference_ci95: [f64; 2],
}

/// One service, simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulatedService {
    /// Attempts per second, all classes, at the solution's load.
    pub attempts_rps: f64,
    /// Its 95 % interval; `None`: a single replication has none for a service without a capacity.
    pub attempts_rps_ci95: Option<[f64; 2]>,
    /// The solution's attempts per second less this.
    pub difference: f64,
}
