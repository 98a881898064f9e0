//! What `damper map --rare` prints.

use serde::{Deserialize, Serialize};

use super::{MapAxis, Origin};

/// How often a healthy system collapses with nothing going wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rare {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// What is varied; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<MapAxis>,
    /// One for each value.
    pub points: Vec<RarePoint>,
}

/// One value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RarePoint {
    /// The value; absent: the file as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Requests per second, all classes.
    pub load_rps: f64,
    /// Why there is no answer; absent where there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nothing: Option<String>,
    /// The probability of a collapse within a day. Zero: none was seen.
    pub per_day: f64,
    /// Its 95 % interval; where none was seen, the upper end is a bound.
    pub per_day_ci95: [f64; 2],
    /// Mean time until a healthy system collapses, seconds; `None`: no collapse was seen.
    pub mean_s: Option<f64>,
    /// Its 95 % interval; `None` above: without end.
    pub mean_s_ci95: [Option<f64>; 2],
    /// Share of collapses that had not come back by themselves within the watch.
    pub lasting: Option<f64>,
    /// The median backlog while all is well: what counts as healthy again.
    pub healthy_backlog: u64,
    /// Crossings of the first level per second.
    pub crossings_per_s: f64,
    /// The levels of the backlog, upwards.
    pub levels: Vec<RareLevel>,
    /// Independent results behind the interval.
    pub replications: u32,
    /// Copies that went on from a level.
    pub trials: u64,
    /// Of these: given up after a long time, and counted as back.
    pub cut: u64,
    /// Seconds over which less than half must be good in a collapse.
    pub window_s: f64,
    /// Simulated seconds.
    pub simulated_s: f64,
}

/// A level of the backlog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RareLevel {
    /// Attempts that wait or are served, and calls in backoff.
    pub backlog: u64,
    /// Share of what reached it that reached the next.
    pub onwards: f64,
    /// Share that collapsed from it.
    pub collapsed: f64,
}
