//! What losses mean for a system: it is solved as it was asked and as it is written.

use std::collections::BTreeMap;

use damper_graph::system::{graph, ways};
use damper_model::system::solve;
use damper_system::System;
use damper_system::model::Policy;

use crate::loss::{Change, Meaning};

/// Losses that are solved one by one; the rest has its numbers in the whole.
const MOST: usize = 64;

/// A system as far as losses change it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Numbers {
    worst: f64,
    sustained: f64,
    hidden_rps: Option<f64>,
}

/// Solves with changes.
pub(crate) struct Meanings<'a> {
    system: &'a System,
    solved: usize,
    /// The numbers of what was asked, by service.
    asked: BTreeMap<usize, Option<Numbers>>,
}

impl<'a> Meanings<'a> {
    pub(crate) fn of(system: &'a System) -> Self {
        Self { system, solved: 0, asked: BTreeMap::new() }
    }

    /// What one loss does.
    pub(crate) fn one(&mut self, changes: &[(usize, Change)]) -> Option<Meaning> {
        self.solved += 1;
        if self.solved > MOST {
            return None;
        }
        self.all(changes)
    }

    /// What all of them do together, at the service of the first.
    pub(crate) fn all(&mut self, changes: &[(usize, Change)]) -> Option<Meaning> {
        let (first, _) = changes.first()?;
        let target = self.system.policies.edges.get(*first)?.target;
        let service = self.system.server_of(target).0 as usize;
        let mut written = self.system.clone();
        for (edge, change) in changes {
            if let Some(edge) = written.policies.edges.get_mut(*edge) {
                change.apply(&mut edge.policy);
            }
        }
        let system = self.system;
        let asked = (*self.asked.entry(service).or_insert_with(|| numbers(system, service)))?;
        let written = numbers(&written, service)?;
        Some(Meaning {
            worst: [asked.worst, written.worst],
            sustained: [asked.sustained, written.sustained],
            hidden_rps: [asked.hidden_rps, written.hidden_rps],
        })
    }
}

/// The numbers at a service.
fn numbers(system: &System, service: usize) -> Option<Numbers> {
    let graph = graph(system);
    let ways = ways(system, &graph);
    let (worst, sustained, _) = ways.at(&graph, service + 1)?;
    let hidden_rps = solve(system).ok().and_then(|solved| solved.hidden_rps);
    Some(Numbers { worst: worst.high, sustained: sustained.high, hidden_rps })
}

/// The policies as they are written.
pub(crate) fn written(system: &System, changes: &[(usize, Change)]) -> Vec<Policy> {
    let edges = system.policies.edges.iter();
    let mut policies: Vec<Policy> = edges.map(|edge| edge.policy.clone()).collect();
    for (edge, change) in changes {
        if let Some(policy) = policies.get_mut(*edge) {
            change.apply(policy);
        }
    }
    policies
}
