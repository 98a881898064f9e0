//! Routes and clusters of Envoy for the calls of one caller.

use super::filter;
use super::parts::{
    EnvoyBudget, Keeper, NEVER, asks_for_time, consecutive, ejects, envoy_budget, envoy_conditions,
    envoy_wait,
};
use super::shared::{Can, Conditions, LONGEST, seconds, seconds_of_ms, unsaid};
use crate::Options;
use crate::asked::{Edge, Lane, Times};
use crate::loss::Draft;
use crate::tree::{Map, Tree};
use crate::wait::Wait;

/// The virtual host of a callee, and its cluster.
pub(crate) fn of(edge: &Edge<'_>, options: &Options, draft: &mut Draft) -> (Map, Map) {
    let callee = edge.server.name.as_str();
    let filtered = filter::serves(edge, options);
    let conditions = envoy_conditions(edge, draft);
    let (wait, wait_marks) = envoy_wait(edge, draft);
    let mut marks = conditions.marks.clone();
    marks.extend(wait_marks);
    let can =
        Can { breaker: consecutive(edge).is_some(), travels: filtered, heeds: asks_for_time(edge) };
    let other = unsaid(edge, can, draft);
    let (host, _) = options.address(callee);
    let mut domains = vec![callee.to_owned(), format!("{callee}:*")];
    if host != callee {
        domains.extend([host.clone(), format!("{host}:*")]);
    }
    let routes: Vec<Map> = edge
        .lanes()
        .iter()
        .enumerate()
        .map(|(at, lane)| {
            let marks = if at == 0 { marks.clone() } else { Vec::new() };
            route(edge, *lane, &conditions, &wait, marks, options)
        })
        .collect();
    let virtual_host = Map::new()
        .with("name", callee)
        .noted(other)
        .with("domains", domains)
        .with("include_request_attempt_count", true)
        .with("routes", routes);
    (virtual_host, cluster(edge, options, draft))
}

fn route(
    edge: &Edge<'_>,
    lane: Lane<'_>,
    conditions: &Conditions,
    wait: &Wait,
    marks: Vec<String>,
    options: &Options,
) -> Map {
    let callee = edge.server.name.as_str();
    let mut by = Map::new().with("prefix", "/");
    if let Some(class) = lane.class {
        let header = Map::new()
            .with("name", options.class_header.as_str())
            .with("string_match", Map::new().with("exact", class));
        by.put("headers", vec![header]);
    }
    let retries = lane.limit > 0 && !conditions.is_empty();
    let times = edge.times(if retries { lane.limit } else { 0 });
    let overall = times.overall.map_or_else(|| "0s".to_owned(), |time| seconds(time.min(LONGEST)));
    let mut action = Map::new().with("cluster", callee).with("timeout", overall);
    if retries {
        let policy = policy(edge, lane.limit, times, conditions, wait);
        action = action.with("retry_policy", policy).noted(marks);
    } else {
        action = action.noted(marks);
    }
    Map::new().with("name", lane.named(callee)).with("match", by).with("route", action)
}

fn policy(edge: &Edge<'_>, limit: u32, times: Times, conditions: &Conditions, wait: &Wait) -> Map {
    let mut words: Vec<&str> = conditions.words.clone();
    if !conditions.statuses.is_empty() {
        words.push("retriable-status-codes");
    }
    let mut policy = Map::new().with("retry_on", words.join(",")).with("num_retries", limit);
    if !conditions.statuses.is_empty() {
        policy.put("retriable_status_codes", conditions.statuses.clone());
    }
    policy = policy
        .with_some("per_try_timeout", times.attempt.map(|time| seconds(time.min(LONGEST))))
        .with(
            "retry_back_off",
            Map::new()
                .with("base_interval", seconds_of_ms(wait.base_ms))
                .with("max_interval", seconds_of_ms(wait.cap_ms)),
        );
    if asks_for_time(edge) {
        let header = Map::new().with("name", "retry-after").with("format", "SECONDS");
        policy.put("rate_limited_retry_back_off", Map::new().with("reset_headers", vec![header]));
    }
    policy
}

/// Where a cluster's hosts are.
pub(crate) fn endpoint(host: &str, port: u16) -> Tree {
    let address = Map::new().with("address", host).with("port_value", u32::from(port));
    let endpoint = Map::new().with("address", Map::new().with("socket_address", address));
    Map::new().with("endpoint", endpoint).into()
}

fn cluster(edge: &Edge<'_>, options: &Options, draft: &mut Draft) -> Map {
    let callee = edge.server.name.as_str();
    let (host, port) = options.address(callee);
    let (budget, marks) = envoy_budget(edge, Keeper::of(edge, false, options), draft);
    let by_name = host.parse::<std::net::IpAddr>().is_err();
    let group = Map::new().with("lb_endpoints", vec![endpoint(&host, port)]);
    let mut threshold = Map::new().with("priority", "DEFAULT");
    threshold = match budget {
        EnvoyBudget::Unlimited => threshold.with("max_retries", NEVER),
        EnvoyBudget::Share { percent, least } => threshold.with(
            "retry_budget",
            Map::new()
                .with("budget_percent", Map::new().with("value", percent))
                .with("min_retry_concurrency", least),
        ),
    };
    let mut cluster =
        Map::new().with("name", callee).with("type", if by_name { "STRICT_DNS" } else { "STATIC" });
    // A connection that does not come about may take no longer than an attempt.
    if let Some(time) =
        edge.policy.timeout.filter(|time| *time < damper_control::Nanos::from_secs(5))
    {
        cluster.put("connect_timeout", seconds(time));
    }
    cluster = cluster
        .with(
            "load_assignment",
            Map::new().with("cluster_name", callee).with("endpoints", vec![group]),
        )
        .with("circuit_breakers", Map::new().with("thresholds", vec![threshold.noted(marks)]));
    if let Some(ejection) = consecutive(edge) {
        let mark = ejects(edge, ejection, draft);
        let first = seconds_of_ms(ejection.first_s * 1e3);
        let outlier = Map::new()
            .with("consecutive_5xx", ejection.failures)
            .with("base_ejection_time", first)
            .with("max_ejection_time", seconds_of_ms(ejection.longest_s * 1e3))
            .with("max_ejection_percent", 100_u32)
            .with("enforcing_success_rate", 0_u32);
        cluster = cluster.with("outlier_detection", outlier).noted([mark]);
    }
    cluster
}
