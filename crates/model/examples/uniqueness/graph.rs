//! Who calls whom: graphs with loops, of three kinds.

use crate::chance::Chance;

/// A kind of graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Grown as µBench does it, each service called by an earlier one that is the more likely the
    /// more it already calls (Barabási-Albert), with some calls back.
    Grown,
    /// Layers that call the next one, or the one after, with some calls back.
    Layered,
    /// Every pair with the same probability, a service and itself included.
    Random,
}

/// Pairs of caller and called service, each once, with at least one loop.
pub(crate) fn edges(shape: Shape, nodes: usize, chance: &mut Chance) -> Vec<(usize, usize)> {
    let mut edges = match shape {
        Shape::Grown => grown(nodes, chance),
        Shape::Layered => layered(nodes, chance),
        Shape::Random => random(nodes, chance),
    };
    // Whatever was drawn, there is one loop.
    let first = chance.whole(0, nodes - 2);
    edges.extend([(first, first + 1), (first + 1, first)]);
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn grown(nodes: usize, chance: &mut Chance) -> Vec<(usize, usize)> {
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for node in 1..nodes {
        // One draw among the services and the calls: in proportion to 1 + calls.
        let drawn = chance.whole(0, node + edges.len() - 1);
        let caller = if drawn < node { drawn } else { edges[drawn - node].0 };
        edges.push((caller, node));
    }
    let back = chance.whole(1, nodes);
    for _ in 0..back {
        let low = chance.whole(0, nodes - 2);
        edges.push((chance.whole(low + 1, nodes - 1), low));
    }
    edges
}

fn layered(nodes: usize, chance: &mut Chance) -> Vec<(usize, usize)> {
    let layers = chance.whole(2, nodes.min(5));
    let layer = |node: usize| node * layers / nodes;
    let (forward, back) = (chance.between(0.3, 0.9), chance.between(0.05, 0.4));
    let mut edges = Vec::new();
    for from in 0..nodes {
        for to in 0..nodes {
            let (a, b) = (layer(from), layer(to));
            let probability = match b {
                b if b == a + 1 => forward,
                b if b == a + 2 => 0.3 * forward,
                b if b < a => back,
                _ => 0.0,
            };
            if chance.happens(probability) {
                edges.push((from, to));
            }
        }
    }
    edges
}

fn random(nodes: usize, chance: &mut Chance) -> Vec<(usize, usize)> {
    let density = chance.between(0.1, 0.8);
    let pairs = (0..nodes * nodes).map(|n| (n / nodes, n % nodes));
    pairs.filter(|_| chance.happens(density)).collect()
}
