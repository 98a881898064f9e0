//! One random network with loops, for which uniqueness is mostly not proven.

use damper_model::network::{Edge, Network, NetworkError, Options, Routing};
use damper_model::node::{Finite, Fluid, Node};

use crate::chance::Chance;
use crate::graph::{self, Shape};

/// Says which numbers a seed stands for. Raise it whenever a draw here, in `graph` or in `hunt`
/// changes: a checkpoint of another generator cannot be continued.
pub(crate) const GENERATOR: u32 = 1;

/// A network, what it is made of, and what would come to each service if none rejected.
pub(crate) struct Drawn {
    pub(crate) network: Network,
    pub(crate) floor: Box<[f64]>,
    pub(crate) shape: Shape,
}

impl Drawn {
    /// What a service passes on at most for one request of a class that succeeds there.
    pub(crate) fn largest_row(&self) -> f64 {
        let routing = self.network.routing();
        let rows = (0..routing.nodes())
            .flat_map(|node| (0..routing.classes()).map(move |class| routing.row_sum(node, class)));
        rows.fold(0.0, f64::max)
    }

    /// What comes to a service at most of a class if each service passes on one request.
    pub(crate) fn largest_column(&self) -> f64 {
        let routing = self.network.routing();
        let columns = (0..routing.nodes()).flat_map(|node| {
            let into = move |class: usize| routing.callers(node).map(move |(_, s)| s[class]).sum();
            (0..routing.classes()).map(into)
        });
        columns.fold(0.0, f64::max)
    }
}

/// Network `number` of a seed: 2 to 9 classes, 2 to 12 services. In those of an odd number a
/// request takes one next step (rows of the routing add up to less than 1); in the others a
/// service may call several.
///
/// # Errors
/// None that a valid generator can cause.
pub(crate) fn network(seed: u64, number: u64, options: &Options) -> Result<Drawn, NetworkError> {
    let chance = &mut Chance::at([seed, number, 0]);
    let (classes, nodes) = (chance.whole(2, 9), chance.whole(2, 12));
    let shape = [Shape::Grown, Shape::Layered, Shape::Random][chance.whole(0, 2)];
    let mut edges = shares(shape, nodes, classes, chance);
    if number % 2 == 1 {
        one_next_step(&mut edges, nodes, classes);
    }
    let routing = Routing::try_new(nodes, classes, &edges)?;
    let cells = nodes * classes;
    let mut entry = vec![0.0; cells];
    for class in 0..classes {
        let doors = chance.whole(1, 2);
        for _ in 0..doors {
            entry[chance.whole(0, nodes - 1) * classes + class] = chance.scaled(1.0, 1000.0);
        }
    }
    let limits = limits(nodes, classes, chance);
    let free = vec![Node::Unlimited; nodes];
    let free = Network::try_new(routing.clone(), free, entry.clone(), limits.clone())?;
    let floor: Box<[f64]> = free.solve(options).rates().into();
    let queues = chance.happens(0.1);
    let nodes = floor.chunks(classes).map(|rates| node(rates.iter().sum(), queues, chance));
    let network = Network::try_new(routing, nodes.collect(), entry, limits)?;
    Ok(Drawn { network, floor, shape })
}

/// Routing of each class, over the same graph but not over all of it, scaled to a spectral radius
/// below 1. Rows may add up to more than 1: a service calls several.
fn shares(shape: Shape, nodes: usize, classes: usize, chance: &mut Chance) -> Vec<Edge> {
    let pairs = graph::edges(shape, nodes, chance);
    let taken = chance.between(0.3, 1.0);
    let mut edges = Vec::with_capacity(pairs.len() * classes);
    for class in 0..classes {
        let begin = edges.len();
        for &(from, to) in &pairs {
            // The first class goes everywhere, so that a loop is there.
            if class == 0 || chance.happens(taken) {
                let share = chance.scaled(0.02, 2.0);
                edges.push(Edge { from, to, class: Some(class), share });
            }
        }
        let radius = radius_bound(&edges[begin..], nodes);
        let wanted = 1.0 - chance.scaled(0.02, 0.7);
        for edge in &mut edges[begin..] {
            // Without a loop of this class any share will do.
            edge.share *= wanted / radius.max(0.1);
        }
    }
    edges
}

/// Lowers what adds up to more than 1 in a row, as where a request takes one next step.
fn one_next_step(edges: &mut [Edge], nodes: usize, classes: usize) {
    let mut sums = vec![0.0_f64; nodes * classes];
    let row = |edge: &Edge| edge.from * classes + edge.class.unwrap_or(0);
    for edge in &*edges {
        sums[row(edge)] += edge.share;
    }
    for edge in edges {
        edge.share *= 0.99 / sums[row(edge)].max(0.99);
    }
}

/// Not below the spectral radius, by Collatz and Wielandt: the largest (Fx)_i / x_i of any
/// positive x, here of one that the powers of F + I have brought close.
fn radius_bound(edges: &[Edge], nodes: usize) -> f64 {
    let (mut x, mut bound) = (vec![1.0_f64; nodes], f64::INFINITY);
    let mut next = vec![0.0; nodes];
    for _ in 0..30 {
        next.fill(0.0);
        for edge in edges {
            next[edge.from] += edge.share * x[edge.to];
        }
        let ratios = next.iter().zip(&x).map(|(next, x)| next / x);
        bound = ratios.fold(0.0_f64, f64::max).min(bound);
        let most = next.iter().zip(&x).fold(0.0_f64, |m, (next, x)| m.max(next + x));
        for (x, next) in x.iter_mut().zip(&next) {
            *x = ((*x + next) / most).max(1e-9);
        }
    }
    bound
}

/// From 0 to 12: one for a class everywhere, or one for each service it calls; or none and very
/// many, which differ most.
fn limits(nodes: usize, classes: usize, chance: &mut Chance) -> Vec<u32> {
    let draw = |chance: &mut Chance, extreme: bool| {
        let limit = if extreme { 12 * chance.whole(0, 1) } else { chance.whole(0, 12) };
        u32::try_from(limit).unwrap_or(0)
    };
    let extreme = chance.happens(0.25);
    if chance.happens(0.5) {
        return (0..nodes * classes).map(|_| draw(chance, extreme)).collect();
    }
    let of_class: Vec<u32> = (0..classes).map(|_| draw(chance, extreme)).collect();
    of_class.repeat(nodes)
}

/// With a capacity from a tenth to twice of what would come to it at most.
fn node(floor: f64, queues: bool, chance: &mut Chance) -> Node {
    let capacity = if floor > 0.0 { floor * chance.scaled(0.1, 2.0) } else { 1.0 };
    if queues && chance.happens(0.3) {
        let workers = u32::try_from(chance.whole(1, 4)).unwrap_or(1);
        let places = u64::from(workers) + chance.whole(0, 20) as u64;
        if let Some(queue) = Finite::try_new(capacity, workers, places) {
            return Node::Finite(queue);
        }
    }
    Fluid::try_new(capacity).map_or(Node::Unlimited, Node::Fluid)
}
