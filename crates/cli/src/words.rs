//! Says in words what the model says in types.

use damper_sim::{LoopKind, SustainingLoop};
use damper_system::model::{Action, ActionKind, ServiceId, Spike, System, Target, Trigger};

/// `outage of db for 2s`.
pub(crate) fn trigger(system: &System, trigger: &Trigger) -> String {
    let parts: Vec<String> = trigger.actions.iter().map(|a| action(system, a)).collect();
    parts.join(", ")
}

fn action(system: &System, action: &Action) -> String {
    let services = |ids: &[ServiceId]| {
        let names: Vec<&str> =
            ids.iter().map(|s| system.services[s.0 as usize].name.as_str()).collect();
        names.join(" and ")
    };
    let what = match &action.kind {
        ActionKind::Outage { services: s, refuse: false } => format!("outage of {}", services(s)),
        ActionKind::Outage { services: s, refuse: true } => {
            format!("outage of {} (refusing)", services(s))
        }
        ActionKind::Slowdown { services: s, factor } => {
            format!("{} slower by a factor of {factor}", services(s))
        }
        ActionKind::CapacityLoss { services: s, share } => {
            format!("loss of {}% of {}", round(share * 100.0), services(s))
        }
        ActionKind::ErrorRate { services: s, rate } => {
            format!("{}% errors of {}", round(rate * 100.0), services(s))
        }
        ActionKind::AddedLatency { services: s, latency } => {
            format!("{latency} of latency to {}", services(s))
        }
        ActionKind::LoadSpike { class, height } => {
            let whose = class.map_or("load", |c| system.classes[usize::from(c)].as_str());
            match height {
                Spike::Factor(f) => format!("{whose} spike of {f} times"),
                Spike::Rate(r) => format!("{whose} spike to {r}/s"),
            }
        }
        ActionKind::CacheFlush { caches } => {
            let names: Vec<&str> =
                caches.iter().map(|c| system.caches[c.0 as usize].name.as_str()).collect();
            return after(format!("flush of {}", names.join(" and ")), action);
        }
        ActionKind::Restart { services: s, gap } => {
            let what = format!("restart of {}", services(s));
            let pace = match gap.as_secs_f64() {
                0.0 => String::new(),
                gap => format!(", {} instances a second", round(1.0 / gap)),
            };
            return after(what + &pace, action);
        }
    };
    after(format!("{what} for {}", action.lasts), action)
}

fn after(what: String, action: &Action) -> String {
    if action.after.0 == 0 { what } else { format!("{what} after {}", action.after) }
}

/// The story of a loop.
pub(crate) fn sustaining_loop(system: &System, l: &SustainingLoop) -> String {
    let caller = system.caller_name(l.caller);
    let service = &system.services[l.service.0 as usize].name;
    let wasted = format!(
        "{}% of the work {service} does is for callers that have gone",
        round(l.wasted * 100.0)
    );
    let attempts =
        format!("{service} receives {:.2} attempts for every one it needs", l.amplification);
    match l.kind {
        LoopKind::CacheMisses => {
            let cache = match l.target {
                Target::Cache(c) => system.caches[c.0 as usize].name.as_str(),
                Target::Service(_) => "the cache",
            };
            format!(
                "{caller} misses {cache}, and {service} answers too late to fill it: {attempts}; {wasted}."
            )
        }
        LoopKind::Retries if l.retrying.len() > 1 => {
            let (calls, ways) = (l.retrying.len(), l.ends[1].len());
            let over = if ways == 1 { ", each over the others" } else { "" };
            format!("{calls} calls on the way to {service} retry{over}: {attempts}; {wasted}.")
        }
        LoopKind::Retries => {
            format!(
                "{caller} retries into the queue of {service}, which is longer than its patience: {attempts}; {wasted}."
            )
        }
        LoopKind::Queue => format!("{service} is slower than what arrives: {attempts}; {wasted}."),
    }
}

/// A number without noise: at most one decimal.
pub(crate) fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

/// `; did you mean …?`, if there is a name like it.
pub(crate) fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let near = names.map(|n| (strsim::damerau_levenshtein(name, n), n)).min();
    near.filter(|(distance, _)| *distance <= name.chars().count() / 2)
        .map_or(String::new(), |(_, near)| format!("; did you mean `{near}`?"))
}
