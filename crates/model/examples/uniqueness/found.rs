//! A network with two solutions, as text with every digit: a result to keep.

use std::fmt::Write as _;

use damper_model::network::{Network, Options, Uniqueness};

use crate::generate::{Drawn, GENERATOR};
use crate::hunt::{Found, STARTS};

/// Everything needed to solve it by other means, and how to make it again.
pub(crate) fn text(seed: u64, drawn: &Drawn, found: &Found) -> String {
    let network = &drawn.network;
    let (nodes, classes) = (network.routing().nodes(), network.routing().classes());
    let mut text = format!(
        "# Two solutions of one network, {:e} apart.\n\
         # Generator {GENERATOR}, seed {seed}, case {} (network {}, start {}), shape {:?}.\n\
         # For one request of a class a service passes on {} at most. If each passes on one, {} at\n\
         # most come to another; below 1/(classes-1) there could be no other solution.\n\
         classes {classes}\nservices {nodes}\n",
        found.distance,
        found.case,
        found.case / STARTS,
        found.case % STARTS,
        drawn.shape,
        drawn.largest_row(),
        drawn.largest_column(),
    );
    if network.solve(&Options::default()).uniqueness != Uniqueness::NotGuaranteed {
        text.push_str("# It has a proof of uniqueness: look for a fault in the solver first.\n");
    }
    for (node, model) in network.nodes().iter().enumerate() {
        let _ = writeln!(text, "service {node}: {model:?}");
    }
    cells(&mut text, network, "from outside", |node, class| network.entry(node, class));
    cells(&mut text, network, "limit", |node, class| f64::from(network.limit(node, class)));
    for from in 0..nodes {
        for (to, shares) in network.routing().callees(from) {
            let _ = writeln!(text, "share {from} -> {to} by class: {shares:?}");
        }
    }
    cells(&mut text, network, "first solution", |node, class| found.first[node * classes + class]);
    cells(&mut text, network, "other solution", |node, class| found.other[node * classes + class]);
    text
}

fn cells(text: &mut String, network: &Network, what: &str, of: impl Fn(usize, usize) -> f64) {
    for node in 0..network.routing().nodes() {
        let row: Vec<f64> = (0..network.routing().classes()).map(|p| of(node, p)).collect();
        let _ = writeln!(text, "{what}, service {node} by class: {row:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hunt;

    #[test]
    fn nothing_is_lost_of_a_counterexample() {
        let case = 3 * STARTS + 17;
        let drawn = hunt::drawn(9, case).unwrap();
        let cells = drawn.floor.len();
        let first: Box<[f64]> = vec![0.1 + 0.2; cells].into();
        let found = Found { case, distance: 0.25, first, other: drawn.floor.clone() };
        let text = text(9, &drawn, &found);
        assert!(text.contains("seed 9, case 317 (network 3, start 17)"), "{text}");
        assert!(text.contains("0.30000000000000004"), "{text}");
        for rate in &drawn.floor {
            assert!(text.contains(&format!("{rate:?}")), "{rate}");
        }
        let routing = drawn.network.routing();
        let calls: usize = (0..routing.nodes()).map(|node| routing.callees(node).count()).sum();
        assert_eq!(text.matches(" -> ").count(), calls);
        for what in ["service ", "from outside", "limit", "first solution", "other solution"] {
            let lines = text.lines().filter(|line| line.starts_with(what)).count();
            assert_eq!(lines, routing.nodes(), "{what}");
        }
    }
}
