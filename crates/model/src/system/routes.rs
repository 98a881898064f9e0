//! A routing matrix as a network.

use damper_system::System;
use damper_system::model::{Caller, Routes};

use super::{ClassSolved, ServiceSolved, SolveError, Solved, nodes};
use crate::network::{Edge, Network, Options, Routing};

pub(super) fn solve(system: &System, routes: &Routes) -> Result<Solved, SolveError> {
    of_network(system, &network(system, routes)?)
}

/// The matrix with the file's services, load and limits.
pub(super) fn network(system: &System, routes: &Routes) -> Result<Network, SolveError> {
    let (n, classes) = (system.services.len(), system.classes.len());
    let mut edges = Vec::new();
    for (class, rows) in routes.rows.iter().enumerate() {
        for (from, row) in rows.iter().enumerate() {
            edges.extend(row.iter().map(|(to, share)| Edge {
                from,
                to: to.0 as usize,
                class: Some(class),
                share: *share,
            }));
        }
    }
    let mut entry = vec![0.0; n * classes];
    for (class, row) in routes.entry.iter().enumerate() {
        for (to, share) in row {
            entry[to.0 as usize * classes + class] += system.load[class].mean() * share;
        }
    }
    of_edges(system, &edges, entry)
}

/// A network of the file's services and limits over any routes.
pub(super) fn of_edges(
    system: &System,
    edges: &[Edge],
    entry: Vec<f64>,
) -> Result<Network, SolveError> {
    let routing = Routing::try_new(system.services.len(), system.classes.len(), edges)?;
    let services = system.services.iter().map(nodes::of).collect();
    Ok(Network::try_new(routing, services, entry, limits(system).0)?)
}

/// What such a network settles at.
pub(super) fn of_network(system: &System, network: &Network) -> Result<Solved, SolveError> {
    let (n, classes) = (system.services.len(), system.classes.len());
    let options = Options::default();
    let solution = network.solve(&options);
    let floor = network.floor(&options);
    let has_capacity = |i: usize| system.services[i].capacity().is_some();
    let work = network.work(&solution, &options, has_capacity)?;
    let mut solved = Solved {
        classes: Vec::new(),
        services: Vec::new(),
        calls_per_request: work.per_request,
        calls_per_success: work.per_success.is_finite().then_some(work.per_success),
        floor_calls_per_request: work.floor,
        hidden_rps: None,
        weakest: None,
        unique: solution.uniqueness,
        iterations: solution.iterations,
        residual: solution.residual,
        converged: solution.converged,
        notes: Vec::new(),
        as_routes: None,
    };
    for class in 0..classes {
        let completion = network.completed(&solution, class, &options)?;
        solved.classes.push(ClassSolved { rejection: 1.0 - completion, completion });
    }
    for i in 0..n {
        let attempts: Vec<f64> =
            (0..classes).map(|class| solution.attempts(network, i, class)).collect();
        let least: f64 = (0..classes).map(|class| floor.incoming(i, class)).sum();
        let all: f64 = attempts.iter().sum();
        let rejection = solution.rejection(i);
        let accepted = all * rejection.accepted();
        solved.services.push(ServiceSolved {
            s: rejection.probability(),
            attempts_rps: attempts,
            utilisation: system.services[i].capacity().map(|c| accepted / c),
            amplification: if least > 0.0 { all / least } else { 1.0 },
            worst_amplification: 1.0,
            hidden_rps: None,
        });
    }
    if limits(system).1 {
        solved.notes.push(
            "callers of one service have different limits; the model takes the largest".to_owned(),
        );
    }
    if !solution.lowered.is_empty() {
        solved
            .notes
            .push("a loop lost no request at all; a billionth of it was taken away".to_owned());
    }
    Ok(solved)
}

/// Retries by service and class, and whether callers differ.
fn limits(system: &System) -> (Vec<u32>, bool) {
    let classes = system.classes.len();
    let mut limits = vec![0; system.services.len() * classes];
    let mut differs = false;
    for s in 0..system.services.len() {
        let into =
            system.policies.edges.iter().filter(|e| system.server_of(e.target).0 as usize == s);
        for (n, edge) in into.enumerate() {
            for class in 0..classes {
                let on = edge.policy.retry.on.contains(damper_control::Outcome::Rejected);
                let limit = if on { edge.policy.retry.limits.limit(class as u8) } else { 0 };
                let cell = &mut limits[s * classes + class];
                differs |= n > 0 && *cell != limit && edge.caller != Caller::Client;
                *cell = limit.max(*cell);
            }
        }
    }
    (limits, differs)
}
