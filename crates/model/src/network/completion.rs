//! How many requests come to their end, and the work that takes.

use super::dag::is_loop;
use super::{Network, NetworkError, Options, Solution};
use crate::node::NodeModel as _;

/// The work of a network, in attempts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Attempts at any service for each request that enters.
    pub per_request: f64,
    /// The same for each request that completes; infinite when none does.
    pub per_success: f64,
    /// What a healthy system needs for each request: λ = γ (I - F)⁻¹ over γ.
    pub floor: f64,
}

impl Network {
    /// S = 1 - s̄^(k+1): the share of requests of `class` at `node` that succeed there.
    #[must_use]
    pub fn success(&self, solution: &Solution, node: usize, class: usize) -> f64 {
        self.nodes[node].served(solution.rejection(node), self.limit(node, class))
    }

    /// The share of requests of `class` that complete a known path: the product of the hops'.
    #[must_use]
    pub fn path_completion(&self, solution: &Solution, class: usize, path: &[usize]) -> f64 {
        path.iter().map(|&node| self.success(solution, node, class)).product()
    }

    /// The share that completes from each service on, whatever path it takes:
    /// C_(p,i) = S_(p,i) ((1 - Σ_j F^p_(i,j)) + Σ_j F^p_(i,j) C_(p,j)). Source: DiffTry
    /// (arXiv 2610.20567).
    ///
    /// Loops are iterated upwards from 0, which converges since no request is multiplied.
    ///
    /// # Errors
    /// Shares of a service that add up to more than 1.
    pub fn completion(
        &self,
        solution: &Solution,
        options: &Options,
    ) -> Result<Box<[f64]>, NetworkError> {
        let classes = self.routing.classes();
        let mut completes = vec![0.0; self.entry.len()].into_boxed_slice();
        for part in self.order.parts().rev() {
            let part = &self.order.nodes[part];
            let rounds = if is_loop(&self.routing, part) { options.rounds } else { 1 };
            for class in 0..classes {
                for &node in part {
                    let sum = self.routing.row_sum(node as usize, class);
                    if sum > 1.0 + 1e-9 {
                        let node = node as usize;
                        return Err(NetworkError::SeveralSteps { node, class, sum });
                    }
                }
                for _ in 0..rounds {
                    let mut moved = 0.0_f64;
                    for &node in part.iter().rev() {
                        let node = node as usize;
                        let (mut ends, mut goes) = (1.0, 0.0);
                        for (to, share) in self.routing.callees(node) {
                            ends -= share[class];
                            goes += share[class] * completes[self.cell(to, class)];
                        }
                        let here = self.success(solution, node, class);
                        let now = (here * (f64::max(ends, 0.0) + goes)).min(1.0);
                        let cell = self.cell(node, class);
                        moved = moved.max((now - completes[cell]).abs());
                        completes[cell] = now;
                    }
                    if moved <= options.tolerance {
                        break;
                    }
                }
            }
        }
        Ok(completes)
    }

    /// The share of all requests of `class` that complete, over where they enter.
    ///
    /// # Errors
    /// As [`Network::completion`].
    pub fn completed(
        &self,
        solution: &Solution,
        class: usize,
        options: &Options,
    ) -> Result<f64, NetworkError> {
        let completes = self.completion(solution, options)?;
        let nodes = 0..self.nodes.len();
        let (good, all) = nodes.fold((0.0, 0.0), |(good, all), node| {
            let rate = self.entry(node, class);
            (good + rate * completes[self.cell(node, class)], all + rate)
        });
        Ok(if all > 0.0 { good / all } else { 1.0 })
    }

    /// Attempts per request and per success at the services that `counts` names, beside the
    /// floor.
    ///
    /// # Errors
    /// As [`Network::completion`].
    pub fn work(
        &self,
        solution: &Solution,
        options: &Options,
        counts: impl Fn(usize) -> bool,
    ) -> Result<Work, NetworkError> {
        let completes = self.completion(solution, options)?;
        let floor = self.floor(options);
        let (mut requests, mut good, mut attempts, mut least) = (0.0, 0.0, 0.0, 0.0);
        for node in 0..self.nodes.len() {
            for class in 0..self.routing.classes() {
                let rate = self.entry(node, class);
                requests += rate;
                good += rate * completes[self.cell(node, class)];
                if counts(node) {
                    attempts += solution.attempts(self, node, class);
                    least += floor.incoming(node, class);
                }
            }
        }
        let per = |of: f64, by: f64| match (of > 0.0, by > 0.0) {
            (_, true) => of / by,
            (true, false) => f64::INFINITY,
            (false, false) => 0.0,
        };
        Ok(Work {
            per_request: per(attempts, requests),
            per_success: per(attempts, good),
            floor: per(least, requests),
        })
    }
}
