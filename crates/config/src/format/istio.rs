//! Istio: routes and their retries, limits of destinations, defaults of the mesh, patches.
//!
//! A call that nobody configured is tried three times. That layer is made in
//! [`crate::effective`], because only all files together say that nobody configured it.

pub mod destination_rule;
pub mod envoy_filter;
pub mod mesh_config;
pub mod resources;
pub mod virtual_service;

use crate::document::{Document, Node};
use crate::failure::Failures;
use crate::format::envoy::vocabulary::{Conditions, conditions};
use crate::format::parts::group;
use crate::layer::{Budget, Sourced};
use crate::reading::{Reading, What};

/// Who does what nobody wrote.
pub(crate) const WHO: &str = "Istio, built in";
/// The format whose built-in layer applies to every call of a mesh.
pub(crate) const MESH: &str = "istio-mesh";
/// That a namespace or a workload is in the ambient mesh: no proxy stands beside it.
pub(crate) const AMBIENT: &str = "istio-ambient";
/// That calls to a namespace or to a service go through a waypoint.
pub(crate) const WAYPOINT: &str = "istio-waypoint";
/// Stands for every service of a namespace.
pub(crate) const ALL: &str = "*";
/// What is retried where nobody says anything.
pub(crate) const DEFAULT_WORDS: [&str; 4] =
    ["connect-failure", "refused-stream", "unavailable", "cancelled"];

/// Whether a document is an object of Istio's networking of a kind.
fn is_kind(document: &Document, of: &str, kind: &str) -> bool {
    group(document) == Some(of) && document.root.get("kind").and_then(Node::text) == Some(kind)
}

/// Notes, once, that there is a mesh.
pub(crate) fn mesh_seen(line: u32, reading: &mut Reading) {
    let what = What::Mesh { format: MESH };
    if !reading.facts.iter().any(|fact| fact.what == what) {
        crate::format::parts::fact(reading, [line, line], None, what);
    }
}

/// What is retried where nobody says anything.
pub(crate) fn default_conditions() -> Conditions {
    conditions(&DEFAULT_WORDS, &[], true)
}

/// The same as a set.
pub(crate) fn default_on() -> Sourced<Failures> {
    Sourced::default_of(default_conditions().on, WHO)
}

/// Retries at once: Istio lifts Envoy's limit of three.
pub(crate) fn default_budget() -> Sourced<Budget> {
    Sourced::default_of(Budget::Concurrent { limit: None }, WHO)
}

#[cfg(test)]
mod tests;
