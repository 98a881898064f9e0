//! Names the loop that holds a system down: who sends too much into whose queue, and how much
//! of the work is for nobody.

use damper_system::model::{Call, Caller, ServiceId, System, Target, Work};

use crate::experiment::Simulated;
use crate::plan::Plan;

/// What feeds a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// Callers that retry.
    Retries,
    /// Callers that miss a cache which is not filled, because the replies come too late.
    CacheMisses,
    /// Neither: too slow for what arrives.
    Queue,
}

/// A sustaining loop.
#[derive(Clone, Debug, PartialEq)]
pub struct SustainingLoop {
    /// Who sends.
    pub caller: Caller,
    /// Whom it calls.
    pub target: Target,
    /// Whose queue it is.
    pub service: ServiceId,
    /// What feeds it.
    pub kind: LoopKind,
    /// Attempts over the requests without retries and with warm caches, while it runs.
    pub amplification: f64,
    /// Share of the served work whose caller had gone.
    pub wasted: f64,
    /// Calls on the way to the service that retry, from the top.
    pub retrying: Vec<(Caller, Target)>,
}

/// Finds the loop in a run that did not recover.
pub(crate) fn find(plan: &Plan, run: &Simulated, from: u64) -> Option<SustainingLoop> {
    let system = plan.system();
    // The second half of what came after the trigger: the loop without its beginnings.
    let points = &run.series.points;
    let start = ((from / run.series.interval) as usize).min(points.len());
    let late = &points[start + (points.len() - start) / 2..];
    let offered: f64 = late.iter().map(|p| p.offered as f64).sum();
    let limited = plan.services.iter().enumerate().filter(|(_, s)| s.limited);
    let mut worst: Option<(f64, usize, f64, f64)> = None;
    for (shown, (s, _)) in limited.enumerate() {
        let sum = |f: &dyn Fn(&crate::ServicePoint) -> f64| -> f64 {
            late.iter().filter_map(|p| p.services.get(shown)).map(f).sum()
        };
        let needed = offered * plan.floor_of(ServiceId(s as u32));
        let amplification = sum(&|p| p.attempts as f64) / needed.max(1.0);
        let wasted = sum(&|p| p.wasted) / sum(&|p| p.work).max(1.0);
        let queued = sum(&|p| p.queue as f64) / late.len().max(1) as f64;
        // Most work for nobody first; the longest queue among those that waste the same.
        let weight = wasted * 1e9 + queued;
        if needed > 0.0 && worst.is_none_or(|w| weight > w.0) {
            worst = Some((weight, s, amplification, wasted));
        }
    }
    let (_, s, amplification, wasted) = worst?;
    let service = ServiceId(s as u32);
    let into = plan
        .edge_ends()
        .iter()
        .enumerate()
        .filter(|(_, (_, target))| system.server_of(*target) == service);
    let (edge, (caller, target)) = into.max_by_key(|(e, _)| {
        let stats = &run.edges[*e];
        (stats.retries.max(stats.hot_misses), stats.attempts)
    })?;
    let retrying = on_the_way(system, service);
    let stats = &run.edges[edge];
    let kind = if stats.hot_misses > stats.retries {
        LoopKind::CacheMisses
    } else if !retrying.is_empty() {
        LoopKind::Retries
    } else {
        LoopKind::Queue
    };
    Some(SustainingLoop {
        caller: *caller,
        target: *target,
        service,
        kind,
        amplification,
        wasted,
        retrying,
    })
}

/// Retrying calls through which a service is reached, from the top.
fn on_the_way(system: &System, service: ServiceId) -> Vec<(Caller, Target)> {
    let mut found = Vec::new();
    match &system.work {
        Work::Requests(types) => {
            for request in types {
                let mut path = Vec::new();
                for call in request.steps.iter().flatten() {
                    walk(system, Caller::Client, call, service, &mut path, &mut found);
                }
            }
        }
        Work::Routes(_) => {
            found = system.policies.edges.iter().map(|e| (e.caller, e.target)).collect();
        }
    }
    found.retain(|(caller, target)| system.policy(*caller, *target).retry.is_active());
    found
}

fn walk(
    system: &System,
    caller: Caller,
    call: &Call,
    goal: ServiceId,
    path: &mut Vec<(Caller, Target)>,
    found: &mut Vec<(Caller, Target)>,
) {
    path.push((caller, call.target));
    let server = system.server_of(call.target);
    if server == goal {
        for edge in path.iter() {
            if !found.contains(edge) {
                found.push(*edge);
            }
        }
    }
    for below in call.steps.iter().flatten() {
        walk(system, Caller::Service(server), below, goal, path, found);
    }
    path.pop();
}
