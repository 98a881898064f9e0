use super::*;
use crate::document::{Syntax, parse};
use crate::failure::Failure;
use crate::format;
use crate::layer::{Attempts, Origin, Seat};
use crate::name::Name;

fn of(text: &str) -> Reading {
    let (documents, troubles) = parse(Syntax::Yaml, text);
    assert_eq!(troubles, []);
    format::read("istio.yaml", &documents)
}

/// A VirtualService of one route to `ratings`.
fn route(lines: &str) -> Reading {
    of(&format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: ratings, namespace: shop}}\nspec:\n  hosts: [ratings]\n  http:\n  - route:\n    - destination: {{host: ratings, subset: v1}}\n{lines}"
    ))
}

fn inert(reading: &Reading) -> Vec<[u32; 2]> {
    let facts = reading.facts.iter();
    facts.filter(|fact| matches!(fact.what, What::Inert { .. })).map(|fact| fact.lines).collect()
}

#[test]
fn a_route_that_says_everything() {
    let reading = route(
        "    timeout: 1500ms\n    retries:\n      attempts: 1\n      perTryTimeout: 600ms\n      retryOn: connect-failure,refused-stream,reset,503\n      backoff: 40ms\n",
    );
    let layer = &reading.layers[0];
    assert_eq!(layer.lines, [10, 14]);
    assert_eq!(layer.seat, Seat::Sidecar);
    assert_eq!(layer.callee, Some(Name::new("ratings", Some("shop"))));
    assert_eq!(layer.part.as_deref(), Some("v1"));
    assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 11));
    assert_eq!(layer.timeout_ms, Some(Sourced::written(1500.0, 9)));
    assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(600.0, 12)));
    assert_eq!(layer.delay.base_ms, Some(Sourced::written(40.0, 14)));
    assert!(layer.on.value.contains(Failure::Unavailable));
    assert!(inert(&reading).is_empty());
    assert_eq!(layer.budget, Some(default_budget()));
}

#[test]
fn a_route_that_says_nothing_has_no_layer_of_its_own() {
    let reading = route("");
    assert!(reading.layers.is_empty());
    assert!(reading.facts.iter().any(|fact| fact.what == What::Mesh { format: MESH }));
}

#[test]
fn an_empty_block_switches_retries_off() {
    assert!(!route("    retries: {}\n").layers[0].retries());
    assert!(!route("    retries: {attempts: 0}\n").layers[0].retries());
    let rejected = route("    retries: {attempts: 0, perTryTimeout: 1s}\n");
    assert_eq!(inert(&rejected)[0], [9, 9]);
}

#[test]
fn a_block_without_words_has_the_default_ones() {
    let reading = route("    retries: {attempts: 4}\n");
    let on = &reading.layers[0].on;
    assert_eq!(on.from, Origin::Default(WHO));
    assert!(on.value.contains(Failure::Connect) && !on.value.contains(Failure::AttemptTimeout));
}

#[test]
fn a_timeout_that_no_word_retries_is_told() {
    let reading = route("    retries: {attempts: 4, perTryTimeout: 1s}\n");
    assert_eq!(inert(&reading), [[9, 9]]);
}

#[test]
fn a_route_for_gateways_only_is_not_for_sidecars() {
    let reading = of(
        "apiVersion: networking.istio.io/v1beta1\nkind: VirtualService\nmetadata: {name: r, namespace: shop}\nspec:\n  hosts: ['*']\n  gateways: [edge]\n  http:\n  - match: [{uri: {prefix: /r}}]\n    route:\n    - {destination: {host: a}, weight: 90}\n    - {destination: {host: b}, weight: 10}\n    mirror: {host: c}\n    retries: {attempts: 3}\n",
    );
    assert_eq!(reading.layers.len(), 2);
    assert!(reading.layers.iter().all(|layer| layer.seat == Seat::Gateway));
    assert_eq!(reading.layers[0].route.as_deref(), Some("/r"));
    let calls: Vec<_> =
        reading.calls.iter().map(|call| (call.callee.service.as_str(), call.count)).collect();
    assert_eq!(calls, [("a", Some(0.9)), ("b", Some(0.1)), ("c", None)]);
    assert_eq!(reading.calls[2].evidence, "mirror");
}

#[test]
fn a_destination_rule_limits_retries_not_attempts() {
    let reading = of(
        "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: r, namespace: shop}\nspec:\n  host: ratings.shop.svc.cluster.local\n  trafficPolicy:\n    connectionPool:\n      http: {http1MaxPendingRequests: 100, http2MaxRequests: 400, maxRetries: 7}\n    outlierDetection: {maxEjectionPercent: 20}\n    portLevelSettings:\n    - port: {number: 80}\n      retryBudget: {percent: 10}\n  subsets:\n  - name: v1\n    trafficPolicy:\n      connectionPool: {http: {maxRetries: 0}}\n  - name: v2\n    trafficPolicy:\n      connectionPool: {http: {maxRetries: 4}}\n",
    );
    assert!(reading.layers.is_empty());
    let facts: Vec<_> = reading.facts.iter().map(|fact| &fact.what).collect();
    assert!(facts.contains(&&What::Requests { active: Some(400), waiting: Some(100) }));
    let of_all = What::Retries(Budget::Concurrent { limit: Some(7) });
    assert!(facts.contains(&&of_all));
    let ejection = What::Ejection { max_percent: Some(20.0), panic_percent: Some(0.0) };
    assert!(facts.contains(&&ejection));
    let share = Budget::ActiveShare { percent: 10.0, min_concurrent: 3 };
    let part = |part: &str, budget: Budget| What::Part {
        part: part.to_owned(),
        what: Box::new(What::Retries(budget)),
    };
    assert!(facts.contains(&&part("80", share)));
    assert!(facts.contains(&&part("v2", Budget::Concurrent { limit: Some(4) })));
    assert_eq!(facts.len(), 6);
}

#[test]
fn the_mesh_has_its_defaults_in_three_places() {
    let operator = of(
        "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nspec:\n  meshConfig:\n    defaultHttpRetryPolicy: {attempts: 0}\n",
    );
    assert_eq!(operator.layers[0].attempts, Sourced::written(Attempts::Count(1), 5));
    let values = of("meshConfig:\n  defaultHttpRetryPolicy:\n    attempts: 4\n    retryOn: 503\n");
    assert_eq!(values.layers[0].attempts, Sourced::written(Attempts::Count(5), 3));
    assert!(values.layers[0].on.value.contains(Failure::Unavailable));
    let map = of(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata:\n  mesh: |-\n    enableTracing: true\n    defaultHttpRetryPolicy:\n      attempts: 1\n",
    );
    assert_eq!(map.layers[0].attempts, Sourced::written(Attempts::Count(2), 8));
    assert_eq!(map.layers[0].lines, [7, 8]);
}

#[test]
fn a_patch_is_read_as_envoy_reads_it() {
    let reading = of(
        "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: f, namespace: shop}\nspec:\n  workloadSelector: {labels: {app: web}}\n  configPatches:\n  - applyTo: HTTP_ROUTE\n    match:\n      context: SIDECAR_OUTBOUND\n      routeConfiguration: {vhost: {name: 'orders.shop.svc.cluster.local:80'}}\n    patch:\n      operation: MERGE\n      value:\n        route:\n          retry_policy: {retry_on: 5xx, num_retries: 5}\n  - applyTo: CLUSTER\n    match: {context: SIDECAR_OUTBOUND, cluster: {service: orders.shop.svc.cluster.local}}\n    patch:\n      operation: MERGE\n      value: {circuit_breakers: {thresholds: [{max_retries: 2}]}}\n",
    );
    let layer = &reading.layers[0];
    assert_eq!(layer.caller, Some(Name::new("web", Some("shop"))));
    assert_eq!(layer.callee, Some(Name::new("orders", Some("shop"))));
    assert_eq!(layer.attempts, Sourced::written(Attempts::Count(6), 15));
    assert_eq!(layer.timeout_ms, None);
    let limit = What::Retries(Budget::Concurrent { limit: Some(2) });
    let fact = reading.facts.iter().find(|fact| fact.what == limit).expect("limit");
    assert_eq!(fact.about, Some(Name::new("orders", Some("shop"))));
}

#[test]
fn services_outside_and_filters_are_listed() {
    let reading = of(
        "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: pay}\nspec: {hosts: [api.pay.example]}\n---\napiVersion: extensions.istio.io/v1alpha1\nkind: WasmPlugin\nmetadata: {name: w}\nspec: {url: 'oci://registry.example/w:1'}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n",
    );
    assert_eq!(reading.services[0].name, Name::new("api.pay.example", None));
    assert_eq!(reading.open.len(), 1);
    assert!(reading.formats.contains(&"istio-resources"));
}

#[test]
fn a_filter_may_come_as_a_struct_with_its_type() {
    let reading = of(
        "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: f}\nspec:\n  configPatches:\n  - applyTo: HTTP_FILTER\n    patch:\n      operation: INSERT_BEFORE\n      value:\n        name: limit\n        typed_config:\n          '@type': type.googleapis.com/udpa.type.v1.TypedStruct\n          type_url: type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit\n          value:\n            token_bucket: {tokens_per_fill: 10, fill_interval: 60s}\n            filter_enabled: {default_value: {numerator: 100}}\n            filter_enforced: {default_value: {numerator: 100}}\n",
    );
    let rate = |fact: &crate::reading::Fact| match fact.what {
        What::RateLimit { per_s, .. } => per_s,
        _ => None,
    };
    let per_s = reading.facts.iter().find_map(rate).expect("a rate");
    assert!((per_s - 10.0 / 60.0).abs() < 1e-12);
}
