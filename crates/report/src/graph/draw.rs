//! The drawing of a placed graph.

use super::layers::Layers;
use super::place::{NODE_HEIGHT, Placed, Spot, place};
use super::{Edge, Indexed};
use crate::format;
use crate::html::El;
use crate::result::{GraphEdge, Node};
use crate::svg::{Figure, label, px, tip};

/// The picture inside its frame. The figure brings title, description and table.
pub(crate) fn draw(graph: &Indexed<'_>, figure: Figure) -> El {
    let pairs = graph.pairs();
    let widths: Vec<f64> = graph.nodes.iter().map(width).collect();
    let label_px = graph
        .edges
        .iter()
        .map(|e| words(e.call).2)
        .fold(0.0, f64::max);
    let layers = Layers::new(graph.nodes.len(), &pairs);
    let placed = place(&layers, &widths, &pairs, label_px);
    let mut canvas = Canvas {
        graph,
        placed: &placed,
        busiest: graph
            .edges
            .iter()
            .filter_map(|e| rate(e.call))
            .fold(0.0, f64::max),
        lowest: placed.height,
        taken: placed.nodes.clone(),
        curves: Vec::new(),
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
    let nodes: Vec<El> = graph
        .nodes
        .iter()
        .zip(&placed.nodes)
        .map(|(node, spot)| node_shape(node, *spot))
        .collect();
    let (width, height) = (placed.width, canvas.lowest + 10.0);
    let svg = figure
        .svg()
        .class("calls")
        .attr("viewBox", format!("0 0 {} {}", px(width), px(height)))
        .attr("width", px(width))
        .attr("height", px(height))
        .child(arrow_heads())
        .children(lines)
        .children(nodes)
        .children(labels);
    figure.around("scroll graph", svg)
}

/// Step of the colour scale, and its words.
pub(crate) fn heat(amplification: Option<f64>) -> (&'static str, &'static str) {
    match amplification.and_then(format::measured) {
        None => ("heat-none", "not measured"),
        Some(a) if a < 1.05 => ("heat-0", "1×"),
        Some(a) if a < 1.5 => ("heat-1", "to 1.5×"),
        Some(a) if a < 3.0 => ("heat-2", "to 3×"),
        Some(a) if a < 10.0 => ("heat-3", "to 10×"),
        Some(_) => ("heat-4", "10× and more"),
    }
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
}

/// A drawn edge: points along it, for its label.
type Curve = Vec<(f64, f64)>;

impl Canvas<'_> {
    fn line(&mut self, index: usize, edge: &Edge<'_>) -> (El, Curve) {
        let route = self
            .placed
            .edges
            .get(index)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let (d, curve) = if route.len() >= 2 {
            through(route)
        } else {
            self.around(edge)
        };
        let class = if edge.call.in_loop {
            "edge loop"
        } else {
            "edge"
        };
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
                        if edge.call.in_loop {
                            "url(#head-loop)"
                        } else {
                            "url(#head)"
                        },
                    ),
            );
        (line, curve)
    }

    /// An edge that goes back runs below everything; one to itself, over the node's corner.
    fn around(&mut self, edge: &Edge<'_>) -> (String, Curve) {
        let spot = |n: usize| self.placed.nodes.get(n).copied().unwrap_or_default();
        let (from, to) = (spot(edge.from), spot(edge.to));
        if edge.from == edge.to {
            let (x, y) = (from.right() - 30.0, from.middle - from.height / 2.0);
            let points = [(x, y), (x, y - 26.0), (x + 22.0, y - 26.0), (x + 22.0, y)];
            return (cubic(points), samples(points));
        }
        let floor = self.lowest + 22.0;
        self.lowest = floor + 14.0;
        let (x1, y1) = (from.x + from.width / 2.0 + 8.0, from.bottom());
        let (x2, y2) = (to.x + to.width / 2.0 - 8.0, to.bottom());
        let low = |y: f64| y + (floor - y) / 0.75;
        let points = [(x1, y1), (x1, low(y1)), (x2, low(y2)), (x2, y2)];
        (cubic(points), samples(points))
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
        let name = |n: usize| {
            self.graph
                .nodes
                .get(n)
                .map_or("", |node| node.name.as_str())
        };
        let mut text = format!(
            "{} → {}: {}, {}",
            name(edge.from),
            name(edge.to),
            retries(&edge.call.limit),
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
            foreign
                .flat_map(|(_, c)| c)
                .filter(|p| spot.contains(**p))
                .count()
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
        let class = if edge.call.in_loop {
            "edge-label loop"
        } else {
            "edge-label"
        };
        let (y, gap) = (spot.middle, self.weight(edge.call) / 2.0);
        let mut group =
            El::new("g")
                .class(class)
                .child(label(px(x), y - 4.0 - gap, "middle", &above));
        if let Some(below) = below {
            group.push(label(px(x), y + 11.0 + gap, "middle", &below));
        }
        Some(group)
    }
}

/// The two lines of a call's label, and how wide they are.
fn words(call: &GraphEdge) -> (String, Option<String>, f64) {
    let mut above = retries(&call.limit);
    if call.in_loop {
        above = format!("↻ {above}");
    }
    let below = call.timeout_s.map(|_| timeout(call));
    let width = |text: &str| format::width_px(text, FONT_PX);
    let wide = width(&above).max(below.as_deref().map_or(0.0, width));
    (above, below, wide)
}

fn node_shape(node: &Node, spot: Spot) -> El {
    let (step, _) = heat(node.amplification);
    let kind = match node.kind.as_str() {
        "client" => "client",
        "cache" => "cache",
        _ => "service",
    };
    let top = spot.middle - NODE_HEIGHT / 2.0;
    let (x, middle) = (spot.x, spot.x + spot.width / 2.0);
    let name = format::clip(&node.name, MOST_CHARS);
    let mut group = El::new("g")
        .class(format!("node {kind} {step}"))
        .attr("tabindex", "-1")
        .child(tip(node_says(node)))
        .child(
            El::new("rect")
                .attr("x", px(x))
                .attr("y", px(top))
                .attr("width", px(spot.width))
                .attr("height", px(NODE_HEIGHT))
                .attr("rx", if kind == "client" { "23" } else { "6" }),
        );
    if kind == "cache" {
        let (left, right) = (x + 5.0, spot.right() - 5.0);
        group.push(El::new("path").class("rib").attr(
            "d",
            format!(
                "M{} {}V{}M{} {}V{}",
                px(left),
                px(top),
                px(top + NODE_HEIGHT),
                px(right),
                px(top),
                px(top + NODE_HEIGHT)
            ),
        ));
    }
    let facts = node_facts(node);
    let name_y = if facts.is_empty() {
        spot.middle + 4.5
    } else {
        spot.middle - 3.0
    };
    group.push(label(px(middle), name_y, "middle", &name).class("name"));
    if !facts.is_empty() {
        group.push(label(px(middle), spot.middle + 14.0, "middle", &facts).class("facts-line"));
    }
    group
}

fn node_facts(node: &Node) -> String {
    let amplification = node
        .amplification
        .and_then(format::measured)
        .map(format::times);
    let capacity = node
        .capacity_rps
        .and_then(format::measured)
        .map(format::rate);
    let facts: Vec<String> = amplification.into_iter().chain(capacity).collect();
    facts.join(" · ")
}

fn node_says(node: &Node) -> String {
    let mut text = node.name.clone();
    if !node.kind.is_empty() && node.kind != node.name {
        text.push_str(&format!(" ({})", node.kind));
    }
    if let Some(a) = node.amplification.and_then(format::measured) {
        text.push_str(&format!(
            ", {} the attempts without retries",
            format::times(a)
        ));
    }
    match node.capacity_rps.and_then(format::measured) {
        Some(capacity) => text.push_str(&format!(", serves {}", format::rate(capacity))),
        None if node.kind == "client" => {}
        None => text.push_str(", no limit"),
    }
    text
}

fn width(node: &Node) -> f64 {
    let name = format::width_px(&format::clip(&node.name, MOST_CHARS), 13.0);
    name.max(format::width_px(&node_facts(node), FONT_PX)) + 26.0
}

fn rate(call: &GraphEdge) -> Option<f64> {
    call.attempts_rps
        .and_then(format::measured)
        .filter(|rate| *rate >= 0.0)
}

/// The timeout of a call in words.
pub(crate) fn timeout(call: &GraphEdge) -> String {
    call.timeout_s
        .map_or_else(|| "no timeout".to_owned(), format::seconds)
}

/// A smooth line through points: level at each of them.
fn through(route: &[(f64, f64)]) -> (String, Curve) {
    let mut d = String::new();
    let mut curve = Vec::new();
    for pair in route.windows(2) {
        let [(x1, y1), (x2, y2)] = pair else { continue };
        let middle = f64::midpoint(*x1, *x2);
        let points = [(*x1, *y1), (middle, *y1), (middle, *y2), (*x2, *y2)];
        let part = cubic(points);
        d.push_str(if d.is_empty() {
            &part
        } else {
            part.split_once('C')
                .map_or("", |_| part.trim_start_matches(|c| c != 'C'))
        });
        curve.extend(samples(points));
    }
    (d, curve)
}

fn cubic([a, b, c, d]: [(f64, f64); 4]) -> String {
    let at = |p: (f64, f64)| format!("{} {}", px(p.0), px(p.1));
    format!("M{}C{} {} {}", at(a), at(b), at(c), at(d))
}

fn samples([a, b, c, d]: [(f64, f64); 4]) -> Curve {
    (0..=SAMPLES)
        .map(|k| {
            let t = f64::from(k) / f64::from(SAMPLES);
            let s = 1.0 - t;
            let mix = |a: f64, b: f64, c: f64, d: f64| {
                a * s * s * s + b * 3.0 * s * s * t + c * 3.0 * s * t * t + d * t * t * t
            };
            (mix(a.0, b.0, c.0, d.0), mix(a.1, b.1, c.1, d.1))
        })
        .collect()
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
/// Points along a curve, to keep labels off it.
const SAMPLES: u32 = 48;
const MOST_CHARS: usize = 22;
/// Two lines and the edge between them.
const LABEL_HEIGHT: f64 = 32.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Graph;

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
        let words: Vec<_> = [&[][..], &[0], &[1], &[3, 3], &[5, 1], &[1, 2, 3, 4, 5]]
            .map(retries)
            .into();
        assert_eq!(
            words,
            [
                "no retry",
                "no retry",
                "1 retry",
                "3 retries",
                "5/1 retries",
                "1/2/3/4/… retries"
            ]
        );
    }

    #[test]
    fn two_nodes_with_a_loop() {
        let node = |name: &str, kind: &str, amplification| Node {
            name: name.into(),
            kind: kind.into(),
            capacity_rps: Some(300.0),
            amplification,
        };
        let graph = Graph {
            nodes: vec![
                node("client", "client", None),
                node("db", "service", Some(2.0)),
            ],
            edges: vec![GraphEdge {
                from: "client".into(),
                to: "db".into(),
                calls: 1.0,
                limit: vec![1],
                timeout_s: Some(1.0),
                attempts_rps: Some(540.0),
                in_loop: true,
            }],
        };
        let markup = draw(&Indexed::new(&graph), figure()).to_markup();
        insta::assert_snapshot!(markup.replace("><", ">\n<"));
    }

    #[test]
    fn an_empty_graph_and_one_that_only_calls_itself() {
        let empty = Graph::default();
        assert!(
            draw(&Indexed::new(&empty), figure())
                .to_markup()
                .contains("<svg")
        );
        let own = Graph {
            nodes: vec![],
            edges: vec![GraphEdge {
                from: "a".into(),
                to: "a".into(),
                ..GraphEdge::default()
            }],
        };
        assert!(
            !draw(&Indexed::new(&own), figure())
                .to_markup()
                .contains("NaN")
        );
    }
}
