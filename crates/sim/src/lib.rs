//! Discrete-event simulation of call graphs under retries, and the experiments on top.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arrivals;
mod attempt;
mod bursts;
mod cache;
mod calendar;
mod caller;
mod checkpoint;
mod estimate;
mod experiment;
mod floor;
mod gates;
mod guard;
mod judge;
mod lanes;
mod mechanisms;
mod memory;
mod observe;
mod plan;
mod requests;
mod rng;
mod run;
mod sampler;
mod server;
mod slab;
mod stats;
mod trigger;
mod world;

pub use bursts::Bursts;
pub use estimate::{Estimate, t95};
pub use experiment::{
    AttemptsPerRequest, Control, Counted, Errors, Headroom, HeadroomError, HeadroomOptions,
    HeadroomState, Judged, LoopKind, Lost, Map, MapAxis, MapCell, MapCorner, MapOptions, MapState,
    Measured, PriceError, PriceOptions, Priced, PricedSetting, Pricing, Provision, REMEDIES, Rare,
    RareError, RareLevel, RareOptions, Remedy, Setting, Simulated, SustainingLoop, conclude,
    headroom, map, most_load, provision, rare, simulate,
};
pub use floor::calls_per_execution;
pub use judge::{State, Verdict};
pub use mechanisms::MechanismCounts;
#[cfg(feature = "observe")]
pub use observe::{Happened, Observer};
pub use plan::Plan;
#[cfg(feature = "observe")]
pub use run::run_observed;
pub use run::{Conditions, Ending, Open, Outcome, run};
pub use stats::{ClassStats, EdgeStats, Point, Series, ServicePoint, ServiceStats};
