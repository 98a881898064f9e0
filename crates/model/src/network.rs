//! Services that call one another: where every class's requests end when each service rejects.
//!
//! Unknown are the rate λ_(p,i) at which requests of class p come to service i, without retries,
//! and the rate o_(p,i) at which they succeed there:
//!
//! ```text
//! o_(p,i) = λ_(p,i) (1 - s̄_i^(k_(p,i)+1))      λ_(p,i) = γ_(p,i) + Σ_j o_(p,j) F^p_(j,i)
//! ```
//!
//! with s̄_i from the model of the service at its inputs (DiffTry, arXiv 2610.20567). Without
//! loops one pass in the order of the calls solves it; loops are iterated, each on its own, after
//! everything that feeds it.

mod completion;
mod dag;
mod iterate;
mod radius;
mod routing;
#[cfg(test)]
mod tests;
mod unique;

use crate::node::{Node, NodeModel as _, Rejection};
use dag::Order;

pub use completion::Work;
pub use iterate::{Method, Options};
pub use routing::{Edge, Routing};
pub use unique::{Search, Uniqueness};

/// Why a network cannot be made or answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// An edge names what is not there.
    #[error(
        "edge {edge} names a service or class that is not there; there are {nodes} services and \
         {classes} classes, counted from 0"
    )]
    UnknownEnd {
        /// The edge's place in the list.
        edge: usize,
        /// Services there are.
        nodes: usize,
        /// Classes there are.
        classes: usize,
    },
    /// A share of an edge is no share.
    #[error("edge {edge} has the share {found}; a share is finite and not below 0")]
    BadShare {
        /// The edge's place in the list.
        edge: usize,
        /// What it has.
        found: f64,
    },
    /// A rate from outside is no rate.
    #[error("class {class} enters service {node} at {found}/s; a rate is finite and not below 0")]
    BadRate {
        /// The service.
        node: usize,
        /// The class.
        class: usize,
        /// What was given.
        found: f64,
    },
    /// More than an index can hold.
    #[error("{nodes} services and {edges} edges; there can be 4294967295 of each")]
    TooLarge {
        /// Services asked for.
        nodes: usize,
        /// Edges asked for.
        edges: usize,
    },
    /// A list has not one entry for each service and class.
    #[error("{what}: found {found} values, expected {expected}")]
    WrongLength {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it must be.
        expected: usize,
    },
    /// A loop feeds itself at least what it gets, so that its load has no bound.
    #[error(
        "class {class} goes round a loop through service {node} that multiplies it by {radius} \
         (the spectral radius of its routing) and has no solution; lower a share on the loop until \
         less than 1 comes back for each request"
    )]
    NotSolvable {
        /// The class.
        class: usize,
        /// A service on the loop.
        node: usize,
        /// The spectral radius of the loop.
        radius: f64,
    },
    /// Shares of a service that add up to more than one next step.
    #[error(
        "after service {node}, class {class} goes on to {sum} services; completion is defined \
         where a request takes one next step, so that the shares add up to 1 at most"
    )]
    SeveralSteps {
        /// The service.
        node: usize,
        /// The class.
        class: usize,
        /// What its shares add up to.
        sum: f64,
    },
}

/// A row of a routing matrix that was lowered, since its loop lost no request at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lowered {
    /// The service whose calls were made fewer.
    pub node: usize,
    /// The class.
    pub class: usize,
    /// The part of each of its calls that was taken away.
    pub epsilon: f64,
}

/// Services, what comes to them from outside, how often each class retries there, and where it
/// goes next. Lists over services and classes have class p of service i at `i * classes + p`.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    routing: Routing,
    nodes: Box<[Node]>,
    entry: Box<[f64]>,
    limits: Box<[u32]>,
    order: Order,
    lowered: Vec<Lowered>,
}

impl Network {
    /// `entry` is γ in requests per second, `limits` are k: retries after the first attempt.
    ///
    /// A loop whose spectral radius is exactly 1 loses one part in 10⁹ of one of its rows, and
    /// [`Solution::lowered`] says so.
    ///
    /// # Errors
    /// Lists of the wrong length, a rate that is none, and a loop with a spectral radius above 1.
    pub fn try_new(
        mut routing: Routing,
        nodes: Vec<Node>,
        entry: Vec<f64>,
        limits: Vec<u32>,
    ) -> Result<Self, NetworkError> {
        let cells = routing.nodes() * routing.classes();
        let length = |what, found, expected| {
            (found != expected).then_some(NetworkError::WrongLength { what, found, expected })
        };
        let wrong = length("services", nodes.len(), routing.nodes())
            .or_else(|| length("rates from outside", entry.len(), cells))
            .or_else(|| length("limits", limits.len(), cells));
        if let Some(error) = wrong {
            return Err(error);
        }
        if let Some(at) = entry.iter().position(|rate| !(*rate >= 0.0 && rate.is_finite())) {
            let (node, class) = (at / routing.classes(), at % routing.classes());
            return Err(NetworkError::BadRate { node, class, found: entry[at] });
        }
        let order = Order::of(&routing);
        let lowered = radius::check(&mut routing, &order)?;
        let (entry, limits) = (entry.into(), limits.into());
        Ok(Self { routing, nodes: nodes.into(), entry, limits, order, lowered })
    }

    /// The same network with other limits.
    ///
    /// # Errors
    /// A list of the wrong length.
    pub fn with_limits(mut self, limits: Vec<u32>) -> Result<Self, NetworkError> {
        let (found, expected) = (limits.len(), self.limits.len());
        if found != expected {
            return Err(NetworkError::WrongLength { what: "limits", found, expected });
        }
        self.limits = limits.into();
        Ok(self)
    }

    /// Who calls whom.
    #[must_use]
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// The services.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// k of a class at a service.
    #[must_use]
    pub fn limit(&self, node: usize, class: usize) -> u32 {
        self.limits[self.cell(node, class)]
    }

    /// γ of a class at a service, in requests per second.
    #[must_use]
    pub fn entry(&self, node: usize, class: usize) -> f64 {
        self.entry[self.cell(node, class)]
    }

    /// Solves the equations from an empty network.
    #[must_use]
    pub fn solve(&self, options: &Options) -> Solution {
        iterate::solve(self, options, None)
    }

    /// Solves them from given rates λ, one for each service and class.
    ///
    /// # Errors
    /// A list of the wrong length.
    pub fn solve_from(&self, start: &[f64], options: &Options) -> Result<Solution, NetworkError> {
        let (found, expected) = (start.len(), self.entry.len());
        if found != expected {
            return Err(NetworkError::WrongLength { what: "starting rates", found, expected });
        }
        Ok(iterate::solve(self, options, Some(start)))
    }

    /// What comes to each service when nothing is rejected, λ = γ (I - F)⁻¹: the floor of the work.
    #[must_use]
    pub fn floor(&self, options: &Options) -> Solution {
        let nodes = vec![Node::Unlimited; self.nodes.len()].into();
        let free = Self { nodes, ..self.clone() };
        iterate::solve(&free, options, None)
    }

    fn cell(&self, node: usize, class: usize) -> usize {
        node * self.routing.classes() + class
    }
}

/// What a network settles at.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    classes: usize,
    incoming: Box<[f64]>,
    outgoing: Box<[f64]>,
    rejection: Box<[Rejection]>,
    /// Rounds of the loop that took longest; 0 without loops.
    pub iterations: usize,
    /// The largest amount by which an equation is missed, in relation to the largest rate.
    pub residual: f64,
    /// Whether every loop came to rest within the rounds it was given.
    pub converged: bool,
    /// Whether a loop did not settle in place and was finished by the plain map.
    pub fell_back: bool,
    /// Whether there can be another solution.
    pub uniqueness: Uniqueness,
    /// Rows that were lowered to have a solution at all.
    pub lowered: Vec<Lowered>,
}

impl Solution {
    /// λ: requests of `class` that come to `node` per second, without retries.
    #[must_use]
    pub fn incoming(&self, node: usize, class: usize) -> f64 {
        self.incoming[node * self.classes + class]
    }

    /// o: requests of `class` that succeed at `node` per second.
    #[must_use]
    pub fn outgoing(&self, node: usize, class: usize) -> f64 {
        self.outgoing[node * self.classes + class]
    }

    /// s̄: how an attempt fares at `node`.
    #[must_use]
    pub fn rejection(&self, node: usize) -> Rejection {
        self.rejection[node]
    }

    /// λ of all services and classes.
    #[must_use]
    pub fn rates(&self) -> &[f64] {
        &self.incoming
    }

    /// Attempts of `class` that come to `node` per second, retries included.
    #[must_use]
    pub fn attempts(&self, network: &Network, node: usize, class: usize) -> f64 {
        let limit = network.limit(node, class);
        self.incoming(node, class) * network.nodes[node].attempts(self.rejection(node), limit)
    }
}
