//! The bootstrap of one sidecar: everything static, everything on the loopback interface.

use std::collections::BTreeMap;
use std::path::Path;

use damper_control::RetryOn;
use damper_system::System;
use damper_system::model::{Caller, Edge};
use serde_json::{Value, json};

use super::filter;
use super::policy::{on, retry_policy, route_timeout};
use crate::wire::{self, Protocol};

/// Bounds that Envoy has by default, and that would quietly take part in an experiment about
/// others: 3 retries, 1024 requests and connections for each cluster.
const UNBOUNDED: u32 = 1_000_000_000;
/// Streams of one HTTP/2 connection.
const STREAMS: u32 = 1 << 20;

/// One sidecar and what is around it.
pub(crate) struct Beside<'a> {
    pub(crate) system: &'a System,
    /// Whose sidecar it is.
    pub(crate) who: Caller,
    pub(crate) name: &'a str,
    pub(crate) protocol: Protocol,
    /// The server itself.
    pub(crate) app_port: u16,
    /// `None`: the clients, whom nobody calls.
    pub(crate) inbound_port: Option<u16>,
    pub(crate) outbound_port: u16,
    pub(crate) admin_port: u16,
    /// Inbound ports by the name under which the server calls.
    pub(crate) callees: BTreeMap<String, u16>,
    /// Damper's filter; without it routes match the class.
    pub(crate) filter: Option<&'a Path>,
}

/// What Envoy is started with.
pub(crate) fn bootstrap(beside: &Beside<'_>) -> Value {
    let mut listeners = vec![outbound(beside)];
    let mut clusters: Vec<Value> = beside
        .callees
        .iter()
        .map(|(name, port)| cluster(&format!("to_{name}"), *port, beside.protocol))
        .collect();
    if let Some(port) = beside.inbound_port {
        listeners.push(inbound(port));
        clusters.push(cluster("app", beside.app_port, beside.protocol));
    }
    json!({
        "node": {"id": beside.name, "cluster": beside.name},
        "admin": {"address": address(beside.admin_port)},
        "static_resources": {"listeners": listeners, "clusters": clusters},
    })
}

fn address(port: u16) -> Value {
    json!({"socket_address": {"address": "127.0.0.1", "port_value": port}})
}

fn cluster(name: &str, port: u16, protocol: Protocol) -> Value {
    let options = if protocol.is_http2() {
        json!({"http2_protocol_options": {"max_concurrent_streams": STREAMS}})
    } else {
        json!({"http_protocol_options": {}})
    };
    let bounds = |priority: &str| {
        json!({
            "priority": priority,
            "max_connections": UNBOUNDED, "max_pending_requests": UNBOUNDED,
            "max_requests": UNBOUNDED, "max_retries": UNBOUNDED,
        })
    };
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "5s",
        "circuit_breakers": {"thresholds": [bounds("DEFAULT"), bounds("HIGH")]},
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": options,
            },
        },
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(port)}}]}],
        },
    })
}

fn listener(name: &str, port: u16, filters: Vec<Value>, hosts: Vec<Value>) -> Value {
    let mut filters = filters;
    filters.push(json!({
        "name": "envoy.filters.http.router",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
        },
    }));
    json!({
        "name": name,
        "address": address(port),
        // Two emulations that were given the same port must not share it.
        "enable_reuse_port": false,
        "filter_chains": [{"filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                "stat_prefix": name,
                "codec_type": "AUTO",
                "generate_request_id": false,
                "stream_idle_timeout": "0s",
                "http2_protocol_options": {"max_concurrent_streams": STREAMS},
                "route_config": {"name": name, "virtual_hosts": hosts},
                "http_filters": filters,
            },
        }]}],
    })
}

fn inbound(port: u16) -> Value {
    let host = json!({
        "name": "app",
        "domains": ["*"],
        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "app", "timeout": "0s"}}],
    });
    listener("inbound", port, Vec::new(), vec![host])
}

fn outbound(beside: &Beside<'_>) -> Value {
    let filters = beside.filter.map(|path| wasm(path, beside)).into_iter().collect();
    let edges = beside.system.policies.edges.iter().filter(|edge| edge.caller == beside.who);
    let hosts = edges.map(|edge| virtual_host(beside, edge)).collect();
    listener("outbound", beside.outbound_port, filters, hosts)
}

/// Routes to one callee: with the filter one for all, without it one for each class and one for
/// what has no class, which counts as the lowest.
fn virtual_host(beside: &Beside<'_>, edge: &Edge) -> Value {
    let name = beside.system.target_name(edge.target);
    let policy = &edge.policy;
    let route = |limit: u32, on: RetryOn| {
        json!({
            "cluster": format!("to_{name}"),
            "timeout": route_timeout(policy),
            "retry_policy": retry_policy(policy, limit, on, beside.protocol),
        })
    };
    let limit = |class: usize| policy.retry.limits.limit(class as u8);
    let on = on(policy);
    let classes = &beside.system.classes;
    let routes: Vec<Value> = if beside.filter.is_some() {
        // The limit, and where it can the conditions, are the filter's: what it does not say does
        // not happen.
        let own = if filter::names_ends(policy) { RetryOn::NONE } else { on };
        vec![json!({"match": {"prefix": "/"}, "route": route(0, own)})]
    } else {
        let header =
            |class: &str| json!([{"name": wire::CLASS.as_str(), "string_match": {"exact": class}}]);
        let by_class = classes.iter().enumerate().map(|(i, class)| {
            json!({
                "match": {"prefix": "/", "headers": header(class)},
                "route": route(limit(i), on),
            })
        });
        let rest = json!({"match": {"prefix": "/"}, "route": route(limit(classes.len() - 1), on)});
        by_class.chain([rest]).collect()
    };
    json!({
        "name": name,
        "domains": [name],
        "include_request_attempt_count": true,
        "include_attempt_count_in_response": true,
        "routes": routes,
    })
}

fn wasm(path: &Path, beside: &Beside<'_>) -> Value {
    let configuration = filter::configuration(beside.system, beside.who).to_json();
    json!({
        "name": "envoy.filters.http.wasm",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {
                "name": "damper",
                "root_id": "damper",
                // Traffic goes on without it; the counts then show that nobody retries.
                "failure_policy": "FAIL_OPEN",
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": configuration,
                },
                "vm_config": {
                    "runtime": "envoy.wasm.runtime.v8",
                    "vm_id": "damper",
                    "code": {"local": {"filename": path.display().to_string()}},
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    #[test]
    fn routes_match_the_class_and_end_with_the_lowest() {
        let text = "
damper: 1
classes: [high, low]
services: {web: {}, db: {workers: 1, service_time: 1ms}}
load: {high: 1/s, low: 1/s}
requests: {r: {calls: [{web: [db]}]}}
policies:
  \"web -> db\":
    deadline: 2s
    retry:
      limit: {high: 5, low: 1}
      on: [rejected]
      backoff: {kind: exponential, base: 25ms, max: 250ms, jitter: full}
";
        let system = SystemFile::parse("t", text).unwrap().lower().unwrap();
        let beside = Beside {
            system: &system,
            who: system.policies.edges[1].caller,
            name: "web",
            protocol: Protocol::Http1,
            app_port: 1000,
            inbound_port: Some(1001),
            outbound_port: 1002,
            admin_port: 1003,
            callees: [("db".to_owned(), 1004)].into(),
            filter: None,
        };
        let text = |beside: &Beside<'_>| format!("{:#}", bootstrap(beside));
        insta::assert_snapshot!("static", text(&beside));
        let filter = Some(Path::new("filter.wasm"));
        insta::assert_snapshot!("filter", text(&Beside { filter, ..beside }));
    }
}
