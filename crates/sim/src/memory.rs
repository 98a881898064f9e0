//! How long what controls remember, or an operator plans, can go on deciding.

use damper_control::entry::Unit;
use damper_control::lever::Action;
use damper_control::registry;
use damper_system::model::{Mechanisms, Pull, Spec};

use crate::plan::Plan;

impl Plan {
    /// The longest window, wait or period of any control or mechanism, and the end of the last
    /// pull of a lever, in nanoseconds. Until then a system may stand still that heals later.
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
        let mechanisms = self.system.services.iter().map(|s| &s.mechanisms);
        let own = mechanisms.flat_map(spans).max().unwrap_or(0);
        let controls = damper_control::Nanos::from_secs_f64(seconds).0;
        controls.max(pulls.max().unwrap_or(0)).max(own)
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

/// How long mechanisms let an instance or a service wait before something changes.
fn spans(m: &Mechanisms) -> [u64; 6] {
    [
        m.health.map_or(0, |h| {
            let checks = h.interval.0.saturating_mul(u64::from(h.healthy.max(h.unhealthy)));
            checks.saturating_add(h.removed_for.0)
        }),
        m.autoscale.map_or(0, |a| a.interval.0.saturating_add(a.provision.0)),
        m.start.map_or(0, |s| s.takes.0.saturating_add(s.cold_for.0).saturating_add(s.again.0)),
        m.lease.map_or(0, |l| l.lasts.0),
        m.election.map_or(0, |e| e.takes.0.saturating_add(e.timeout.0)),
        m.failover.map_or(0, |f| f.window.0.saturating_add(f.back_after.0)),
    ]
}
