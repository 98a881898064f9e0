//! Names the loop that holds a system down: who sends too much into whose queue, and how much
//! of the work is for nobody.

use damper_system::model::{CacheMode, Call, Caller, ServiceId, System, Target, Work};

use crate::experiment::Simulated;
use crate::plan::Plan;

/// A call: who makes it, and to whom.
type Edge = (Caller, Target);

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
    /// Of these: the first on each way, and the last.
    pub ends: [Vec<(Caller, Target)>; 2],
}

/// Finds the loop in a run that did not recover.
pub(crate) fn find(plan: &Plan, run: &Simulated, from: u64) -> Option<SustainingLoop> {
    let system = plan.system();
    // The second half of what came after the trigger: the loop without its beginnings.
    let points = &run.series.points;
    let start = ((from / run.series.interval) as usize).min(points.len());
    let late = &points[start + (points.len() - start) / 2..];
    let offered: f64 = late.iter().map(|p| p.offered as f64).sum();
    // The mix of the run: that of the file is another one where a single class was varied.
    let all: u64 = run.classes.iter().map(|c| c.offered).sum();
    let per_request = |s: usize| -> f64 {
        let of = run.classes.iter().zip(&plan.floor).map(|(c, f)| c.offered as f64 * f[s]);
        of.sum::<f64>() / all.max(1) as f64
    };
    let limited = plan.services.iter().enumerate().filter(|(_, s)| s.limited);
    let mut worst: Option<(f64, usize, f64, f64)> = None;
    for (shown, (s, _)) in limited.enumerate() {
        let sum = |f: &dyn Fn(&crate::ServicePoint) -> f64| -> f64 {
            late.iter().filter_map(|p| p.services.get(shown)).map(f).sum()
        };
        let needed = offered * per_request(s);
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
    let Way { retrying, ends } = on_the_way(system, service);
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
        ends,
    })
}

/// Retrying calls through which a service is reached.
#[derive(Default)]
struct Way {
    retrying: Vec<Edge>,
    ends: [Vec<Edge>; 2],
}

fn on_the_way(system: &System, service: ServiceId) -> Way {
    let mut way = Way::default();
    let retries = |(caller, target): &Edge| system.policy(*caller, *target).retry.is_active();
    let mut found = |path: &[Edge]| {
        let retrying: Vec<_> = path.iter().copied().filter(retries).collect();
        let ends = [retrying.first(), retrying.last()];
        for (all, end) in way.ends.iter_mut().zip(ends) {
            all.extend(end.filter(|e| !all.contains(e)));
        }
        for edge in retrying {
            if !way.retrying.contains(&edge) {
                way.retrying.push(edge);
            }
        }
    };
    match &system.work {
        Work::Requests(types) => {
            for request in types {
                let mut path = Vec::new();
                for call in request.steps.iter().flatten() {
                    walk(system, Caller::Client, call, service, &mut path, &mut found);
                }
            }
        }
        // Ways through a matrix have no end: the calls of clients are the first, those to the
        // service itself the last.
        Work::Routes(_) => {
            let edges = || system.policies.edges.iter().map(|e| (e.caller, e.target));
            let mut leads = vec![false; system.services.len()];
            leads[service.0 as usize] = true;
            for _ in 0..system.services.len() {
                for (caller, target) in edges() {
                    if let Caller::Service(from) = caller {
                        leads[from.0 as usize] |= leads[system.server_of(target).0 as usize];
                    }
                }
            }
            let on = |e: &Edge| leads[system.server_of(e.1).0 as usize] && retries(e);
            way.retrying = edges().filter(on).collect();
            let of = |keep: &dyn Fn(&Edge) -> bool| {
                way.retrying.iter().copied().filter(|e| keep(e)).collect()
            };
            way.ends = [of(&|e| e.0 == Caller::Client), of(&|e| system.server_of(e.1) == service)];
        }
    }
    way
}

fn walk(
    system: &System,
    caller: Caller,
    call: &Call,
    goal: ServiceId,
    path: &mut Vec<Edge>,
    found: &mut dyn FnMut(&[Edge]),
) {
    let length = path.len();
    path.push((caller, call.target));
    let server = system.server_of(call.target);
    if let Target::Cache(cache) = call.target
        && system.caches[cache.0 as usize].mode == CacheMode::ReadThrough
    {
        path.push((Caller::Cache(cache), Target::Service(server)));
    }
    if server == goal {
        found(path);
    }
    for below in call.steps.iter().flatten() {
        walk(system, Caller::Service(server), below, goal, path, found);
    }
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(system: &System, edges: &[Edge]) -> Vec<String> {
        let name = |(caller, target): &Edge| {
            format!("{} -> {}", system.caller_name(*caller), system.target_name(*target))
        };
        edges.iter().map(name).collect()
    }

    fn way(text: &str, service: &str) -> [Vec<String>; 3] {
        let system = damper_system::SystemFile::parse("t.yaml", text).unwrap().lower().unwrap();
        let id = system.services.iter().position(|s| s.name == service).unwrap();
        let way = on_the_way(&system, ServiceId(id as u32));
        [&way.retrying, &way.ends[0], &way.ends[1]].map(|edges| names(&system, edges))
    }

    /// Two ways to one store: each has a top layer and a bottom layer of its own.
    #[test]
    fn every_way_has_its_own_first_and_last_retry() {
        let [all, first, last] = way(
            "
damper: 1
name: fork
services: {a: {}, b: {}, other: {}, store: {workers: 1, service_time: 1ms}}
load: 1/s
requests:
  one: {share: 50%, calls: [{a: [store, other]}]}
  two: {share: 50%, calls: [{b: [store]}]}
policies: {default: {timeout: 1s, retry: {limit: 1}}}
",
            "store",
        );
        assert_eq!(all, ["client -> a", "a -> store", "client -> b", "b -> store"]);
        assert_eq!(first, ["client -> a", "client -> b"]);
        assert_eq!(last, ["a -> store", "b -> store"]);
    }

    #[test]
    fn a_cache_that_fetches_retries_on_the_way_to_its_store() {
        let [all, first, last] = way(
            "
damper: 1
name: through
services: {a: {}, store: {workers: 1, service_time: 1ms}}
caches: {c: {store: store, mode: read-through, hit_rate: 90%, hot_keys: 10}}
load: 1/s
requests: {one: {calls: [{a: [c]}]}}
policies: {\"c -> store\": {timeout: 1s, retry: {limit: 1}}}
",
            "store",
        );
        assert_eq!(all, ["c -> store"]);
        assert_eq!((first, last), (all.clone(), all));
    }

    #[test]
    fn a_routing_matrix_leaves_out_what_does_not_lead_there() {
        let [all, first, last] = way(
            "
damper: 1
name: matrix
services: {a: {}, b: {}, aside: {}, store: {workers: 1, service_time: 1ms}}
load: 1/s
routes: {all: {entry: {a: 100%}, a: {b: 50%, aside: 50%}, b: {store: 100%}}}
policies: {default: {timeout: 1s, retry: {limit: 1}}}
",
            "store",
        );
        assert_eq!(all, ["client -> a", "a -> b", "b -> store"]);
        assert_eq!((first, last), (vec!["client -> a".to_owned()], vec!["b -> store".to_owned()]));
    }
}
