//! One node of the drawing: its shape by kind, its colour by amplification.

use super::place::{NODE_HEIGHT, Spot};
use crate::format;
use crate::html::El;
use crate::result::Node;
use crate::svg::{label, px, tip};

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

/// The node at its place.
pub(crate) fn draw(node: &Node, spot: Spot) -> El {
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
        .child(tip(says(node)))
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
    let line = facts(node);
    let name_y = if line.is_empty() { spot.middle + 4.5 } else { spot.middle - 3.0 };
    group.push(label(px(middle), name_y, "middle", &name).class("name"));
    if !line.is_empty() {
        group.push(label(px(middle), spot.middle + 14.0, "middle", &line).class("facts-line"));
    }
    group
}

fn facts(node: &Node) -> String {
    let amplification = node.amplification.and_then(format::measured).map(format::times);
    let capacity = node.capacity_rps.and_then(format::measured).map(format::rate);
    // Where a solution is shown, how much it rejects says more than what it could serve.
    let rejects = node.rejection.and_then(format::measured).filter(|_| capacity.is_some());
    let second = rejects.map(|r| format!("{} rejected", format::percent(r))).or(capacity);
    let facts: Vec<String> = amplification.into_iter().chain(second).collect();
    facts.join(" · ")
}

fn says(node: &Node) -> String {
    let mut text = node.name.clone();
    if !node.kind.is_empty() && node.kind != node.name {
        text.push_str(&format!(" ({})", node.kind));
    }
    if let Some(a) = node.amplification.and_then(format::measured) {
        text.push_str(&format!(", {} the attempts without retries", format::times(a)));
    }
    if let Some(rate) = node.attempts_rps.and_then(format::measured) {
        text.push_str(&format!(", {} attempts", format::rate(rate)));
    }
    if let Some(rejection) = node.rejection.and_then(format::measured) {
        text.push_str(&format!(", {} of them rejected", format::percent(rejection)));
    }
    match node.capacity_rps.and_then(format::measured) {
        Some(capacity) => text.push_str(&format!(", serves {}", format::rate(capacity))),
        None if node.kind == "client" => {}
        None => text.push_str(", no limit"),
    }
    text
}

/// How wide a node has to be for its text.
pub(crate) fn width(node: &Node) -> f64 {
    let name = format::width_px(&format::clip(&node.name, MOST_CHARS), 13.0);
    name.max(format::width_px(&facts(node), FACTS_PX)) + 26.0
}

/// Size of the line under the name.
const FACTS_PX: f64 = 11.5;
const MOST_CHARS: usize = 22;
