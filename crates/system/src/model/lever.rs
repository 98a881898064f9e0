//! What the operator does during a run.

use damper_control::Nanos;

/// One pull of a service's lever.
#[derive(Clone, Debug, PartialEq)]
pub struct Pull {
    /// How long after the start of the trigger.
    pub after: Nanos,
    /// Which classes: a bit for each, bit 0 is the highest. All bits: everybody.
    pub classes: u16,
    /// What is done.
    pub action: LeverAction,
}

/// What a pull does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LeverAction {
    /// Lets everything through.
    Open,
    /// Lets nothing through.
    Pause,
    /// Stays at the rate that a ramp has reached.
    Hold,
    /// Lets through this many attempts per second.
    Throttle(f64),
    /// From one rate to another within this time; then open.
    Ramp {
        /// Attempts per second at first.
        from: f64,
        /// Attempts per second at the end.
        to: f64,
        /// How long it takes.
        over: Nanos,
    },
}
