//! Whether iterating from elsewhere ends elsewhere, for systems whose solution is not known to be
//! the only one.

use damper_system::System;
use damper_system::model::Work;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{SolveError, routes, tree};
use crate::network::{Network, Options};

/// Solutions are different if s̄ of a service differs by more. An iteration ends within 1e-12 or so
/// of its solution, but one that settles slowly may stop a thousand times farther away.
const DIFFERENT: f64 = 1e-6;
/// Different solutions that are kept; a system with more has whole lines of them.
const MOST: usize = 100;

/// What random starts ended at.
#[derive(Clone, Debug, PartialEq)]
pub struct Restarts {
    /// Starts that were made.
    pub starts: usize,
    /// Starts that did not come to rest.
    pub unsettled: usize,
    /// The different solutions, the one of [`solve`](super::solve) first. The search ends at a
    /// hundred.
    pub fixed_points: Vec<FixedPoint>,
}

/// One solution.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedPoint {
    /// s̄ by service.
    pub s: Vec<f64>,
    /// Starts that ended here.
    pub starts: usize,
}

/// Iterates from `starts` random points: of a routing matrix any rates between nothing and what
/// would come if nothing were rejected, of call trees any rejections from 0 to 1. Ends early when
/// `stop` says so.
///
/// # Errors
/// As [`solve`](super::solve).
pub fn restarts(
    system: &System,
    starts: usize,
    seed: u64,
    stop: impl Fn() -> bool,
) -> Result<Restarts, SolveError> {
    if system.total_load() <= 0.0 {
        return Err(SolveError::NoLoad);
    }
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    // 53 bits, as many as a float has.
    let mut chance = move || (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let n = system.services.len();
    match &system.work {
        Work::Requests(types) => {
            let from = |s| {
                let at = tree::rest(system, types, s);
                (at.s, at.moved <= tree::TOLERANCE)
            };
            let first = from(vec![0.0; n]).0;
            Ok(search(first, starts, stop, || from((0..n).map(|_| chance()).collect())))
        }
        Work::Routes(matrix) => {
            Ok(of_network(&routes::network(system, matrix)?, starts, chance, stop))
        }
    }
}

fn of_network(
    network: &Network,
    starts: usize,
    mut chance: impl FnMut() -> f64,
    stop: impl Fn() -> bool,
) -> Restarts {
    let options = Options::default();
    let rejections = |solution: &crate::network::Solution| -> Vec<f64> {
        (0..network.nodes().len()).map(|i| solution.rejection(i).probability()).collect()
    };
    let first = rejections(&network.solve(&options));
    let most = network.floor(&options);
    search(first, starts, stop, || {
        let start: Vec<f64> = most.rates().iter().map(|rate| rate * chance()).collect();
        match network.solve_from(&start, &options) {
            Ok(found) => (rejections(&found), found.converged),
            // One rate for each service and class, as it must be.
            Err(_) => (Vec::new(), false),
        }
    })
}

/// Sorts what `next` gives by whether it was seen before.
fn search(
    first: Vec<f64>,
    starts: usize,
    stop: impl Fn() -> bool,
    mut next: impl FnMut() -> (Vec<f64>, bool),
) -> Restarts {
    let mut found = Restarts {
        starts: 0,
        unsettled: 0,
        fixed_points: vec![FixedPoint { s: first, starts: 0 }],
    };
    while found.starts < starts && found.fixed_points.len() < MOST && !stop() {
        found.starts += 1;
        let (s, settled) = next();
        if !settled {
            found.unsettled += 1;
            continue;
        }
        let same =
            |p: &&mut FixedPoint| p.s.iter().zip(&s).all(|(a, b)| (a - b).abs() <= DIFFERENT);
        match found.fixed_points.iter_mut().find(same) {
            Some(known) => known.starts += 1,
            None => found.fixed_points.push(FixedPoint { s, starts: 1 }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;
    use crate::network::{Edge, Routing};
    use crate::node::{Fluid, Node};

    fn chance() -> impl FnMut() -> f64 {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(1);
        move || (draws.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The smallest network with two solutions that is known: two services and two classes, the
    /// one lost at the first service before it can fill the second, and the other way round.
    #[test]
    fn both_solutions_of_a_network_are_found() {
        let edge = |from, to, class, share| Edge { from, to, class: Some(class), share };
        let edges =
            [edge(0, 1, 0, 0.5), edge(0, 1, 1, 3.0), edge(1, 0, 0, 1.5), edge(1, 0, 1, 0.25)];
        let routing = Routing::try_new(2, 2, &edges).unwrap();
        let nodes = [200.0, 300.0].map(|c| Node::Fluid(Fluid::try_new(c).unwrap()));
        let network =
            Network::try_new(routing, nodes.into(), vec![0.0, 0.0, 50.0, 100.0], vec![12, 0, 1, 3])
                .unwrap();
        let found = of_network(&network, 100, chance(), || false);
        assert_eq!((found.starts, found.unsettled, found.fixed_points.len()), (100, 0, 2));
        let hits: Vec<usize> = found.fixed_points.iter().map(|p| p.starts).collect();
        assert!(hits.iter().all(|n| *n > 0) && hits.iter().sum::<usize>() == 100, "{hits:?}");
        // In each, one of the services has room for all.
        for point in &found.fixed_points {
            assert!(point.s.contains(&0.0) && point.s.iter().any(|s| *s > 0.6));
        }
    }

    fn system(text: &str) -> System {
        SystemFile::parse("test.yaml", text).unwrap().lower().unwrap()
    }

    /// Each class is asked three times, with many retries, of what the other asks once, without.
    /// If s0 is full, class a is lost there and leaves s1 to class b; and the other way round. By
    /// symmetry each solution has the s̄ of the other with the services changed over.
    #[test]
    fn both_solutions_of_call_trees_are_found() {
        let system = system(
            "
damper: 1
classes: [a, b]
services: {s0: {rate_limit: 100/s}, s1: {rate_limit: 100/s}}
load: {a: 60/s, b: 60/s}
requests:
  a: {share: {a: 100%, b: 0%}, calls: [{s0: [{s1: {times: 3}}]}]}
  b: {share: {a: 0%, b: 100%}, calls: [{s1: [{s0: {times: 3}}]}]}
policies:
  s0: {retry: {limit: {a: 0, b: 12}, on: [rejected]}}
  s1: {retry: {limit: {a: 12, b: 0}, on: [rejected]}}
",
        );
        let solved = crate::system::solve(&system).unwrap();
        assert_eq!(solved.unique, crate::network::Uniqueness::NotGuaranteed);
        let found = restarts(&system, 40, 1, || false).unwrap();
        let [first, other] = &found.fixed_points[..] else { panic!("{found:?}") };
        assert!(first.starts > 5 && other.starts > 5, "{found:?}");
        for (a, b) in first.s.iter().zip(other.s.iter().rev()) {
            assert!((a - b).abs() < 1e-9, "{found:?}");
        }
        assert!((first.s[0] - first.s[1]).abs() > 0.9, "{found:?}");
    }

    #[test]
    fn a_search_that_is_stopped_says_how_far_it_got() {
        let system = system(
            "{damper: 1, services: {s: {rate_limit: 1/s}}, load: 2/s, requests: {r: {calls: [s]}}}",
        );
        let asked = std::cell::Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) == 3;
        let found = restarts(&system, 10, 1, stop).unwrap();
        assert_eq!((found.starts, found.unsettled), (3, 0));
        // Half of what comes is one too many.
        let [FixedPoint { s, starts: 3 }] = &found.fixed_points[..] else { panic!("{found:?}") };
        assert!((s[0] - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_same_seed_gives_the_same() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hotel-reservation.yaml");
        let mut file = SystemFile::read(std::path::Path::new(path)).unwrap();
        file.set("policies.default.retry.on=[rejected, downstream]").unwrap();
        let system = file.lower().unwrap();
        let of = |seed| restarts(&system, 3, seed, || false).unwrap();
        assert_eq!(of(1), of(1));
        assert_eq!(of(2).fixed_points.len(), 1);
    }
}
