//! Random networks to measure on: the same ones for the same seed, on every machine.

use clap::ValueEnum;
use damper_model::network::{Edge, Network, NetworkError, Options, Routing};
use damper_model::node::{Finite, Fluid, Mixed, Node};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Who may call whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// Only later services.
    Dag,
    /// One call in five goes anywhere, so that nearly all services are on one loop.
    Cyclic,
}

/// The model of every service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A rate limit.
    Fluid,
    /// M/M/c/K.
    Finite,
    /// The publication's mix of both.
    Mixed,
}

/// A network before it is one. Lists over services and classes have class p of service i at
/// `i * classes + p`.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// Services.
    pub(crate) nodes: usize,
    /// Classes.
    pub(crate) classes: usize,
    /// Calls: one for each pair and class.
    pub(crate) edges: Vec<Edge>,
    /// γ, per second.
    pub(crate) entry: Vec<f64>,
    /// k.
    pub(crate) limits: Vec<u32>,
    /// μ of each service, from half to twice of what would come to it if nothing were rejected.
    pub(crate) capacity: Vec<f64>,
    /// Workers of each service, 1 to 64.
    pub(crate) workers: Vec<u32>,
    /// Places of each service: its workers, and up to 100 to wait.
    pub(crate) places: Vec<u64>,
}

impl Drawn {
    /// Each service calls up to three others; of the requests that succeed, 5 to 50 % end there.
    /// Classes differ in shares. One service in ten is entered from outside, and limits are
    /// from 0 to 5.
    ///
    /// # Errors
    /// None that a sound generator can cause.
    pub(crate) fn new(
        shape: Shape,
        nodes: usize,
        classes: usize,
        seed: u64,
    ) -> Result<Self, NetworkError> {
        let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(seed));
        let edges = calls(shape, nodes, classes, &mut chance);
        let mut entry = vec![0.0; nodes * classes];
        let mut limits = vec![0; nodes * classes];
        for (i, entry) in entry.chunks_mut(classes).enumerate() {
            if i == 0 || chance.unit() < 0.1 {
                entry.iter_mut().for_each(|rate| *rate = chance.between(1.0, 1000.0));
            }
        }
        for limit in &mut limits {
            *limit = chance.below(6) as u32;
        }
        let routing = Routing::try_new(nodes, classes, &edges)?;
        let free = vec![Node::Unlimited; nodes];
        let free = Network::try_new(routing, free, entry.clone(), limits.clone())?;
        let free = free.solve(&Options { tolerance: 1e-6, ..Options::default() });
        let (mut capacity, mut workers, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for rates in free.rates().chunks(classes) {
            capacity.push(rates.iter().sum::<f64>().max(1.0) * chance.between(0.5, 2.0));
            let own = 1 + chance.below(64);
            workers.push(own as u32);
            places.push(own + chance.below(101));
        }
        Ok(Self { nodes, classes, edges, entry, limits, capacity, workers, places })
    }

    /// The routing of the network.
    ///
    /// # Errors
    /// None that a sound generator can cause.
    pub(crate) fn network(&self, kind: Kind) -> Result<Network, NetworkError> {
        let routing = Routing::try_new(self.nodes, self.classes, &self.edges)?;
        let nodes = (0..self.nodes).map(|i| {
            let (capacity, workers, places) = (self.capacity[i], self.workers[i], self.places[i]);
            let node = match kind {
                Kind::Fluid => Fluid::try_new(capacity).map(Node::Fluid),
                Kind::Finite => Finite::try_new(capacity, workers, places).map(Node::Finite),
                Kind::Mixed => Mixed::try_new(capacity, workers, places).map(Node::Mixed),
            };
            node.unwrap_or(Node::Unlimited)
        });
        Network::try_new(routing, nodes.collect(), self.entry.clone(), self.limits.clone())
    }
}

fn calls(shape: Shape, nodes: usize, classes: usize, chance: &mut Chance) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut called = Vec::new();
    for from in 0..nodes {
        called.clear();
        for _ in 0..=chance.below(3) {
            let anywhere = shape == Shape::Cyclic && chance.unit() < 0.2;
            let later = (nodes - 1 - from).min(nodes / 8 + 1);
            let to = match (anywhere, later) {
                (true, _) => chance.below(nodes as u64) as usize,
                (false, 0) => continue,
                (false, later) => from + 1 + chance.below(later as u64) as usize,
            };
            if !called.contains(&to) {
                called.push(to);
            }
        }
        for class in 0..classes {
            let weights: Vec<f64> = called.iter().map(|_| chance.between(0.1, 1.0)).collect();
            let goes_on = chance.between(0.5, 0.95) / weights.iter().sum::<f64>();
            edges.extend(called.iter().zip(&weights).map(|(&to, weight)| Edge {
                from,
                to,
                class: Some(class),
                share: weight * goes_on,
            }));
        }
    }
    edges
}

struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn unit(&mut self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "53 bits")]
        let draw = (self.0.next_u64() >> 11) as f64;
        draw / 9_007_199_254_740_992.0
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// 0 up to, and without, `most`; what it favours is far below what can be measured.
    fn below(&mut self, most: u64) -> u64 {
        self.0.next_u64() % most
    }
}
