//! How long what controls remember, or an operator plans, can go on deciding.

use damper_control::entry::Unit;
use damper_control::lever::Action;
use damper_control::registry;
use damper_system::model::{Pull, Spec};

use crate::plan::Plan;

impl Plan {
    /// The longest window, wait or period of any control, and the end of the last pull of a
    /// lever, in nanoseconds. Until then a system may stand still that heals later.
    pub(crate) fn memory(&self) -> u64 {
        let policies = self.system.policies.edges.iter().map(|e| &e.policy);
        let callers = policies.map(|p| {
            let gates = p.throttle.iter().chain(&p.breaker).map(longest);
            gates.fold(longest(&p.budget), f64::max)
        });
        let services = self.system.services.iter().map(|s| {
            let admission = s.admission.as_ref().map_or(0.0, longest);
            let concurrency = s.concurrency.as_ref().map_or(0.0, longest);
            admission.max(concurrency)
        });
        let pulls = self.system.services.iter().flat_map(|s| &s.lever).map(end);
        let seconds = callers.chain(services).fold(0.0, f64::max);
        damper_control::Nanos::from_secs_f64(seconds).0.max(pulls.max().unwrap_or(0))
    }
}

/// The longest duration among the parameters of a control, in seconds.
fn longest<T>(spec: &Spec<T>) -> f64 {
    let known = registry::find(spec.kind).map_or(&[][..], |e| e.parameters);
    let durations = known.iter().zip(&spec.parameters).filter(|(p, _)| p.unit == Unit::Duration);
    durations.map(|(_, x)| *x).fold(0.0, f64::max)
}

/// When a pull has come to its end, after the start of the trigger.
fn end(pull: &Pull) -> u64 {
    let over = match pull.action {
        Action::Ramp(ramp) => ramp.over.0,
        _ => 0,
    };
    pull.after.0.saturating_add(over)
}
