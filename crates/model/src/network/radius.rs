//! Whether the loops of a network lose requests: the spectral radius of the routing.

use super::dag::{Order, is_loop};
use super::routing::Routing;
use super::{Lowered, NetworkError};

/// What a loop without any loss loses instead, so that its equations have a solution.
const EPSILON: f64 = 1e-9;
/// A radius this close to 1 is 1: sums of shares are no more exact.
const CLOSE: f64 = 1e-12;
/// Work of the power iteration on one loop, in services visited. What is undecided after that is
/// so close to 1 that only the iteration of the network can tell; it says when it does not settle.
const WORK: usize = 100_000_000;

/// Checks the loops of each class; lowers a row of those at exactly 1.
pub(super) fn check(routing: &mut Routing, order: &Order) -> Result<Vec<Lowered>, NetworkError> {
    let mut lowered = Vec::new();
    if !order.parts().any(|part| is_loop(routing, &order.nodes[part])) {
        return Ok(lowered);
    }
    let shared = routing.is_shared();
    for class in 0..routing.classes() {
        // What holds for the first class then holds for all.
        if shared && class > 0 {
            for n in 0..lowered.len() {
                let Lowered { node, class: first, epsilon } = lowered[n];
                if first == 0 {
                    lowered.push(Lowered { node, class, epsilon });
                }
            }
            continue;
        }
        if (0..routing.nodes()).all(|node| routing.row_sum(node, class) < 1.0 - CLOSE) {
            continue;
        }
        let taken = Order::within(routing, &order.nodes, |_, e| routing.shares(e)[class] > 0.0);
        let mut part_of = vec![0; routing.nodes()];
        for (n, part) in taken.parts().enumerate() {
            for &node in &taken.nodes[part] {
                part_of[node as usize] = n;
            }
        }
        let mut x = vec![1.0; routing.nodes()];
        for part in taken.parts() {
            let part = &taken.nodes[part];
            if !is_loop(routing, part) {
                continue;
            }
            let radius = of_part(routing, class, part, &part_of, &mut x);
            let node = part[0] as usize;
            if radius > 1.0 + CLOSE {
                return Err(NetworkError::NotSolvable { class, node, radius });
            }
            if radius >= 1.0 - CLOSE {
                lowered.push(Lowered { node, class, epsilon: EPSILON });
            }
        }
    }
    for row in &lowered {
        routing.lower(row.node, row.class, row.epsilon);
    }
    Ok(lowered)
}

/// The spectral radius of one irreducible part, as exactly as it takes to compare it with 1.
///
/// By the bounds of Collatz and Wielandt: for any positive x the radius lies between the least
/// and the largest (Fx)_i / x_i. Iterated with F + I, which has no period.
///
/// `x` is 1 everywhere, and has a value for each service of the network.
fn of_part(routing: &Routing, class: usize, part: &[u32], part_of: &[usize], x: &mut [f64]) -> f64 {
    let here = part_of[part[0] as usize];
    let mut next = vec![0.0; part.len()];
    let mut low = 0.0;
    for step in 0..(WORK / part.len()).max(10) {
        let mut high = 0.0_f64;
        low = f64::INFINITY;
        for (next, &node) in next.iter_mut().zip(part) {
            let inside = routing.callees(node as usize).filter(|(to, _)| part_of[*to] == here);
            let sum: f64 = inside.map(|(to, share)| share[class] * x[to]).sum();
            let ratio = sum / x[node as usize];
            low = ratio.min(low);
            high = ratio.max(high);
            *next = sum + x[node as usize];
        }
        if high < 1.0 - CLOSE || low > 1.0 + CLOSE || high - low <= CLOSE {
            return 0.5 * (low + high);
        }
        // Rows that add up to 1 at most, and one to less, are below 1 whatever the value.
        if step == 0 && high <= 1.0 + CLOSE && low < 1.0 - CLOSE {
            return low;
        }
        let most = next.iter().fold(0.0_f64, |m, v| m.max(*v));
        for (next, &node) in next.iter().zip(part) {
            x[node as usize] = next / most;
        }
    }
    low.min(1.0 - 2.0 * CLOSE)
}
