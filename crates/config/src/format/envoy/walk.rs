//! Goes through a document of Envoy by its shapes, so that a bootstrap, a response, a dump and a
//! fragment are read by the same code: clusters first, then the routes that lead to them.

use super::cluster::{self, Clusters, named};
use super::route::{self, Place};
use super::{WHO, filters, policy, runtime};
use crate::document::Node;
use crate::format::parts::{envoy_delay, ms_at, span};
use crate::layer::{Layer, Seat, Sourced};
use crate::name::Name;
use crate::reading::Reading;

/// What is known at a place of the document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    /// Where routes stand.
    pub(crate) place: Place,
    /// The clusters of the document.
    pub(crate) clusters: std::rc::Rc<Clusters>,
}

impl Scene {
    /// Who is behind a cluster.
    pub(crate) fn callee(&self, cluster: &str) -> Option<Name> {
        match self.clusters.get(cluster) {
            Some(known) => known.name.clone(),
            None => named(cluster),
        }
    }
}

/// Reads whatever Envoy messages are below a node.
pub(crate) fn read(root: &Node, mut scene: Scene, reading: &mut Reading) {
    let mut clusters = Clusters::new();
    find_clusters(root, false, &mut clusters, reading);
    scene.clusters = std::rc::Rc::new(clusters);
    owner(root, &mut scene.place);
    let before = reading.layers.len();
    walk(root, &scene, reading);
    if let Some(layers) = reading.layers.get_mut(before..) {
        runtime::apply(root, layers);
    }
}

/// Who runs this Envoy: its node's cluster, and by its id whether it is a gateway.
fn owner(root: &Node, place: &mut Place) {
    let bootstrap = root.loose("configs").map_or(&[][..], Node::items);
    let dumped = bootstrap.iter().find_map(|one| one.below("bootstrap.node"));
    let Some(node) = root.loose("node").or(dumped) else { return };
    let id = node.text_at("id").unwrap_or_default();
    if id.starts_with("router~") {
        place.seat = Seat::Gateway;
    }
    if place.caller.is_none() {
        place.caller = node.text_at("cluster").and_then(|name| Name::of_host(name, None));
    }
}

/// The last word of a message's type: `Cluster` of
/// `type.googleapis.com/envoy.config.cluster.v3.Cluster`.
fn kind(node: &Node) -> Option<&str> {
    node.get("@type")?.text()?.rsplit_once('.').map(|(_, kind)| kind)
}

fn find_clusters(node: &Node, listed: bool, clusters: &mut Clusters, reading: &mut Reading) {
    let named = || node.entry("name").is_some();
    let typed = kind(node);
    if named() && (typed == Some("Cluster") || typed.is_none() && listed) {
        cluster::read(node, clusters, reading);
        return;
    }
    for entry in node.entries() {
        match &*entry.key {
            // Neither holds clusters, and both are big.
            "virtual_hosts" | "virtualHosts" => {}
            "cluster" if !entry.value.entries().is_empty() => {
                find_clusters(&entry.value, true, clusters, reading);
            }
            "clusters" => {
                for item in entry.value.items() {
                    find_clusters(item, true, clusters, reading);
                }
            }
            _ => find_clusters(&entry.value, false, clusters, reading),
        }
    }
    for item in node.items() {
        find_clusters(item, false, clusters, reading);
    }
}

fn walk(node: &Node, scene: &Scene, reading: &mut Reading) {
    let kind = kind(node);
    if kind == Some("Cluster") {
        return;
    }
    if kind == Some("VirtualHost") {
        route::host(node, &scene.place, &scene.clusters, reading);
        return;
    }
    let listener =
        node.loose("filter_chains").is_some() || node.loose("default_filter_chain").is_some();
    let changed = listener.then(|| of_listener(node, scene));
    let scene = changed.as_ref().unwrap_or(scene);
    match (kind, node.loose("type_url").and_then(Node::text), node.loose("value")) {
        // A message whose type Envoy itself does not know beforehand.
        (Some("TypedStruct"), Some(name), Some(value)) => {
            let kind = name.rsplit('.').next().unwrap_or_default();
            filters::read(kind, value, scene, reading);
        }
        (Some(kind), ..) => filters::read(kind, node, scene, reading),
        _ => {}
    }
    for entry in node.entries() {
        match &*entry.key {
            "virtual_hosts" | "virtualHosts" => {
                for host in entry.value.items() {
                    route::host(host, &scene.place, &scene.clusters, reading);
                    filters_of(host, scene, reading);
                }
            }
            "clusters" => {}
            "retry_policy" | "retryPolicy" => beside_a_call(node, entry, scene, reading),
            _ => walk(&entry.value, scene, reading),
        }
    }
    for item in node.items() {
        walk(item, scene, reading);
    }
}

/// Filters of single hosts and routes.
fn filters_of(host: &Node, scene: &Scene, reading: &mut Reading) {
    let routes = host.loose("routes").map_or(&[][..], Node::items);
    for one in std::iter::once(host).chain(routes) {
        for filter in one.loose("typed_per_filter_config").map_or(&[][..], Node::entries) {
            if let Some(kind) = kind(&filter.value) {
                filters::read(kind, &filter.value, scene, reading);
            }
        }
    }
}

fn of_listener(listener: &Node, scene: &Scene) -> Scene {
    let mut scene = scene.clone();
    let host = listener.text_at("address.socket_address.address").unwrap_or_default();
    scene.place.seat = match listener.text_at("traffic_direction") {
        Some("INBOUND") => Seat::Inbound,
        Some("OUTBOUND") => Seat::Sidecar,
        _ if matches!(host, "127.0.0.1" | "localhost" | "::1") => Seat::Sidecar,
        _ => Seat::Gateway,
    };
    scene
}

/// A policy of a call that Envoy makes itself, such as for keys or for its control plane.
fn beside_a_call(
    beside: &Node,
    entry: &crate::document::Entry,
    scene: &Scene,
    reading: &mut Reading,
) {
    let core = &entry.value;
    let route = core.loose("per_try_timeout").or(core.loose("retriable_status_codes")).is_some();
    let mut layer = Layer::at(scene.place.format, Seat::Client, span(entry));
    layer.caller.clone_from(&scene.place.caller);
    let uri = beside.loose("http_uri").or(beside.loose("uri")).or(beside.loose("envoy_grpc"));
    let cluster = uri.and_then(|uri| uri.text_at("cluster").or(uri.text_at("cluster_name")));
    layer.callee = cluster.and_then(|name| scene.callee(name));
    layer.timeout_ms = uri.and_then(|uri| ms_at(uri, "timeout", 0.0)).filter(|ms| ms.value > 0.0);
    if route || core.loose("retry_on").is_some() {
        policy::fill(&mut layer, core, None, reading);
    } else {
        // The policy of such a call retries what a gateway would, and waits a second.
        let on = super::vocabulary::conditions(&["5xx"], &[], false).on;
        layer.on = Sourced::default_of(on, WHO);
        layer.attempts = core.loose_entry("num_retries").map_or_else(
            || Sourced::default_of(crate::Attempts::Count(2), WHO),
            crate::format::parts::from_retries,
        );
        let base = ms_at(core, "retry_back_off.base_interval", 0.0);
        layer.delay = envoy_delay(
            base.or_else(|| Some(Sourced::default_of(1000.0, WHO))),
            ms_at(core, "retry_back_off.max_interval", 0.0),
            WHO,
        );
    }
    reading.layers.push(layer);
}
