//! Metrics: what counters of proxies and libraries say about calls between services.
//!
//! Every system counts calls, attempts and failures under names of its own; the recipes are a
//! table. What they give is the same: who calls whom, how often, and how it ended.

pub(crate) mod api;
pub(crate) mod since;
pub(crate) mod text;

use std::collections::BTreeMap;

use crate::read::Metric;

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Counts {
    /// Attempts.
    Attempts,
    /// Calls of a caller that end, with how in a label: calls and failures.
    CallsByEnd,
    /// Attempts that arrive, with how they end.
    ArrivalsByEnd,
    Retries,
    /// Calls that went well after a retry.
    Rescued,
    /// Calls that failed for good after all their retries.
    Exhausted,
    /// Retries that a budget or a circuit breaker refused.
    HeldBack,
    /// Calls that were given up.
    Timeouts,
    /// Sum of the time of arrivals; the number is the unit in seconds.
    Time(f64),
    /// Arrivals behind that sum.
    Timed,
}

/// A metric that is read.
struct Recipe {
    name: &'static str,
    counts: Counts,
    /// A label and the value that it must have.
    only: Option<(&'static str, &'static str)>,
    /// Labels that name who calls and whom, the best first.
    caller: &'static [&'static str],
    callee: &'static [&'static str],
}

const ISTIO_FROM: &[&str] = &["source_canonical_service", "source_workload", "source_app"];
const ISTIO_TO: &[&str] =
    &["destination_canonical_service", "destination_workload", "destination_service_name"];
const SOURCE: Option<(&str, &str)> = Some(("reporter", "source"));
const DESTINATION: Option<(&str, &str)> = Some(("reporter", "destination"));
const LINKERD_FROM: &[&str] = &["deployment", "statefulset", "daemonset", "workload_name", "app"];
const LINKERD_TO: &[&str] = &[
    "dst_deployment",
    "dst_statefulset",
    "backend_name",
    "parent_name",
    "dst_service",
    "dst",
    "authority",
];
const OUTBOUND: Option<(&str, &str)> = Some(("direction", "outbound"));
const ENVOY_FROM: &[&str] = &["local_cluster", "envoy_local_cluster", "app", "service", "job"];
const ENVOY_TO: &[&str] = &["envoy_cluster_name", "cluster_name"];
const GRPC_FROM: &[&str] = &["app", "service", "service_name", "job"];
const GRPC_TO: &[&str] = &["grpc_target"];

const fn recipe(
    name: &'static str,
    counts: Counts,
    only: Option<(&'static str, &'static str)>,
    caller: &'static [&'static str],
    callee: &'static [&'static str],
) -> Recipe {
    Recipe { name, counts, only, caller, callee }
}

const RECIPES: &[Recipe] = &[
    recipe("istio_requests_total", Counts::CallsByEnd, SOURCE, ISTIO_FROM, ISTIO_TO),
    recipe("istio_requests_total", Counts::ArrivalsByEnd, DESTINATION, ISTIO_FROM, ISTIO_TO),
    recipe(
        "istio_request_duration_milliseconds_sum",
        Counts::Time(0.001),
        DESTINATION,
        ISTIO_FROM,
        ISTIO_TO,
    ),
    recipe(
        "istio_request_duration_milliseconds_count",
        Counts::Timed,
        DESTINATION,
        ISTIO_FROM,
        ISTIO_TO,
    ),
    recipe("response_total", Counts::CallsByEnd, OUTBOUND, LINKERD_FROM, LINKERD_TO),
    recipe("route_response_total", Counts::CallsByEnd, OUTBOUND, LINKERD_FROM, LINKERD_TO),
    recipe("route_actual_request_total", Counts::Attempts, OUTBOUND, LINKERD_FROM, LINKERD_TO),
    recipe(
        "outbound_http_route_request_statuses_total",
        Counts::CallsByEnd,
        None,
        LINKERD_FROM,
        LINKERD_TO,
    ),
    recipe(
        "outbound_http_route_backend_requests_total",
        Counts::Attempts,
        None,
        LINKERD_FROM,
        LINKERD_TO,
    ),
    recipe(
        "outbound_grpc_route_request_statuses_total",
        Counts::CallsByEnd,
        None,
        LINKERD_FROM,
        LINKERD_TO,
    ),
    recipe(
        "outbound_grpc_route_backend_requests_total",
        Counts::Attempts,
        None,
        LINKERD_FROM,
        LINKERD_TO,
    ),
    recipe("envoy_cluster_upstream_rq_total", Counts::Attempts, None, ENVOY_FROM, ENVOY_TO),
    recipe("envoy_cluster_upstream_rq_retry", Counts::Retries, None, ENVOY_FROM, ENVOY_TO),
    recipe("envoy_cluster_upstream_rq_retry_success", Counts::Rescued, None, ENVOY_FROM, ENVOY_TO),
    recipe(
        "envoy_cluster_upstream_rq_retry_limit_exceeded",
        Counts::Exhausted,
        None,
        ENVOY_FROM,
        ENVOY_TO,
    ),
    recipe(
        "envoy_cluster_upstream_rq_retry_overflow",
        Counts::HeldBack,
        None,
        ENVOY_FROM,
        ENVOY_TO,
    ),
    recipe("envoy_cluster_upstream_rq_timeout", Counts::Timeouts, None, ENVOY_FROM, ENVOY_TO),
    recipe(
        "envoy_cluster_upstream_rq_per_try_timeout",
        Counts::Timeouts,
        None,
        ENVOY_FROM,
        ENVOY_TO,
    ),
    recipe("grpc_client_attempt_started_total", Counts::Attempts, None, GRPC_FROM, GRPC_TO),
    recipe("grpc_client_attempt_started", Counts::Attempts, None, GRPC_FROM, GRPC_TO),
    recipe("grpc_client_call_duration_seconds_count", Counts::CallsByEnd, None, GRPC_FROM, GRPC_TO),
    recipe("grpc_client_call_duration_count", Counts::CallsByEnd, None, GRPC_FROM, GRPC_TO),
];

/// Different calls.
const MOST_EDGES: usize = 10_000;

/// What is counted of the calls from one to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Edge {
    pub(crate) calls: Option<f64>,
    pub(crate) attempts: Option<f64>,
    pub(crate) arrivals: Option<f64>,
    pub(crate) failed: f64,
    pub(crate) failed_arrivals: f64,
    pub(crate) retries: Option<f64>,
    pub(crate) rescued: f64,
    pub(crate) exhausted: f64,
    pub(crate) held_back: f64,
    pub(crate) timeouts: f64,
    pub(crate) time_s: f64,
    pub(crate) timed: f64,
}

impl Edge {
    /// Attempts, from whatever counts them. Proxies retry out of their caller's sight, so that
    /// what arrives is what is sent, less what never arrived.
    pub(crate) fn sent(&self) -> f64 {
        let calls = self.calls.unwrap_or(0.0);
        let by_retries = self.retries.map_or(calls, |retries| calls + retries);
        self.attempts.unwrap_or(by_retries.max(self.arrivals.unwrap_or(0.0)))
    }

    /// Calls: attempts without retries, where nothing counts them.
    pub(crate) fn logical(&self) -> f64 {
        let sent = self.attempts.or(self.arrivals).unwrap_or(0.0);
        let calls = self.calls.unwrap_or_else(|| sent - self.retries.unwrap_or(0.0));
        calls.clamp(0.0, self.sent())
    }
}

/// All calls, by caller and callee. The caller may be empty: outside.
pub(crate) type Edges = BTreeMap<(String, String), Edge>;

/// Which families of metrics were seen.
pub(crate) fn families(metrics: &[Metric]) -> Vec<String> {
    let known = [
        ("istio_", "Istio"),
        ("envoy_", "Envoy"),
        ("grpc_", "gRPC"),
        ("response_total", "Linkerd"),
        ("route_", "Linkerd"),
        ("outbound_", "Linkerd"),
    ];
    let mut found: Vec<String> = Vec::new();
    for (prefix, name) in known {
        let read = |m: &Metric| m.name.starts_with(prefix) && recipes(m).next().is_some();
        if !found.iter().any(|f| f == name) && metrics.iter().any(read) {
            found.push(name.to_owned());
        }
    }
    found
}

/// The names that are asked for.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
    names.dedup();
    names
}

fn recipes(metric: &Metric) -> impl Iterator<Item = &'static Recipe> + '_ {
    RECIPES.iter().filter(|recipe| {
        recipe.name == metric.name
            && recipe.only.is_none_or(|(label, value)| metric.label(label) == value)
    })
}

/// Adds everything up.
pub(crate) fn edges(metrics: &[Metric]) -> (Edges, u64) {
    let mut edges = Edges::new();
    let mut left_out = 0;
    for metric in metrics.iter().filter(|m| m.value.is_finite() && m.value >= 0.0) {
        for recipe in recipes(metric) {
            let Some(callee) = first(metric, recipe.callee) else { continue };
            let caller = first(metric, recipe.caller).unwrap_or_default();
            let key = (caller, callee);
            if !edges.contains_key(&key) && edges.len() >= MOST_EDGES {
                left_out += 1;
                continue;
            }
            add(edges.entry(key).or_default(), recipe.counts, metric);
        }
    }
    (edges, left_out)
}

fn add(edge: &mut Edge, counts: Counts, metric: &Metric) {
    let value = metric.value;
    let more = |of: &mut Option<f64>| *of = Some(of.unwrap_or(0.0) + value);
    let failed = if is_bad(metric) { value } else { 0.0 };
    match counts {
        Counts::Attempts => more(&mut edge.attempts),
        Counts::CallsByEnd => {
            more(&mut edge.calls);
            edge.failed += failed;
        }
        Counts::ArrivalsByEnd => {
            more(&mut edge.arrivals);
            edge.failed_arrivals += failed;
        }
        Counts::Retries => more(&mut edge.retries),
        Counts::Rescued => edge.rescued += value,
        Counts::Exhausted => edge.exhausted += value,
        Counts::HeldBack => edge.held_back += value,
        Counts::Timeouts => edge.timeouts += value,
        Counts::Time(unit) => edge.time_s += value * unit,
        Counts::Timed => edge.timed += value,
    }
}

/// Whether a label says that it did not go well.
fn is_bad(metric: &Metric) -> bool {
    let http = ["response_code", "http_status", "status_code"];
    let grpc = ["grpc_response_status", "grpc_status"];
    let label = |names: &[&'static str]| {
        names.iter().map(|name| metric.label(name)).find(|value| !value.is_empty())
    };
    let bad = |end: Option<crate::span::End>| end.is_some_and(crate::span::End::is_bad);
    metric.label("classification") == "failure"
        || label(&http).is_some_and(|code| bad(crate::attributes::http(code)))
        || label(&grpc).is_some_and(|code| bad(crate::attributes::grpc(code)))
}

/// The first label that says anything, as a name of a service.
fn first(metric: &Metric, labels: &[&str]) -> Option<String> {
    let value = labels
        .iter()
        .map(|label| metric.label(label))
        .find(|value| !matches!(*value, "" | "unknown" | "-"))?;
    Some(short(value))
}

/// `outbound|9080||reviews.shop.svc.cluster.local` and `dns:///reviews.shop:9080` are `reviews`.
fn short(value: &str) -> String {
    let value = value.rsplit('|').next().unwrap_or(value);
    let host = crate::attributes::host(value.trim_start_matches("dns:///"));
    let host = if host.is_empty() { value } else { host };
    let host = host.split(':').next().unwrap_or(host);
    let parts: Vec<&str> = host.split('.').collect();
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    if is_address || parts.len() < 2 { host.to_owned() } else { parts[0].to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges_of(text: &str) -> Edges {
        let metrics: Vec<Metric> = text.lines().filter_map(text::metric).collect();
        edges(&metrics).0
    }

    fn key(caller: &str, callee: &str) -> (String, String) {
        (caller.to_owned(), callee.to_owned())
    }

    #[test]
    fn istio_counts_calls_at_the_source_and_attempts_at_the_destination() {
        let edges = edges_of(
            r#"istio_requests_total{reporter="source",source_workload="web",destination_service_name="orders",response_code="200"} 90
istio_requests_total{reporter="source",source_workload="web",destination_service_name="orders",response_code="503"} 10
istio_requests_total{reporter="destination",source_workload="web",destination_service_name="orders",response_code="200"} 90
istio_requests_total{reporter="destination",source_workload="web",destination_service_name="orders",response_code="503"} 40
istio_request_duration_milliseconds_sum{reporter="destination",source_workload="web",destination_service_name="orders"} 1300
istio_request_duration_milliseconds_count{reporter="destination",source_workload="web",destination_service_name="orders"} 130
istio_requests_total{reporter="source",source_workload="unknown",destination_service_name="web",response_code="200"} 50"#,
        );
        let edge = &edges[&key("web", "orders")];
        assert_eq!((edge.logical(), edge.sent(), edge.failed), (100.0, 130.0, 10.0));
        assert_eq!(edge.time_s / edge.timed, 0.01);
        assert_eq!(edges[&key("", "web")].logical(), 50.0);
    }

    #[test]
    fn envoy_counts_attempts_and_retries() {
        let edges = edges_of(
            "cluster.outbound|80||orders.shop.svc.cluster.local.upstream_rq_total: 130
cluster.outbound|80||orders.shop.svc.cluster.local.upstream_rq_retry: 30
cluster.outbound|80||orders.shop.svc.cluster.local.upstream_rq_retry_success: 20
cluster.outbound|80||orders.shop.svc.cluster.local.upstream_rq_retry_overflow: 4",
        );
        let edge = &edges[&key("", "orders")];
        assert_eq!((edge.logical(), edge.sent(), edge.rescued), (100.0, 130.0, 20.0));
        assert_eq!(edge.held_back, 4.0);
    }

    #[test]
    fn linkerd_and_grpc_count_both() {
        let edges = edges_of(
            r#"outbound_http_route_request_statuses_total{deployment="web",parent_name="orders",http_status="200"} 100
outbound_http_route_backend_requests_total{deployment="web",parent_name="orders",backend_name="orders"} 120
grpc_client_attempt_started_total{app="web",grpc_target="dns:///rates.shop:50051",grpc_method="a/b"} 55
grpc_client_call_duration_seconds_count{app="web",grpc_target="dns:///rates.shop:50051",grpc_status="OK"} 45
grpc_client_call_duration_seconds_count{app="web",grpc_target="dns:///rates.shop:50051",grpc_status="UNAVAILABLE"} 5"#,
        );
        let orders = &edges[&key("web", "orders")];
        assert_eq!((orders.logical(), orders.sent()), (100.0, 120.0));
        let rates = &edges[&key("web", "rates")];
        assert_eq!((rates.logical(), rates.sent(), rates.failed), (50.0, 55.0, 5.0));
    }

    #[test]
    fn names_of_hosts_are_those_of_services() {
        for (value, name) in [
            ("outbound|9080||reviews.shop.svc.cluster.local", "reviews"),
            ("dns:///reviews.shop:9080", "reviews"),
            ("reviews:9080", "reviews"),
            ("10.0.0.1:80", "10.0.0.1"),
            ("xds_cluster", "xds_cluster"),
        ] {
            assert_eq!(short(value), name);
        }
    }
}
