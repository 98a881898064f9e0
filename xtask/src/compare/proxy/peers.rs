//! How the peers are told to do the same work: pass on to one origin, retry, and admit no more than
//! so many at once.
//!
//! All have one thread. What none of them needs for the work (logs, other listeners) is off.

use std::path::Path;

use serde_json::{Value, json};

/// Retries after the first attempt.
pub(super) const RETRIES: u32 = 3;
/// Requests that may be under way at the same time: more than the load has, so that admission is
/// asked each time and never refuses.
pub(super) const AT_ONCE: u32 = 1000;

/// Where a contestant listens, and where the origin does.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub(super) http1: u16,
    pub(super) http2: u16,
    pub(super) origin: u16,
}

/// Envoy: retries within a budget, and its gradient controller for admission. HTTP/2 goes on as HTTP/2.
pub(super) fn envoy(ports: Ports) -> String {
    let address =
        |port: u16| json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    let kind = |name: &str| format!("type.googleapis.com/envoy.extensions.{name}");
    let admission = json!({"name": "admission", "typed_config": {
        "@type": kind("filters.http.adaptive_concurrency.v3.AdaptiveConcurrency"),
        "gradient_controller_config": {
            "sample_aggregate_percentile": {"value": 90},
            "concurrency_limit_params": {
                "concurrency_update_interval": "0.1s", "max_concurrency_limit": AT_ONCE},
            "min_rtt_calc_params": {
                "interval": "60s", "request_count": 50, "min_concurrency": AT_ONCE}},
        "enabled": {"default_value": true, "runtime_key": "admission"}}});
    let router = json!({"name": "router", "typed_config": {
        "@type": kind("filters.http.router.v3.Router")}});
    let listener = |name: &str, port: u16| {
        json!({"name": name, "address": address(port), "filter_chains": [{"filters": [{
            "name": "http", "typed_config": {
                "@type": kind("filters.network.http_connection_manager.v3.HttpConnectionManager"),
                "stat_prefix": name,
                "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{
                    "match": {"prefix": "/"},
                    "route": {"cluster": name, "timeout": "5s", "retry_policy": {
                        "retry_on": "5xx,reset,connect-failure", "num_retries": RETRIES}}}]}]},
                "http_filters": [admission.clone(), router.clone()]}}]}]})
    };
    let cluster = |name: &str, http2: bool| {
        let mut cluster = json!({"name": name, "connect_timeout": "1s",
            "circuit_breakers": {"thresholds": [{
                "max_connections": 10_000, "max_pending_requests": 10_000, "max_requests": 10_000,
                "retry_budget": {"budget_percent": {"value": 20}, "min_retry_concurrency": 3}}]},
            "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [
                {"endpoint": {"address": address(ports.origin)}}]}]}});
        if http2 {
            cluster["typed_extension_protocol_options"] = json!({
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type": kind("upstreams.http.v3.HttpProtocolOptions"),
                    "explicit_http_config": {"http2_protocol_options": {}}}});
        }
        cluster
    };
    let bootstrap: Value = json!({"static_resources": {
        "listeners": [listener("h1", ports.http1), listener("h2", ports.http2)],
        "clusters": [cluster("h1", false), cluster("h2", true)]}});
    bootstrap.to_string()
}

/// nginx: tries the next of two servers, which are the same one, and bounds what is under way. It speaks
/// HTTP/1.1 to servers, whatever its clients speak.
pub(super) fn nginx(ports: Ports, folder: &Path) -> String {
    let Ports { http1, http2, origin } = ports;
    let folder = folder.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("  {kind}_temp_path {folder}/nginx-{kind};\n"))
        .collect();
    format!(
        "daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 20000; }}
http {{
  access_log off;
{temporary}  limit_conn_zone $server_name zone=all:1m;
  upstream up {{
    server 127.0.0.1:{origin}; server 127.0.0.1:{origin};
    keepalive 256; keepalive_requests 1000000000;
  }}
  server {{
    listen 127.0.0.1:{http1}; listen 127.0.0.1:{http2} http2;
    keepalive_requests 1000000000;
    location / {{
      proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection \"\";
      proxy_next_upstream error timeout http_503; proxy_next_upstream_tries {};
      limit_conn all {AT_ONCE};
    }}
  }}
}}
",
        RETRIES + 1
    )
}

/// HAProxy: retries, a bound on what is under way at the server, and a queue before it.
pub(super) fn haproxy(ports: Ports) -> String {
    let Ports { http1, http2, origin } = ports;
    format!(
        "global
  nbthread 1
  maxconn 8000
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 5s
  timeout queue 1s
  retries {RETRIES}
  retry-on conn-failure empty-response response-timeout 503
  http-reuse always
frontend h1
  bind 127.0.0.1:{http1}
  default_backend h1
frontend h2
  bind 127.0.0.1:{http2} proto h2
  default_backend h2
backend h1
  server origin 127.0.0.1:{origin} maxconn {AT_ONCE}
backend h2
  server origin 127.0.0.1:{origin} maxconn {AT_ONCE} proto h2
"
    )
}

/// Which of its two hops the sidecar runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hops {
    /// Outbound: retries, budget, breaker, throttle.
    Calls,
    /// Inbound: admission, concurrency limit, queue with its order and drop rule.
    Service,
    /// One after the other, each over a socket of its own.
    Both,
}

/// The controls of the sidecar: all that a service and a call can have. None refuses anything at these
/// loads.
pub(super) const SYSTEM: &str = "\
damper: 1
classes: [high, low]
services:
  front:
    workers: 1000
    queue: 1000
    order: priority
    drop: codel
    admission: priority-by-queue
    concurrency: {kind: queue-delay, initial: 1000, max: 1000}
  back: {}
load: {high: 1/s, low: 1/s}
requests: {get: {calls: [{front: [back]}]}}
policies:
  front -> back:
    timeout: 5s
    retry:
      limit: {high: 3, low: 1}
      backoff: {kind: exponential, base: 25ms, factor: 2, max: 250ms, jitter: full}
      budget: {kind: token-bucket, max_tokens: 100, token_ratio: 0.1}
    breaker: breaker
    throttle: google-adaptive
";

/// The sidecar, HTTP/1.1 and HTTP/2 on one port, and the same further on. `between`: a port for what is
/// between two hops.
pub(super) fn damper(ports: Ports, hops: Hops, between: u16) -> String {
    let Ports { http1, origin, .. } = ports;
    let inbound = |upstream: u16| {
        format!(
            "inbound: [{{service: front, listen: \"127.0.0.1:{http1}\", upstream: \"127.0.0.1:{upstream}\"}}]\n"
        )
    };
    let outbound = |listen: u16| {
        format!(
            "outbound: [{{call: front -> back, listen: \"127.0.0.1:{listen}\", upstream: \"127.0.0.1:{origin}\"}}]\n"
        )
    };
    let hops = match hops {
        Hops::Calls => outbound(http1),
        Hops::Service => inbound(origin),
        Hops::Both => inbound(between) + &outbound(between),
    };
    format!("proxy: 1\nsystem: system.yaml\nworkers: 1\n{hops}")
}
