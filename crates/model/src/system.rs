//! A whole system file, solved: rejection and completion by class, attempts and amplification by
//! service, hidden capacity where it has a closed form.
//!
//! A routing matrix becomes a [`Network`](crate::network::Network). Call trees are solved as such
//! (`tree.rs`): steps run one after another, a failed step ends its caller's attempt, and a retry
//! repeats everything below the call that is retried. The same trees are also read as the routing
//! chain that the literature would make of them (`as_routes.rs`), beside the first answer.
//!
//! Both readings know rejection and failure, and no time: an attempt that waits is served. Where
//! that is not so (a queue longer than its callers' patience), the solution is that of the system
//! before anything goes wrong, and [`Solved::hidden_rps`] says how far that holds.

mod as_routes;
mod basins;
mod depends;
mod nodes;
mod paths;
mod restarts;
mod routes;
#[cfg(test)]
mod tests;
mod tree;

use damper_system::System;
use damper_system::model::Work;
use thiserror::Error;

use crate::network::{NetworkError, Uniqueness};

pub use basins::{BasinsAnswer, Lasting, SystemBasins, basins};
pub use restarts::{FixedPoint, Restarts, restarts};

/// What the analytic model says of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// By class, in the order of the file.
    pub classes: Vec<ClassSolved>,
    /// By service, in the order of the file.
    pub services: Vec<ServiceSolved>,
    /// Attempts per request at services with a capacity.
    pub calls_per_request: f64,
    /// The same per request that completes; `None`: none does.
    pub calls_per_success: Option<f64>,
    /// What a healthy system needs per request.
    pub floor_calls_per_request: f64,
    /// Requests per second below which every service heals by itself; `None`: no service can
    /// sustain a loop by wasted work, or there is no closed form.
    pub hidden_rps: Option<f64>,
    /// The service that has it.
    pub weakest: Option<usize>,
    /// Whether there can be another solution.
    pub unique: Uniqueness,
    /// Rounds of the iteration; 0: none was needed.
    pub iterations: usize,
    /// The largest amount by which an equation is missed, relative to the largest rate.
    pub residual: f64,
    /// Whether the iteration came to rest.
    pub converged: bool,
    /// How the question was understood.
    pub notes: Vec<String>,
    /// The same call trees read as a routing chain; `None`: the file has a routing matrix, or the
    /// trees are too wide to be read so.
    pub as_routes: Option<AsRoutes>,
}

/// Call trees as a routing chain of the literature: a request is handed on from service to
/// service, and a hop that fails is repeated by itself, never with what came before it.
#[derive(Clone, Debug, PartialEq)]
pub struct AsRoutes {
    /// By class, in the order of the file.
    pub classes: Vec<ClassSolved>,
    /// s̄ by service: the probability that one attempt is rejected.
    pub s: Vec<f64>,
    /// Attempts per second by service and class.
    pub attempts_rps: Vec<Vec<f64>>,
    /// Attempts per request at services with a capacity.
    pub calls_per_request: f64,
    /// The same per request that completes; `None`: none does.
    pub calls_per_success: Option<f64>,
    /// What this reading leaves out of the file.
    pub remarks: Vec<String>,
}

/// One class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassSolved {
    /// Share of the requests that do not complete.
    pub rejection: f64,
    /// Share that completes.
    pub completion: f64,
}

/// One service.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceSolved {
    /// s̄: the probability that one attempt is rejected.
    pub s: f64,
    /// Attempts per second by class.
    pub attempts_rps: Vec<f64>,
    /// Accepted attempts over capacity; `None`: no capacity.
    pub utilisation: Option<f64>,
    /// Attempts over those of a system without retries and rejections.
    pub amplification: f64,
    /// The same if everything fails that can be retried.
    pub worst_amplification: f64,
    /// Requests per second into the system below which it heals by itself; `None`: it wastes no
    /// work, or none reach it.
    pub hidden_rps: Option<f64>,
}

/// Why a system cannot be solved.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SolveError {
    /// The routing has no solution.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Nobody calls.
    #[error("the load is zero: give `load:` a rate, e.g. `100/s`")]
    NoLoad,
}

/// Solves a system at its mean load.
///
/// # Errors
/// A load of zero, or a routing matrix whose loops lose no requests.
pub fn solve(system: &System) -> Result<Solved, SolveError> {
    let mut solved = solve_once(system)?;
    if let Work::Requests(types) = &system.work {
        solved.as_routes = as_routes::read(system, types);
    }
    Ok(solved)
}

/// As [`solve`], without the second reading of call trees.
pub(crate) fn solve_once(system: &System) -> Result<Solved, SolveError> {
    if system.total_load() <= 0.0 {
        return Err(SolveError::NoLoad);
    }
    let mut solved = match &system.work {
        Work::Requests(types) => tree::solve(system, types),
        Work::Routes(matrix) => routes::solve(system, matrix)?,
    };
    paths::fill(system, &mut solved);
    nodes::remarks(system, &mut solved);
    Ok(solved)
}

/// The closed forms of call trees alone, without a solution.
pub(crate) struct ClosedForms {
    /// The largest amplification of a service if everything fails that can be retried.
    pub(crate) worst_amplification: f64,
    /// See [`Solved::hidden_rps`].
    pub(crate) hidden_rps: Option<f64>,
}

pub(crate) fn closed_forms(system: &System) -> ClosedForms {
    let service = ServiceSolved {
        s: 0.0,
        attempts_rps: Vec::new(),
        utilisation: None,
        amplification: 1.0,
        worst_amplification: 1.0,
        hidden_rps: None,
    };
    let mut solved = Solved {
        classes: Vec::new(),
        services: vec![service; system.services.len()],
        calls_per_request: 0.0,
        calls_per_success: None,
        floor_calls_per_request: 0.0,
        hidden_rps: None,
        weakest: None,
        unique: Uniqueness::NoLoop,
        iterations: 0,
        residual: 0.0,
        converged: true,
        notes: Vec::new(),
        as_routes: None,
    };
    paths::fill(system, &mut solved);
    ClosedForms { worst_amplification: worst(&solved.services), hidden_rps: solved.hidden_rps }
}

/// The largest worst case of any service.
pub(crate) fn worst(services: &[ServiceSolved]) -> f64 {
    services.iter().map(|s| s.worst_amplification).fold(1.0, f64::max)
}

/// Share of the requests that complete while no service is short of capacity, so that only
/// `failure` ends an attempt. `None`: a routing matrix, whose model knows no failure.
pub(crate) fn unhurried(system: &System) -> Option<f64> {
    let Work::Requests(types) = &system.work else { return None };
    Some(tree::unhurried(system, types))
}

/// Requests per second, in the mix of the file, that it serves while nothing fails; `None`:
/// nothing limits it, or there is no closed form.
pub(crate) fn advertised(system: &System) -> Option<f64> {
    let Work::Requests(types) = &system.work else { return None };
    tree::advertised(system, types)
}
