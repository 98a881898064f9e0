//! The graph of a system file, its layers and its ways.

use std::collections::HashMap;

use damper_config::failure::Failure;
use damper_config::layer::{Budget, Reach, Seat};
use damper_config::{Failures, Name};
use damper_control::Outcome;
use damper_system::System;
use damper_system::model::{Caller, Policy, ServiceId, Step, Target, Work};

use crate::bound;
use crate::factor::Factor;
use crate::graph::{CLIENT, Graph};
use crate::waits::Waits;
use crate::way::{MOST_CALLS, MOST_WAYS, Way, Ways, steps};

/// The graph of a system: services, calls, and the policy of each call as a layer of its caller.
#[must_use]
pub fn graph(system: &System) -> Graph {
    let mut graph = Graph::default();
    let client = graph.node(&Name::new(CLIENT, None));
    if let Some(node) = graph.nodes.get_mut(client) {
        node.entry = true;
    }
    for service in &system.services {
        let at = graph.node(&Name::new(&service.name, None));
        if let Some(node) = graph.nodes.get_mut(at) {
            node.capacity_rps = service.capacity();
        }
    }
    for (caller, target, calls) in calls(system) {
        let from = at(system, caller);
        let to = system.server_of(target).0 as usize + 1;
        graph.edge(from, to, Some(calls), None);
    }
    for edge in &system.policies.edges {
        let (from, to) = (at(system, edge.caller), system.server_of(edge.target).0 as usize + 1);
        let mut factor = layer(&edge.policy);
        factor.caller = graph.nodes.get(from).map(|node| node.name.clone());
        factor.callee = graph.nodes.get(to).map(|node| node.name.clone());
        graph.layers.push(factor);
        let layer = graph.layers.len() - 1;
        let edge = graph.edges.iter_mut().find(|edge| (edge.from, edge.to) == (from, to));
        if let Some(edge) = edge {
            edge.layers.push(layer);
        }
    }
    graph
}

/// The place of a caller among the nodes: the client first, then the services. A cache calls what
/// it stands in front of.
fn at(system: &System, caller: Caller) -> usize {
    let service = |id: ServiceId| id.0 as usize + 1;
    match caller {
        Caller::Client => 0,
        Caller::Service(id) => service(id),
        Caller::Cache(id) => {
            system.caches.get(id.0 as usize).map_or(0, |cache| service(cache.store))
        }
    }
}

/// Calls by caller and target, for each request that the caller serves.
fn calls(system: &System) -> Vec<(Caller, Target, f64)> {
    let mut all: Vec<(Caller, Target, f64)> = Vec::new();
    let mut visits: HashMap<Caller, f64> = HashMap::from([(Caller::Client, 1.0)]);
    let mut add = |caller: Caller, target: Target, calls: f64| match all
        .iter_mut()
        .find(|(from, to, _)| (*from, *to) == (caller, target))
    {
        Some((_, _, sum)) => *sum += calls,
        None => all.push((caller, target, calls)),
    };
    match &system.work {
        Work::Requests(types) => {
            let mut open: Vec<(Caller, &[Step], f64)> = types
                .iter()
                .map(|kind| (Caller::Client, kind.steps.as_slice(), share(system, &kind.share)))
                .collect();
            while let Some((caller, steps, often)) = open.pop() {
                for call in steps.iter().flatten() {
                    let often = often * call.chance * f64::from(call.times.max(1));
                    let callee = Caller::Service(system.server_of(call.target));
                    *visits.entry(callee).or_default() += often;
                    add(caller, call.target, often);
                    open.push((callee, &call.steps, often));
                }
            }
            for (caller, _, calls) in &mut all {
                let visits = visits.get(caller).copied().unwrap_or(1.0);
                *calls /= if visits > 0.0 { visits } else { 1.0 };
            }
        }
        Work::Routes(routes) => {
            let service = |id: &ServiceId| Target::Service(*id);
            let loads: Vec<f64> =
                system.load.iter().map(damper_system::model::Load::mean).collect();
            let total = loads.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            for (class, load) in loads.iter().enumerate() {
                for (to, chance) in routes.entry.get(class).into_iter().flatten() {
                    add(Caller::Client, service(to), chance * load / total);
                }
                for (from, row) in routes.rows.get(class).into_iter().flatten().enumerate() {
                    for (to, chance) in row {
                        let from =
                            Caller::Service(ServiceId(u32::try_from(from).unwrap_or(u32::MAX)));
                        add(from, service(to), chance * load / total);
                    }
                }
            }
        }
    }
    all
}

fn share(system: &System, share: &[f64]) -> f64 {
    let total = system.total_load().max(f64::MIN_POSITIVE);
    share.iter().zip(&system.load).map(|(share, load)| share * load.mean()).sum::<f64>() / total
}

/// The ways of a system: those of its call trees, as not every sequence of calls occurs; of a
/// routing matrix all that the graph has.
#[must_use]
pub fn ways(system: &System, graph: &Graph) -> Ways {
    let Work::Requests(types) = &system.work else { return Ways::of(graph) };
    let mut ways = Ways::default();
    for kind in types {
        let often = share(system, &kind.share);
        follow(system, graph, &mut ways, (0, &kind.steps), &mut Vec::new(), often);
    }
    ways
}

fn follow(
    system: &System,
    graph: &Graph,
    ways: &mut Ways,
    (from, calls): (usize, &[Step]),
    edges: &mut Vec<usize>,
    often: f64,
) {
    for call in calls.iter().flatten() {
        if ways.all.len() >= MOST_WAYS || edges.len() >= MOST_CALLS {
            ways.cut = true;
            return;
        }
        let to = system.server_of(call.target).0 as usize + 1;
        let found = graph.edges.iter().position(|edge| (edge.from, edge.to) == (from, to));
        let Some(edge) = found else { continue };
        edges.push(edge);
        let often = often * call.chance * f64::from(call.times.max(1));
        let amplification = bound::amplification(&steps(graph, edges));
        ways.all.push(Way { edges: edges.clone(), calls: often, amplification });
        follow(system, graph, ways, (to, &call.steps), edges, often);
        edges.pop();
    }
}

/// A policy as a layer in the caller. What the callee ends itself and what comes from below are
/// told apart in the file: a failure from further down arrives as `downstream`, whatever it was.
#[must_use]
pub fn layer(policy: &Policy) -> Factor {
    let on = policy.retry.on;
    let on = if policy.idempotent { on } else { on.for_unsafe_calls() };
    let slow = on.contains(Outcome::TimedOut) && policy.timeout.is_some();
    let mut own = Failures::NONE;
    if on.contains(Outcome::Rejected) || on.contains(Outcome::Shed) {
        own.add(Failures::of(&[
            Failure::TooMany,
            Failure::Unavailable,
            Failure::Connect,
            Failure::GrpcExhausted,
            Failure::GrpcUnavailable,
        ]));
    }
    if on.contains(Outcome::Failed) {
        own.add(Failures::of(&[
            Failure::ServerError,
            Failure::BadGateway,
            Failure::Reset,
            Failure::GrpcError,
        ]));
    }
    let mut below = Failures::NONE;
    if on.contains(Outcome::FailedBelow) {
        below.add(Failures::SERVER);
        below.add(Failures::GRPC_SERVER);
        below.insert(Failure::GrpcExhausted);
        below.insert(Failure::TooMany);
    }
    if slow {
        own.insert(Failure::AttemptTimeout);
        below.insert(Failure::AttemptTimeout);
    }
    let attempts = policy.retry.limits.max().saturating_add(1);
    let percent = policy.budget.parameters.first().copied().unwrap_or(0.0);
    let budget = match policy.budget.kind {
        "none" => None,
        "envoy" | "ratio" | "google" | "failsafe" => {
            Some(Budget::ActiveShare { percent, min_concurrent: 0 })
        }
        "deposit" | "finagle" | "tower" | "linkerd" => {
            Some(Budget::RateShare { percent, min_per_s: 0.0, window_ms: 0.0 })
        }
        _ => Some(Budget::Tokens { max: percent, ratio: 0.0 }),
    };
    let ms = |time: damper_control::Nanos| time.as_secs_f64() * 1e3;
    Factor {
        who: "the system file".to_owned(),
        place: None,
        written: true,
        caller: None,
        inside: false,
        callee: None,
        seat: Seat::Client,
        reach: Reach::Service,
        low: attempts,
        // The greatest number is no limit.
        high: (attempts < u32::MAX).then_some(attempts),
        own,
        own_maybe: own,
        below,
        below_maybe: below,
        budget,
        attempt_timeout_ms: policy.timeout.map(ms),
        timeout_ms: policy.deadline.map(ms),
        // What the file says of a caller that was given up is for the simulator; here it goes on.
        waits: Waits::default(),
        stops: Some(false),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_system::SystemFile;

    fn system(name: &str) -> System {
        let file = format!("{}/../../examples/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let file = SystemFile::read(std::path::Path::new(&file)).expect("an example");
        file.lower().expect("a system")
    }

    #[test]
    fn the_five_layers_are_243() {
        let system = system("five-layers");
        let graph = graph(&system);
        let ways = ways(&system, &graph);
        let largest = ways.largest(3);
        assert_eq!(largest.len(), 1, "its beginnings are not listed");
        assert_eq!(largest[0].amplification.worst.high, 243.0);
        assert_eq!(largest[0].amplification.worst.low, 243.0);
        assert_eq!(largest[0].edges.len(), 5);
    }

    #[test]
    fn the_frontend_of_the_hotel_retries_what_it_sees() {
        let system = system("hotel-reservation");
        let graph = graph(&system);
        let ways = ways(&system, &graph);
        assert_eq!(ways.largest(1)[0].amplification.worst.high, 6.0);
        let frontend = graph.find(&Name::new("frontend", None)).expect("a service");
        let (_, _, calls) = ways.at(&graph, frontend).expect("it is called");
        assert!((calls - 1.0).abs() < 1e-9, "{calls}");
    }
}
