//! From a graph with its layers to the result format.

use damper_graph::{Factor, Graph, Interval, Way, Ways, bound, change, way};
use damper_report::amplification_between as between_text;
use damper_report::result as all;
use damper_report::result::amplification as out;

use super::settings::words;

/// Ways that are listed.
const MOST_WAYS: usize = 10;

/// What was asked.
pub(crate) struct Question<'q> {
    /// The system file, or `found`.
    pub(crate) source: String,
    /// The share of attempts that fail at the end of a way.
    pub(crate) failure: f64,
    /// No way may multiply by more.
    pub(crate) limit: Option<f64>,
    /// How a path of a file is shown.
    pub(crate) shown: &'q dyn Fn(&str) -> String,
}

/// The answer.
pub(crate) fn amplification(
    graph: &Graph,
    ways: &Ways,
    question: &Question<'_>,
) -> out::Amplification {
    let of = |way: &Way| one(graph, way, question);
    let changes = question.limit.and_then(|limit| change::smallest(graph, ways, limit));
    let met = match question.limit {
        None => true,
        Some(_) => changes.as_ref().is_some_and(Vec::is_empty),
    };
    let changes = changes.unwrap_or_default();
    let on = |layer: usize| graph.edges.iter().position(|edge| edge.layers.contains(&layer));
    let listed = |layer: usize| {
        let factor = graph.layers.get(layer)?;
        let call = on(layer).map_or_else(|| calls_of(factor), |edge| call(graph, edge));
        Some(shown_layer(factor, call, question))
    };
    let unplaced = (0..graph.layers.len())
        .filter(|layer| on(*layer).is_none())
        .filter(|layer| graph.layers.get(*layer).is_some_and(|one| one.high != Some(1)));
    let mut services: Vec<_> =
        (0..graph.nodes.len()).filter_map(|at| service(graph, ways, at)).collect();
    let key = |service: &out::AmplifiedService| service.worst.high.unwrap_or(f64::INFINITY);
    services.sort_by(|a, b| key(b).total_cmp(&key(a)));
    let mut notes = Vec::new();
    if ways.cut {
        notes.push("there are more ways than were followed".to_owned());
    }
    for edge in &ways.cycles {
        notes.push(format!("{} leads back, and was not followed", call(graph, *edge)));
    }
    out::Amplification {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        source: question.source.clone(),
        failure: question.failure,
        ways: ways.largest(MOST_WAYS).into_iter().map(of).collect(),
        services,
        limit: question.limit,
        met,
        changes: changes
            .iter()
            .filter_map(|one| {
                Some(out::LayerChange { layer: listed(one.layer)?, attempts: one.attempts })
            })
            .collect(),
        unplaced: unplaced.filter_map(listed).collect(),
        assumed_calls: graph.edges.iter().filter(|edge| edge.assumed).count() as u64,
        graph: drawing(graph, ways),
        notes,
    }
}

fn between(interval: Interval) -> out::Between {
    out::Between { low: interval.low, high: Some(interval.high).filter(|high| high.is_finite()) }
}

fn call(graph: &Graph, edge: usize) -> String {
    graph.edges.get(edge).map_or_else(String::new, |edge| {
        format!("{} -> {}", graph.name(edge.from), graph.name(edge.to))
    })
}

/// The call of a layer that stands on none.
fn calls_of(factor: &Factor) -> String {
    let name = |name: &Option<damper_config::Name>| {
        name.as_ref().map_or_else(|| "*".to_owned(), ToString::to_string)
    };
    format!("{} -> {}", name(&factor.caller), name(&factor.callee))
}

fn one(graph: &Graph, way: &Way, question: &Question<'_>) -> out::AmplifiedWay {
    let first = way.edges.first().and_then(|edge| graph.edges.get(*edge));
    let mut services: Vec<_> = first.map(|edge| graph.name(edge.from)).into_iter().collect();
    let edges = way.edges.iter().filter_map(|edge| graph.edges.get(*edge));
    services.extend(edges.map(|edge| graph.name(edge.to)));
    let mut layers = Vec::new();
    for at in &way.edges {
        let Some(edge) = graph.edges.get(*at) else { continue };
        for layer in edge.layers.iter().rev() {
            let factor = graph.layers.get(*layer).filter(|factor| factor.high != Some(1));
            layers.extend(factor.map(|factor| shown_layer(factor, call(graph, *at), question)));
        }
    }
    let steps = way::steps(graph, &way.edges);
    out::AmplifiedWay {
        services,
        worst: between(way.amplification.worst),
        kind: way.amplification.kind.name().to_owned(),
        sustained: between(way.amplification.sustained),
        expected: between(bound::expected(&steps, question.failure)),
        layers,
    }
}

fn shown_layer(factor: &Factor, call: String, question: &Question<'_>) -> out::AmplifyingLayer {
    let place = factor.place.as_ref();
    let low = if factor.low == u32::MAX { f64::INFINITY } else { f64::from(factor.low) };
    out::AmplifyingLayer {
        call,
        who: factor.who.clone(),
        place: place.map(|place| format!("{}:{}", (question.shown)(&place.path), place.line)),
        written: factor.written,
        attempts: out::Between { low, high: factor.high.map(f64::from) },
        budget: factor.budget.as_ref().map(words),
    }
}

fn service(graph: &Graph, ways: &Ways, at: usize) -> Option<out::AmplifiedService> {
    let (worst, sustained, calls) = ways.at(graph, at)?;
    let node = graph.nodes.get(at)?;
    let capacity = node.capacity_rps;
    let room = |times: f64| capacity.map_or(1.0 / times, |capacity| capacity / (calls * times));
    Some(out::AmplifiedService {
        service: node.name.to_string(),
        worst: between(worst),
        sustained: between(sustained),
        capacity_rps: capacity,
        hidden: out::Between { low: room(sustained.high), high: Some(room(sustained.low)) },
    })
}

/// The graph with what every call multiplies and every service may receive.
fn drawing(graph: &Graph, ways: &Ways) -> all::Graph {
    let node = |at: usize, name: String, capacity_rps: Option<f64>| all::Node {
        kind: if name == damper_graph::graph::CLIENT { "client" } else { "service" }.to_owned(),
        amplification: ways.at(graph, at).map(|(worst, ..)| worst.high.min(1e12)),
        capacity_rps,
        name,
        ..all::Node::default()
    };
    let nodes = graph.nodes.iter().enumerate();
    let edge = |at: usize, edge: &damper_graph::Edge| {
        let steps = way::steps(graph, &[at]);
        let product = bound::amplification(&steps).worst;
        all::GraphEdge {
            from: graph.name(edge.from),
            to: graph.name(edge.to),
            calls: edge.calls,
            multiplies: Some(format!("×{}", between_text(&between(product)))),
            timeout_s: steps
                .iter()
                .filter_map(|step| step.factor.attempt_timeout_ms)
                .reduce(f64::min)
                .map(|ms| ms / 1e3),
            ..all::GraphEdge::default()
        }
    };
    all::Graph {
        nodes: nodes.map(|(at, one)| node(at, one.name.to_string(), one.capacity_rps)).collect(),
        edges: graph.edges.iter().enumerate().map(|(at, one)| edge(at, one)).collect(),
    }
}
