//! The graph that configuration shows: who calls whom, and the layers that apply to each call.

use damper_config::effective::{Applied, Caller, Effective};
use damper_config::layer::Seat;
use damper_config::{Name, Reading};

use crate::bound::Spoken;
use crate::factor::{Factor, Place};
use crate::graph::{CLIENT, Graph};

/// The graph of what the files of a repository say. Calls whose number nobody says are taken to be
/// one for each request, and marked. Where only the callee is known, whoever calls stands outside.
#[must_use]
pub fn graph<'r>(
    readings: impl IntoIterator<Item = (&'r str, &'r Reading)>,
    effective: &Effective,
) -> Graph {
    let mut graph = Graph::default();
    for (path, reading) in readings {
        for call in &reading.calls {
            let outside = Name::new(CLIENT, None);
            let from = graph.node(call.caller.as_ref().unwrap_or(&outside));
            if call.caller.is_none() {
                enters(&mut graph, from);
            }
            let to = graph.node(&call.callee);
            if from != to {
                let place = Place { path: path.to_owned(), line: call.line };
                graph.edge(from, to, call.count, Some(place));
                let spoken = match call.protocol {
                    Some("http") => Some(Spoken::Http),
                    Some("grpc") => Some(Spoken::Grpc),
                    _ => None,
                };
                if let Some(spoken) = spoken {
                    graph.speaks(from, to, spoken);
                }
            }
        }
    }
    for hop in &effective.hops {
        let to = graph.find(&hop.callee);
        let from = match &hop.caller {
            Caller::Service(name) => graph.find(name),
            // Somebody calls it, and nobody says who: it is enough to know if nothing else leads
            // there.
            Caller::Anyone if to.is_some() => None,
            Caller::Anyone | Caller::Outside => Some(graph.node(&Name::new(CLIENT, None))),
        };
        let Some(from) = from else { continue };
        let to = graph.node(&hop.callee);
        if from != to && !graph.edges.iter().any(|edge| (edge.from, edge.to) == (from, to)) {
            if !matches!(hop.caller, Caller::Service(_)) {
                enters(&mut graph, from);
            }
            graph.edge(from, to, None, None);
        }
    }
    graph
}

fn enters(graph: &mut Graph, node: usize) {
    if let Some(node) = graph.nodes.get_mut(node) {
        node.entry = true;
    }
}

/// The layers of configuration for the calls that it knows, each with its caller and callee.
#[must_use]
pub fn factors(effective: &Effective) -> Vec<Factor> {
    let mut all = Vec::new();
    let entered = |callee: &Name| {
        let mut hops = effective.hops.iter();
        hops.any(|hop| hop.caller == Caller::Outside && hop.callee.matches(callee))
    };
    for hop in &effective.hops {
        let inside = hop.caller == Caller::Anyone && entered(&hop.callee);
        for applied in hop.layers.iter().filter(|applied| !before_the_service(applied)) {
            let mut factor = of(applied);
            factor.callee = Some(hop.callee.clone());
            factor.inside = inside;
            factor.caller = match &hop.caller {
                Caller::Service(name) => Some(name.clone()),
                Caller::Outside => Some(Name::new(CLIENT, None)),
                Caller::Anyone => None,
            };
            all.push(factor);
        }
    }
    all
}

/// Whether a layer beside the callee only repeats what has not reached it: the service never sees
/// more than one attempt of these.
fn before_the_service(applied: &Applied) -> bool {
    let words = &applied.layer.words;
    applied.layer.seat == Seat::Inbound
        && !words.is_empty()
        && words.iter().all(|word| word == "reset-before-request")
}

fn of(applied: &Applied) -> Factor {
    let path = applied.path.as_deref().unwrap_or_default();
    let mut factor = Factor::of_layer(&applied.layer, path);
    if applied.path.is_none() {
        factor.place = None;
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_config::effective::{Versions, effective};

    /// A gateway and the proxies of the mesh behind it retry different calls: none is repeated by both.
    #[test]
    fn who_comes_through_a_gateway_passes_no_proxy_of_the_mesh_before_it() {
        let route = |name: &str, gateway: &str, attempts: u32| {
            format!(
                "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  hosts: [orders]\n  gateways: [{gateway}]\n  http: [{{route: [{{destination: {{host: orders}}}}], retries: {{attempts: {attempts}, retryOn: reset}}}}]\n"
            )
        };
        let text =
            format!("{}---\n{}", route("orders", "mesh", 3), route("orders-client", "edge", 1));
        let readings = damper_config::read_tree(&[("orders.yaml".to_owned(), text)]);
        let effective = effective(&readings, Versions::default());
        let of = readings.iter().map(|(path, reading)| (path.as_str(), reading));
        let mut graph = graph(of, &effective);
        crate::attach::attach(&mut graph, factors(&effective));
        let attempts: Vec<Vec<u32>> = graph
            .edges
            .iter()
            .map(|edge| edge.layers.iter().map(|layer| graph.layers[*layer].low).collect())
            .collect();
        assert_eq!(attempts, [[2]], "{graph:#?}");
    }
}
