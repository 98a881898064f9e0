//! Call trees read as a routing chain, the form of the literature, beside their own solution.
//!
//! A routing chain knows one request that is handed on: after a visit it goes to one other service,
//! or ends. Read so, a tree is the walk through its calls in the order in which they are made, and
//!
//! ```text
//! F_(i,j) = (moves from i to j per request) / (visits of i per request)
//! ```
//!
//! where nothing fails; γ is where the walks begin. Without rejections it has the same visits as
//! the tree, λ = γ (I - F)⁻¹. With rejections a chain loses what was rejected at its last hop, and a
//! tree may repeat the call above it, with everything below.

use std::collections::BTreeMap;

use damper_system::System;
use damper_system::model::{RequestType, Step, Target};

use super::{AsRoutes, ClassSolved, Solved, routes};
use crate::network::{Edge, Network};

/// Steps of the walk; beyond that the matrix is too full to be worth a second opinion.
const MOST: usize = 1_000_000;

/// The reading; nothing if the walk is too long, or its chain does not come to rest.
pub(super) fn read(system: &System, types: &[RequestType]) -> Option<AsRoutes> {
    let (network, parallel) = network(system, types)?;
    let solved = routes::of_network(system, &network).ok().filter(|s| s.converged)?;
    let (services, all) = (0..system.services.len(), 0..system.classes.len());
    // Requests that call nobody succeed, and are not in the chain.
    let mut classes = Vec::with_capacity(solved.classes.len());
    let (mut entered, mut good) = (0.0, 0.0);
    for class in all {
        let here: f64 = services.clone().map(|i| network.entry(i, class)).sum();
        let load = system.load[class].mean();
        let share = if load > 0.0 { (here / load).min(1.0) } else { 1.0 };
        let rejection = share * solved.classes[class].rejection;
        classes.push(ClassSolved { rejection, completion: 1.0 - rejection });
        entered += here;
        good += load * (1.0 - rejection);
    }
    let calls = solved.calls_per_request * entered;
    let mut remarks = solved.notes;
    if parallel {
        remarks.push(
            "a routing chain takes the calls of one step one after another, as they are written"
                .to_owned(),
        );
    }
    if system.services.iter().any(|s| s.failure > 0.0) {
        remarks.push("a routing chain knows no `failure:` of its services".to_owned());
    }
    Some(AsRoutes {
        classes,
        s: solved.services.iter().map(|s| s.s).collect(),
        attempts_rps: solved.services.into_iter().map(|s| s.attempts_rps).collect(),
        calls_per_request: calls / system.total_load(),
        calls_per_success: (good > 0.0).then(|| calls / good),
        remarks,
    })
}

impl AsRoutes {
    /// Whether the two readings differ by more than this: 0.1 percentage points of a class's
    /// rejection, or one percent of the calls per request.
    #[must_use]
    pub fn differs_from(&self, solved: &Solved) -> bool {
        let classes = self.classes.iter().zip(&solved.classes);
        let points = classes.map(|(a, b)| (a.rejection - b.rejection).abs()).fold(0.0, f64::max);
        let calls = (self.calls_per_request - solved.calls_per_request).abs();
        points > 0.001 || calls > 0.01 * solved.calls_per_request
    }
}

/// The chain, and whether calls that are made together had to be put in a row.
fn network(system: &System, types: &[RequestType]) -> Option<(Network, bool)> {
    let (n, classes) = (system.services.len(), system.classes.len());
    let mut moves: BTreeMap<(From, usize), Vec<f64>> = BTreeMap::new();
    let mut parallel = false;
    for kind in types {
        let mut walk = Walk { system, moves: BTreeMap::new(), steps: 0, parallel: false };
        walk.through(&kind.steps, BTreeMap::from([(None, 1.0)]))?;
        parallel |= walk.parallel;
        for (pair, count) in walk.moves {
            let by_class = moves.entry(pair).or_insert_with(|| vec![0.0; classes]);
            for (sum, share) in by_class.iter_mut().zip(&kind.share) {
                *sum += share * count;
            }
        }
    }
    let mut visits = vec![0.0; n * classes];
    for ((_, to), counts) in &moves {
        for (class, count) in counts.iter().enumerate() {
            visits[to * classes + class] += count;
        }
    }
    let mut entry = vec![0.0; n * classes];
    let mut edges = Vec::new();
    for ((from, to), counts) in moves {
        for (class, count) in counts.into_iter().enumerate() {
            match from {
                None => entry[to * classes + class] += system.load[class].mean() * count,
                Some(from) if count > 0.0 => {
                    let share = count / visits[from * classes + class];
                    edges.push(Edge { from, to, class: Some(class), share });
                }
                Some(_) => {}
            }
        }
    }
    routes::of_edges(system, &edges, entry).ok().map(|network| (network, parallel))
}

/// The service visited last; `None`: none yet.
type From = Option<usize>;
/// How many walks per request stand where.
type Front = BTreeMap<From, f64>;

struct Walk<'a> {
    system: &'a System,
    moves: BTreeMap<(From, usize), f64>,
    steps: usize,
    parallel: bool,
}

impl Walk<'_> {
    /// Through all calls, one after another. The front after them; `None`: too long.
    fn through(&mut self, steps: &[Step], mut front: Front) -> Option<Front> {
        for step in steps {
            self.parallel |= step.len() > 1;
            for call in step {
                let (server, miss) = match call.target {
                    Target::Service(s) => (s.0 as usize, 1.0),
                    Target::Cache(c) => {
                        let cache = &self.system.caches[c.0 as usize];
                        (cache.store.0 as usize, 1.0 - cache.hit_rate)
                    }
                };
                let times = f64::from(call.times.max(1));
                let taken = call.chance * miss;
                if taken <= 0.0 {
                    continue;
                }
                // Before each of the calls in a row the walk stands where it came from if all
                // before hit the cache, and after the last miss otherwise: summed over the row,
                // `fresh` of its walks are still where they came from.
                let stays = 1.0 - miss;
                let fresh =
                    crate::node::Rejection::from_rejected(stays).attempts(call.times.max(1) - 1);
                let never = libm::pow(stays, times);
                let mass: f64 = front.values().sum::<f64>() * call.chance;
                for (from, count) in &front {
                    self.go(*from, server, count * taken * fresh)?;
                }
                let visits = mass * miss * times;
                let after = self.through(&call.steps, Front::from([(Some(server), visits)]))?;
                for (from, count) in &after {
                    self.go(*from, server, count / times * (times - fresh))?;
                }
                for count in front.values_mut() {
                    *count *= 1.0 - call.chance * (1.0 - never);
                }
                for (from, count) in after {
                    *front.entry(from).or_default() += count / (miss * times) * (1.0 - never);
                }
                front.retain(|_, count| *count > 0.0);
            }
        }
        Some(front)
    }

    fn go(&mut self, from: From, to: usize, count: f64) -> Option<()> {
        self.steps += 1;
        if count > 0.0 {
            *self.moves.entry((from, to)).or_default() += count;
        }
        (self.steps <= MOST).then_some(())
    }
}
