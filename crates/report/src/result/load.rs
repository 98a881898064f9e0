//! What became of a load, for its page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Origin;

/// A load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Where it comes from; `system` is the target.
    #[serde(flatten)]
    pub origin: Origin,
    /// Who answers for the target, outside the loopback interface.
    pub owner: Option<String>,
    /// What was spoken.
    pub protocol: String,
    /// How requests followed each other.
    pub arrivals: String,
    /// What callers did after an attempt that did not end well.
    pub callers: String,
    /// Requests per second that were asked for.
    pub rate_rps: f64,
    /// Measured, without the warm-up.
    pub seconds: f64,
    /// By class.
    pub classes: Vec<LoadClass>,
    /// All classes together.
    pub total: LoadClass,
    /// How much later than intended the generator took requests up, milliseconds.
    pub late_p50_ms: f64,
    /// The same of the latest hundredth.
    pub late_p99_ms: f64,
    /// Retries that the bounds of the load did not let.
    pub withheld: u64,
    /// Interval by interval.
    pub series: LoadSeries,
    /// Latency from the intended start, of good replies and of all that was sent.
    pub curves: Vec<LatencyCurve>,
}

/// The requests of a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadClass {
    /// Its name.
    pub name: String,
    /// Requests that were due.
    pub requests: u64,
    /// How they ended, by name, and how many were not sent.
    pub ends: BTreeMap<String, u64>,
    /// Good replies in time, per second.
    pub goodput_rps: f64,
    /// Replies of any kind, per second.
    pub throughput_rps: f64,
    /// Attempts.
    pub attempts: u64,
    /// Attempts that were not the first of their request.
    pub retries: u64,
    /// How attempts ended, by name.
    pub attempt_ends: BTreeMap<String, u64>,
    /// Of good replies: p50, p90, p99, p99.9, longest, in milliseconds; none if there were none.
    pub good_ms: Vec<f64>,
    /// The same of all that was sent.
    pub sent_ms: Vec<f64>,
}

/// What happened, interval by interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadSeries {
    /// Middles of the intervals, seconds from the end of the warm-up.
    pub t_s: Vec<f64>,
    /// Their width.
    pub interval_s: f64,
    /// Requests that were due, per second.
    pub offered_rps: Vec<f64>,
    /// Good replies in time that came in the interval, per second.
    pub goodput_rps: Vec<f64>,
    /// Everything that ended in it and had been sent, per second.
    pub throughput_rps: Vec<f64>,
    /// Attempts that began in it, per second.
    pub attempts_rps: Vec<f64>,
    /// What ended in it otherwise than well, by the name of the end, per second.
    pub ends_rps: BTreeMap<String, Vec<f64>>,
}

/// Latency by quantile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyCurve {
    /// Of what.
    pub name: String,
    /// Pairs of a quantile, 0 to 1, and of the latency below which that share was, in
    /// milliseconds; in order.
    pub points: Vec<[f64; 2]>,
}
