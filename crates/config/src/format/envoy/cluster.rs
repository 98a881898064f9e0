//! Clusters of Envoy: who is behind their names, and what limits calls and retries to them.

use std::collections::HashMap;

use super::WHO;
use crate::document::Node;
use crate::format::parts::{fact, ms_at, span};
use crate::layer::{Budget, Sourced};
use crate::name::Name;
use crate::reading::{Reading, What};

/// What is known of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Who is behind it.
    pub(crate) name: Option<Name>,
    /// What limits retries to it.
    pub(crate) budget: Option<Sourced<Budget>>,
}

/// The clusters of a document by their names.
pub(crate) type Clusters = HashMap<String, Known>;

/// Above this, a limit of Envoy never acts.
const NEVER: f64 = 2_147_483_647.0;

/// Reads a cluster.
pub(crate) fn read(cluster: &Node, clusters: &mut Clusters, reading: &mut Reading) {
    let Some(name) = cluster.text_at("name") else { return };
    let who = address(cluster).or_else(|| named(name));
    let limits = cluster.below("circuit_breakers.thresholds").and_then(default_threshold);
    let budget = budget(limits);
    if let Some(limits) = limits {
        let number = |key: &str| limits.loose(key).and_then(Node::number);
        if budget.from != crate::Origin::Default(WHO) {
            let entry = limits.loose_entry("retry_budget").or(limits.loose_entry("max_retries"));
            let lines = entry.map_or(limits.lines, span);
            fact(reading, lines, who.clone(), What::Retries(budget.value.clone()));
        }
        let (active, waiting) = (number("max_requests"), number("max_pending_requests"));
        if active.is_some() || waiting.is_some() {
            let what = What::Requests {
                active: limit(active.unwrap_or(1024.0)),
                waiting: limit(waiting.unwrap_or(1024.0)),
            };
            fact(reading, limits.lines, who.clone(), what);
        }
    }
    ejection(cluster, who.as_ref(), reading);
    for check in cluster.loose("health_checks").map_or(&[][..], Node::items) {
        let timeout_ms = ms_at(check, "timeout", 0.0).map(|ms| ms.value);
        let what = What::HealthCheck { kind: "readiness", timeout_ms };
        fact(reading, check.lines, who.clone(), what);
    }
    clusters.insert(name.to_owned(), Known { name: who, budget: Some(budget) });
}

fn ejection(cluster: &Node, who: Option<&Name>, reading: &mut Reading) {
    let outlier = cluster.loose_entry("outlier_detection");
    let panic = cluster.below("common_lb_config.healthy_panic_threshold");
    if outlier.is_none() && panic.is_none() {
        return;
    }
    let percent = |key: &str, unsaid: f64| {
        outlier.map(|entry| entry.value.loose(key).and_then(Node::number).unwrap_or(unsaid))
    };
    let lines = outlier.map(span).or(panic.map(|node| node.lines)).unwrap_or(cluster.lines);
    let what = What::Ejection {
        max_percent: percent("max_ejection_percent", 10.0),
        panic_percent: Some(
            panic.map_or(50.0, |node| node.loose("value").and_then(Node::number).unwrap_or(0.0)),
        ),
    };
    fact(reading, lines, who.cloned(), what);
}

/// The first entry for the default priority.
fn default_threshold(thresholds: &Node) -> Option<&Node> {
    thresholds.items().iter().find(|one| {
        one.text_at("priority").is_none_or(|priority| priority == "DEFAULT" || priority == "0")
    })
}

/// The budget of a threshold; three retries at once if nobody says otherwise.
pub(crate) fn budget(limits: Option<&Node>) -> Sourced<Budget> {
    let three = Sourced::default_of(Budget::Concurrent { limit: Some(3) }, WHO);
    let Some(limits) = limits else { return three };
    if let Some(entry) = limits.loose_entry("retry_budget") {
        let percent = entry.value.below("budget_percent.value").and_then(Node::number);
        let least = entry.value.loose("min_retry_concurrency").and_then(Node::number);
        let budget = Budget::ActiveShare {
            percent: percent.unwrap_or(20.0),
            min_concurrent: whole(least.unwrap_or(3.0)),
        };
        return Sourced::written(budget, entry.line);
    }
    match limits.loose_entry("max_retries").and_then(|one| Some((one.line, one.value.number()?))) {
        Some((line, number)) => {
            let limit = (number < NEVER).then(|| whole(number));
            Sourced::written(Budget::Concurrent { limit }, line)
        }
        None => three,
    }
}

/// A number as a limit; `None` above what can ever act.
pub(crate) fn limit(number: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (number < NEVER).then_some(number.max(0.0) as u64)
}

/// A number as a whole one, within its bounds.
pub(crate) fn whole(number: f64) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = number.clamp(0.0, f64::from(u32::MAX)) as u32;
    whole
}

/// The host of a cluster that is found by its name in the DNS.
fn address(cluster: &Node) -> Option<Name> {
    let groups = cluster.below("load_assignment.endpoints").map_or(&[][..], Node::items);
    let mut hosts = groups
        .iter()
        .flat_map(|group| group.loose("lb_endpoints").map_or(&[][..], Node::items))
        .filter_map(|one| one.text_at("endpoint.address.socket_address.address"));
    let first = hosts.next()?;
    if !hosts.all(|host| host == first) || matches!(first, "localhost" | "host.docker.internal") {
        return None;
    }
    Name::of_host(first, None)
}

/// The service behind a cluster's name: Istio's `outbound|80||orders.shop.svc.cluster.local`,
/// `shop/orders:80` and `shop/orders/80/hash` of Cilium and Contour, `orders_shop_svc_80` of Kuma,
/// `orders.default.dc1.internal.ID.consul` of Consul, or a plain name.
pub(crate) fn named(cluster: &str) -> Option<Name> {
    if let Some((_, host)) = cluster.rsplit_once('|') {
        return Name::of_host(host, None);
    }
    if let Some((name, _)) = cluster.split_once("_svc_") {
        let (service, namespace) = name.rsplit_once('_')?;
        return Some(Name::new(service, Some(namespace)));
    }
    if cluster.ends_with(".consul") {
        let mut parts = cluster.split('.');
        return parts.next().map(|service| Name::new(service, None));
    }
    if let Some(route) = cluster.strip_prefix("httproute/").or(cluster.strip_prefix("grpcroute/")) {
        let mut parts = route.split('/');
        let (namespace, name) = (parts.next()?, parts.next()?);
        return Some(Name::new(name, Some(namespace)));
    }
    if let Some((namespace, rest)) = cluster.split_once('/') {
        let name = rest.split(['/', ':']).next()?;
        return (!name.is_empty()).then(|| Name::new(name, Some(namespace)));
    }
    Name::of_host(cluster, None).or_else(|| (!cluster.is_empty()).then(|| Name::new(cluster, None)))
}
