//! The call graph as a drawing: layers from left to right, the client first.

use std::collections::BTreeMap;

use crate::result::{Graph, GraphEdge, Node};

pub(crate) mod curve;
pub(crate) mod draw;
pub(crate) mod layers;
pub(crate) mod node;
pub(crate) mod place;

/// Beyond this many nodes a drawing says less than the table beside it.
pub(crate) const MOST_NODES: usize = 60;

/// A graph whose edges refer to nodes by their place in the list. Names that calls mention
/// but no node has get a node of their own; of two nodes of one name the first counts.
#[derive(Debug)]
pub(crate) struct Indexed<'a> {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge<'a>>,
}

/// A call between two nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge<'a> {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) call: &'a GraphEdge,
}

impl<'a> Indexed<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for node in &graph.nodes {
            places.entry(&node.name).or_insert_with(|| {
                nodes.push(node.clone());
                nodes.len() - 1
            });
        }
        let mut place = |name: &'a str| {
            *places.entry(name).or_insert_with(|| {
                nodes.push(Node { name: name.to_owned(), ..Node::default() });
                nodes.len() - 1
            })
        };
        let edges = graph
            .edges
            .iter()
            .map(|call| Edge { from: place(&call.from), to: place(&call.to), call })
            .collect();
        Self { nodes, edges }
    }

    /// Pairs of nodes, for the layout.
    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        self.edges.iter().map(|e| (e.from, e.to)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_ends_get_a_node_and_duplicates_are_one() {
        let node = |name: &str| Node { name: name.into(), ..Node::default() };
        let call = |from: &str, to: &str| GraphEdge {
            from: from.into(),
            to: to.into(),
            ..GraphEdge::default()
        };
        let graph = Graph {
            nodes: vec![node("a"), node("a")],
            edges: vec![call("a", "ghost"), call("ghost", "a")],
        };
        let indexed = Indexed::new(&graph);
        assert_eq!(indexed.nodes.len(), 2);
        assert_eq!(indexed.pairs(), [(0, 1), (1, 0)]);
    }
}
