use damper_model::network::{Edge, Routing};
use damper_model::node::{Fluid, Node};

use super::*;
use crate::checkpoint::Checkpoint;
use crate::graph::Shape;

fn on_threads(threads: usize, seed: u64, range: Range<u64>) -> Tally {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| cases(seed, range)).unwrap()
}

#[test]
fn threads_change_nothing() {
    let one = on_threads(1, 7, 0..1_200);
    assert_eq!((one.cases, one.networks), (1_200, 12));
    assert_eq!(one, on_threads(2, 7, 0..1_200));
    assert_ne!(one.largest, on_threads(2, 8, 0..1_200).largest);
}

#[test]
fn a_hunt_in_pieces_has_the_same_totals() {
    let whole = on_threads(2, 3, 0..950);
    let mut state = Checkpoint { seed: 3, ..Checkpoint::default() };
    // Also where a piece ends in the middle of a network.
    for end in [1, 250, 300, 950] {
        state = Checkpoint::parse(&state.text()).unwrap();
        let piece = state.tally.cases..end;
        state.tally = state.tally.clone().with(on_threads(2, state.seed, piece));
    }
    assert_eq!(state.tally, whole);
}

#[test]
fn most_networks_are_beyond_the_known_conditions_and_overloaded() {
    let (mut open, mut overloaded) = (0, 0);
    for number in 0..200 {
        let drawn = drawn(5, number * STARTS).unwrap();
        let solution = drawn.network.solve(&OPTIONS);
        assert_ne!(solution.uniqueness, Uniqueness::NoLoop, "network {number}");
        open += u64::from(solution.uniqueness == Uniqueness::NotGuaranteed);
        let nodes = 0..drawn.network.nodes().len();
        let rejecting = nodes.filter(|&node| solution.rejection(node).probability() > 0.01).count();
        overloaded += u64::from(rejecting > 0);
    }
    assert!(open > 150, "{open}");
    assert!(overloaded > 150, "{overloaded}");
}

/// One service that calls itself, far below its capacity: each round of the plain map takes away a
/// thousandth of what is missing to its only solution, 1000.
#[test]
fn what_only_looks_different_is_dismissed() {
    let edge = Edge { from: 0, to: 0, class: None, share: 0.999 };
    let routing = Routing::try_new(1, 1, &[edge]).unwrap();
    let node = Node::Fluid(Fluid::try_new(1e9).unwrap());
    let network = Network::try_new(routing, vec![node], vec![1.0], vec![0]).unwrap();
    let (a, b) = ([1000.0], [1000.01]);
    assert!(distance(&a, &b) > DIFFERENT);
    assert_eq!(confirmed(&network, &a, &b).unwrap(), None);
}

/// The smallest that is known: two services, two classes. Class 0 retries where class 1 does not,
/// and the other way round. If service 0 is overloaded, class 1 is lost there and does not come
/// threefold to service 1, which then has room to send class 0 back to service 0; if service 1 is,
/// class 0 is lost there and leaves room for class 1 at service 0.
fn two_solutions() -> Drawn {
    let edge = |from, to, class, share| Edge { from, to, class: Some(class), share };
    let edges = [edge(0, 1, 0, 0.5), edge(0, 1, 1, 3.0), edge(1, 0, 0, 1.5), edge(1, 0, 1, 0.25)];
    let routing = Routing::try_new(2, 2, &edges).unwrap();
    let nodes = [200.0, 300.0].map(|capacity| Node::Fluid(Fluid::try_new(capacity).unwrap()));
    let entry = vec![0.0, 0.0, 50.0, 100.0];
    let network = Network::try_new(routing, nodes.into(), entry, vec![12, 0, 1, 3]).unwrap();
    // λ = γ (I - F)⁻¹: 50 / (1 - 3/4) and 100 / (1 - 3/4) at service 1.
    let floor = vec![300.0, 100.0, 200.0, 400.0].into();
    Drawn { network, floor, shape: Shape::Grown }
}

#[test]
fn two_solutions_are_told_apart() {
    let Drawn { network, floor, .. } = two_solutions();
    assert!(distance(network.floor(&OPTIONS).rates(), &floor) < 1e-9);
    // By bisection and the plain map in another language.
    let full_1 = [88.034_833_489_0, 60.327_527_751_8, 94.017_416_744_5, 280.982_583_255_5];
    let full_0 = [221.787_150_039_8, 28.212_849_960_2, 147.858_100_026_5, 112.851_399_840_7];
    let apart = confirmed(&network, &full_1, &full_0).unwrap().unwrap();
    assert!((apart - (1.0 - 88.034_833_489_0 / 221.787_150_039_8)).abs() < 1e-9, "{apart}");
    assert_eq!(confirmed(&network, &full_1, &full_1).unwrap(), None);
    for (rates, full) in [(full_1, 1), (full_0, 0)] {
        let solution = network.solve_from(&rates, &OPTIONS).unwrap();
        assert!(settled(&solution), "{solution:?}");
        assert!(distance(solution.rates(), &rates) < 1e-11, "{solution:?}");
        assert!(solution.rejection(full).probability() > 0.6);
        assert_eq!(solution.rejection(1 - full).probability(), 0.0);
        // The full one accepts exactly its capacity, the other all that comes.
        let served = |node: usize| solution.outgoing(node, 0) + solution.outgoing(node, 1);
        assert!((served(full) - [200.0, 300.0][full]).abs() < 1e-8);
    }
}

#[test]
fn the_hunt_reports_a_network_with_two_solutions() {
    let drawn = two_solutions();
    let tally = one_network(1, 0, &drawn, 0..STARTS).unwrap();
    assert_eq!((tally.cases, tally.several, tally.single), (STARTS, 1, 0));
    assert!(tally.others > 10 && tally.others < STARTS, "{tally:?}");
    assert_eq!(tally.found.len(), 1);
    assert!(tally.largest > 0.5, "{tally:?}");
}

#[test]
fn a_rate_that_is_hardly_there_does_not_count() {
    assert_eq!(distance(&[1.0, 0.0], &[1.0, 0.0]), 0.0);
    assert_eq!(distance(&[0.0], &[0.0]), 0.0);
    assert_eq!(distance(&[4.0, 1.0], &[4.0, 2.0]), 0.5);
    // 1e-12 of the largest rate is twice 5e-13, and both are noise.
    assert!(distance(&[1.0, 1e-12], &[1.0, 5e-13]) < 1e-8);
    assert!(distance(&[1.0, 1e-3], &[1.0, 1.00001e-3]) > DIFFERENT);
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn no_other_solution_in_20_000_cases() {
    let tally = cases(1, 0..20_000).unwrap();
    assert_eq!((tally.cases, tally.networks), (20_000, 200));
    assert_eq!((tally.others, tally.unsettled), (0, 0), "{:?}", tally.found);
    assert!(tally.largest < DIFFERENT, "{}", tally.largest);
}
