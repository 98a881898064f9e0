//! Whether the solution of a network is the only one, and a search for others where nobody knows.

use super::dag::is_loop;
use super::{Network, NetworkError, Options, Solution};

/// Why there is no other solution, strongest reason first; of several loops, the weakest counts.
/// Source: DiffTry (arXiv 2610.20567).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uniqueness {
    /// There is no loop: each service has one answer to what it gets.
    NoLoop,
    /// At most two classes that take the same routes, and a spectral radius below 1.
    SharedRouting,
    /// Σ_j F^p_(j,i) < 1/(P-1) for every service i of the loop, in each of the P classes: what
    /// comes to it from its loop if each caller passes on one request. The ‖F‖∞ of the source is
    /// that of the map from what services pass on to what they get, λ = γ + Fᵀo, whose rows are the
    /// columns of F: the change of o with λ is at most P-1 in that norm. (Small rows of F do not
    /// do: a test has two solutions where they add up to 0.7.)
    SmallColumns,
    /// None of the known conditions holds. That does not mean that there are several: about 60
    /// million published searches found none. But there can be: two services and two classes are
    /// enough, also in a routing matrix, in which a request takes one next step.
    NotGuaranteed,
}

pub(super) fn of(network: &Network) -> Uniqueness {
    let (routing, order) = (&network.routing, &network.order);
    let classes = routing.classes();
    let shared = classes <= 2 && routing.is_shared();
    let mut weakest = Uniqueness::NoLoop;
    let mut part_of: Vec<usize> = Vec::new();
    for (n, part) in order.parts().enumerate() {
        let part = &order.nodes[part];
        if !is_loop(routing, part) {
            continue;
        }
        if shared {
            return Uniqueness::SharedRouting;
        }
        part_of.resize(routing.nodes(), usize::MAX);
        for &node in part {
            part_of[node as usize] = n;
        }
        #[allow(clippy::cast_precision_loss, reason = "a number of classes")]
        let bound = 1.0 / (classes as f64 - 1.0);
        let column = |node: usize, p: usize| -> f64 {
            let inside = routing.callers(node).filter(|(from, _)| part_of[*from] == n);
            inside.map(|(_, share)| share[p]).sum()
        };
        let small = part.iter().all(|&node| (0..classes).all(|p| column(node as usize, p) < bound));
        let reason = if small { Uniqueness::SmallColumns } else { Uniqueness::NotGuaranteed };
        weakest = weakest.max(reason);
    }
    weakest
}

/// What starting from elsewhere has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The solution from an empty network.
    pub first: Solution,
    /// The one that lies farthest from it.
    pub farthest: Solution,
    /// How far: the largest difference of a rate, in relation to the largest rate.
    pub distance: f64,
    /// Starts that did not come to rest and are not counted.
    pub unsettled: usize,
}

impl Search {
    /// Whether a start ended at another solution, given how exactly solutions are known.
    #[must_use]
    pub fn found_another(&self, tolerance: f64) -> bool {
        self.distance > tolerance
    }
}

impl Network {
    /// Solves from `starts` random points, between nothing and what would come to each service if
    /// nothing were rejected. `chance` gives numbers from 0 to 1.
    ///
    /// # Errors
    /// None that a valid network can cause.
    pub fn search(
        &self,
        starts: usize,
        options: &Options,
        mut chance: impl FnMut() -> f64,
    ) -> Result<Search, NetworkError> {
        let first = self.solve(options);
        let most = self.floor(options);
        let scale = first.rates().iter().fold(f64::MIN_POSITIVE, |m, rate| m.max(*rate));
        let mut search = Search { farthest: first.clone(), first, distance: 0.0, unsettled: 0 };
        let mut start = vec![0.0; self.entry.len()];
        for _ in 0..starts {
            for (start, most) in start.iter_mut().zip(most.rates()) {
                *start = most * chance().clamp(0.0, 1.0);
            }
            let found = self.solve_from(&start, options)?;
            if !found.converged {
                search.unsettled += 1;
                continue;
            }
            let pairs = found.rates().iter().zip(search.first.rates());
            let distance = pairs.fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())) / scale;
            if distance > search.distance {
                (search.distance, search.farthest) = (distance, found);
            }
        }
        Ok(search)
    }
}
