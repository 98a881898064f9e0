//! Other resources of Istio: services outside of the mesh, filters in WebAssembly, and what shows
//! that there is a mesh.

use super::{ALL, AMBIENT, WAYPOINT, mesh_seen};
use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::format::parts::{Object, fact, group};
use crate::name::Name;
use crate::reading::{Reading, Service, What};

/// ServiceEntry, WasmPlugin, Sidecar, PeerAuthentication, ProxyConfig, and labels for injection.
pub const FORMAT: Format = Format {
    id: "istio-resources",
    title: "Istio resources",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        let group = group(document);
        let kind = document.root.get("kind").and_then(Node::text).unwrap_or_default();
        group.is_some_and(|group| group.ends_with(".istio.io") && group != "install.istio.io")
            && !ELSEWHERE.contains(&kind)
            || group.is_some() && injected(document).is_some()
    },
    read,
};

/// Kinds that have formats of their own.
const ELSEWHERE: [&str; 3] = ["VirtualService", "DestinationRule", "EnvoyFilter"];

/// The line that asks for a sidecar.
fn injected(document: &Document) -> Option<u32> {
    let metas = ["metadata", "spec.template.metadata"];
    let metas = metas.iter().filter_map(|path| document.root.below(path));
    let maps = metas.flat_map(|meta| [meta.get("labels"), meta.get("annotations")]).flatten();
    let asks = |entry: &&crate::document::Entry| {
        let value = entry.value.text().unwrap_or_default();
        match &*entry.key {
            "istio-injection" => value == "enabled",
            "sidecar.istio.io/inject" => value == "true",
            "istio.io/rev" => true,
            "istio.io/dataplane-mode" => value == "ambient",
            "istio.io/use-waypoint" => value != "none",
            _ => false,
        }
    };
    maps.flat_map(Node::entries).find(asks).map(|entry| entry.line)
}

/// Who is in the ambient mesh, and whose calls go through a waypoint.
fn ambient(object: &Object<'_>, reading: &mut Reading) {
    let whose = match object.kind() {
        "Namespace" => object.name.map(|name| Name::new(ALL, Some(name))),
        _ => object.own(),
    };
    let metas = ["metadata", "spec.template.metadata"];
    let labels = metas.iter().filter_map(|path| object.root.below(path)?.get("labels"));
    for label in labels.flat_map(Node::entries) {
        let value = label.value.text().unwrap_or_default();
        let format = match &*label.key {
            "istio.io/dataplane-mode" if value == "ambient" => AMBIENT,
            "istio.io/use-waypoint" if value != "none" => WAYPOINT,
            _ => continue,
        };
        fact(reading, [label.line; 2], whose.clone(), What::Mesh { format });
    }
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let line = injected(document).unwrap_or(document.root.lines[0]);
    mesh_seen(line, reading);
    ambient(&object, reading);
    let Some(spec) = object.root.get("spec") else { return };
    match object.kind() {
        "ServiceEntry" => {
            for host in spec.get("hosts").map_or(&[][..], Node::items) {
                if let Some(name) = host.text().and_then(|text| object.host(text)) {
                    let line = host.lines[0];
                    reading.services.push(Service {
                        name,
                        line,
                        labels: vec![],
                        replicas: None,
                        images: vec![],
                    });
                }
            }
        }
        "WasmPlugin" | "TrafficExtension" => {
            let url = spec.entry("url").or(spec.entry("wasm")).or(spec.entry("lua"));
            let line = url.map_or(spec.lines[0], |entry| entry.line);
            let what = url.and_then(|entry| entry.value.text()).unwrap_or("code");
            reading
                .open
                .push((line, format!("a filter from {what} may refuse or change requests")));
        }
        _ => {}
    }
}
