//! Solving: services without a loop once, loops until they rest.

use std::ops::Range;

use super::dag::is_loop;
use super::{Network, Solution, unique};
use crate::node::{Near, Node, NodeModel as _, Rejection};

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
/// A round in place that moves rates by less than this part of the largest is followed by an exact
/// one; only after such a one can a loop be at rest.
const ROUGH: f64 = 1e-8;

pub(super) fn solve(network: &Network, options: &Options, start: Option<&[f64]>) -> Solution {
    let (routing, cells) = (&network.routing, network.entry.len());
    let mut all = Run {
        classes: routing.classes(),
        into: &routing.into,
        source: &routing.source,
        share: &routing.share,
        entry: &network.entry,
        limits: &network.limits,
        nodes: &network.nodes,
        incoming: start.map_or_else(|| vec![0.0; cells], <[f64]>::to_vec).into(),
        outgoing: vec![0.0; cells].into(),
        rejection: vec![Rejection::NONE; network.nodes.len()].into(),
        due: vec![0.0; routing.classes()].into(),
        step: Near::EXACT,
    };
    let (mut iterations, mut converged, mut fell_back) = (0, true, false);
    let mut place = Vec::new();
    for part in network.order.parts() {
        let part = &network.order.nodes[part];
        if !is_loop(routing, part) {
            all.receive(part[0] as usize);
            all.respond(part[0] as usize);
            continue;
        }
        place.resize(network.nodes.len(), OUTSIDE);
        let apart = Apart::of(&all, part, &mut place);
        let mut run = apart.run(&all, part);
        if start.is_some() {
            (0..part.len()).for_each(|node| run.respond(node));
        }
        let mut end = match options.method {
            Method::InPlace => run.until_rest(options, Some(PATIENCE), Run::in_place),
            Method::Plain => run.until_rest(options, None, Run::plain),
        };
        if !end.rested && options.method == Method::InPlace {
            fell_back = true;
            let before = end.rounds;
            end = run.until_rest(options, None, Run::plain);
            end.rounds += before;
        }
        iterations = iterations.max(end.rounds);
        converged &= end.rested;
        let Run { incoming, outgoing, rejection, .. } = run;
        for (n, &node) in part.iter().enumerate() {
            let (here, there) = (apart.cells(n), all.cells(node as usize));
            all.incoming[there.clone()].copy_from_slice(&incoming[here.clone()]);
            all.outgoing[there].copy_from_slice(&outgoing[here]);
            all.rejection[node as usize] = rejection[n];
        }
    }
    let residual = all.residual();
    Solution {
        classes: routing.classes(),
        incoming: all.incoming,
        outgoing: all.outgoing,
        rejection: all.rejection,
        iterations,
        residual,
        converged,
        fell_back,
        uniqueness: unique::of(network),
        lowered: network.lowered.clone(),
    }
}

/// The place of a service that is not on the loop at hand.
const OUTSIDE: u32 = u32::MAX;

/// One loop as a network of its own, its services in the order in which they are visited, so that
/// a round reads memory from front to back. What comes from outside the loop does not change and
/// counts as entering.
struct Apart {
    classes: usize,
    into: Vec<usize>,
    source: Vec<u32>,
    share: Vec<f64>,
    entry: Vec<f64>,
    limits: Vec<u32>,
    nodes: Vec<Node>,
}

impl Apart {
    /// `place` is a note of every service's place on the loop; it is left as it was found.
    fn of(all: &Run<'_>, part: &[u32], place: &mut [u32]) -> Self {
        for (n, &node) in (0..).zip(part) {
            place[node as usize] = n;
        }
        let mut apart = Self {
            classes: all.classes,
            into: vec![0],
            source: Vec::new(),
            share: Vec::new(),
            entry: Vec::with_capacity(part.len() * all.classes),
            limits: Vec::with_capacity(part.len() * all.classes),
            nodes: part.iter().map(|&node| all.nodes[node as usize]).collect(),
        };
        for (n, &node) in part.iter().enumerate() {
            let node = node as usize;
            apart.entry.extend_from_slice(&all.entry[all.cells(node)]);
            apart.limits.extend_from_slice(&all.limits[all.cells(node)]);
            for e in all.into[node]..all.into[node + 1] {
                let caller = all.source[e] as usize;
                let shares = &all.share[all.cells(e)];
                if place[caller] != OUTSIDE {
                    apart.source.push(place[caller]);
                    apart.share.extend_from_slice(shares);
                    continue;
                }
                let passed = &all.outgoing[all.cells(caller)];
                let here = apart.cells(n);
                for ((entry, passed), share) in apart.entry[here].iter_mut().zip(passed).zip(shares)
                {
                    *entry += passed * share;
                }
            }
            apart.into.push(apart.source.len());
        }
        for &node in part {
            place[node as usize] = OUTSIDE;
        }
        apart
    }

    fn cells(&self, at: usize) -> Range<usize> {
        at * self.classes..(at + 1) * self.classes
    }

    fn run(&self, all: &Run<'_>, part: &[u32]) -> Run<'_> {
        let rates = |&node: &u32| all.incoming[all.cells(node as usize)].iter().copied();
        Run {
            classes: self.classes,
            into: &self.into,
            source: &self.source,
            share: &self.share,
            entry: &self.entry,
            limits: &self.limits,
            nodes: &self.nodes,
            incoming: part.iter().flat_map(rates).collect(),
            outgoing: vec![0.0; self.entry.len()].into(),
            rejection: vec![Rejection::NONE; part.len()].into(),
            due: vec![0.0; self.classes].into(),
            step: Near::EXACT,
        }
    }
}

struct End {
    rounds: usize,
    rested: bool,
}

/// A network, or one loop of it, on the way to its solution.
struct Run<'a> {
    classes: usize,
    into: &'a [usize],
    source: &'a [u32],
    share: &'a [f64],
    entry: &'a [f64],
    limits: &'a [u32],
    nodes: &'a [Node],
    incoming: Box<[f64]>,
    outgoing: Box<[f64]>,
    rejection: Box<[Rejection]>,
    /// λ of the service at hand, by class.
    due: Box<[f64]>,
    /// How exactly services answer in this round.
    step: f64,
}

impl Run<'_> {
    /// Where the classes of a service, or of an edge, lie.
    fn cells(&self, at: usize) -> Range<usize> {
        at * self.classes..(at + 1) * self.classes
    }

    /// λ of one service from what its callers pass on; the most that a class's rate moved.
    fn receive(&mut self, node: usize) -> f64 {
        let cells = self.cells(node);
        // By caller, then by class: what a caller passes on lies together in memory.
        self.due.copy_from_slice(&self.entry[cells.clone()]);
        for e in self.into[node]..self.into[node + 1] {
            let passed = &self.outgoing[self.cells(self.source[e] as usize)];
            let shares = &self.share[self.cells(e)];
            for ((due, passed), share) in self.due.iter_mut().zip(passed).zip(shares) {
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
        let cells = self.cells(node);
        let (rates, limits) = (&self.incoming[cells.clone()], &self.limits[cells.clone()]);
        let model = &self.nodes[node];
        let near = Near { rejection: self.rejection[node], step: self.step };
        let at = model.rejection_near(rates, limits, near);
        self.rejection[node] = at;
        for ((out, rate), limit) in self.outgoing[cells].iter_mut().zip(rates).zip(limits) {
            *out = rate * model.served(at, *limit);
        }
    }

    /// While rates still move by much, services answer as exactly as makes no difference to that.
    fn in_place(&mut self, last: f64) -> f64 {
        let mut moved = 0.0_f64;
        let rough = self.step > Near::EXACT;
        // What remains is the square of a step: a thousandth of what moves.
        self.step = if last > ROUGH { (1e-3 * last).sqrt().min(1e-2) } else { Near::EXACT };
        for node in 0..self.nodes.len() {
            let change = self.receive(node);
            // A service whose input stands still to the last digit has nothing new to say. What
            // it said before the first round is 0, which is right for an input of 0.
            if change > 0.0 || rough {
                self.respond(node);
                moved = moved.max(change);
            }
        }
        moved
    }

    fn plain(&mut self, _: f64) -> f64 {
        self.step = Near::EXACT;
        let moved = (0..self.nodes.len()).fold(0.0_f64, |m, node| m.max(self.receive(node)));
        (0..self.nodes.len()).for_each(|node| self.respond(node));
        moved
    }

    fn until_rest(
        &mut self,
        options: &Options,
        patience: Option<usize>,
        round: fn(&mut Self, f64) -> f64,
    ) -> End {
        let (mut best, mut since, mut last) = (f64::INFINITY, 0, 1.0);
        for rounds in 1..=options.rounds {
            let moved = round(self, last);
            let largest = self.largest();
            if moved <= options.tolerance * largest && self.step <= Near::EXACT {
                return End { rounds, rested: true };
            }
            last = if largest > 0.0 { moved / largest } else { 0.0 };
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

    fn largest(&self) -> f64 {
        self.incoming.iter().fold(0.0, |most: f64, rate| most.max(*rate))
    }

    /// How far the equations are missed, over all services. Leaves λ as they demand it.
    fn residual(&mut self) -> f64 {
        let missed = (0..self.nodes.len()).fold(0.0_f64, |m, node| m.max(self.receive(node)));
        missed / self.largest().max(f64::MIN_POSITIVE)
    }
}
