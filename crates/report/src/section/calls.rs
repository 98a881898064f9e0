//! The call graph with its amplification, and what holds the system down.

use super::{cell, name_cell, section, table};
use crate::format;
use crate::graph::draw::{draw, retries, timeout};
use crate::graph::node::heat;
use crate::graph::{Indexed, MOST_NODES};
use crate::html::El;
use crate::result::{Graph, Loop};
use crate::svg::Figure;

/// The part; nothing if there is neither a loop nor a graph.
pub(crate) fn part(graph: &Graph, held: Option<&Loop>) -> Option<El> {
    if graph.nodes.is_empty() && graph.edges.is_empty() && held.is_none() {
        return None;
    }
    let heading = if held.is_some() { "What holds it down" } else { "Who calls whom" };
    let mut part = section("calls", heading);
    if let Some(held) = held {
        part.push(story(held));
    }
    let indexed = Indexed::new(graph);
    if indexed.nodes.is_empty() {
        return Some(part);
    }
    if indexed.nodes.len() > MOST_NODES {
        return Some(
            part.child(El::new("p").class("empty").text(format!(
                "{} services are too many to draw; the calls as a table:",
                indexed.nodes.len()
            )))
            .child(calls(graph)),
        );
    }
    let figure = Figure {
        id: "call-graph",
        title: "Calls".to_owned(),
        aside: if graph.edges.iter().any(|edge| edge.multiplies.is_some()) {
            "× attempts over requests at worst; on the lines what the layers of a call multiply to"
        } else {
            "× attempts over requests; on the lines retry limit and timeout per attempt"
        }
        .to_owned(),
        description: describe(graph),
        legend: Some(legend(&indexed)),
        explore: "marks",
        data: None,
        table: Some(calls(graph)),
    };
    Some(part.child(draw(&indexed, figure)))
}

fn story(held: &Loop) -> El {
    let mut words = El::new("div").class("story");
    if !held.summary.is_empty() {
        words.push(El::new("p").text(held.summary.clone()));
    }
    let path = El::new("p")
        .class("path")
        .child(El::new("code").text(held.caller.clone()))
        .text(" ↻ ")
        .child(El::new("code").text(held.service.clone()))
        .text(format!(
            "  {}, amplification {}, {} of the served work wasted",
            if held.kind.is_empty() { "loop" } else { &held.kind },
            format::times(held.amplification),
            format::percent(held.wasted),
        ));
    words.child(path)
}

fn legend(graph: &Indexed<'_>) -> El {
    let present = |wanted: &str| graph.nodes.iter().any(|n| heat(n.amplification).0 == wanted);
    let steps = [None, Some(1.0), Some(1.2), Some(2.0), Some(5.0), Some(20.0)].map(heat);
    let swatch = |class: String| {
        El::new("svg").attr("width", "18").attr("height", "12").attr("aria-hidden", "true").child(
            El::new("g").class(class).child(
                El::new("rect")
                    .attr("x", "1")
                    .attr("y", "1")
                    .attr("width", "16")
                    .attr("height", "10")
                    .attr("rx", "2"),
            ),
        )
    };
    let mut items: Vec<El> = steps
        .into_iter()
        .filter(|(class, _)| present(class))
        .map(|(class, words)| El::new("li").child(swatch(format!("node {class}"))).text(words))
        .collect();
    if graph.edges.iter().any(|e| e.call.in_loop) {
        let line = El::new("svg")
            .attr("width", "30")
            .attr("height", "10")
            .attr("aria-hidden", "true")
            .child(El::new("g").class("edge loop").child(
                El::new("path").class("stroke").attr("d", "M1 5H29").attr("stroke-width", "4"),
            ));
        items.push(El::new("li").child(line).text("↻ sustaining loop"));
    }
    if graph.edges.iter().any(|e| e.call.attempts_rps.is_some()) {
        items.push(El::new("li").text("thicker line: more attempts"));
    }
    El::new("ul").class("legend").children(items)
}

fn describe(graph: &Graph) -> String {
    let hot = graph
        .nodes
        .iter()
        .filter_map(|n| Some((n.amplification.and_then(format::measured)?, &n.name)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let mut text =
        format!("{} nodes and {} calls, from left to right.", graph.nodes.len(), graph.edges.len());
    if let Some((amplification, name)) = hot {
        text.push_str(&format!(" Most amplified: {name}, {}.", format::times(amplification)));
    }
    text
}

fn calls(graph: &Graph) -> El {
    let rows = graph.edges.iter().map(|edge| {
        vec![
            name_cell(&edge.from),
            cell(format::clip(&edge.to, 60)),
            cell(format::number(edge.calls)),
            cell(edge.multiplies.clone().unwrap_or_else(|| retries(&edge.limit))),
            cell(timeout(edge)),
            cell(format::rate_or_none(edge.attempts_rps)),
            cell(if edge.in_loop { "↻ yes" } else { "" }),
        ]
    });
    table(
        "calls",
        &["caller", "callee", "calls", "retry limit", "timeout", "attempts", "in loop"],
        rows,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{GraphEdge, Node};

    #[test]
    fn a_large_graph_becomes_a_table() {
        let nodes = (0..61).map(|i| Node { name: format!("s{i}"), ..Node::default() }).collect();
        let edges = vec![GraphEdge { from: "s0".into(), to: "s1".into(), ..GraphEdge::default() }];
        let markup = part(&Graph { nodes, edges }, None).unwrap().to_markup();
        assert!(markup.contains("61 services are too many to draw"));
        assert!(markup.contains("<td>s1</td>") && !markup.contains("class=\"calls\""));
    }

    #[test]
    fn nothing_to_say_says_nothing() {
        assert!(part(&Graph::default(), None).is_none());
        let only_loop = part(&Graph::default(), Some(&Loop::default())).unwrap();
        assert!(only_loop.to_markup().contains("What holds it down"));
    }
}
