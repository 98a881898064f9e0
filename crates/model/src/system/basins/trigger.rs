//! What a trigger does to one service, phase by phase.

use damper_control::Nanos;
use damper_system::System;
use damper_system::model::{ActionKind, ServiceId, Spike, Trigger};

use crate::chain::storm::Phase;

/// The times between which nothing changes, and what is unusual in each.
pub(super) fn phases(
    system: &System,
    trigger: &Trigger,
    service: usize,
    notes: &mut Vec<String>,
) -> Vec<Phase> {
    let mut cuts: Vec<Nanos> = trigger
        .actions
        .iter()
        .flat_map(|action| [action.after, Nanos(action.after.0.saturating_add(action.lasts.0))])
        .chain([Nanos::ZERO])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let here = |services: &[ServiceId]| services.iter().any(|s| s.0 as usize == service);
    let mut left_out = false;
    let mut phases = Vec::new();
    for pair in cuts.windows(2) {
        let [from, until] = [pair[0], pair[1]];
        let mut phase = Phase {
            seconds: Nanos(until.0 - from.0).as_secs_f64(),
            load: 1.0,
            capacity: 1.0,
            refuses: false,
        };
        let acts =
            |start: Nanos, lasts: Nanos| start <= from && from.0 < start.0.saturating_add(lasts.0);
        for action in trigger.actions.iter().filter(|a| acts(a.after, a.lasts)) {
            match &action.kind {
                ActionKind::Outage { services, refuse } if here(services) => {
                    phase.capacity = 0.0;
                    phase.refuses |= refuse;
                }
                ActionKind::Slowdown { services, factor } if here(services) => {
                    phase.capacity /= factor.max(1e-9);
                }
                ActionKind::CapacityLoss { services, share } if here(services) => {
                    phase.capacity *= 1.0 - share;
                }
                ActionKind::LoadSpike { class, height } => {
                    phase.load *= spike(system, *class, *height);
                }
                _ => left_out = true,
            }
        }
        phases.push(phase);
    }
    if left_out {
        notes.push("a part of the trigger is not in the chain (errors, added latency, caches, other services)".to_owned());
    }
    phases
}

/// A spike as a factor on the load of all classes.
fn spike(system: &System, class: Option<u8>, height: Spike) -> f64 {
    let total = system.total_load();
    let own = class.map_or(total, |class| system.load[usize::from(class)].mean());
    let raised = match height {
        Spike::Factor(factor) => own * factor,
        Spike::Rate(rate) => rate,
    };
    if total > 0.0 { (total - own + raised) / total } else { 1.0 }
}
