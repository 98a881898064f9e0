//! Which layer each node is in, and in which order the nodes of a layer stand.
//!
//! After Sugiyama, Tagawa and Toda: turn the edges that close a cycle around, put each node
//! one layer behind the last of its callers, let long edges pass through the layers between,
//! and order each layer by the mean place of its neighbours until crossings stop going away.

/// A node of the layered graph: one of the drawing, or a place an edge passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Node(usize),
    /// The edge that passes, by its place in the list.
    Pass(usize),
}

/// Nodes in layers.
#[derive(Debug)]
pub(crate) struct Layers {
    /// From left to right, each from top to bottom; indices into `items`.
    pub(crate) columns: Vec<Vec<usize>>,
    pub(crate) items: Vec<Item>,
    /// Neighbours in the next layer, by item.
    pub(crate) right: Vec<Vec<usize>>,
    /// Neighbours in the layer before, by item.
    pub(crate) left: Vec<Vec<usize>>,
    /// For each edge the items it runs through, from caller to callee; empty for an edge
    /// that goes back or to itself.
    pub(crate) paths: Vec<Vec<usize>>,
}

impl Layers {
    pub(crate) fn new(nodes: usize, edges: &[(usize, usize)]) -> Self {
        let back = closing_edges(nodes, edges);
        let forward: Vec<(usize, usize)> =
            edges.iter().zip(&back).filter(|(_, back)| !**back).map(|(e, _)| *e).collect();
        let layer = longest_paths(nodes, &forward);

        let depth = layer.iter().max().map_or(0, |deepest| deepest + 1);
        let mut layers = Self {
            columns: vec![Vec::new(); depth],
            items: Vec::new(),
            right: Vec::new(),
            left: Vec::new(),
            paths: vec![Vec::new(); edges.len()],
        };
        for (node, at) in layer.iter().enumerate() {
            layers.add(Item::Node(node), *at);
        }
        for (index, ((from, to), back)) in edges.iter().zip(&back).enumerate() {
            let (Some(start), Some(end)) = (layer.get(*from), layer.get(*to)) else {
                continue;
            };
            if *back || start >= end {
                continue;
            }
            let mut path = vec![*from];
            for at in start + 1..*end {
                path.push(layers.add(Item::Pass(index), at));
            }
            path.push(*to);
            layers.join(&path);
            if let Some(slot) = layers.paths.get_mut(index) {
                *slot = path;
            }
        }
        layers.order();
        layers
    }

    fn add(&mut self, item: Item, layer: usize) -> usize {
        let id = self.items.len();
        self.items.push(item);
        self.right.push(Vec::new());
        self.left.push(Vec::new());
        if let Some(column) = self.columns.get_mut(layer) {
            column.push(id);
        }
        id
    }

    fn join(&mut self, path: &[usize]) {
        for pair in path.windows(2) {
            let [a, b] = pair else { continue };
            if let Some(right) = self.right.get_mut(*a) {
                right.push(*b);
            }
            if let Some(left) = self.left.get_mut(*b) {
                left.push(*a);
            }
        }
    }

    fn order(&mut self) {
        let mut best = (self.crossings(), self.columns.clone());
        for sweep in 0..SWEEPS {
            let depth = self.columns.len();
            let forward = sweep % 2 == 0;
            for step in 1..depth {
                let at = if forward { step } else { depth - 1 - step };
                let beside = if forward { at - 1 } else { at + 1 };
                let neighbours = if forward { &self.left } else { &self.right };
                self.sort(at, beside, &neighbours.clone());
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.columns.clone());
            }
            if best.0 == 0 {
                break;
            }
        }
        self.columns = best.1;
    }

    /// Sorts a layer by the mean place of its neighbours in the layer beside it; without
    /// neighbours a node keeps its place.
    fn sort(&mut self, at: usize, beside: usize, neighbours: &[Vec<usize>]) {
        let places = self.places(beside);
        let Some(column) = self.columns.get_mut(at) else {
            return;
        };
        let mut keyed: Vec<(f64, usize)> = column
            .iter()
            .zip(0_u32..)
            .map(|(id, place)| {
                let own = f64::from(place);
                let beside = neighbours.get(*id).map(Vec::as_slice).unwrap_or_default();
                (
                    mean(beside.iter().filter_map(|n| places.get(*n).copied().flatten()))
                        .unwrap_or(own),
                    *id,
                )
            })
            .collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        *column = keyed.into_iter().map(|(_, id)| id).collect();
    }

    /// Where each item of a layer stands, by item.
    fn places(&self, layer: usize) -> Vec<Option<f64>> {
        let mut places = vec![None; self.items.len()];
        for (id, place) in self.columns.get(layer).into_iter().flatten().zip(0_u32..) {
            if let Some(slot) = places.get_mut(*id) {
                *slot = Some(f64::from(place));
            }
        }
        places
    }

    fn crossings(&self) -> usize {
        let mut total = 0;
        for layer in 0..self.columns.len().saturating_sub(1) {
            let (here, next) = (self.places(layer), self.places(layer + 1));
            let mut lines: Vec<(f64, f64)> = Vec::new();
            for id in self.columns.get(layer).into_iter().flatten() {
                let from = here.get(*id).copied().flatten();
                for to in self.right.get(*id).into_iter().flatten() {
                    lines.extend(from.zip(next.get(*to).copied().flatten()));
                }
            }
            for (i, a) in lines.iter().enumerate() {
                total +=
                    lines.iter().skip(i + 1).filter(|b| (a.0 - b.0) * (a.1 - b.1) < 0.0).count();
            }
        }
        total
    }
}

/// Mean of some numbers, if there are any.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    (n > 0.0).then(|| sum / n)
}

/// For each edge, whether it leads back to a node on the way to it (or to itself). Starts at
/// the nodes that nobody calls. Without recursion: a chain may be long.
fn closing_edges(nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        OnTheWay,
        Done,
    }
    let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut called = vec![false; nodes];
    for (index, (from, to)) in edges.iter().enumerate() {
        if let Some(out) = outgoing.get_mut(*from) {
            out.push(index);
        }
        if from != to
            && let Some(slot) = called.get_mut(*to)
        {
            *slot = true;
        }
    }
    let mut back = vec![false; edges.len()];
    let mut seen = vec![Seen::No; nodes];
    let (roots, others): (Vec<usize>, Vec<usize>) =
        (0..nodes).partition(|n| called.get(*n) == Some(&false));
    for start in roots.into_iter().chain(others) {
        if seen.get(start) != Some(&Seen::No) {
            continue;
        }
        let mut stack = vec![(start, 0_usize)];
        set(&mut seen, start, Seen::OnTheWay);
        while let Some((node, next)) = stack.pop() {
            let Some(index) = outgoing.get(node).and_then(|out| out.get(next)).copied() else {
                set(&mut seen, node, Seen::Done);
                continue;
            };
            stack.push((node, next + 1));
            let Some((_, to)) = edges.get(index) else {
                continue;
            };
            match seen.get(*to) {
                Some(Seen::OnTheWay) => set(&mut back, index, true),
                Some(Seen::No) => {
                    set(&mut seen, *to, Seen::OnTheWay);
                    stack.push((*to, 0));
                }
                _ => {}
            }
        }
    }
    back
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

/// Length of the longest path to each node; the edges have no cycle.
fn longest_paths(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0_usize; nodes];
    for _ in 0..nodes {
        let mut changed = false;
        for (from, to) in edges {
            let behind = layer.get(*from).map_or(0, |l| l + 1);
            if layer.get(*to).is_some_and(|l| *l < behind) {
                set(&mut layer, *to, behind);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    layer
}

const SWEEPS: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(layers: &Layers) -> Vec<Vec<Item>> {
        layers.columns.iter().map(|c| c.iter().map(|id| layers.items[*id]).collect()).collect()
    }

    #[test]
    fn a_chain_is_one_node_per_layer() {
        let layers = Layers::new(3, &[(0, 1), (1, 2)]);
        assert_eq!(
            names(&layers),
            [[Item::Node(0)], [Item::Node(1)], [Item::Node(2)]].map(|c| c.to_vec())
        );
    }

    #[test]
    fn a_long_edge_passes_through_the_layer_between() {
        let layers = Layers::new(3, &[(0, 1), (1, 2), (0, 2)]);
        assert!(names(&layers)[1].contains(&Item::Pass(2)));
        assert_eq!(layers.paths[2].len(), 3);
    }

    #[test]
    fn cycles_and_self_calls_go_back() {
        let layers = Layers::new(3, &[(0, 1), (1, 2), (2, 1), (1, 1)]);
        assert_eq!(layers.columns.len(), 3);
        assert!(layers.paths[2].is_empty() && layers.paths[3].is_empty());
        let only_cycle = Layers::new(2, &[(0, 1), (1, 0)]);
        assert_eq!(only_cycle.columns.len(), 2);
    }

    #[test]
    fn a_crossing_that_can_be_undone_is() {
        let layers = Layers::new(4, &[(0, 3), (1, 2)]);
        assert_eq!(layers.crossings(), 0);
    }

    #[test]
    fn nothing_at_all() {
        assert!(Layers::new(0, &[]).columns.is_empty());
        assert_eq!(Layers::new(1, &[]).columns.len(), 1);
    }
}
