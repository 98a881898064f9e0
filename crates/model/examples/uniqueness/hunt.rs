//! Solving one network from many places, and telling whether it ended at two.

use std::ops::Range;

use damper_model::network::{Method, Network, NetworkError, Options, Solution, Uniqueness};
use rayon::prelude::*;

use crate::chance::Chance;
use crate::generate::{self, Drawn};

/// Starts of one network. A case is one of them: network `case / STARTS`, start `case % STARTS`.
/// Each is compared with the solution from an empty network, which is start 0.
pub(crate) const STARTS: u64 = 100;

/// Two solutions are different if a rate differs by more than this part of it.
const DIFFERENT: f64 = 1e-6;
/// What a solution may miss an equation by, in relation to the largest rate.
const RESIDUAL: f64 = 1e-10;
/// Rates below this part of the largest are compared as if they were that: of one that is hardly
/// there, fewer digits are known.
const HARDLY: f64 = 1e-4;

const OPTIONS: Options = Options { tolerance: 1e-13, rounds: 50_000, method: Method::InPlace };
const PLAIN: Options = Options { method: Method::Plain, ..OPTIONS };
const EXACT: Options = Options { tolerance: 1e-14, rounds: 200_000, method: Method::Plain };

/// What came of some cases. Does not depend on how they were split.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    /// Networks whose first start is among the cases.
    pub(crate) networks: u64,
    /// Those for which no known condition makes the solution the only one.
    pub(crate) open: u64,
    /// Cases that did not come to rest.
    pub(crate) unsettled: u64,
    /// Pairs that differed at first, and no more when they were solved again.
    pub(crate) dismissed: u64,
    /// Cases at another solution than the first.
    pub(crate) others: u64,
    /// Networks that have such cases.
    pub(crate) several: u64,
    /// Those of them in which a request takes one next step: no row adds up to 1.
    pub(crate) single: u64,
    /// The largest difference of a rate between settled solutions of a network.
    pub(crate) largest: f64,
    /// One case of each network with several solutions.
    pub(crate) found: Vec<Found>,
}

/// Two solutions of one network.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) case: u64,
    pub(crate) distance: f64,
    pub(crate) first: Box<[f64]>,
    pub(crate) other: Box<[f64]>,
}

impl Tally {
    /// Both together; `later` are the cases after these.
    pub(crate) fn with(mut self, later: Self) -> Self {
        self.cases += later.cases;
        self.networks += later.networks;
        self.open += later.open;
        self.unsettled += later.unsettled;
        self.dismissed += later.dismissed;
        self.others += later.others;
        self.several += later.several;
        self.single += later.single;
        self.largest = self.largest.max(later.largest);
        self.found.extend(later.found);
        self
    }
}

/// Runs cases on all threads of the pool.
///
/// # Errors
/// A network that cannot be made, which is a fault of the generator.
pub(crate) fn cases(seed: u64, cases: Range<u64>) -> Result<Tally, NetworkError> {
    let numbers = cases.start / STARTS..cases.end.div_ceil(STARTS);
    let parts = numbers.into_par_iter().map(|number| {
        let first = number * STARTS;
        let from = cases.start.saturating_sub(first);
        let drawn = drawn(seed, first)?;
        one_network(seed, number, &drawn, from..STARTS.min(cases.end - first))
    });
    parts.try_reduce(Tally::default, |a, b| Ok(a.with(b)))
}

/// The network of a case.
///
/// # Errors
/// As [`cases`].
pub(crate) fn drawn(seed: u64, case: u64) -> Result<Drawn, NetworkError> {
    generate::network(seed, case / STARTS, &OPTIONS)
}

fn one_network(
    seed: u64,
    number: u64,
    drawn: &Drawn,
    starts: Range<u64>,
) -> Result<Tally, NetworkError> {
    let network = &drawn.network;
    let mut first = network.solve(&OPTIONS);
    if !settled(&first) {
        first = network.solve(&PLAIN);
    }
    let mut tally = Tally { cases: starts.end - starts.start, ..Tally::default() };
    if starts.start == 0 {
        tally.networks = 1;
        tally.open = u64::from(first.uniqueness == Uniqueness::NotGuaranteed);
    }
    if !settled(&first) {
        tally.unsettled = tally.cases;
        return Ok(tally);
    }
    let mut rates = vec![0.0; drawn.floor.len()];
    for start in starts.start.max(1)..starts.end {
        fill(&mut rates, start, &drawn.floor, &mut Chance::at([seed, number, start]));
        // Another map has other basins: what repels one may attract the other.
        let options = if start % 8 == 7 { &PLAIN } else { &OPTIONS };
        let other = network.solve_from(&rates, options)?;
        if !settled(&other) {
            tally.unsettled += 1;
            continue;
        }
        let distance = distance(first.rates(), other.rates());
        if distance > DIFFERENT {
            // What one start has shown to be a solution need not be shown again, which takes long.
            let known = tally
                .found
                .first()
                .is_some_and(|found| self::distance(&found.other, other.rates()) <= DIFFERENT);
            let confirmed = if known {
                Some(distance)
            } else {
                confirmed(network, first.rates(), other.rates())?
            };
            let Some(distance) = confirmed else {
                tally.dismissed += 1;
                continue;
            };
            tally.others += 1;
            tally.largest = tally.largest.max(distance);
            if tally.found.is_empty() {
                tally.several = 1;
                tally.single = u64::from(drawn.largest_row() < 1.0);
                let case = number * STARTS + start;
                let (first, other) = (first.rates().into(), other.rates().into());
                tally.found.push(Found { case, distance, first, other });
            }
            continue;
        }
        tally.largest = tally.largest.max(distance);
    }
    Ok(tally)
}

/// Where a start begins. Without rejection `floor` would come to each service and class, so no
/// solution has more; one start in five begins above it all the same.
fn fill(rates: &mut [f64], start: u64, floor: &[f64], chance: &mut Chance) {
    let kind = start % 5;
    let all = if start == 1 { 1.0 } else { chance.scaled(0.01, 10.0) };
    for (rate, floor) in rates.iter_mut().zip(floor) {
        *rate = floor
            * match kind {
                1 => all,
                2 => chance.unit(),
                3 => f64::from(u8::from(chance.happens(0.5))),
                4 => chance.scaled(1e-4, 10.0),
                _ => all * chance.unit(),
            };
    }
}

fn settled(solution: &Solution) -> bool {
    solution.converged && solution.residual < RESIDUAL
}

/// The largest difference of a rate, in relation to it.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let largest = a.iter().chain(b).fold(f64::MIN_POSITIVE, |m, rate| m.max(*rate));
    let of_pair = |(a, b): (&f64, &f64)| (a - b).abs() / a.max(*b).max(HARDLY * largest);
    a.iter().zip(b).map(of_pair).fold(0.0, f64::max)
}

/// How far apart two solutions are, if they still are different once both were solved again by
/// the plain map as exactly as numbers allow.
fn confirmed(network: &Network, a: &[f64], b: &[f64]) -> Result<Option<f64>, NetworkError> {
    // At this tolerance the last digit may never stand still; the residual tells.
    confirmed_within(network, a, b, 1e-13)
}

fn confirmed_within(
    network: &Network,
    a: &[f64],
    b: &[f64],
    residual: f64,
) -> Result<Option<f64>, NetworkError> {
    let (a, b) = (network.solve_from(a, &EXACT)?, network.solve_from(b, &EXACT)?);
    let solved = a.residual < residual && b.residual < residual;
    let distance = distance(a.rates(), b.rates());
    Ok((solved && distance > DIFFERENT).then_some(distance))
}

#[cfg(test)]
mod tests;
