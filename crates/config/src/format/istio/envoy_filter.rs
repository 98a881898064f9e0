//! EnvoyFilter: patches of the configuration that Istio makes, in Envoy's own words.

use super::{is_kind, mesh_seen};
use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::format::envoy::cluster::{Clusters, named};
use crate::format::envoy::route::{Place, host, patch};
use crate::format::envoy::walk::{self, Scene};
use crate::format::parts::Object;
use crate::layer::Seat;
use crate::name::Name;
use crate::reading::Reading;

/// EnvoyFilter.
pub const FORMAT: Format = Format {
    id: "istio-envoyfilter",
    title: "Istio EnvoyFilter",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| is_kind(document, "networking.istio.io", "EnvoyFilter"),
    read,
};

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let Some(spec) = object.root.get("spec") else { return };
    mesh_seen(spec.lines[0], reading);
    let labels = spec.below("workloadSelector.labels");
    let app = labels.and_then(|labels| {
        labels.get("app").or(labels.get("app.kubernetes.io/name")).and_then(Node::text)
    });
    for one in spec.get("configPatches").map_or(&[][..], Node::items) {
        let Some(value) = one.below("patch.value") else { continue };
        let context = one.text_at("match.context").unwrap_or("ANY");
        let seat = match context {
            "SIDECAR_INBOUND" => Seat::Inbound,
            "GATEWAY" => Seat::Gateway,
            _ => Seat::Sidecar,
        };
        let caller =
            app.filter(|_| seat != Seat::Inbound).map(|app| Name::new(app, object.namespace));
        // What the patch does not touch stays as Istio made it: no timeout.
        let place = Place { seat, caller, format: FORMAT.id, timeout: None };
        let (layers, facts) = (reading.layers.len(), reading.facts.len());
        match one.text_at("applyTo").unwrap_or_default() {
            "HTTP_ROUTE" => patch(value, &place, reading),
            "VIRTUAL_HOST" => host(value, &place, &Clusters::new(), reading),
            "CLUSTER" => {
                // A patch need not name the cluster that it patches.
                let mut named = value.clone();
                if let crate::Value::Map(entries) = &mut named.value
                    && !entries.iter().any(|entry| &*entry.key == "name")
                {
                    let name = Node::scalar("*", true, value.lines[0]);
                    let line = value.lines[0];
                    entries.push(crate::document::Entry { key: "name".into(), line, value: name });
                }
                let known = &mut Clusters::new();
                crate::format::envoy::cluster::read(&named, known, reading);
            }
            _ => walk::read(value, Scene { place, ..Scene::default() }, reading),
        }
        let whom = matched(one);
        for layer in reading.layers.iter_mut().skip(layers) {
            if layer.callee.is_none() {
                layer.callee.clone_from(&whom);
            }
        }
        for fact in reading.facts.iter_mut().skip(facts) {
            if fact.about.as_ref().is_none_or(|name| name.service == "*") {
                fact.about.clone_from(&whom);
            }
        }
    }
}

/// Whom a patch is about: the service of the cluster or of the virtual host that it matches.
fn matched(patch: &Node) -> Option<Name> {
    let cluster = patch.text_at("match.cluster.service").and_then(|host| Name::of_host(host, None));
    let by_name = || patch.text_at("match.cluster.name").and_then(named);
    let host = || {
        let vhost = patch.text_at("match.routeConfiguration.vhost.name")?;
        Name::of_host(vhost, None)
    };
    cluster.or_else(by_name).or_else(host)
}
