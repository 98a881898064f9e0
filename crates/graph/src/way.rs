//! The ways through a graph, from where requests begin to every service.

use crate::bound::{self, Amplification, Interval, Step};
use crate::graph::Graph;

/// A way: a list of edges, each from where the one before it leads.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Places in [`Graph::edges`], the first where requests begin.
    pub edges: Vec<usize>,
    /// Calls of the last edge for each request that enters, if nobody retries.
    pub calls: f64,
    /// What its layers multiply to.
    pub amplification: Amplification,
}

/// All ways, as far as they were followed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ways {
    /// The ways.
    pub all: Vec<Way>,
    /// Whether there are more than were followed.
    pub cut: bool,
    /// Calls that lead back to a service that is on the way already; they were not followed.
    pub cycles: Vec<usize>,
}

/// Ways that are followed.
pub const MOST_WAYS: usize = 100_000;
/// Calls of one way.
pub const MOST_CALLS: usize = 64;

impl Ways {
    /// All ways of a graph.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        let mut ways = Self::default();
        let mut from: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
        for (at, edge) in graph.edges.iter().enumerate() {
            if let Some(edges) = from.get_mut(edge.from) {
                edges.push(at);
            }
        }
        for entry in graph.entries() {
            ways.follow(graph, &from, entry, &mut Vec::new(), 1.0);
        }
        ways
    }

    /// Goes down at most [`MOST_CALLS`] levels.
    fn follow(
        &mut self,
        graph: &Graph,
        from: &[Vec<usize>],
        node: usize,
        edges: &mut Vec<usize>,
        calls: f64,
    ) {
        for at in from.get(node).into_iter().flatten() {
            let Some(edge) = graph.edges.get(*at) else { continue };
            if self.all.len() >= MOST_WAYS || edges.len() >= MOST_CALLS {
                self.cut = true;
                return;
            }
            let passed = |on: &usize| {
                graph.edges.get(*on).is_some_and(|one| one.from == edge.to || one.to == edge.to)
            };
            if edge.from == edge.to || edges.iter().any(passed) {
                if !self.cycles.contains(at) {
                    self.cycles.push(*at);
                }
                continue;
            }
            edges.push(*at);
            let calls = calls * edge.calls;
            let amplification = bound::amplification(&steps(graph, edges));
            self.all.push(Way { edges: edges.clone(), calls, amplification });
            self.follow(graph, from, edge.to, edges, calls);
            edges.pop();
        }
    }

    /// The ways with the largest products, the largest first; of equal ones the shorter first. A
    /// way that only goes on from a listed one without multiplying more is left out, and so is the
    /// beginning of a listed one.
    #[must_use]
    pub fn largest(&self, most: usize) -> Vec<&Way> {
        let product = |way: &Way| (way.amplification.worst.high, way.amplification.worst.low);
        let mut all: Vec<_> =
            self.all.iter().filter(|way| way.amplification.worst.high > 1.0).collect();
        all.sort_by(|a, b| {
            let by_product = product(b).partial_cmp(&product(a));
            by_product.unwrap_or(std::cmp::Ordering::Equal).then(a.edges.len().cmp(&b.edges.len()))
        });
        let mut kept: Vec<&Way> = Vec::new();
        for way in all {
            let goes_on = |one: &&Way| {
                one.edges.starts_with(&way.edges)
                    || way.edges.starts_with(&one.edges) && product(one) == product(way)
            };
            if kept.len() < most && !kept.iter().any(goes_on) {
                kept.push(way);
            }
        }
        kept
    }

    /// Attempts at a service for each request, over all ways to it: in the worst case and
    /// while everything fails, both against calls if nobody retried. `None`: no way leads there.
    #[must_use]
    pub fn at(&self, graph: &Graph, node: usize) -> Option<(Interval, Interval, f64)> {
        let leads = |way: &&Way| {
            way.edges.last().and_then(|at| graph.edges.get(*at)).is_some_and(|e| e.to == node)
        };
        let ways: Vec<_> = self.all.iter().filter(leads).collect();
        let calls: f64 = ways.iter().map(|way| way.calls).sum();
        if calls <= 0.0 {
            return None;
        }
        let mean = |of: &dyn Fn(&Way) -> f64| {
            ways.iter().map(|way| way.calls * of(way)).sum::<f64>() / calls
        };
        let worst = Interval {
            low: mean(&|way| way.amplification.worst.low),
            high: mean(&|way| way.amplification.worst.high),
        };
        let sustained = Interval {
            low: mean(&|way| way.amplification.sustained.low),
            high: mean(&|way| way.amplification.sustained.high),
        };
        Some((worst, sustained, calls))
    }
}

/// The layers of a way, the innermost first.
#[must_use]
pub fn steps<'g>(graph: &'g Graph, edges: &[usize]) -> Vec<Step<'g>> {
    let mut all = Vec::new();
    for (below, at) in edges.iter().rev().enumerate() {
        let Some(edge) = graph.edges.get(*at) else { continue };
        let layers = edge.layers.iter();
        let factors = layers.filter_map(|layer| graph.layers.get(*layer));
        all.extend(factors.map(|factor| Step { factor, hop: below, spoken: edge.spoken }));
    }
    all
}
