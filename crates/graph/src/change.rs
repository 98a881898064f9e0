//! The fewest changes that bring every way under a limit.

use crate::bound;
use crate::graph::Graph;
use crate::way::{Ways, steps};

/// One change: a layer makes fewer attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// A place in [`Graph::layers`].
    pub layer: usize,
    /// Attempts in total from now on.
    pub attempts: u32,
}

/// Layers beyond which sets are not compared one by one.
const MOST_LAYERS: usize = 24;
/// Changes in a set that is looked for among all sets.
const MOST_CHANGES: usize = 3;

/// The fewest layers that have to make fewer attempts so that no way multiplies a request by more
/// than `most`, with as many attempts left as that allows. Empty: nothing has to change. `None`:
/// no change of layers is enough, which cannot be if `most` is at least 1.
///
/// Sets of up to three layers are all compared; beyond that, or with more than 24 layers, the one
/// that helps most is taken again and again.
#[must_use]
pub fn smallest(graph: &Graph, ways: &Ways, most: f64) -> Option<Vec<Change>> {
    let mut graph = graph.clone();
    let worst: Vec<Vec<usize>> = over(&graph, ways, most);
    if worst.is_empty() {
        return Some(Vec::new());
    }
    let mut candidates: Vec<usize> = worst
        .iter()
        .flatten()
        .filter_map(|at| graph.edges.get(*at))
        .flat_map(|edge| edge.layers.iter().copied())
        .filter(|layer| graph.layers.get(*layer).is_some_and(|one| one.high != Some(1)))
        .collect();
    // The innermost first, so that of equal sets the one wins that keeps the retries near the user.
    candidates.sort_unstable();
    candidates.dedup();
    candidates.reverse();
    let set = all_sets(&mut graph, &worst, &candidates, most)
        .or_else(|| one_by_one(&mut graph, &worst, &candidates, most))?;
    Some(raise(&mut graph, &worst, &set, most))
}

/// The ways that multiply by more than a limit, as their edges. Only those that no other one of
/// them goes on from, as the longer way multiplies at least as much.
fn over(graph: &Graph, ways: &Ways, most: f64) -> Vec<Vec<usize>> {
    let over = |edges: &[usize]| worst(graph, edges) > most * (1.0 + 1e-9);
    let mut all: Vec<_> =
        ways.all.iter().map(|way| way.edges.clone()).filter(|edges| over(edges)).collect();
    all.sort();
    all.dedup();
    let longer: Vec<_> = all.iter().skip(1).cloned().map(Some).chain([None]).collect();
    let keep = |(edges, next): &(Vec<usize>, Option<Vec<usize>>)| {
        next.as_ref().is_none_or(|next| !next.starts_with(edges))
    };
    all.into_iter().zip(longer).filter(keep).map(|(edges, _)| edges).collect()
}

fn worst(graph: &Graph, edges: &[usize]) -> f64 {
    bound::amplification(&steps(graph, edges)).worst.high
}

fn fits(graph: &Graph, ways: &[Vec<usize>], most: f64) -> bool {
    ways.iter().all(|edges| worst(graph, edges) <= most * (1.0 + 1e-9))
}

/// With these layers at one attempt.
fn without<T>(graph: &mut Graph, set: &[usize], then: impl FnOnce(&mut Graph) -> T) -> T {
    let before: Vec<_> = set.iter().map(|at| graph.layers.get(*at).cloned()).collect();
    set.iter().for_each(|at| limit(graph, *at, 1));
    let result = then(graph);
    for (at, factor) in set.iter().zip(before) {
        if let (Some(place), Some(factor)) = (graph.layers.get_mut(*at), factor) {
            *place = factor;
        }
    }
    result
}

fn limit(graph: &mut Graph, layer: usize, attempts: u32) {
    if let Some(factor) = graph.layers.get_mut(layer) {
        factor.low = factor.low.min(attempts);
        factor.high = Some(factor.high.map_or(attempts, |high| high.min(attempts)));
    }
}

/// The smallest set that is enough; of equal ones that which leaves most attempts over all ways.
fn all_sets(
    graph: &mut Graph,
    ways: &[Vec<usize>],
    candidates: &[usize],
    most: f64,
) -> Option<Vec<usize>> {
    if candidates.len() > MOST_LAYERS {
        return None;
    }
    for size in 1..=MOST_CHANGES.min(candidates.len()) {
        let mut best: Option<(f64, Vec<usize>)> = None;
        for set in sets(candidates, size) {
            let enough = without(graph, &set, |graph| fits(graph, ways, most));
            if !enough {
                continue;
            }
            let kept = kept(graph, ways, &set, most);
            if best.as_ref().is_none_or(|(most, _)| kept > *most + 1e-9) {
                best = Some((kept, set));
            }
        }
        if let Some((_, set)) = best {
            return Some(set);
        }
    }
    None
}

/// What is left of all ways with a set changed no more than it has to be: the more the better.
fn kept(graph: &mut Graph, ways: &[Vec<usize>], set: &[usize], most: f64) -> f64 {
    let changes = raise(graph, ways, set, most);
    without(graph, set, |graph| {
        for change in &changes {
            if let Some(factor) = graph.layers.get_mut(change.layer) {
                (factor.low, factor.high) = (change.attempts, Some(change.attempts));
            }
        }
        ways.iter().map(|edges| worst(graph, edges).ln()).sum()
    })
}

/// All sets of one size, in order.
fn sets(of: &[usize], size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, one) in of.iter().enumerate() {
        for mut rest in sets(of.get(at + 1..).unwrap_or_default(), size - 1) {
            rest.insert(0, *one);
            all.push(rest);
        }
    }
    all
}

fn one_by_one(
    graph: &mut Graph,
    ways: &[Vec<usize>],
    candidates: &[usize],
    most: f64,
) -> Option<Vec<usize>> {
    let mut set: Vec<usize> = Vec::new();
    while !without(graph, &set, |graph| fits(graph, ways, most)) {
        let excess = |graph: &Graph| -> f64 {
            let of = |edges: &Vec<usize>| (worst(graph, edges).min(1e300) / most).ln().max(0.0);
            ways.iter().map(of).sum()
        };
        let rest: Vec<_> = candidates.iter().copied().filter(|one| !set.contains(one)).collect();
        let with = |graph: &mut Graph, one: usize| {
            let set: Vec<_> = set.iter().copied().chain([one]).collect();
            without(graph, &set, |graph| excess(graph))
        };
        let mut best: Option<(f64, usize)> = None;
        for one in rest {
            let left = with(graph, one);
            if best.is_none_or(|(least, _)| left < least) {
                best = Some((left, one));
            }
        }
        set.push(best?.1);
    }
    Some(set)
}

/// Gives a set as many attempts as the limit allows, the outermost layers first: a retry near the
/// user hides the failures of everything below it.
fn raise(graph: &mut Graph, ways: &[Vec<usize>], set: &[usize], most: f64) -> Vec<Change> {
    let before: Vec<_> = set.iter().map(|at| graph.layers.get(*at).cloned()).collect();
    set.iter().for_each(|at| limit(graph, *at, 1));
    let mut changes = Vec::new();
    for (layer, factor) in set.iter().zip(&before).rev() {
        let Some(factor) = factor else { continue };
        let highest = factor.high.unwrap_or(MOST_ATTEMPTS).min(MOST_ATTEMPTS);
        let mut attempts = 1;
        for more in 2..=highest {
            if let Some(place) = graph.layers.get_mut(*layer) {
                (place.low, place.high) = (more.min(factor.low), Some(more));
            }
            if !fits(graph, ways, most) {
                break;
            }
            attempts = more;
        }
        if let Some(place) = graph.layers.get_mut(*layer) {
            (place.low, place.high) = (attempts.min(factor.low), Some(attempts));
        }
        changes.push(Change { layer: *layer, attempts });
    }
    for (at, factor) in set.iter().zip(before) {
        if let (Some(place), Some(factor)) = (graph.layers.get_mut(*at), factor) {
            *place = factor;
        }
    }
    changes.retain(|change| {
        graph.layers.get(change.layer).is_some_and(|factor| factor.high != Some(change.attempts))
    });
    changes
}

/// Attempts that are proposed at most.
const MOST_ATTEMPTS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::attach;
    use crate::factor::tests::factor;
    use damper_config::{Failures, Name};

    /// A chain with these attempts on its calls.
    fn chain(attempts: &[u32]) -> Graph {
        let mut graph = Graph::default();
        let mut last = graph.node(&Name::new("client", None));
        let mut layers = Vec::new();
        for (at, attempts) in attempts.iter().enumerate() {
            let name = Name::new(&format!("s{at}"), None);
            let next = graph.node(&name);
            graph.edge(last, next, Some(1.0), None);
            let mut layer = factor(*attempts, Failures::EVERY);
            layer.callee = Some(name);
            layers.push(layer);
            last = next;
        }
        attach(&mut graph, layers);
        graph
    }

    fn changes(attempts: &[u32], most: f64) -> Vec<(usize, u32)> {
        let graph = chain(attempts);
        let ways = Ways::of(&graph);
        let changes = smallest(&graph, &ways, most).expect("there is always one");
        changes.iter().map(|change| (change.layer, change.attempts)).collect()
    }

    #[test]
    fn as_few_layers_as_possible_make_fewer_attempts() {
        assert_eq!(changes(&[3, 3], 9.0), []);
        assert_eq!(changes(&[3, 3], 6.0), [(1, 2)]);
        assert_eq!(changes(&[3, 3, 3], 9.0), [(2, 1)]);
        assert_eq!(changes(&[3, 3, 3], 3.0).len(), 2);
        // Four of five: more than are compared as sets, and still right.
        assert_eq!(changes(&[3, 3, 3, 3, 3], 3.0).len(), 4);
        assert_eq!(changes(&[2, 10], 4.0), [(1, 2)]);
    }

    #[test]
    fn no_end_is_brought_to_one() {
        let mut graph = chain(&[2, 2]);
        (graph.layers[1].low, graph.layers[1].high) = (u32::MAX, None);
        let ways = Ways::of(&graph);
        assert_eq!(smallest(&graph, &ways, 4.0), Some(vec![Change { layer: 1, attempts: 2 }]));
    }
}
