//! What `damper solve` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Origin;

/// What `damper solve` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Solve {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The system as it is; absent in a sweep.
    #[serde(flatten)]
    pub solution: Option<Solution>,
    /// The points of a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
}

/// One point of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The assignments that make it, `path=value`.
    pub at: Vec<String>,
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

/// The simulator beside the solution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// By class.
    pub classes: BTreeMap<String, SimulatedClass>,
    /// Attempts per request at services with a capacity.
    pub calls_per_request: f64,
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
}
