//! What `damper solve --basins` prints.

use serde::{Deserialize, Serialize};

use super::Origin;

/// The two basins of a system, or why there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Basins {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// Requests per second into the system.
    pub load_rps: f64,
    /// Why there is nothing to draw; absent where there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nothing: Option<String>,
    /// The plane of the weakest service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<Plane>,
}

/// The plane of one service: attempts at it, and retries still to come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plane {
    /// The service.
    pub service: String,
    /// First attempts per second at it.
    pub arrivals_rps: f64,
    /// Attempts per second that it can serve.
    pub capacity_rps: f64,
    /// First attempts per second below which it has one basin only.
    pub hidden_rps: f64,
    /// Seconds after which its callers give up on an attempt.
    pub timeout_s: f64,
    /// Retries of a request of which every attempt fails, in the mean.
    pub retries: f64,
    /// Most attempts at the service; `None`: its queue has no end.
    pub room: Option<u64>,
    /// Where it rests while healthy; `None`: it cannot serve its load.
    pub healthy: Option<PlanePoint>,
    /// The point between the basins; `None`: there is one basin only.
    pub tipping: Option<PlanePoint>,
    /// Where it rests when collapsed; `None`: nowhere, or its queue grows without end.
    pub collapsed: Option<PlanePoint>,
    /// The longest queue from which it recovers, for rising numbers of retries to come.
    pub boundary: Vec<PlanePoint>,
    /// The longest queue and the most retries to come that are worth drawing.
    pub frame: [f64; 2],
    /// Velocities, to be drawn.
    pub drift: Vec<Arrow>,
    /// From an empty service to its collapse.
    pub collapse_after: Option<Lasting>,
    /// From the collapse back to health, with nothing done.
    pub escape_after: Option<Lasting>,
    /// Share of time on the side of the collapse, in the long run.
    pub collapsed_share: Option<f64>,
    /// What the trigger of the file leads to.
    pub trigger: Option<AfterTrigger>,
    /// The published mixing time of the slowest mode, log2(100) / rate.
    pub mixing_s: Option<f64>,
    /// Rates of the slowest modes, per second.
    pub slowest_modes_per_s: Vec<f64>,
    /// States of the chain.
    pub states: Option<u64>,
    /// Size of the service that the chain stands for, beside the real one.
    pub scale: Option<f64>,
}

/// A point of the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanePoint {
    /// Attempts at the service, queued or in service.
    pub queue: f64,
    /// Retries still to come.
    pub waiting: f64,
}

/// A velocity at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrow {
    /// Where.
    #[serde(flatten)]
    pub at: PlanePoint,
    /// Attempts per second.
    pub queue_per_s: f64,
    /// Retries per second.
    pub waiting_per_s: f64,
}

/// An expected duration. If all three are absent or false, it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lasting {
    /// In seconds, where a number can hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Longer than ten to this power, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_power_of_ten: Option<f64>,
    /// Nothing leads back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never: bool,
}

/// What a trigger leads to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AfterTrigger {
    /// The trigger, in words.
    pub trigger: String,
    /// Where it leaves the service.
    pub left: PlanePoint,
    /// Whether the drift leads back to health from there.
    pub recovers: bool,
    /// Until attempts are served in time again.
    pub recovery: Lasting,
    /// The same for a fluid without chance; absent if it does not recover.
    pub fluid_recovery_s: Option<f64>,
}
