//! The graph.

use damper_config::Name;

use crate::bound::Spoken;
use crate::factor::{Factor, Place};

/// Who stands for everybody outside.
pub const CLIENT: &str = "client";

/// Services, calls between them, and the layers that retry these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Services, and whoever calls from outside.
    pub nodes: Vec<Node>,
    /// Calls.
    pub edges: Vec<Edge>,
    /// Layers; edges refer to them by their place here, as one layer may retry many calls.
    pub layers: Vec<Factor>,
}

/// A service, or who calls from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: Name,
    /// Attempts per second that it can serve for ever, over all instances, where that is known.
    pub capacity_rps: Option<f64>,
    /// Whether requests begin here.
    pub entry: bool,
}

/// A call from one to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Who calls: a place in [`Graph::nodes`].
    pub from: usize,
    /// Whom.
    pub to: usize,
    /// Calls for each request that the caller serves, if nobody retries.
    pub calls: f64,
    /// Whether that number is taken for granted and nobody said it.
    pub assumed: bool,
    /// What is spoken, where somebody says so.
    pub spoken: Option<Spoken>,
    /// What says that there is such a call.
    pub evidence: Vec<Place>,
    /// The layers that retry it, the innermost first: places in [`Graph::layers`].
    pub layers: Vec<usize>,
}

impl Graph {
    /// The place of a service, which is added if nobody has that name.
    pub fn node(&mut self, name: &Name) -> usize {
        if let Some(at) = self.find(name) {
            return at;
        }
        self.nodes.push(Node { name: name.clone(), capacity_rps: None, entry: false });
        self.nodes.len() - 1
    }

    /// The place of a service.
    #[must_use]
    pub fn find(&self, name: &Name) -> Option<usize> {
        self.nodes.iter().position(|node| node.name.matches(name))
    }

    /// The call between two, which is added if there is none; `calls` for each request.
    pub fn edge(&mut self, from: usize, to: usize, calls: Option<f64>, place: Option<Place>) {
        let known = self.edges.iter_mut().find(|edge| edge.from == from && edge.to == to);
        match known {
            Some(edge) => {
                edge.evidence.extend(place);
                if let Some(calls) = calls {
                    edge.calls = if edge.assumed { calls } else { edge.calls + calls };
                    edge.assumed = false;
                }
            }
            None => self.edges.push(Edge {
                from,
                to,
                calls: calls.unwrap_or(1.0),
                assumed: calls.is_none(),
                spoken: None,
                evidence: place.into_iter().collect(),
                layers: Vec::new(),
            }),
        }
    }

    /// Says what is spoken on a call; of two that differ either may be.
    pub fn speaks(&mut self, from: usize, to: usize, spoken: Spoken) {
        let edge = self.edges.iter_mut().find(|edge| edge.from == from && edge.to == to);
        if let Some(edge) = edge {
            let first = edge.evidence.len() <= 1;
            let same = edge.spoken == Some(spoken);
            edge.spoken = (first || same).then_some(spoken);
        }
    }

    /// Where requests begin: marked nodes, and those that nobody calls.
    #[must_use]
    pub fn entries(&self) -> Vec<usize> {
        let called = |at: usize| self.edges.iter().any(|edge| edge.to == at && edge.from != at);
        let calls = |at: usize| self.edges.iter().any(|edge| edge.from == at);
        let marked = |at: usize| self.nodes.get(at).is_some_and(|node| node.entry);
        (0..self.nodes.len()).filter(|at| calls(*at) && (marked(*at) || !called(*at))).collect()
    }

    /// The name of a node.
    #[must_use]
    pub fn name(&self, at: usize) -> String {
        self.nodes.get(at).map(|node| node.name.to_string()).unwrap_or_default()
    }
}
