//! The published networks, and what is said about loops.

mod properties;

use super::*;
use crate::node::{Finite, Fluid};

#[track_caller]
pub(super) fn reads(value: f64, expected: f64, digits: i32) {
    let off = (value - expected).abs();
    assert!(off <= 0.5 * libm::pow(10.0, f64::from(-digits)) * 1.000_001, "{value} for {expected}");
}

pub(super) fn all(from: usize, to: usize, share: f64) -> Edge {
    Edge { from, to, class: None, share }
}

pub(super) fn fluid(capacity: f64) -> Node {
    Node::Fluid(Fluid::try_new(capacity).unwrap())
}

fn cyclic() -> Network {
    let edges = [all(0, 1, 0.8), all(1, 2, 0.7), all(2, 0, 0.3)];
    let nodes = [90.0, 80.0, 60.0].map(fluid).to_vec();
    let routing = Routing::try_new(3, 2, &edges).unwrap();
    let entry = vec![40.0, 100.0, 0.0, 0.0, 0.0, 0.0];
    Network::try_new(routing, nodes, entry, [4, 1].repeat(3)).unwrap()
}

#[test]
fn the_cyclic_case_gives_the_published_values() {
    let network = cyclic();
    for method in [Method::InPlace, Method::Plain] {
        let options = Options { method, ..Options::default() };
        let found = network.solve(&options);
        for (node, high, low, s) in [
            (0, 46.283295, 108.836705, 0.718827),
            (1, 29.920453, 42.079547, 0.0),
            (2, 20.944317, 29.455683, 0.0),
        ] {
            reads(found.incoming(node, 0), high, 6);
            reads(found.incoming(node, 1), low, 6);
            reads(found.rejection(node).probability(), s, 6);
        }
        let completion = network.completion(&found, &options).unwrap();
        reads(completion[0], 0.777932, 6);
        reads(completion[1], 0.437627, 6);
        assert!(found.converged && !found.fell_back);
        assert!(found.residual < 1e-12, "{}", found.residual);
        assert!((2..100).contains(&found.iterations), "{}", found.iterations);
        assert_eq!(found.uniqueness, Uniqueness::SharedRouting);
        // The share of requests that complete, counted where they leave: nothing is lost.
        for class in 0..2 {
            let leave = [0.2, 0.3, 0.7];
            let out: f64 = (0..3).map(|i| found.outgoing(i, class) * leave[i]).sum();
            let share = network.completed(&found, class, &options).unwrap();
            assert!((out / network.entry(0, class) - share).abs() < 1e-9);
        }
    }
}

#[test]
fn what_does_not_rest_in_place_is_finished_by_the_plain_map_or_said_to_be_open() {
    let network = cyclic();
    let within = |rounds| network.solve(&Options { rounds, ..Options::default() });
    let full = within(1000);
    let short = within(full.iterations / 2 + 1);
    assert!(short.fell_back);
    let scarce = within(3);
    assert!(scarce.fell_back && !scarce.converged);
    assert_eq!(scarce.iterations, 6);
    assert!(scarce.residual > 1e-9 && scarce.residual < 0.1, "{}", scarce.residual);
    let finished = within(full.iterations - 1);
    assert!(finished.fell_back && finished.converged);
    reads(finished.incoming(0, 0), full.incoming(0, 0), 9);
}

/// DeathStarBench hotelReservation; the capacities are fitted to the paper's endpoints.
fn hotel(low: f64, limits: [u32; 2]) -> Network {
    let [frontend, search, recommendation, user] = [0, 1, 2, 3];
    let [geo, rate, reservation, profile] = [4, 5, 6, 7];
    let edges = [
        all(frontend, search, 0.6),
        all(frontend, recommendation, 0.39),
        all(frontend, user, 0.01),
        all(search, geo, 1.0),
        all(geo, rate, 1.0),
        all(rate, reservation, 1.0),
        all(reservation, profile, 1.0),
        all(recommendation, profile, 1.0),
    ];
    let mut nodes = vec![Node::Unlimited; 8];
    for (node, capacity) in [
        (search, 93.6),
        (geo, 65.8),
        (recommendation, 71.2),
        (rate, 145.4),
        (reservation, 135.6),
        (profile, 219.5),
    ] {
        nodes[node] = fluid(capacity);
    }
    let mut entry = vec![0.0; 16];
    (entry[0], entry[1]) = (50.0, low);
    let routing = Routing::try_new(8, 2, &edges).unwrap();
    Network::try_new(routing, nodes, entry, limits.repeat(8)).unwrap()
}

#[test]
fn hotel_reservation_gives_the_published_values() {
    let options = Options::default();
    for (low, limits, rejected, calls) in [
        (250.0, [5, 5], [0.533, 0.533], 6.45),
        (250.0, [5, 1], [0.161, 0.608], 3.40),
        (50.0, [5, 5], [0.0, 0.0], 3.79),
        (50.0, [5, 1], [0.0, 0.0], 3.79),
    ] {
        let network = hotel(low, limits);
        let found = network.solve(&options);
        assert_eq!((found.iterations, found.uniqueness), (0, Uniqueness::NoLoop));
        for (class, rejected) in rejected.into_iter().enumerate() {
            reads(1.0 - network.completed(&found, class, &options).unwrap(), rejected, 3);
        }
        let work = network.work(&found, &options, |node| node != 0).unwrap();
        reads(work.per_request, calls, 2);
        reads(work.floor, 3.79, 2);
    }
}

#[test]
fn a_known_path_is_the_product_of_its_hops() {
    let options = Options::default();
    let network = hotel(250.0, [5, 1]);
    let found = network.solve(&options);
    // Weighted by how often each path is taken, the known paths give the unknown one.
    let paths: [(f64, &[usize]); 3] =
        [(0.6, &[0, 1, 4, 5, 6, 7]), (0.39, &[0, 2, 7]), (0.01, &[0, 3])];
    for class in 0..2 {
        let known: f64 = paths
            .iter()
            .map(|(share, path)| share * network.path_completion(&found, class, path))
            .sum();
        assert!((known - network.completed(&found, class, &options).unwrap()).abs() < 1e-12);
    }
}

fn ring(shares: [f64; 2]) -> Result<Network, NetworkError> {
    let edges = [all(0, 1, shares[0]), all(1, 0, shares[1])];
    let routing = Routing::try_new(2, 1, &edges)?;
    Network::try_new(routing, vec![fluid(50.0); 2], vec![10.0, 0.0], vec![2, 2])
}

#[test]
fn a_loop_must_lose_something() {
    // 4 × 0.2: more than one call each time, but fewer come back.
    let found = ring([4.0, 0.2]).unwrap().floor(&Options::default());
    reads(found.incoming(0, 0), 50.0, 9);
    reads(found.incoming(1, 0), 200.0, 9);
    let error = ring([4.0, 0.3]).unwrap_err();
    let NetworkError::NotSolvable { class: 0, radius, .. } = error else { panic!("{error}") };
    assert!(radius > 1.0 && radius <= 4.0, "{radius}");
    assert!(error.to_string().contains("lower a share on the loop"));
    // Rows that add up to 1 lose nothing, and neither does 4 × 0.25.
    for shares in [[1.0, 1.0], [4.0, 0.25]] {
        let network = ring(shares).unwrap();
        let [row] = network.lowered[..] else { panic!("{:?}", network.lowered) };
        assert_eq!((row.class, row.epsilon), (0, 1e-9));
        let options = Options { rounds: 1000, ..Options::default() };
        assert_eq!(network.solve(&options).lowered.len(), 1);
    }
    assert!(ring([1.0, 0.999]).unwrap().lowered.is_empty());
}

#[test]
fn a_lossless_loop_of_rejecting_services_still_settles() {
    // What it cannot do it rejects, and 10 per second come in: s̄³ of what arrives.
    let found = ring([1.0, 1.0]).unwrap().solve(&Options::default());
    assert!(found.converged, "{found:?}");
    let lost: f64 = (0..2).map(|i| found.incoming(i, 0) - found.outgoing(i, 0)).sum();
    assert!((lost - 10.0).abs() < 1e-6, "{lost}");
}

#[test]
fn a_loop_of_one_class_only_is_found_beside_the_routes_of_another() {
    let edge = |from, to, class, share| Edge { from, to, class: Some(class), share };
    let edges = [edge(0, 1, 0, 1.0), edge(1, 0, 1, 1.0), edge(1, 1, 1, 1.5)];
    let routing = Routing::try_new(2, 2, &edges).unwrap();
    let error = Network::try_new(routing, vec![fluid(1.0); 2], vec![1.0; 4], vec![0; 4]);
    let expected = NetworkError::NotSolvable { class: 1, node: 1, radius: 1.5 };
    assert_eq!(error.unwrap_err(), expected);
}

#[test]
fn uniqueness_names_the_condition_that_holds() {
    let with = |classes: usize, back: f64, extra: Option<Edge>| {
        let mut edges = vec![all(0, 1, 0.4), all(1, 0, back)];
        edges.extend(extra);
        let routing = Routing::try_new(2, classes, &edges).unwrap();
        let cells = 2 * classes;
        Network::try_new(routing, vec![fluid(5.0); 2], vec![4.0; cells], vec![2; cells])
            .unwrap()
            .solve(&Options::default())
            .uniqueness
    };
    let apart = Some(Edge { from: 0, to: 1, class: Some(0), share: 0.1 });
    assert_eq!(with(1, 0.9, None), Uniqueness::SharedRouting);
    assert_eq!(with(2, 0.9, None), Uniqueness::SharedRouting);
    assert_eq!(with(2, 1.1, apart), Uniqueness::NotGuaranteed);
    assert_eq!(with(2, 0.9, apart), Uniqueness::SmallColumns);
    assert_eq!(with(3, 0.45, None), Uniqueness::SmallColumns);
    assert_eq!(with(3, 0.5, None), Uniqueness::NotGuaranteed);
    assert_eq!(with(2, 0.0, apart), Uniqueness::NoLoop);
}

/// Class 0 goes from service 0 to service 1 and stays there for three visits, class 1 the other way
/// round; each retries twelve times where it stays, and never where it enters. If service 0 is
/// full, class 0 is lost at its door and leaves room at service 1 for class 1, which fills
/// service 0. By symmetry there is the same with the services changed over. No service passes on
/// more than 0.7 of a request; but 1.36 come to each for one that is passed on.
#[test]
fn small_rows_do_not_make_a_solution_the_only_one() {
    let edge = |from, to, class, share| Edge { from, to, class: Some(class), share };
    let edges = [edge(0, 1, 0, 0.7), edge(1, 1, 0, 0.66), edge(1, 0, 1, 0.7), edge(0, 0, 1, 0.66)];
    let routing = Routing::try_new(2, 2, &edges).unwrap();
    assert!((0..2).all(|i| (0..2).all(|p| routing.row_sum(i, p) <= 0.7)));
    let entry = vec![60.0, 0.0, 0.0, 60.0];
    let network = Network::try_new(routing, vec![fluid(100.0); 2], entry, vec![0, 12, 12, 0]);
    let network = network.unwrap();
    let options = Options::default();
    let found = network.solve(&options);
    let [a0, b0, a1, b1] = found.rates() else { panic!("{found:?}") };
    let other = network.solve_from(&[*b1, *a1, *b0, *a0], &options).unwrap();
    for (solution, full) in [(&found, 0), (&other, 1)] {
        assert!(solution.converged && solution.residual < 1e-11, "{solution:?}");
        assert_eq!(solution.uniqueness, Uniqueness::NotGuaranteed);
        assert_eq!(solution.rejection(1 - full).probability(), 0.0);
        let s = solution.rejection(full).probability();
        // What it serves is its capacity: 60 (1 - s) of one class, and of the other, which comes
        // 0.7 × 60 from the door and 0.66 of what it served, o = (42 + 0.66 o) (1 - s¹³).
        let u = 1.0 - s.powi(13);
        let o = 42.0 * u / (1.0 - 0.66 * u);
        assert!((60.0 * (1.0 - s) + o - 100.0).abs() < 1e-6, "{s}");
    }
}

#[test]
fn starts_from_elsewhere_end_at_the_same_solution() {
    let network = cyclic();
    let mut state = 7_u64;
    let mut chance = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f64::from(u32::try_from(state >> 32).unwrap()) / f64::from(u32::MAX)
    };
    let search = network.search(50, &Options::default(), &mut chance).unwrap();
    assert_eq!(search.unsettled, 0);
    assert!(!search.found_another(1e-10), "{}", search.distance);
    assert!(search.distance > 0.0, "every start took the very same way");
}

#[test]
fn mistakes_are_named() {
    let routing = |edges: &[Edge]| Routing::try_new(2, 1, edges);
    assert!(matches!(
        routing(&[all(0, 1, 1.0), all(0, 2, 1.0)]),
        Err(NetworkError::UnknownEnd { edge: 1, nodes: 2, classes: 1 })
    ));
    for bad in [f64::NAN, -0.1, f64::INFINITY] {
        assert!(matches!(routing(&[all(0, 1, bad)]), Err(NetworkError::BadShare { edge: 0, .. })));
        let made = Network::try_new(
            routing(&[]).unwrap(),
            vec![Node::Unlimited; 2],
            vec![1.0, bad],
            vec![0; 2],
        );
        assert!(matches!(made, Err(NetworkError::BadRate { node: 1, class: 0, .. })));
    }
    let short =
        Network::try_new(routing(&[]).unwrap(), vec![Node::Unlimited], vec![1.0; 2], vec![0; 2]);
    let expected = NetworkError::WrongLength { what: "services", found: 1, expected: 2 };
    assert_eq!(short.unwrap_err(), expected);
    let fan = ring([4.0, 0.2]).unwrap();
    let found = fan.solve(&Options::default());
    assert!(matches!(
        fan.completion(&found, &Options::default()),
        Err(NetworkError::SeveralSteps { node: 0, class: 0, .. })
    ));
}

#[test]
fn a_chain_of_queues_is_solved_in_one_pass() {
    let routing = Routing::try_new(3, 1, &[all(2, 1, 1.0), all(1, 0, 1.0)]).unwrap();
    let queue = Node::Finite(Finite::single(1.0, 3).unwrap());
    let network =
        Network::try_new(routing, vec![queue; 3], vec![0.0, 0.0, 1.0], vec![0; 3]).unwrap();
    let found = network.solve(&Options::default());
    // M/M/1/3 at ρ = 1 blocks a quarter; the next, at 3/4: 27/175 of that.
    reads(found.rejection(2).probability(), 0.25, 12);
    reads(found.rejection(1).probability(), 27.0 / 175.0, 12);
    assert_eq!(found.iterations, 0);
}
