//! The drawing of a placed graph.

use super::curve::{Curve, cubic, polyline, samples, through};
use super::layers::Layers;
use super::place::{NODE_HEIGHT, Placed, Spot, place};
use super::{Edge, Indexed, node};
use crate::format;
use crate::html::El;
use crate::result::GraphEdge;
use crate::svg::{Figure, label, px, tip};

/// The picture inside its frame. The figure brings title, description and table.
pub(crate) fn draw(graph: &Indexed<'_>, figure: Figure) -> El {
    let pairs = graph.pairs();
    let widths: Vec<f64> = graph.nodes.iter().map(node::width).collect();
    let label_px = graph.edges.iter().map(|e| words(e.call).2).fold(0.0, f64::max);
    let layers = Layers::new(graph.nodes.len(), &pairs);
    let placed = place(&layers, &widths, &pairs, label_px);
    let mut canvas = Canvas {
        graph,
        placed: &placed,
        busiest: graph.edges.iter().filter_map(|e| rate(e.call)).fold(0.0, f64::max),
        lowest: placed.height,
        taken: placed.nodes.clone(),
        curves: Vec::new(),
        detours: 0,
    };
    let mut lines = Vec::new();
    let mut labels = Vec::new();
    for (index, edge) in graph.edges.iter().enumerate() {
        let (line, curve) = canvas.line(index, edge);
        lines.push(line);
        canvas.curves.push(curve);
    }
    for (index, edge) in graph.edges.iter().enumerate() {
        labels.extend(canvas.label(index, edge));
    }
    let nodes: Vec<El> =
        graph.nodes.iter().zip(&placed.nodes).map(|(node, spot)| node::draw(node, *spot)).collect();
    // Edges that go around the outermost layers need room beside them.
    let aside = if canvas.detours > 0 { 32.0 } else { 0.0 };
    let (width, height) = (placed.width + aside * 2.0, canvas.lowest + 10.0);
    let svg = figure
        .svg()
        .class("calls")
        .attr("viewBox", format!("{} 0 {} {}", px(-aside), px(width), px(height)))
        .attr("width", px(width))
        .attr("height", px(height))
        .child(arrow_heads())
        .children(lines)
        .children(nodes)
        .children(labels);
    figure.around("scroll graph", svg)
}

/// `2 retries`, `5/1 retries` (by class, highest first), `no retry`.
pub(crate) fn retries(limit: &[u32]) -> String {
    let same = limit.windows(2).all(|pair| pair.first() == pair.last());
    match (limit, same) {
        ([], _) | ([0, ..], true) => "no retry".to_owned(),
        ([1, ..], true) => "1 retry".to_owned(),
        ([k, ..], true) => format!("{k} retries"),
        _ => {
            let each: Vec<String> = limit.iter().take(4).map(u32::to_string).collect();
            let more = if limit.len() > 4 { "/…" } else { "" };
            format!("{}{more} retries", each.join("/"))
        }
    }
}

struct Canvas<'a> {
    graph: &'a Indexed<'a>,
    placed: &'a Placed,
    busiest: f64,
    /// Lowest point drawn so far.
    lowest: f64,
    /// What labels must not cover.
    taken: Vec<Spot>,
    /// By edge.
    curves: Vec<Curve>,
    /// Edges so far that go around.
    detours: u32,
}

impl Canvas<'_> {
    fn line(&mut self, index: usize, edge: &Edge<'_>) -> (El, Curve) {
        let route = self.placed.edges.get(index).map(Vec::as_slice).unwrap_or_default();
        let (d, curve) = if route.len() >= 2 { through(route) } else { self.around(edge) };
        let class = if edge.call.in_loop { "edge loop" } else { "edge" };
        let line = El::new("g")
            .class(class)
            .attr("tabindex", "-1")
            .child(tip(self.says(edge)))
            .child(El::new("path").class("reach").attr("d", d.clone()))
            .child(
                El::new("path")
                    .class("stroke")
                    .attr("d", d)
                    .attr("stroke-width", px(self.weight(edge.call)))
                    .attr(
                        "marker-end",
                        if edge.call.in_loop { "url(#head-loop)" } else { "url(#head)" },
                    ),
            );
        (line, curve)
    }

    /// An edge that goes back runs down the gap beside its caller, below everything, and up the
    /// gap before its callee; one to itself, over the node's corner.
    fn around(&mut self, edge: &Edge<'_>) -> (String, Curve) {
        let spot = |n: usize| self.placed.nodes.get(n).copied().unwrap_or_default();
        let (from, to) = (spot(edge.from), spot(edge.to));
        if edge.from == edge.to {
            let (x, y) = (from.right() - 30.0, from.middle - from.height / 2.0);
            let points = [(x, y), (x, y - 26.0), (x + 22.0, y - 26.0), (x + 22.0, y)];
            return (cubic(points), samples(points));
        }
        self.detours += 1;
        let aside = 10.0 + f64::from(self.detours % 5) * 5.0;
        let floor = self.lowest + 20.0;
        self.lowest = floor + 14.0;
        let beside_middle = NODE_HEIGHT / 2.0 - 7.0;
        let (right, left) = (from.right() + aside, to.x - aside);
        polyline(&[
            (from.right(), from.middle + beside_middle),
            (right, from.middle + beside_middle),
            (right, floor),
            (left, floor),
            (left, to.middle + beside_middle),
            (to.x, to.middle + beside_middle),
        ])
    }

    /// Width of the line: the root of its share of the busiest.
    fn weight(&self, call: &GraphEdge) -> f64 {
        match rate(call) {
            Some(rate) if self.busiest > 0.0 => {
                1.25 + 4.75 * (rate / self.busiest).clamp(0.0, 1.0).sqrt()
            }
            _ => 1.25,
        }
    }

    fn says(&self, edge: &Edge<'_>) -> String {
        let name = |n: usize| self.graph.nodes.get(n).map_or("", |node| node.name.as_str());
        let mut text = format!(
            "{} → {}: {}, {}",
            name(edge.from),
            name(edge.to),
            edge.call.multiplies.clone().unwrap_or_else(|| retries(&edge.call.limit)),
            timeout(edge.call),
        );
        if let Some(rate) = rate(edge.call) {
            text.push_str(&format!(", {} attempts", format::rate(rate)));
        }
        if edge.call.in_loop {
            text.push_str(", part of the sustaining loop");
        }
        text
    }

    /// Retry limit over the line, timeout under it, where it is nearest to its own line and
    /// farthest from others. Without any room, pointing at the line and the table still say it.
    fn label(&mut self, index: usize, edge: &Edge<'_>) -> Option<El> {
        let (above, below, wide) = words(edge.call);
        let curve = self.curves.get(index)?;
        let spot_at = |at: &(f64, f64)| Spot {
            x: at.0 - wide / 2.0,
            middle: at.1,
            width: wide,
            height: LABEL_HEIGHT,
        };
        let free = |spot: &Spot| spot.x >= 0.0 && !self.taken.iter().any(|t| t.covers(*spot));
        let others = |spot: Spot| {
            let foreign = self.curves.iter().enumerate().filter(|(i, _)| *i != index);
            foreign.flat_map(|(_, c)| c).filter(|p| spot.contains(**p)).count()
        };
        let steep = |i: usize| match (curve.get(i.saturating_sub(1)), curve.get(i + 1)) {
            (Some(a), Some(b)) => ((b.1 - a.1).abs() * 3.0) as usize,
            _ => 0,
        };
        let from_middle = |i: usize| i.abs_diff(curve.len() / 2);
        let (_, spot, x) = curve
            .iter()
            .enumerate()
            .map(|(i, at)| (i, spot_at(at), at.0))
            .filter(|(_, spot, _)| free(spot))
            .min_by_key(|(i, spot, _)| (others(*spot) * 8 + from_middle(*i) + steep(*i), *i))?;
        self.taken.push(spot);
        self.lowest = self.lowest.max(spot.bottom());
        let class = if edge.call.in_loop { "edge-label loop" } else { "edge-label" };
        let (y, gap) = (spot.middle, self.weight(edge.call) / 2.0);
        let mut group =
            El::new("g").class(class).child(label(px(x), y - 4.0 - gap, "middle", &above));
        if let Some(below) = below {
            group.push(label(px(x), y + 11.0 + gap, "middle", &below));
        }
        Some(group)
    }
}

/// The two lines of a call's label, and how wide they are.
fn words(call: &GraphEdge) -> (String, Option<String>, f64) {
    let mut above = call.multiplies.clone().unwrap_or_else(|| retries(&call.limit));
    if call.in_loop {
        above = format!("↻ {above}");
    }
    let below = call.timeout_s.map(|_| timeout(call));
    let width = |text: &str| format::width_px(text, FONT_PX);
    let wide = width(&above).max(below.as_deref().map_or(0.0, width));
    (above, below, wide)
}

fn rate(call: &GraphEdge) -> Option<f64> {
    call.attempts_rps.and_then(format::measured).filter(|rate| *rate >= 0.0)
}

/// The timeout of a call in words.
pub(crate) fn timeout(call: &GraphEdge) -> String {
    call.timeout_s.map_or_else(|| "no timeout".to_owned(), format::seconds)
}

fn arrow_heads() -> El {
    let head = |id: &'static str| {
        El::new("marker")
            .attr("id", id)
            .attr("viewBox", "0 0 8 8")
            .attr("refX", "7")
            .attr("refY", "4")
            .attr("markerWidth", "9")
            .attr("markerHeight", "9")
            .attr("markerUnits", "userSpaceOnUse")
            .attr("orient", "auto")
            .child(El::new("path").attr("d", "M0 0L8 4L0 8Z"))
    };
    El::new("defs").child(head("head")).child(head("head-loop"))
}

const FONT_PX: f64 = 11.5;
/// Two lines and the edge between them.
const LABEL_HEIGHT: f64 = 32.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Graph, Node};

    fn figure() -> Figure {
        Figure {
            id: "g",
            title: "Calls".into(),
            aside: String::new(),
            description: "d".into(),
            legend: None,
            explore: "marks",
            data: None,
            table: None,
        }
    }

    #[test]
    fn retry_limits_in_words() {
        let words: Vec<_> =
            [&[][..], &[0], &[1], &[3, 3], &[5, 1], &[1, 2, 3, 4, 5]].map(retries).into();
        assert_eq!(
            words,
            ["no retry", "no retry", "1 retry", "3 retries", "5/1 retries", "1/2/3/4/… retries"]
        );
    }

    #[test]
    fn two_nodes_with_a_loop() {
        let node = |name: &str, kind: &str, amplification| Node {
            name: name.into(),
            kind: kind.into(),
            capacity_rps: Some(300.0),
            amplification,
            ..Node::default()
        };
        let graph = Graph {
            nodes: vec![node("client", "client", None), node("db", "service", Some(2.0))],
            edges: vec![GraphEdge {
                from: "client".into(),
                to: "db".into(),
                calls: 1.0,
                limit: vec![1],
                timeout_s: Some(1.0),
                attempts_rps: Some(540.0),
                in_loop: true,
                multiplies: None,
            }],
        };
        let markup = draw(&Indexed::new(&graph), figure()).to_markup();
        insta::assert_snapshot!(markup.replace("><", ">\n<"));
    }

    #[test]
    fn an_empty_graph_and_one_that_only_calls_itself() {
        let empty = Graph::default();
        assert!(draw(&Indexed::new(&empty), figure()).to_markup().contains("<svg"));
        let own = Graph {
            nodes: vec![],
            edges: vec![GraphEdge { from: "a".into(), to: "a".into(), ..GraphEdge::default() }],
        };
        assert!(!draw(&Indexed::new(&own), figure()).to_markup().contains("NaN"));
    }
}
