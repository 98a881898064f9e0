//! Solving: services without a loop once, loops until they rest.

use super::dag::is_loop;
use super::{Network, Solution, unique};
use crate::node::{NodeModel as _, Rejection};

/// How a loop is iterated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Every service sees what its callers did in the same round. A loop that does not come
    /// closer within 64 rounds is finished by the plain map.
    #[default]
    InPlace,
    /// λ → s̄ → λ for all services at once. Proven to converge whenever the equations without
    /// rejection have a solution (DiffTry, arXiv 2610.20567).
    Plain,
}

/// When an iteration ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// A loop rests when no rate moves by more than this part of the loop's largest.
    pub tolerance: f64,
    /// The rounds each loop gets by each method.
    pub rounds: usize,
    /// How loops are iterated.
    pub method: Method,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 1e-13, rounds: 100_000, method: Method::InPlace }
    }
}

/// Rounds after which an iteration in place must have come closer.
const PATIENCE: usize = 64;

pub(super) fn solve(network: &Network, options: &Options, start: Option<&[f64]>) -> Solution {
    let cells = network.entry.len();
    let mut run = Run {
        network,
        incoming: start.map_or_else(|| vec![0.0; cells], <[f64]>::to_vec).into(),
        outgoing: vec![0.0; cells].into(),
        rejection: vec![Rejection::NONE; network.nodes.len()].into(),
        due: vec![0.0; network.routing.classes()].into(),
    };
    let (mut iterations, mut converged, mut fell_back) = (0, true, false);
    for part in network.order.parts() {
        let part = &network.order.nodes[part];
        if !is_loop(&network.routing, part) {
            run.receive(part[0] as usize);
            run.respond(part[0] as usize);
            continue;
        }
        if start.is_some() {
            for &node in part {
                run.respond(node as usize);
            }
        }
        let mut end = match options.method {
            Method::InPlace => run.until_rest(part, options, Some(PATIENCE), Run::in_place),
            Method::Plain => run.until_rest(part, options, None, Run::plain),
        };
        if !end.rested && options.method == Method::InPlace {
            fell_back = true;
            let before = end.rounds;
            end = run.until_rest(part, options, None, Run::plain);
            end.rounds += before;
        }
        iterations = iterations.max(end.rounds);
        converged &= end.rested;
    }
    let residual = run.residual();
    Solution {
        classes: network.routing.classes(),
        incoming: run.incoming,
        outgoing: run.outgoing,
        rejection: run.rejection,
        iterations,
        residual,
        converged,
        fell_back,
        uniqueness: unique::of(network),
        lowered: network.lowered.clone(),
    }
}

struct End {
    rounds: usize,
    rested: bool,
}

struct Run<'a> {
    network: &'a Network,
    incoming: Box<[f64]>,
    outgoing: Box<[f64]>,
    rejection: Box<[Rejection]>,
    /// λ of the service at hand, by class.
    due: Box<[f64]>,
}

impl Run<'_> {
    /// λ of one service from what its callers pass on; the most that a class's rate moved.
    fn receive(&mut self, node: usize) -> f64 {
        let (routing, classes) = (&self.network.routing, self.network.routing.classes());
        let cells = node * classes..(node + 1) * classes;
        // By caller, then by class: what a caller passes on lies together in memory.
        self.due.copy_from_slice(&self.network.entry[cells.clone()]);
        for e in routing.into(node) {
            let passed = &self.outgoing[routing.caller(e) * classes..][..classes];
            for ((due, passed), share) in self.due.iter_mut().zip(passed).zip(routing.shares(e)) {
                *due += passed * share;
            }
        }
        let mut moved = 0.0_f64;
        for (rate, due) in self.incoming[cells].iter_mut().zip(&self.due) {
            moved = moved.max((due - *rate).abs());
            *rate = *due;
        }
        moved
    }

    /// s̄ and o of one service from its λ.
    fn respond(&mut self, node: usize) {
        let classes = self.network.routing.classes();
        let cells = node * classes..(node + 1) * classes;
        let (rates, limits) = (&self.incoming[cells.clone()], &self.network.limits[cells.clone()]);
        let model = &self.network.nodes[node];
        let at = model.rejection_near(rates, limits, self.rejection[node]);
        self.rejection[node] = at;
        for ((out, rate), limit) in self.outgoing[cells].iter_mut().zip(rates).zip(limits) {
            *out = rate * model.served(at, *limit);
        }
    }

    fn in_place(&mut self, part: &[u32]) -> f64 {
        let mut moved = 0.0_f64;
        for &node in part {
            let change = self.receive(node as usize);
            // A service whose input stands still to the last digit has nothing new to say. What
            // it said before the first round is 0, which is right for an input of 0.
            if change > 0.0 {
                self.respond(node as usize);
                moved = moved.max(change);
            }
        }
        moved
    }

    fn plain(&mut self, part: &[u32]) -> f64 {
        let moved = part.iter().fold(0.0_f64, |m, &node| m.max(self.receive(node as usize)));
        for &node in part {
            self.respond(node as usize);
        }
        moved
    }

    fn until_rest(
        &mut self,
        part: &[u32],
        options: &Options,
        patience: Option<usize>,
        round: fn(&mut Self, &[u32]) -> f64,
    ) -> End {
        let (mut best, mut since) = (f64::INFINITY, 0);
        for rounds in 1..=options.rounds {
            let moved = round(self, part);
            if moved <= options.tolerance * self.largest(part) {
                return End { rounds, rested: true };
            }
            since += 1;
            if moved < best {
                (best, since) = (moved, 0);
            }
            if patience.is_some_and(|patience| since >= patience) {
                return End { rounds, rested: false };
            }
        }
        End { rounds: options.rounds, rested: false }
    }

    fn largest(&self, part: &[u32]) -> f64 {
        let classes = self.network.routing.classes();
        let rates = |&node: &u32| &self.incoming[node as usize * classes..][..classes];
        part.iter().flat_map(rates).fold(0.0, |most: f64, rate| most.max(*rate))
    }

    /// How far the equations are missed, over all services. Leaves λ as they demand it.
    fn residual(&mut self) -> f64 {
        let missed = (0..self.network.nodes.len()).fold(0.0_f64, |m, n| m.max(self.receive(n)));
        missed / self.incoming.iter().fold(f64::MIN_POSITIVE, |m, rate| m.max(*rate))
    }
}
