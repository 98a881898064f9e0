use super::*;
use crate::document::parse;
use crate::failure::{Failure, Failures};
use crate::format;
use crate::layer::{Attempts, Budget, Methods, Origin, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Reading, What};

/// A bootstrap file that writes everything.
const EVERYTHING: &str = include_str!("../../../tests/envoy/everything.yaml");

/// A route table that writes as little as it can.
const NOTHING: &str = r#"{"@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
 "name": "r2",
 "virtualHosts": [{"name": "v", "domains": ["pay.local"],
   "routes": [{"match": {"prefix": "/charge"},
               "route": {"cluster": "pay", "retryPolicy": {"retryOn": "gateway-error"}}},
              {"match": {"prefix": "/"}, "route": {"cluster": "pay"}}]}]}"#;

fn of(syntax: Syntax, text: &str) -> Reading {
    let (documents, troubles) = parse(syntax, text);
    assert_eq!(troubles, []);
    let reading = format::read("envoy.yaml", &documents);
    assert_eq!(reading.formats, ["envoy"]);
    reading
}

/// Routes below a virtual host, as a table of routes.
fn table(host: &str) -> Reading {
    let text = format!(
        "'@type': type.googleapis.com/envoy.config.route.v3.RouteConfiguration\nname: r\nvirtual_hosts:\n{host}"
    );
    of(Syntax::Yaml, &text)
}

fn inert(reading: &Reading) -> Vec<&str> {
    let all = reading.facts.iter().filter(|fact| matches!(fact.what, What::Inert { .. }));
    all.map(|fact| match &fact.what {
        What::Inert { why } => why.as_str(),
        _ => "",
    })
    .collect()
}

#[test]
fn everything_that_is_written_is_read() {
    let reading = of(Syntax::Yaml, EVERYTHING);
    let layer = &reading.layers[0];
    assert_eq!(layer.attempts, Sourced::written(Attempts::Count(3), 28));
    assert_eq!(layer.lines, [25, 35]);
    assert_eq!(layer.seat, Seat::Gateway);
    assert_eq!(layer.reach, Reach::Route);
    assert_eq!(layer.route.as_deref(), Some("/orders"));
    assert_eq!(layer.caller, Some(Name::new("edge", None)));
    assert_eq!(layer.callee, Some(Name::new("orders", Some("shop"))));
    assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(600.0, 29)));
    assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 23)));
    assert_eq!(layer.delay.base_ms, Some(Sourced::written(50.0, 30)));
    assert_eq!(layer.delay.cap_ms, Some(Sourced::written(500.0, 30)));
    assert_eq!(layer.methods, Methods::Listed(vec!["GET".to_owned()]));
    assert!(layer.hedges && layer.pushback && layer.delay.jitter);
    let on = [Failure::Connect, Failure::Refused, Failure::AttemptTimeout, Failure::Unavailable];
    assert_eq!(layer.on.value, Failures::of(&on));
    let budget = Budget::ActiveShare { percent: 10.0, min_concurrent: 2 };
    assert_eq!(layer.budget, Some(Sourced::written(budget.clone(), 69)));
    let facts: Vec<_> = reading.facts.iter().map(|fact| &fact.what).collect();
    assert!(facts.contains(&&What::Retries(budget)));
    assert!(facts.contains(&&What::Requests { active: Some(500), waiting: Some(50) }));
    assert!(
        facts.contains(&&What::Ejection { max_percent: Some(40.0), panic_percent: Some(30.0) })
    );
    assert!(facts.contains(&&What::RateLimit { per_s: Some(100.0), status: Some(429) }));
}

#[test]
fn a_virtual_host_speaks_for_routes_without_a_policy() {
    let reading = of(Syntax::Yaml, EVERYTHING);
    let shared: Vec<_> = reading.layers.iter().filter(|one| one.reach == Reach::Service).collect();
    assert_eq!(shared.len(), 2);
    assert_eq!(shared[0].callee, Some(Name::new("web", None)));
    assert_eq!(shared[0].attempts.value, Attempts::Count(10));
    assert_eq!(shared[0].timeout_ms, Some(Sourced::default_of(15_000.0, WHO)));
    let three = Budget::Concurrent { limit: Some(3) };
    assert_eq!(shared[0].budget, Some(Sourced::default_of(three, WHO)));
    assert_eq!(reading.calls[1].count, Some(0.75));
}

#[test]
fn what_nobody_wrote_is_envoys_default() {
    let reading = of(Syntax::Json, NOTHING);
    assert_eq!(reading.layers.len(), 1);
    let layer = &reading.layers[0];
    assert_eq!(layer.attempts, Sourced::default_of(Attempts::Count(2), WHO));
    assert_eq!(layer.delay.base_ms, Some(Sourced::default_of(25.0, WHO)));
    assert_eq!(layer.delay.cap_ms, Some(Sourced::default_of(250.0, WHO)));
    assert_eq!(layer.timeout_ms, Some(Sourced::default_of(15_000.0, WHO)));
    assert_eq!(layer.attempt_timeout_ms, None);
    assert_eq!(layer.callee, Some(Name::new("pay", None)));
    assert!(layer.on.value.contains(Failure::AttemptTimeout));
    assert!(reading.facts.is_empty());
}

#[test]
fn a_policy_of_a_route_replaces_that_of_its_host() {
    let reading = table(
        "- name: v\n  domains: ['*']\n  retry_policy: {retry_on: 5xx, per_try_timeout: 1s, num_retries: 4}\n  routes:\n  - match: {prefix: /}\n    route: {cluster: a, retry_policy: {retry_on: reset}}\n",
    );
    assert_eq!(reading.layers.len(), 1);
    assert_eq!(reading.layers[0].attempts.value, Attempts::Count(2));
    assert_eq!(reading.layers[0].attempt_timeout_ms, None);
    assert!(inert(&reading)[0].contains("replaces"));
}

#[test]
fn what_can_never_act_is_told() {
    let reading = table(
        "- name: v\n  domains: ['*']\n  routes:\n  - match: {prefix: /}\n    route: {cluster: a, timeout: 1s, retry_policy: {retry_on: 'reset,canceled', per_try_timeout: 1s, retriable_status_codes: [503]}}\n",
    );
    assert_eq!(inert(&reading).len(), 3);
    assert_eq!(reading.layers[0].attempt_timeout_ms, None);
    let empty = table(
        "- name: v\n  domains: ['*']\n  routes:\n  - match: {prefix: /}\n    route: {cluster: a, retry_policy: {num_retries: 3}}\n",
    );
    assert!(!empty.layers[0].retries());
    assert!(inert(&empty)[0].contains("retry_on"));
}

#[test]
fn zero_switches_off() {
    let reading = table(
        "- name: v\n  domains: ['*']\n  routes:\n  - match: {prefix: /}\n    route: {cluster: a, timeout: 0s, retry_policy: {retry_on: 5xx, num_retries: 0}}\n",
    );
    assert_eq!(reading.layers[0].attempts.value, Attempts::Count(1));
    assert!(!reading.layers[0].retries());
    assert_eq!(reading.layers[0].timeout_ms, None);
}

#[test]
fn a_dump_knows_whose_it_is() {
    let reading = of(
        Syntax::Json,
        r#"{"configs": [
 {"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump",
  "bootstrap": {"node": {"id": "sidecar~10.0.0.1~web-1.shop~shop.svc.cluster.local", "cluster": "web.shop"}}},
 {"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
  "dynamic_active_clusters": [{"cluster": {"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    "name": "outbound|80||orders.shop.svc.cluster.local",
    "circuit_breakers": {"thresholds": [{"max_retries": 4294967295}]}}}]},
 {"@type": "type.googleapis.com/envoy.admin.v3.RoutesConfigDump",
  "dynamic_route_configs": [{"route_config": {
    "@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", "name": "80",
    "virtual_hosts": [{"name": "orders", "domains": ["orders"], "routes": [{"match": {"prefix": "/"},
      "route": {"cluster": "outbound|80||orders.shop.svc.cluster.local", "timeout": "0s",
        "retry_policy": {"retry_on": "unavailable", "num_retries": 2}}}]}]}}]}]}"#,
    );
    let layer = &reading.layers[0];
    assert_eq!(layer.caller, Some(Name::new("web", Some("shop"))));
    assert_eq!(layer.callee, Some(Name::new("orders", Some("shop"))));
    assert_eq!(layer.seat, Seat::Sidecar);
    let never = Budget::Concurrent { limit: None };
    assert!(layer.budget.as_ref().is_some_and(|budget| budget.value == never));
    assert!(matches!(layer.budget.as_ref().expect("budget").from, Origin::Written(7)));
    assert_eq!(reading.calls.len(), 1);
}

#[test]
fn names_of_clusters_are_services() {
    let of = |name: &str| cluster::named(name).map(|name| name.to_string());
    assert_eq!(of("outbound|80|v1|orders.shop.svc.cluster.local").as_deref(), Some("orders.shop"));
    assert_eq!(of("inbound|8080||"), None);
    assert_eq!(of("orders_shop_svc_80").as_deref(), Some("orders.shop"));
    assert_eq!(of("shop/orders:80").as_deref(), Some("orders.shop"));
    assert_eq!(of("shop/orders/80/da39").as_deref(), Some("orders.shop"));
    assert_eq!(of("orders.default.dc1.internal.x.consul").as_deref(), Some("orders"));
    assert_eq!(of("service_orders").as_deref(), Some("service_orders"));
}

#[test]
fn a_tcp_proxy_counts_all_its_connects() {
    let reading = of(
        Syntax::Yaml,
        "name: l\ntraffic_direction: OUTBOUND\nfilter_chains:\n- filters:\n  - name: envoy.filters.network.tcp_proxy\n    typed_config:\n      '@type': type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy\n      cluster: db\n      max_connect_attempts: 5\n",
    );
    assert_eq!(reading.layers[0].attempts, Sourced::written(Attempts::Count(5), 9));
    assert_eq!(reading.layers[0].on.value, Failures::of(&[Failure::Connect]));
}

#[test]
fn a_call_of_envoy_itself_waits_a_second() {
    let reading = of(
        Syntax::Yaml,
        "'@type': type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication\nproviders:\n  p:\n    remote_jwks:\n      http_uri: {uri: 'https://id/jwks', cluster: id, timeout: 5s}\n      retry_policy: {num_retries: 3}\n",
    );
    let layer = &reading.layers[0];
    assert_eq!(layer.attempts.value, Attempts::Count(4));
    assert_eq!(layer.delay.base_ms, Some(Sourced::default_of(1000.0, WHO)));
    assert_eq!(layer.callee, Some(Name::new("id", None)));
    assert_eq!(layer.timeout_ms, Some(Sourced::written(5000.0, 5)));
}

#[test]
fn envoys_smallest_file_has_its_defaults() {
    let reading = of(Syntax::Yaml, include_str!("../../../tests/envoy/least.yaml"));
    assert_eq!(reading.layers.len(), 1);
    let layer = &reading.layers[0];
    assert_eq!(layer.seat, Seat::Sidecar);
    assert_eq!(layer.attempts, Sourced::default_of(Attempts::Count(2), WHO));
    let three = Budget::Concurrent { limit: Some(3) };
    assert_eq!(layer.budget, Some(Sourced::default_of(three, WHO)));
    assert_eq!(layer.timeout_ms, Some(Sourced::default_of(15_000.0, WHO)));
    assert!(reading.facts.is_empty());
}

#[test]
fn every_trap_is_told() {
    let reading = of(Syntax::Yaml, include_str!("../../../tests/envoy/traps.yaml"));
    let told = inert(&reading);
    for part in [
        "canceled",
        "names nothing",
        "retriable_status_codes",
        "not shorter",
        "hedge",
        "filter_enabled",
        "replaces",
    ] {
        assert!(told.iter().any(|why| why.contains(part)), "{part}: {told:?}");
    }
    assert_eq!(told.len(), 7);
    // An empty budget is one, and then `max_retries` does not count.
    let budget = Budget::ActiveShare { percent: 20.0, min_concurrent: 3 };
    assert!(reading.layers[0].budget.as_ref().is_some_and(|one| one.value == budget));
    let refuses = |what: &What| reading.facts.iter().any(|fact| fact.what == *what);
    assert!(refuses(&What::RateLimit { per_s: None, status: Some(503) }));
    assert!(refuses(&What::Requests { active: Some(1000), waiting: Some(0) }));
    assert_eq!(reading.layers.last().expect("tcp").attempts.value, Attempts::Count(5));
}

#[test]
fn a_response_of_a_control_plane_is_read() {
    let reading = of(
        Syntax::Yaml,
        "version_info: '1'\nresources:\n- '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: pay\n  circuit_breakers: {thresholds: [{priority: HIGH, max_retries: 1}, {max_retries: 9}]}\n- '@type': type.googleapis.com/envoy.config.route.v3.VirtualHost\n  name: v\n  domains: ['*']\n  routes:\n  - match: {prefix: /}\n    route: {cluster: pay, retry_policy: {retry_on: reset-before-request}}\n",
    );
    let layer = &reading.layers[0];
    assert_eq!(layer.on.value, Failures::BEFORE);
    let nine = Budget::Concurrent { limit: Some(9) };
    assert_eq!(layer.budget, Some(Sourced::written(nine, 5)));
}
