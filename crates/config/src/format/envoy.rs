//! Envoy: bootstrap files, xDS resources and responses, admin dumps, and the fragments that other
//! formats carry. Keys may be in snake case or in lower camel case.

pub(crate) mod cluster;
mod filters;
pub(crate) mod policy;
pub(crate) mod route;
mod runtime;
pub(crate) mod vocabulary;
pub(crate) mod walk;

use crate::document::{Document, Node, Syntax};
use crate::format::Format;

/// Bootstrap, RouteConfiguration, Cluster, Listener, DiscoveryResponse, `/config_dump`.
pub const FORMAT: Format = Format {
    id: "envoy",
    title: "Envoy",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| is_envoy(document),
    read: |_, document, reading| walk::read(&document.root, walk::Scene::default(), reading),
};

/// Who does what nobody wrote.
pub(crate) const WHO: &str = "Envoy";

/// Values that are looked at before a document is held not to be Envoy's.
const LOOK: usize = 3_000;

fn is_envoy(document: &Document) -> bool {
    let root = &document.root;
    if root.get("apiVersion").is_some() && root.get("kind").is_some() {
        return false;
    }
    let listed = |path: &str| root.below(path).is_some_and(|node| !node.items().is_empty());
    listed("static_resources.listeners")
        || listed("static_resources.clusters")
        || typed(root, &mut LOOK.clone())
}

/// Whether a message names an Envoy type, somewhere near its beginning.
fn typed(node: &Node, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    let own = node.get("@type").and_then(Node::text).is_some_and(|name| name.contains("/envoy."));
    own || node.entries().iter().any(|entry| typed(&entry.value, left))
        || node.items().iter().any(|item| typed(item, left))
}

#[cfg(test)]
mod tests;
