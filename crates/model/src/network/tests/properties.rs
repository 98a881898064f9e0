//! What must hold for any network.

use proptest::prelude::*;

use super::super::*;
use super::fluid;
use crate::node::{Finite, Mixed};

const NODES: usize = 6;

fn node() -> impl Strategy<Value = Node> {
    (1.0..100.0_f64, 0..4_u32, 1..30_u64).prop_map(|(capacity, kind, places)| match kind {
        0 => Node::Unlimited,
        1 => Node::Finite(queue(capacity, places)),
        2 => Node::Mixed(Mixed::try_new(capacity, 1, places).unwrap()),
        _ => fluid(capacity),
    })
}

/// One worker or several.
fn queue(capacity: f64, places: u64) -> Finite {
    let workers = u32::try_from(1 + places / 3 % 5).unwrap();
    Finite::try_new(capacity, workers, places.max(workers.into())).unwrap()
}

/// Shares that leave at least a tenth of each row; with `back`, also to earlier services.
fn edges(back: bool) -> impl Strategy<Value = Vec<Edge>> {
    prop::collection::vec((0..NODES, 0..NODES, 0..3_usize, 0.0..0.9_f64), 0..14).prop_map(
        move |drawn| {
            let mut left = [[0.9_f64; 2]; NODES];
            let mut edges = Vec::new();
            for (a, b, class, share) in drawn {
                let (from, to) = if back { (a, b) } else { (a.min(b), a.max(b)) };
                if !back && from == to {
                    continue;
                }
                let class = (class < 2).then_some(class);
                let free = class.map_or(left[from][0].min(left[from][1]), |p| left[from][p]);
                let share = share.min(free);
                for (p, left) in left[from].iter_mut().enumerate() {
                    if class.is_none_or(|class| class == p) {
                        *left -= share;
                    }
                }
                edges.push(Edge { from, to, class, share });
            }
            edges
        },
    )
}

fn parts() -> impl Strategy<Value = (Vec<Node>, Vec<f64>, Vec<u32>)> {
    (
        prop::collection::vec(node(), NODES),
        prop::collection::vec(prop_oneof![Just(0.0), 0.0..80.0_f64], NODES * 2),
        prop::collection::vec(0..7_u32, NODES * 2),
    )
}

fn make(edges: &[Edge], (nodes, entry, limits): (Vec<Node>, Vec<f64>, Vec<u32>)) -> Network {
    Network::try_new(Routing::try_new(NODES, 2, edges).unwrap(), nodes, entry, limits).unwrap()
}

fn distance(a: &Solution, b: &Solution) -> f64 {
    a.rates().iter().zip(b.rates()).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

proptest! {
    /// What enters either leaves or is rejected.
    #[test]
    fn nothing_is_lost(edges in edges(true), parts in parts()) {
        let network = make(&edges, parts);
        let options = Options::default();
        let found = network.solve(&options);
        prop_assert!(found.converged);
        prop_assert!(found.residual < 1e-11, "{}", found.residual);
        for class in 0..2 {
            let (mut enters, mut leaves, mut rejected) = (0.0, 0.0, 0.0);
            for i in 0..NODES {
                let (inward, out) = (found.incoming(i, class), found.outgoing(i, class));
                enters += network.entry(i, class);
                leaves += out * (1.0 - network.routing().row_sum(i, class));
                rejected += inward - out;
            }
            prop_assert!((enters - leaves - rejected).abs() < 1e-8 * enters.max(1.0));
            // Completion counts the same requests from the other end.
            let completed = network.completed(&found, class, &options).unwrap() * enters;
            prop_assert!((completed - leaves).abs() < 1e-8 * enters.max(1.0));
        }
    }

    /// The two ways to iterate agree, and any start leads to the same solution.
    #[test]
    fn methods_and_starts_agree(
        edges in edges(true),
        parts in parts(),
        start in prop::collection::vec(0.0..500.0_f64, NODES * 2),
    ) {
        let network = make(&edges, parts);
        let options = Options::default();
        let found = network.solve(&options);
        let plain = network.solve(&Options { method: Method::Plain, ..options });
        let largest = plain.rates().iter().fold(0.0_f64, |most, rate| most.max(*rate));
        prop_assert!(distance(&found, &plain) <= 1e-9 * largest);
        prop_assert!(distance(&found, &network.solve_from(&start, &options).unwrap()) < 1e-8);
    }

    /// One pass solves a network without loops: iterating from there moves nothing, and the names
    /// of the services do not matter.
    #[test]
    fn one_pass_is_enough_in_any_order(
        edges in edges(false),
        parts in parts(),
        names in Just((0..NODES).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let network = make(&edges, parts.clone());
        let found = network.solve(&Options::default());
        prop_assert_eq!((found.iterations, found.uniqueness), (0, Uniqueness::NoLoop));
        // The equations, written out once more.
        for i in 0..NODES {
            for p in 0..2 {
                let called: f64 = edges
                    .iter()
                    .filter(|e| e.to == i && e.class.is_none_or(|class| class == p))
                    .map(|e| found.outgoing(e.from, p) * e.share)
                    .sum();
                let due = network.entry(i, p) + called;
                prop_assert!((due - found.incoming(i, p)).abs() < 1e-10);
            }
        }
        let renamed: Vec<_> = edges
            .iter()
            .rev()
            .map(|e| Edge { from: names[e.from], to: names[e.to], ..*e })
            .collect();
        let (mut nodes, mut entry, mut limits) = parts.clone();
        for (i, &name) in names.iter().enumerate() {
            nodes[name] = parts.0[i];
            for p in 0..2 {
                entry[name * 2 + p] = parts.1[i * 2 + p];
                limits[name * 2 + p] = parts.2[i * 2 + p];
            }
        }
        let other = make(&renamed, (nodes, entry, limits)).solve(&Options::default());
        for (i, &name) in names.iter().enumerate() {
            for p in 0..2 {
                let off = found.incoming(i, p) - other.incoming(name, p);
                prop_assert!(off.abs() < 1e-10, "{off}");
            }
        }
    }

    /// A higher limit of a class, everywhere or at one service, never costs it completions, at
    /// any service or in all. Not so for the mixed model, whose s̄ depends on the shares of classes.
    #[test]
    fn a_class_gains_by_its_own_limit(
        edges in edges(true),
        parts in parts(),
        more in 1..5_u32,
        at in prop::option::of(0..NODES),
    ) {
        let mut parts = parts;
        for node in &mut parts.0 {
            if let Node::Mixed(mixed) = *node {
                *node = fluid(mixed.capacity());
            }
        }
        let mut raised = parts.2.clone();
        for (node, limits) in raised.chunks_mut(2).enumerate() {
            if at.is_none_or(|at| at == node) {
                limits[0] += more;
            }
        }
        let options = Options::default();
        let before = make(&edges, parts);
        let after = before.clone().with_limits(raised).unwrap();
        let (was, is) = (before.solve(&options), after.solve(&options));
        for node in 0..NODES {
            prop_assert!(is.outgoing(node, 0) >= was.outgoing(node, 0) - 1e-8, "at {}", node);
        }
        prop_assert!(
            after.completed(&is, 0, &options).unwrap()
                >= before.completed(&was, 0, &options).unwrap() - 1e-8
        );
    }
}
