//! What `damper plan` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Origin;

/// What `damper plan` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// Whether the setting meets all targets.
    pub met: bool,
    /// The answer in one sentence.
    pub verdict: String,
    /// The assignments that make the setting, `path=value`; none: the file has it already.
    pub changes: Vec<String>,
    /// The same as lines under `policies:`.
    pub lines: Vec<String>,
    /// The conditions under which rejection and `amplification` hold, `path=value`.
    pub at: Vec<String>,
    /// Probability that an attempt fails by a transient fault.
    pub transient: f64,
    /// The largest limit that was tried.
    pub max_limit: u32,
    /// What was asked, with what came of it.
    pub targets: Vec<PlanTarget>,
    /// The system as the file has it.
    pub before: PlanSetting,
    /// The recommended setting, or the nearest.
    pub after: PlanSetting,
    /// The call or calls of the one layer that retries; empty: several do, or none.
    pub layer: Vec<String>,
    /// The best setting for each choice of layers.
    pub layers: Vec<PlanSetting>,
    /// Settings of which no other is better in `availability`, `hidden_rps` and
    /// `worst_amplification` at once; the least amplification first.
    pub frontier: Vec<PlanSetting>,
    /// The smallest sets of targets that nothing that was tried meets together.
    pub clashes: Vec<PlanClash>,
    /// How many settings were compared.
    pub evaluations: u64,
    /// Whether these are all there are up to `max_limit`; if not, a better one may exist.
    pub exact: bool,
}

/// One target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanTarget {
    /// As it is written on the command line.
    pub target: String,
    /// The field of a setting that it bounds.
    pub field: String,
    /// The class, for a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Whether `bound` is the least; otherwise it is the most.
    pub at_least: bool,
    /// The bound: a share from 0 to 1, a factor, or requests per second.
    pub bound: f64,
    /// What the file has; `None`: without limit.
    pub before: Option<f64>,
    /// What the setting has; `None`: without limit.
    pub after: Option<f64>,
    /// Whether the setting meets it.
    pub met: bool,
}

/// Targets that cannot be met together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanClash {
    /// As they are written on the command line. One alone: it cannot be met at all.
    pub targets: Vec<String>,
    /// The best value that was seen of the target, if it is one alone.
    pub best: Option<f64>,
}

/// A setting, and what it comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanSetting {
    /// Which layers retry, in words.
    pub layers: String,
    /// The calls that retry and how often, in words.
    pub retries: String,
    /// The assignments that make it, `path=value`.
    pub changes: Vec<String>,
    /// Retries after the first attempt, by call and class.
    pub limits: BTreeMap<String, BTreeMap<String, u32>>,
    /// Share of the requests that do not complete under the conditions, by class.
    pub rejection: BTreeMap<String, f64>,
    /// The largest amplification of a service under the conditions.
    pub amplification: f64,
    /// Attempts per request at services with a capacity, under the conditions.
    pub calls_per_request: f64,
    /// The largest amplification of a service if everything fails that can be retried.
    pub worst_amplification: f64,
    /// Share of the requests that complete with transient faults and no overload; `None`: no
    /// closed form.
    pub availability: Option<f64>,
    /// Share of the requests that fail by a transient fault without retries and succeed with
    /// them; `None`: no closed form.
    pub hides: Option<f64>,
    /// Load below which the system heals by itself; `None`: no loop can outlast its trigger, or
    /// there is no closed form.
    pub hidden_rps: Option<f64>,
    /// Load that it serves while nothing fails; `None`: nothing limits it, or no closed form.
    pub advertised_rps: Option<f64>,
    /// Whether it meets all targets.
    pub met: bool,
}
