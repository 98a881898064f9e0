//! Envoy Gateway: for each call from outside and each class an HTTPRoute with a
//! BackendTrafficPolicy, and an EnvoyExtensionPolicy where the filter is needed.

use super::gateway_api::{backends, duration, matches};
use super::istio::{CLIENT, GATEWAY, IMAGE, object};
use super::parts::{
    EnvoyBudget, Keeper, NEVER, consecutive, ejects, envoy_budget, envoy_conditions, envoy_wait,
};
use super::shared::{Can, Conditions, LONGEST, down_ms, no_controls, unsaid, up, up_ms, whole_ms};
use super::{Format, filter};
use crate::Options;
use crate::asked::{Asked, Edge, Lane};
use crate::loss::{Draft, Side, instead};
use crate::tree::{Map, yaml};
use crate::wait::Wait;

/// HTTPRoute, BackendTrafficPolicy, EnvoyExtensionPolicy.
pub(super) const FORMAT: Format = Format {
    id: "envoy-gateway",
    title: "Envoy Gateway",
    summary: "HTTPRoute and BackendTrafficPolicy for each call from outside and each class",
    per_callee: false,
    filter: true,
    write,
};

fn write(asked: &Asked<'_>, options: &Options) -> Draft {
    let mut draft = Draft::default();
    for edge in asked.by(CLIENT) {
        let text = yaml(&documents(edge, options, &mut draft));
        draft.file(format!("{}.yaml", edge.server.name), text);
    }
    let inside = asked.edges.iter().filter(|edge| edge.caller != CLIENT).count();
    if inside > 0 {
        draft.note(&format!(
            "{inside} calls between services do not pass the gateway and are not written: use \
             `damper export istio`, `linkerd` or `envoy` for them"
        ));
    }
    draft
}

/// What one call adds to every lane.
struct Shared {
    conditions: Conditions,
    wait: Wait,
    budget: EnvoyBudget,
}

fn documents(edge: &Edge<'_>, options: &Options, draft: &mut Draft) -> Vec<Map> {
    let callee = edge.server.name.as_str();
    let served = filter::serves(edge, options);
    let conditions = envoy_conditions(edge, draft);
    let (wait, wait_marks) = envoy_wait(edge, draft);
    let (budget, budget_marks) = envoy_budget(edge, Keeper::of(edge, true, options), draft);
    let mut marks = conditions.marks.clone();
    marks.extend(wait_marks);
    marks.extend(whole_ms(edge, conditions.most, draft));
    marks.extend(budget_marks);
    let can = Can { breaker: consecutive(edge).is_some(), travels: served, heeds: false };
    marks.extend(unsaid(edge, can, draft));
    let why = "The gateway stands before all instances; such a control is for each of them.";
    let mut bare = edge.server.clone();
    bare.rate_limit = None;
    marks.extend(no_controls(&bare, why, true, draft));
    let shared = Shared { conditions, wait, budget };
    let mut all = Vec::new();
    let lanes = edge.lanes();
    for lane in &lanes {
        draft.claim(format!("HTTPRoute {}", lane.named(callee)), edge.lane_name(*lane));
    }
    for lane in &lanes {
        let marks = std::mem::take(&mut marks);
        all.extend(lane_of(edge, *lane, &shared, marks, options, draft));
    }
    if let Some(first) = all.first_mut() {
        *first = std::mem::take(first).headed([
            format!("Calls to {callee}, made by `damper export envoy-gateway`."),
            format!("The class of a request is in the header {}.", options.class_header),
        ]);
    }
    if let Some(config) = filter::config(&[edge], filter::Names::Any, options) {
        let target = |lane: &Lane<'_>| reference("HTTPRoute", &lane.named(callee));
        let wasm = Map::new()
            .with("name", "damper")
            .with("rootID", "damper-outbound")
            .with("code", code())
            .with("config", crate::tree::of_json(&config))
            .with("failOpen", true);
        let spec = Map::new()
            .with("targetRefs", lanes.iter().map(target).collect::<Vec<_>>())
            .with("wasm", vec![wasm]);
        let version = "gateway.envoyproxy.io/v1alpha1";
        let name = format!("damper-{callee}");
        all.push(object(version, "EnvoyExtensionPolicy", &name, options).with("spec", spec));
        draft.note(&format!(
            "{callee}.yaml loads Damper's filter from {IMAGE}: put your registry in its place; \
             --plain writes it without"
        ));
    }
    all
}

/// Where the module comes from.
fn code() -> Map {
    let url = IMAGE.trim_start_matches("oci://");
    Map::new().with("type", "Image").with("image", Map::new().with("url", url))
}

fn reference(kind: &str, name: &str) -> Map {
    Map::new().with("group", "gateway.networking.k8s.io").with("kind", kind).with("name", name)
}

fn lane_of(
    edge: &Edge<'_>,
    lane: Lane<'_>,
    shared: &Shared,
    marks: Vec<String>,
    options: &Options,
    draft: &mut Draft,
) -> [Map; 2] {
    let callee = edge.server.name.as_str();
    let name = lane.named(callee);
    let rule = Map::new()
        .with_some("matches", matches(lane, options))
        .with("backendRefs", backends(callee, options));
    let route = Map::new()
        .with("parentRefs", vec![Map::new().with("name", GATEWAY)])
        .with("rules", vec![rule]);
    let route =
        object("gateway.networking.k8s.io/v1", "HTTPRoute", &name, options).with("spec", route);
    let retries = lane.limit > 0 && !shared.conditions.is_empty();
    let times = edge.times(if retries { lane.limit } else { 0 });
    let mut spec = Map::new().with("targetRefs", vec![reference("HTTPRoute", &name)]);
    if retries {
        spec.put("retry", retry(lane.limit, times.attempt, shared));
    }
    spec = spec.noted(marks);
    let limits = match shared.budget {
        EnvoyBudget::Unlimited => Map::new().with("maxParallelRetries", NEVER),
        EnvoyBudget::Share { percent, least } => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let parts = (percent * 100.0).round() as u32;
            let share = Map::new().with("numerator", parts).with("denominator", 10_000_u32);
            let budget = Map::new().with("percent", share).with("minRetryConcurrency", least);
            Map::new().with("retryBudget", budget)
        }
    };
    spec.put("circuitBreaker", limits);
    let overall = times.overall.map_or(0, |time| down_ms(time.min(LONGEST)));
    let request = Map::new().with("requestTimeout", duration(overall));
    spec.put("timeout", Map::new().with("http", request));
    if let Some(limit) = edge.server.rate_limit {
        spec = rate_limit(edge, limit.rate, spec, lane, draft);
    }
    if let Some(ejection) = consecutive(edge) {
        let passive = Map::new()
            .with("consecutive5XxErrors", ejection.failures)
            .with("baseEjectionTime", duration(up(ejection.first_s * 1e3)))
            .with("maxEjectionPercent", 100_u32);
        spec.put("healthCheck", Map::new().with("passive", passive));
        if lane.class.is_none() {
            spec = spec.noted([ejects(edge, ejection, draft)]);
        }
    }
    let version = "gateway.envoyproxy.io/v1alpha1";
    [route, object(version, "BackendTrafficPolicy", &name, options).with("spec", spec)]
}

fn retry(limit: u32, attempt: Option<damper_control::Nanos>, shared: &Shared) -> Map {
    let Shared { conditions, wait, .. } = shared;
    let mut triggers: Vec<&str> = conditions.words.clone();
    let mut on = Map::new();
    if !conditions.statuses.is_empty() {
        triggers.push("retriable-status-codes");
    }
    on.put("triggers", triggers);
    if !conditions.statuses.is_empty() {
        on.put("httpStatusCodes", conditions.statuses.clone());
    }
    let backoff = Map::new()
        .with("baseInterval", duration(up(wait.base_ms)))
        .with("maxInterval", duration(up(wait.cap_ms)));
    let each = Map::new()
        .with_some("timeout", attempt.map(|time| duration(up_ms(time.min(LONGEST)))))
        .with("backOff", backoff);
    Map::new()
        .with("numRetries", limit.min(i32::MAX as u32))
        .with("retryOn", on)
        .with("perRetry", each)
}

/// The rate of a service as a whole number in a second, or else in a minute, rounded down.
fn rate_limit(edge: &Edge<'_>, rate: f64, spec: Map, lane: Lane<'_>, draft: &mut Draft) -> Map {
    let (count, unit) =
        if rate.fract() == 0.0 { (rate, "Second") } else { ((rate * 60.0).floor(), "Minute") };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let count = count.clamp(1.0, f64::from(u32::MAX)) as u32;
    let limit = Map::new().with("requests", count).with("unit", unit);
    let rules = vec![Map::new().with("limit", limit)];
    let local = Map::new().with("rules", rules);
    let spec = spec.with("rateLimit", Map::new().with("type", "Local").with("local", local));
    if lane.class.is_some() {
        return spec;
    }
    let why = "Each replica of the gateway counts for itself, and each class has its own.";
    let written = format!("{count} in a {}", unit.to_lowercase());
    let what = instead(Side::Wider, format!("{rate}/s for all"), written, why);
    spec.noted([draft.lose(&edge.server.name, "rate_limit", what)])
}
