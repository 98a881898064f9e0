//! What came of a drill: the record that is printed, kept, and compared with the one before.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Origin;

/// A drill.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drill {
    /// Where it comes from; `system` is the name of the drill.
    #[serde(flatten)]
    pub origin: Origin,
    /// When it was started, in UTC: `2026-12-01T02:00:00Z`.
    pub started: String,
    /// Where load went.
    pub target: String,
    /// Hosts outside loopback, each with its owner.
    pub owners: BTreeMap<String, String>,
    /// Requests per second at a load of 100 %.
    pub load_rps: f64,
    /// Everything was this many times as slow.
    pub slower: f64,
    /// `done`, `aborted`, `interrupted` or `failed`.
    pub ended: String,
    /// Why it did not end by itself, and in which phase.
    pub ended_why: String,
    /// What happened, one after another.
    pub phases: Vec<DrillPhase>,
    /// What was done and seen, with its time.
    pub events: Vec<DrillEvent>,
    /// From the start of the first trigger to the end of the last, seconds from the start.
    pub trigger_s: Option<[f64; 2]>,
    /// From the start of the first trigger until goodput, as the client sees it, fell short.
    pub detection_s: Option<f64>,
    /// From the end of the last trigger until goodput was back, for the whole hold time.
    pub recovery_s: Option<f64>,
    /// Whether it had recovered at the end; `None`: nothing went wrong.
    pub recovered: Option<bool>,
    /// Requests that were due.
    pub offered: u64,
    /// Those of them that were served well and in time.
    pub good: u64,
    /// Those due from the first trigger until the recovery, or the end, that were not.
    pub lost: u64,
    /// The same as a share of those due meanwhile.
    pub lost_share: f64,
    /// Attempts per request from the first trigger until the recovery, or the end, over attempts
    /// per request before it.
    pub amplification: Option<f64>,
    /// Who counted attempts: `server` or `client`.
    pub amplification_by: String,
    /// Attempts of the callers of the drill: requests that were sent, and their retries.
    pub attempts: u64,
    /// Retries that the callers would have sent and the bounds of the drill held back: what came of
    /// it is better than it would have been.
    pub withheld: u64,
    /// How goodput answered to each pull of a lever.
    pub levers: Vec<LeverResponse>,
    /// What must come of it, and what came.
    pub expectations: Vec<Expectation>,
    /// What the model says of the same.
    pub predicted: Option<Predicted>,
    /// Hidden capacity, measured on the system itself.
    pub hidden: Option<LiveHidden>,
    /// By class.
    pub classes: Vec<DrillClass>,
    /// Interval by interval.
    pub series: DrillSeries,
    /// How much later than intended requests were sent, p99, milliseconds: where it is large, the
    /// machine of the drill was the bottleneck.
    pub late_p99_ms: f64,
    /// What has changed since the drill before.
    pub changes: Vec<String>,
}

/// A phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrillPhase {
    /// Its name.
    pub name: String,
    /// From when, seconds.
    pub from_s: f64,
    /// Until when, seconds.
    pub to_s: f64,
    /// Requests that were due in it.
    pub offered: u64,
    /// Those of them that were served well and in time.
    pub good: u64,
}

/// Something that was done or seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrillEvent {
    /// When, seconds.
    pub t_s: f64,
    /// What.
    pub what: String,
}

/// How goodput answered to a pull of a lever.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeverResponse {
    /// Which lever.
    pub lever: String,
    /// What was done.
    pub action: String,
    /// When, seconds.
    pub t_s: f64,
    /// Goodput over the hold time before, as a share of what was due.
    pub before: Option<f64>,
    /// The same at the end of the phases up to the next pull.
    pub after: Option<f64>,
    /// From the pull until what it let in was served well; `None`: never, until the next pull.
    pub healthy_after_s: Option<f64>,
}

/// Something that must come of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Expectation {
    /// In words.
    pub text: String,
    /// What was measured, in words.
    pub measured: String,
    /// Whether it came; `None`: it could not be told.
    pub met: Option<bool>,
    /// What was predicted, in words.
    pub predicted: Option<String>,
}

/// What `damper headroom` and `damper simulate` say of the same system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Predicted {
    /// Hidden capacity by simulation.
    pub hidden_rps: Option<f64>,
    /// Its 95 % interval.
    pub hidden_ci95: Option<[f64; 2]>,
    /// Hidden capacity by the analytic model.
    pub hidden_model_rps: Option<f64>,
    /// What the system file has and that model does not take into account.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model_left_out: Vec<super::LeftOut>,
    /// Advertised capacity by simulation.
    pub advertised_rps: Option<f64>,
    /// Recovery at the load of the drill; `None`: it does not recover.
    pub recovery_s: Option<f64>,
    /// `stable`, `metastable` or `overloaded` at the load of the drill.
    pub state: String,
    /// Attempts per request while it lasts, over those when healthy.
    pub amplification: Option<f64>,
}

/// Hidden capacity, or the longest trigger, as found on the system itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveHidden {
    /// `load` or `trigger`.
    pub of: String,
    /// `per second` or `seconds`.
    pub unit: String,
    /// The other one: the length of the trigger in seconds, or the load per second.
    pub at: f64,
    /// The highest value up to which it always recovered.
    pub low: Option<f64>,
    /// How often it did there.
    pub low_healed: u32,
    /// The lowest value from which on it never recovered; `None`: it recovered from all.
    pub high: Option<f64>,
    /// How often it did not there.
    pub high_failed: u32,
    /// The middle of the interval, by proportion.
    pub estimate: Option<f64>,
    /// It recovered from the highest value that might be tried.
    pub open: bool,
    /// What was never exceeded.
    pub bound: f64,
    /// Every probe, in order.
    pub probes: Vec<Probe>,
    /// Why it ended before it was done.
    pub ended_early: Option<String>,
}

/// One probe of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probe {
    /// The value.
    pub value: f64,
    /// Whether it recovered.
    pub healed: bool,
    /// How long that took, seconds.
    pub recovery_s: Option<f64>,
    /// Attempts of the callers.
    pub attempts: u64,
    /// Retries that the bounds of the drill held back.
    pub withheld: u64,
    /// How long it then took to become healthy without load, seconds.
    pub drain_s: f64,
    /// What was seen.
    pub what: String,
}

/// Requests of a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrillClass {
    /// Its name.
    pub name: String,
    /// Requests that were due.
    pub offered: u64,
    /// Served well and in time.
    pub good: u64,
    /// Well, but late.
    pub late: u64,
    /// Refused.
    pub rejected: u64,
    /// Failed.
    pub failed: u64,
    /// No reply in time.
    pub timed_out: u64,
    /// No connection, or one that broke.
    pub connection: u64,
    /// Never sent, since too many were under way.
    pub not_sent: u64,
    /// From the intended start, of good replies, milliseconds.
    pub p50_ms: f64,
    /// The same.
    pub p99_ms: f64,
}

/// Interval by interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrillSeries {
    /// Middle of each interval, seconds from the start.
    pub t_s: Vec<f64>,
    /// Width of an interval.
    pub interval_s: f64,
    /// Requests that were due, per second.
    pub offered_rps: Vec<f64>,
    /// Good replies, per second.
    pub goodput_rps: Vec<f64>,
    /// All replies and ends, per second.
    pub throughput_rps: Vec<f64>,
    /// Refusals, per second.
    pub rejected_rps: Vec<f64>,
    /// Mean time of good replies from the intended start, milliseconds.
    pub good_ms: Vec<Option<f64>>,
    /// Metrics by name.
    pub metrics: BTreeMap<String, Vec<Option<f64>>>,
}
