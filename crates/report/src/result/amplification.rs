//! What `damper scan --amplification` found.

use serde::{Deserialize, Serialize};

use super::Graph;

/// What the layers of a call graph multiply to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amplification {
    /// Version of Damper.
    pub version: String,
    /// Where the graph comes from: the system file, or `found`.
    pub source: String,
    /// The share of attempts that fail at the end of a way, for `expected`.
    pub failure: f64,
    /// The ways with the largest products, the largest first.
    pub ways: Vec<AmplifiedWay>,
    /// Services, the most amplified first.
    pub services: Vec<AmplifiedService>,
    /// The limit that was asked for.
    pub limit: Option<f64>,
    /// Whether every way is under it.
    pub met: bool,
    /// The fewest changes that bring every way under it.
    pub changes: Vec<LayerChange>,
    /// Layers that were found and stand on no call of the graph.
    pub unplaced: Vec<AmplifyingLayer>,
    /// Calls whose number nobody says: taken for one each.
    pub assumed_calls: u64,
    /// Services and calls, for the drawing.
    pub graph: Graph,
    /// What a person should know of.
    pub notes: Vec<String>,
}

/// From, to; no upper end where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Between {
    /// At least: provable.
    pub low: f64,
    /// At most: possible. `None`: no end.
    pub high: Option<f64>,
}

/// One way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AmplifiedWay {
    /// The services on it, the first where requests begin.
    pub services: Vec<String>,
    /// Attempts at its end for one request, in the worst case.
    pub worst: Between,
    /// The end that gives the lower one.
    pub kind: String,
    /// Attempts at its end for each request while everything there fails: budgets act.
    pub sustained: Between,
    /// Attempts at its end for each request while a share of them fails.
    pub expected: Between,
    /// Its layers, the outermost first.
    pub layers: Vec<AmplifyingLayer>,
}

/// One layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AmplifyingLayer {
    /// The call that it retries.
    pub call: String,
    /// What it is.
    pub who: String,
    /// Where it is written, `path:line`.
    pub place: Option<String>,
    /// Whether a person wrote its number of attempts.
    pub written: bool,
    /// Its attempts in total.
    pub attempts: Between,
    /// What limits it across requests, in words.
    pub budget: Option<String>,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AmplifiedService {
    /// Its name.
    pub service: String,
    /// Attempts over calls if nobody retried, over all ways to it, in the worst case.
    pub worst: Between,
    /// The same while everything there fails for long.
    pub sustained: Between,
    /// What it can serve.
    pub capacity_rps: Option<f64>,
    /// Requests that may enter the system while everything at this service fails, and it heals by
    /// itself: its capacity over calls and sustained amplification. Without a capacity: the share
    /// of it, per call.
    pub hidden: Between,
}

/// One change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerChange {
    /// The layer as it is.
    pub layer: AmplifyingLayer,
    /// Attempts in total from now on.
    pub attempts: u32,
}
