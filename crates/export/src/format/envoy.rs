//! Envoy: a bootstrap for the proxy beside each caller, and beside each service that has controls
//! at its door.

use super::{Format, filter, inbound, route};
use crate::Options;
use crate::asked::{Asked, Edge};
use crate::loss::Draft;
use crate::tree::{Map, yaml};

/// Bootstrap files.
pub(super) const FORMAT: Format = Format {
    id: "envoy",
    title: "Envoy",
    summary: "a bootstrap for the proxy beside each caller and each service with controls",
    per_callee: false,
    filter: true,
    write,
};

const TYPES: &str = "type.googleapis.com/envoy.extensions.filters";
/// Where the filter's module is looked for.
const MODULE: &str = "/etc/damper/damper-filter.wasm";

fn write(asked: &Asked<'_>, options: &Options) -> Draft {
    let mut draft = Draft::default();
    let mut names = asked.callers();
    for service in &asked.services {
        let guarded = service.rate_limit.is_some()
            || service.admission.is_some()
            || service.concurrency.is_some();
        if guarded && !names.contains(&service.name.as_str()) {
            names.push(&service.name);
        }
    }
    for name in names {
        let text = bootstrap(name, asked, options, &mut draft);
        draft.file(format!("{name}.yaml"), text);
    }
    draft.note(
        "Envoy lets 1,024 requests, waiting requests and connections to a cluster be: its own \
         limits stay as they are",
    );
    draft
}

fn bootstrap(name: &str, asked: &Asked<'_>, options: &Options, draft: &mut Draft) -> String {
    let edges: Vec<&Edge<'_>> = asked.by(name).collect();
    let mut listeners = Vec::new();
    let mut clusters = Vec::new();
    if !edges.is_empty() {
        let mut hosts = Vec::new();
        for edge in &edges {
            let (host, cluster) = route::of(edge, options, draft);
            hosts.push(host);
            clusters.push(cluster);
        }
        let mut filters = Vec::new();
        if let Some(config) = filter::config(&edges, filter::Names::Service, options) {
            let text = config.to_string();
            draft.file(format!("{name}.filter.json"), format!("{config:#}\n"));
            draft.note(&format!(
                "{name}.yaml needs Damper's filter at {MODULE}; --plain writes it without"
            ));
            filters.push(wasm(&text));
        }
        listeners.push(listener("outbound", "127.0.0.1", options.listen[0], hosts, filters));
    }
    if let Some(service) = asked.services.iter().find(|service| service.name == name) {
        let door = inbound::of(service, draft);
        if !door.filters.is_empty() || door.at_once.is_some() || !door.marks.is_empty() {
            let cluster = format!("inbound|{name}");
            let action = Map::new().with("cluster", cluster.as_str()).with("timeout", "0s");
            let route =
                Map::new().with("match", Map::new().with("prefix", "/")).with("route", action);
            let host = Map::new()
                .with("name", name)
                .noted(door.marks)
                .with("domains", vec!["*"])
                .with("routes", vec![route]);
            let port = options.listen[1];
            listeners.push(listener("inbound", "0.0.0.0", port, vec![host], door.filters));
            clusters.push(local(&cluster, options.port, door.at_once));
        }
    }
    let document = Map::new()
        .with("node", Map::new().with("id", name).with("cluster", name))
        .headed([
            format!("Envoy beside {name}, made by `damper export envoy` from {}.", asked.name),
            format!("The class of a request is in the header {}.", options.class_header),
        ])
        .with(
            "static_resources",
            Map::new().with("listeners", listeners).with("clusters", clusters),
        );
    yaml(&[document])
}

/// The service itself, behind its proxy.
fn local(cluster: &str, port: u16, at_once: Option<u32>) -> Map {
    let group = Map::new().with("lb_endpoints", vec![route::endpoint("127.0.0.1", port)]);
    let map = Map::new().with("name", cluster).with("type", "STATIC").with(
        "load_assignment",
        Map::new().with("cluster_name", cluster).with("endpoints", vec![group]),
    );
    let Some(limit) = at_once else { return map };
    // HTTP/1.1 is limited by connections, HTTP/2 by requests.
    let threshold = Map::new()
        .with("priority", "DEFAULT")
        .with("max_connections", limit)
        .with("max_requests", limit)
        .with("max_pending_requests", 1_u32);
    map.with("circuit_breakers", Map::new().with("thresholds", vec![threshold]))
}

fn listener(name: &str, address: &str, port: u16, hosts: Vec<Map>, mut filters: Vec<Map>) -> Map {
    let router = Map::new()
        .with("name", "envoy.filters.http.router")
        .with("typed_config", Map::new().with("@type", format!("{TYPES}.http.router.v3.Router")));
    filters.push(router);
    let kind = "network.http_connection_manager.v3.HttpConnectionManager";
    let manager = Map::new()
        .with("@type", format!("{TYPES}.{kind}"))
        .with("stat_prefix", name)
        .with("route_config", Map::new().with("name", name).with("virtual_hosts", hosts))
        .with("http_filters", filters);
    let network = Map::new()
        .with("name", "envoy.filters.network.http_connection_manager")
        .with("typed_config", manager);
    let socket = Map::new().with("address", address).with("port_value", u32::from(port));
    Map::new()
        .with("name", name)
        .with("address", Map::new().with("socket_address", socket))
        .with("filter_chains", vec![Map::new().with("filters", vec![network])])
}

/// The filter, with its configuration inside.
fn wasm(config: &str) -> Map {
    let code = Map::new().with("local", Map::new().with("filename", MODULE));
    let vm = Map::new().with("runtime", "envoy.wasm.runtime.v8").with("code", code);
    let text = Map::new()
        .with("@type", "type.googleapis.com/google.protobuf.StringValue")
        .with("value", config);
    let plugin = Map::new()
        .with("name", "damper")
        .with("root_id", "damper-outbound")
        .with("vm_config", vm)
        .with("configuration", text);
    let typed =
        Map::new().with("@type", format!("{TYPES}.http.wasm.v3.Wasm")).with("config", plugin);
    Map::new().with("name", "damper").with("typed_config", typed)
}
