//! What the operator does during a run.

use damper_control::Nanos;
use damper_control::lever::{Action, ClassSet};

/// One pull of a service's lever.
#[derive(Clone, Debug, PartialEq)]
pub struct Pull {
    /// How long after the start of the trigger.
    pub after: Nanos,
    /// For which classes.
    pub classes: ClassSet,
    /// What is done.
    pub action: Action,
}
