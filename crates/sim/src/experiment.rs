//! Experiments: replications of runs, and what is concluded from them.
//!
//! Every number here depends on the system, the seed and the number of the replication alone;
//! threads only decide who computes it.

mod attempts;
mod headroom;
mod loops;
mod map;
mod price;
mod probe;
mod provision;
mod rare;
mod refine;
mod remedies;
mod search;
mod simulate;
mod worst;

pub use attempts::AttemptsPerRequest;
pub use headroom::{Headroom, HeadroomError, HeadroomOptions, HeadroomState, Priced, headroom};
pub use loops::{LoopKind, SustainingLoop};
pub use map::{Map, MapAxis, MapCell, MapCorner, MapOptions, MapState, map, most_load};
pub use price::{
    Counted, Errors, Judged, Lost, Measured, PriceError, PriceOptions, PricedSetting, Pricing,
    Setting, conclude,
};
pub use provision::{Provision, provision};
pub use rare::{Rare, RareError, RareLevel, RareOptions, rare};
pub use remedies::{REMEDIES, Remedy};
pub use simulate::{Simulated, simulate};

use std::sync::atomic::{AtomicBool, Ordering};

/// How far an experiment is, and whether to go on.
pub struct Control<'a> {
    /// Raised from outside to stop; what has been measured is kept.
    pub stop: &'a AtomicBool,
    /// Called with what is being done, the steps done and the steps known of.
    pub progress: &'a (dyn Fn(&str, u64, u64) + Sync),
}

impl Control<'_> {
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
