//! A whole system file, solved: rejection and completion by class, attempts and amplification by
//! service, hidden capacity where it has a closed form.
//!
//! A routing matrix becomes a [`Network`](crate::network::Network). Call trees are solved as such
//! (`tree.rs`): steps run one after another, a failed step ends its caller's attempt, and a retry
//! repeats everything below the call that is retried.
//!
//! Both readings know rejection and failure, and no time: an attempt that waits is served. Where
//! that is not so (a queue longer than its callers' patience), the solution is that of the system
//! before anything goes wrong, and [`Solved::hidden_rps`] says how far that holds.

mod basins;
mod nodes;
mod paths;
mod routes;
#[cfg(test)]
mod tests;
mod tree;

pub use basins::{BasinsAnswer, Lasting, SystemBasins, basins};

use damper_system::System;
use damper_system::model::Work;
use thiserror::Error;

use crate::network::{NetworkError, Uniqueness};

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
