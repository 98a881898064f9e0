//! The configuration of a mesh: in the ConfigMap `istio`, in an `IstioOperator`, in Helm values.

use super::{MESH, WHO, destination_rule, mesh_seen, virtual_service};
use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::format::envoy::vocabulary::conditions;
use crate::format::parts::{Object, embedded, envoy_delay, from_retries, group, ms_at, span};
use crate::layer::{Attempts, Layer, Reach, Seat, Sourced};
use crate::reading::Reading;
use crate::units::words;

/// MeshConfig.
pub const FORMAT: Format = Format {
    id: MESH,
    title: "Istio mesh configuration",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        values(document).is_some() || operator(document).is_some() || is_config_map(document)
    },
    read,
};

fn values(document: &Document) -> Option<&Node> {
    let none = document.root.get("apiVersion").is_none();
    document.root.get("meshConfig").filter(|node| none && !node.entries().is_empty())
}

fn operator(document: &Document) -> Option<&Node> {
    (group(document) == Some("install.istio.io")).then(|| document.root.below("spec")).flatten()
}

fn is_config_map(document: &Document) -> bool {
    let object = Object::of(document);
    group(document) == Some("")
        && object.kind() == "ConfigMap"
        && object.name.is_some_and(|name| name == "istio" || name.starts_with("istio-"))
        && document.root.below("data").is_some_and(|data| data.get("mesh").is_some())
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    mesh_seen(document.root.lines[0], reading);
    if let Some(mesh) = values(document) {
        mesh_config(mesh, reading);
    }
    if let Some(mesh) = operator(document).and_then(|spec| spec.get("meshConfig")) {
        mesh_config(mesh, reading);
    }
    if is_config_map(document) {
        let data = document.root.get("data").and_then(|data| data.get("mesh"));
        for inner in data.map(|node| embedded(node, Syntax::Yaml)).unwrap_or_default() {
            mesh_config(&inner.root, reading);
        }
    }
}

fn mesh_config(mesh: &Node, reading: &mut Reading) {
    if let Some(entry) = mesh.loose_entry("defaultHttpRetryPolicy") {
        let mut layer = Layer::at(FORMAT.id, Seat::Sidecar, span(entry));
        layer.reach = Reach::Everything;
        virtual_service::fill(&mut layer, entry, reading);
        if entry.value.loose("attempts").is_none() {
            // What is not said here is as it is built in.
            layer.attempts = Sourced::default_of(Attempts::Count(3), WHO);
        }
        reading.layers.push(layer);
    }
    if let Some(entry) = mesh.loose_entry("defaultInboundHttpRetryPolicy") {
        let mut layer = Layer::at(FORMAT.id, Seat::Inbound, span(entry));
        layer.reach = Reach::Everything;
        layer.attempts = match entry.value.loose_entry("attempts") {
            Some(attempts) => from_retries(attempts),
            None => Sourced::written(Attempts::Count(1), entry.line),
        };
        let listed = entry.value.loose_entry("retryOn");
        layer.words = listed
            .map_or_else(|| vec!["reset-before-request".to_owned()], |entry| words(&entry.value));
        let on = conditions(&layer.words, &[], true).on;
        layer.on = Sourced::written(on, listed.map_or(entry.line, |entry| entry.line));
        layer.delay = envoy_delay(ms_at(&entry.value, "backoff", 0.0), None, WHO);
        reading.layers.push(layer);
    }
    if let Some(policy) = mesh.loose("defaultTrafficPolicy") {
        destination_rule::traffic_policy(policy, None, None, reading);
    }
}
