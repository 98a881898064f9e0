//! From layers to coordinates.

use super::layers::{Item, Layers, mean};

/// A rectangle by its left edge, its middle and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spot {
    pub(crate) x: f64,
    pub(crate) middle: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Spot {
    pub(crate) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(self) -> f64 {
        self.middle + self.height / 2.0
    }

    pub(crate) fn contains(self, (x, y): (f64, f64)) -> bool {
        (self.x..=self.right()).contains(&x) && (y - self.middle).abs() <= self.height / 2.0
    }

    pub(crate) fn covers(self, other: Self) -> bool {
        self.x < other.right()
            && other.x < self.right()
            && (self.middle - other.middle).abs() < f64::midpoint(self.height, other.height)
    }
}

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Placed {
    /// By node.
    pub(crate) nodes: Vec<Spot>,
    /// By edge: the points it runs through, callers' right side to callees' left side. Empty
    /// for an edge that goes back.
    pub(crate) edges: Vec<Vec<(f64, f64)>>,
    pub(crate) width: f64,
    /// Lowest edge of any node.
    pub(crate) height: f64,
}

/// Gives coordinates to layered nodes of the given widths, with room for labels as wide as
/// `label_px` between the layers.
pub(crate) fn place(
    layers: &Layers,
    widths: &[f64],
    edges: &[(usize, usize)],
    label_px: f64,
) -> Placed {
    let height_of = |id: &usize| match layers.items.get(*id) {
        Some(Item::Node(_)) => NODE_HEIGHT,
        _ => PASS_HEIGHT,
    };
    let middles = middles(layers, height_of);
    let gap = label_px.clamp(30.0, 150.0) + GAP;
    let mut spots = vec![Spot::default(); layers.items.len()];
    let mut x = MARGIN;
    for column in &layers.columns {
        let width_of = |id: &usize| match layers.items.get(*id) {
            Some(Item::Node(node)) => widths.get(*node).copied().unwrap_or(MIN_WIDTH),
            _ => 0.0,
        };
        let column_width = column.iter().map(width_of).fold(MIN_WIDTH, f64::max);
        for id in column {
            let (Some(spot), Some(middle)) = (spots.get_mut(*id), middles.get(*id)) else {
                continue;
            };
            // Nodes of a layer are equally wide, so that arrows end in one line.
            *spot = Spot { x, middle: *middle, width: column_width, height: height_of(id) };
        }
        x += column_width + gap;
    }
    let height = spots.iter().map(|s| s.bottom()).fold(0.0, f64::max);
    let nodes = spots.get(..widths.len()).unwrap_or_default().to_vec();
    let routes = routes(layers, &spots, edges);
    Placed { nodes, edges: routes, width: (x - gap + MARGIN).max(MARGIN * 2.0), height }
}

/// Heights of the middles: each item wants to be level with its neighbours, none may touch
/// the next, and the order stays.
fn middles(layers: &Layers, height_of: impl Fn(&usize) -> f64) -> Vec<f64> {
    let mut middles = vec![0.0; layers.items.len()];
    for column in &layers.columns {
        let mut y = 0.0;
        for id in column {
            let height = height_of(id);
            if let Some(slot) = middles.get_mut(*id) {
                *slot = y + height / 2.0;
            }
            y += height + SPACING;
        }
    }
    for round in 0..ROUNDS {
        let depth = layers.columns.len();
        for step in 0..depth {
            let at = if round % 2 == 0 { step } else { depth - 1 - step };
            let Some(column) = layers.columns.get(at) else {
                continue;
            };
            let wishes: Vec<f64> = column
                .iter()
                .map(|id| {
                    let beside = [&layers.left, &layers.right];
                    let beside = beside.iter().filter_map(|side| side.get(*id)).flatten();
                    mean(beside.filter_map(|n| middles.get(*n).copied()))
                        .or_else(|| middles.get(*id).copied())
                        .unwrap_or_default()
                })
                .collect();
            let heights: Vec<f64> = column.iter().map(&height_of).collect();
            for (id, y) in column.iter().zip(settle(&wishes, &heights)) {
                if let Some(slot) = middles.get_mut(*id) {
                    *slot = y;
                }
            }
        }
    }
    let top = layers
        .columns
        .iter()
        .flatten()
        .filter_map(|id| Some(middles.get(*id)? - height_of(id) / 2.0))
        .fold(f64::INFINITY, f64::min);
    if top.is_finite() {
        middles.iter_mut().for_each(|y| *y += MARGIN_TOP - top);
    }
    middles
}

/// The places nearest to the wishes (least squares) that keep order and distance: neighbours
/// that would overlap move as one block.
fn settle(wishes: &[f64], heights: &[f64]) -> Vec<f64> {
    // Offsets turn "at least so far apart" into "not decreasing".
    let mut offsets = Vec::with_capacity(wishes.len());
    let mut offset = 0.0;
    for (i, height) in heights.iter().enumerate() {
        if let Some(before) = i.checked_sub(1).and_then(|b| heights.get(b)) {
            offset += f64::midpoint(*before, *height) + SPACING;
        }
        offsets.push(offset);
    }
    let mut blocks: Vec<(f64, f64)> = Vec::new();
    for (wish, offset) in wishes.iter().zip(&offsets) {
        let mut block = (wish - offset, 1.0);
        while let Some(last) = blocks.pop_if(|last| last.0 > block.0) {
            let n = last.1 + block.1;
            block = ((last.0 * last.1 + block.0 * block.1) / n, n);
        }
        blocks.push(block);
    }
    let mut settled = Vec::with_capacity(wishes.len());
    for (base, n) in blocks {
        let mut left = n;
        while left > 0.5 {
            let offset = offsets.get(settled.len()).copied().unwrap_or_default();
            settled.push(base + offset);
            left -= 1.0;
        }
    }
    settled
}

/// The points each forward edge runs through; ends are spread along the sides of the nodes.
fn routes(layers: &Layers, spots: &[Spot], edges: &[(usize, usize)]) -> Vec<Vec<(f64, f64)>> {
    let forward = |e: &usize| layers.paths.get(*e).is_some_and(|p| p.len() >= 2);
    let ids: Vec<usize> = (0..edges.len()).filter(forward).collect();
    let point = |id: Option<&usize>| id.and_then(|id| spots.get(*id)).copied().unwrap_or_default();
    let second = |e: usize| point(layers.paths.get(e).and_then(|p| p.get(1))).middle;
    let before_last = |e: usize| {
        let path = layers.paths.get(e).map(Vec::as_slice).unwrap_or_default();
        point(path.len().checked_sub(2).and_then(|i| path.get(i))).middle
    };
    let port =
        |e: usize, own: usize, side: fn(&(usize, usize)) -> usize, other: &dyn Fn(usize) -> f64| {
            let mut beside: Vec<usize> = ids
                .iter()
                .copied()
                .filter(|i| edges.get(*i).is_some_and(|edge| side(edge) == own))
                .collect();
            beside.sort_by(|a, b| other(*a).total_cmp(&other(*b)));
            let at = beside.iter().position(|i| *i == e).unwrap_or_default();
            let (at, n) =
                (u32::try_from(at).unwrap_or(0), u32::try_from(beside.len()).unwrap_or(1));
            let spot = point(Some(&own));
            let room = (spot.height - 16.0).min(f64::from(n - 1) * 12.0).max(0.0);
            let share = if n > 1 { f64::from(at) / f64::from(n - 1) - 0.5 } else { 0.0 };
            spot.middle + share * room
        };
    let mut routes = vec![Vec::new(); edges.len()];
    for e in ids.iter().copied() {
        let Some((from, to)) = edges.get(e) else {
            continue;
        };
        let path = layers.paths.get(e).map(Vec::as_slice).unwrap_or_default();
        let start = point(Some(from));
        let mut route = vec![(start.right(), port(e, *from, |edge| edge.0, &second))];
        for id in path.iter().skip(1).take(path.len().saturating_sub(2)) {
            let spot = point(Some(id));
            route.push((spot.x, spot.middle));
            route.push((spot.right(), spot.middle));
        }
        route.push((point(Some(to)).x, port(e, *to, |edge| edge.1, &before_last)));
        if let Some(slot) = routes.get_mut(e) {
            *slot = route;
        }
    }
    routes
}

/// Height of a node: two lines of text.
pub(crate) const NODE_HEIGHT: f64 = 46.0;
const PASS_HEIGHT: f64 = 22.0;
const MIN_WIDTH: f64 = 84.0;
/// Between the layers, beside the labels: arrow heads, and curves coming apart.
const GAP: f64 = 46.0;
const SPACING: f64 = 20.0;
const MARGIN: f64 = 8.0;
const MARGIN_TOP: f64 = 26.0;
const ROUNDS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_never_cover_each_other() {
        // Two layers, every node of the first calling every node of the second, and back.
        let mut edges = Vec::new();
        for a in 0..6 {
            for b in 6..12 {
                edges.push((a, b));
            }
        }
        edges.push((11, 0));
        let placed = place(&Layers::new(12, &edges), &[90.0; 12], &edges, 60.0);
        for (i, a) in placed.nodes.iter().enumerate() {
            assert!(a.x >= 0.0 && a.right() <= placed.width && a.bottom() <= placed.height);
            for b in &placed.nodes[..i] {
                assert!(!a.covers(*b), "{a:?} {b:?}");
            }
        }
        let without_route = placed.edges.iter().filter(|r| r.is_empty()).count();
        assert_eq!(without_route, 1, "one edge closes the cycle");
    }

    #[test]
    fn a_chain_is_level() {
        let edges = [(0, 1), (1, 2)];
        let placed = place(&Layers::new(3, &edges), &[90.0; 3], &edges, 60.0);
        assert!(placed.nodes.iter().all(|n| n.middle == placed.nodes[0].middle));
    }

    #[test]
    fn settling_keeps_order_and_distance() {
        let settled = settle(&[10.0, 10.0, 500.0], &[40.0; 3]);
        assert_eq!(settled, [-20.0, 40.0, 500.0]);
    }
}
