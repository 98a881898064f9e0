//! Which layers retry which call: in each seat the most specific one that fits, the innermost seat
//! first.

use crate::factor::Factor;
use crate::graph::{CLIENT, Edge, Graph};

/// Adds layers to the graph and puts them on the calls that they retry. Layers that fit no call
/// are kept in the graph and stand on none.
pub fn attach(graph: &mut Graph, layers: Vec<Factor>) {
    let first = graph.layers.len();
    graph.layers.extend(layers);
    for at in 0..graph.edges.len() {
        let Some(edge) = graph.edges.get(at) else { continue };
        let mut chosen: Vec<usize> = edge.layers.clone();
        for layer in first..graph.layers.len() {
            let Some(factor) = graph.layers.get(layer) else { continue };
            if !fits(graph, edge, factor) {
                continue;
            }
            let rival = chosen
                .iter()
                .position(|one| graph.layers.get(*one).is_some_and(|one| one.seat == factor.seat));
            match rival {
                None => chosen.push(layer),
                Some(rival) => {
                    let other = chosen.get(rival).and_then(|other| graph.layers.get(*other));
                    // Two routes of one service differ; which one a call takes is not known here.
                    let key = |factor: &Factor| (factor.reach, factor.most(false));
                    if other.is_none_or(|other| key(factor) > key(other))
                        && let Some(place) = chosen.get_mut(rival)
                    {
                        *place = layer;
                    }
                }
            }
        }
        // The innermost first: the seats are listed from the outermost on.
        chosen
            .sort_by_key(|one| std::cmp::Reverse(graph.layers.get(*one).map(|factor| factor.seat)));
        if let Some(edge) = graph.edges.get_mut(at) {
            edge.layers = chosen;
        }
    }
}

fn fits(graph: &Graph, edge: &Edge, factor: &Factor) -> bool {
    let is = |at: usize, name: &Option<damper_config::Name>| match name {
        None => true,
        Some(name) => graph.nodes.get(at).is_some_and(|node| node.name.matches(name)),
    };
    let entering = || graph.nodes.get(edge.from).is_some_and(|node| node.name.service == CLIENT);
    is(edge.from, &factor.caller) && is(edge.to, &factor.callee) && !(factor.inside && entering())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::tests::factor;
    use damper_config::layer::{Reach, Seat};
    use damper_config::{Failures, Name};

    #[test]
    fn the_most_specific_layer_of_a_seat_wins_and_seats_multiply() {
        let mut graph = Graph::default();
        let (a, b) = (graph.node(&Name::new("a", None)), graph.node(&Name::new("b", None)));
        graph.edge(a, b, None, None);
        let of = |attempts, seat, reach, callee: Option<&str>| {
            let mut layer = factor(attempts, Failures::EVERY);
            (layer.seat, layer.reach) = (seat, reach);
            layer.callee = callee.map(|name| Name::new(name, None));
            layer
        };
        attach(
            &mut graph,
            vec![
                of(3, Seat::Sidecar, Reach::BuiltIn, None),
                of(1, Seat::Sidecar, Reach::Service, Some("b")),
                of(9, Seat::Sidecar, Reach::Route, Some("c")),
                of(5, Seat::Client, Reach::Service, None),
            ],
        );
        let attempts: Vec<_> =
            graph.edges[0].layers.iter().map(|layer| graph.layers[*layer].low).collect();
        assert_eq!(attempts, [1, 5], "switched off by name, and the client's");
    }
}
