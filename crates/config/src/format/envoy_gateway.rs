//! Envoy Gateway: BackendTrafficPolicy, and the same settings where a gateway calls by itself.

use crate::document::{Document, Entry, Node, Syntax};
use crate::format::Format;
use crate::format::envoy::cluster::{limit, whole};
use crate::format::envoy::vocabulary::conditions;
use crate::format::envoy::walk::{self, Scene};
use crate::format::gateway_api::evidence;
use crate::format::parts::{
    Object, drop_useless_attempt_timeout, envoy_delay, fact, from_retries, group, inert, ms_at,
    positive, span,
};
use crate::layer::{Attempts, Budget, Layer, Reach, Seat, Sourced};
use crate::reading::{Reading, What};

/// The objects of Envoy Gateway.
pub const FORMAT: Format = Format {
    id: "envoy-gateway",
    title: "Envoy Gateway",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| group(document) == Some("gateway.envoyproxy.io"),
    read,
};

const WHO: &str = "Envoy Gateway";
/// What is retried where nobody says anything; 503 counts by its code.
const DEFAULT: [&str; 5] =
    ["connect-failure", "refused-stream", "unavailable", "cancelled", "retriable-status-codes"];

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let Some(spec) = object.root.get("spec") else { return };
    match object.kind() {
        "BackendTrafficPolicy" => policy(spec, &object, reading),
        "EnvoyExtensionPolicy" => extensions(spec, reading),
        "EnvoyPatchPolicy" => walk::read(spec, Scene::default(), reading),
        _ => inside(spec, &object, reading),
    }
}

fn policy(spec: &Node, object: &Object<'_>, reading: &mut Reading) {
    let budget = limits(spec, reading);
    let Some(entry) = spec.entry("retry") else {
        let overall = positive(ms_at(spec, "timeout.http.requestTimeout", 0.0));
        if let (Some(ms), Some(entry)) = (overall, spec.entry("timeout")) {
            let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
            fact(reading, span(entry), None, what);
        }
        return;
    };
    let targets = spec.get("targetRefs").map_or(&[][..], Node::items).iter();
    let mut targets: Vec<_> = targets.chain(spec.get("targetRef")).map(Some).collect();
    if targets.is_empty() {
        targets.push(None);
    }
    for (at, target) in targets.into_iter().enumerate() {
        let mut layer = Layer::at(FORMAT.id, Seat::Gateway, span(entry));
        let kind = target.and_then(|target| target.text_at("kind")).unwrap_or_default();
        let name = target.and_then(|target| target.text_at("name"));
        layer.reach = if kind.ends_with("Route") { Reach::Service } else { Reach::Group };
        layer.route = name.map(|name| evidence(kind, name, object.namespace));
        layer.budget = Some(budget.clone());
        let mut said = Reading::default();
        fill(&mut layer, entry, spec, &mut said);
        if at == 0 {
            reading.facts.append(&mut said.facts);
        }
        reading.layers.push(layer);
    }
}

/// Fills in what a `retry` block says; its timeout for all attempts stands beside it.
fn fill(layer: &mut Layer, entry: &Entry, beside: &Node, reading: &mut Reading) {
    let retry = &entry.value;
    layer.attempts = match retry.entry("numRetries") {
        Some(entry) => from_retries(entry),
        None => Sourced::default_of(Attempts::Count(3), WHO),
    };
    let codes = crate::format::envoy::policy::codes(
        retry.get("retryOn").unwrap_or(retry),
        "httpStatusCodes",
    );
    let triggers = retry.below("retryOn.triggers").map_or(&[][..], Node::items);
    let triggers: Vec<_> = triggers.iter().filter_map(Node::text).collect();
    let line = retry.entry("retryOn").map(|entry| entry.line);
    let default_codes = if retry.get("retryOn").is_none() { vec![503] } else { Vec::new() };
    // Codes alone come beside the default words; words alone drop the default code.
    let words = if triggers.is_empty() { DEFAULT.to_vec() } else { triggers };
    let counted = if codes.is_empty() { default_codes } else { codes.clone() };
    let found = conditions(&words, &counted, false);
    for word in &found.unknown {
        let why = format!("`{word}` in triggers: Envoy knows no such word");
        inert(reading, span(entry), None, why);
    }
    if !codes.is_empty() && !found.takes_codes {
        let why = "httpStatusCodes without the trigger `retriable-status-codes`".to_owned();
        inert(reading, span(entry), None, why);
    }
    layer.on = match line {
        Some(line) => Sourced::written(found.on, line),
        None => Sourced::default_of(found.on, WHO),
    };
    layer.words = words.iter().map(ToString::to_string).collect();
    if found.takes_codes {
        layer.words.extend(counted.iter().map(ToString::to_string));
    }
    layer.attempt_timeout_ms = positive(ms_at(retry, "perRetry.timeout", 0.0));
    layer.delay = envoy_delay(
        ms_at(retry, "perRetry.backOff.baseInterval", 0.0),
        ms_at(retry, "perRetry.backOff.maxInterval", 0.0),
        WHO,
    );
    layer.timeout_ms = match ms_at(beside, "timeout.http.requestTimeout", 0.0) {
        Some(ms) => positive(Some(ms)),
        None => Some(Sourced::default_of(15_000.0, "Envoy")),
    };
    drop_useless_attempt_timeout(layer, reading);
}

/// The limits of a policy; its budget for retries is handed back.
fn limits(spec: &Node, reading: &mut Reading) -> Sourced<Budget> {
    let mut budget = Sourced::default_of(Budget::Concurrent { limit: Some(1024) }, WHO);
    if let Some(breaker) = spec.entry("circuitBreaker") {
        let number = |key: &str| breaker.value.get(key).and_then(Node::number);
        let what = What::Requests {
            active: limit(number("maxParallelRequests").unwrap_or(1024.0)),
            waiting: limit(number("maxPendingRequests").unwrap_or(1024.0)),
        };
        fact(reading, span(breaker), None, what);
        if let Some(entry) = breaker.value.entry("maxParallelRetries") {
            // A number that can never act is no limit.
            let limit = entry.value.number().and_then(limit);
            let limit = limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
            budget = Sourced::written(Budget::Concurrent { limit }, entry.line);
        }
    }
    let shares = [
        spec.entry("retryBudget"),
        crate::format::parts::entry_below(spec, "circuitBreaker.retryBudget"),
    ];
    if let Some(entry) = shares.into_iter().flatten().next() {
        let part = |key: &str| entry.value.below("percent").and_then(|percent| percent.get(key));
        let top = part("numerator").and_then(Node::number);
        let bottom = part("denominator").and_then(Node::number).unwrap_or(100.0).max(1.0);
        let least = entry.value.get("minRetryConcurrency").and_then(Node::number);
        let share = Budget::ActiveShare {
            percent: top.map_or(20.0, |top| top * 100.0 / bottom),
            min_concurrent: whole(least.unwrap_or(3.0)),
        };
        budget = Sourced::written(share, entry.line);
    }
    if matches!(budget.from, crate::Origin::Written(_)) {
        let lines = match budget.from {
            crate::Origin::Written(line) => [line, line],
            _ => spec.lines,
        };
        fact(reading, lines, None, What::Retries(budget.value.clone()));
    }
    for rule in spec.below("rateLimit.local.rules").map_or(&[][..], Node::items) {
        let seconds = match rule.text_at("limit.unit").unwrap_or("Second") {
            "Minute" => 60.0,
            "Hour" => 3600.0,
            "Day" => 86_400.0,
            _ => 1.0,
        };
        let per_s = rule.below("limit.requests").and_then(Node::number).map(|n| n / seconds);
        fact(reading, rule.lines, None, What::RateLimit { per_s, status: Some(429) });
    }
    if let Some(entry) = spec.entry("admissionControl") {
        fact(reading, span(entry), None, What::RateLimit { per_s: None, status: Some(503) });
    }
    health(spec, reading);
    budget
}

fn health(spec: &Node, reading: &mut Reading) {
    let Some(health) = spec.get("healthCheck") else { return };
    if let Some(passive) = health.entry("passive") {
        let number = |node: Option<&Node>| node.and_then(Node::number);
        let max = number(passive.value.get("maxEjectionPercent"));
        let what = What::Ejection {
            max_percent: Some(max.unwrap_or(10.0)),
            panic_percent: Some(number(health.get("panicThreshold")).unwrap_or(50.0)),
        };
        fact(reading, span(passive), None, what);
    }
    if let Some(active) = health.entry("active") {
        let timeout_ms = ms_at(&active.value, "timeout", 0.0).map(|ms| ms.value);
        fact(reading, span(active), None, What::HealthCheck { kind: "readiness", timeout_ms });
    }
}

/// Calls that the gateway makes itself, for keys or to an identity provider.
fn inside(node: &Node, object: &Object<'_>, reading: &mut Reading) {
    if let Some(settings) = node.get("backendSettings") {
        let backend = node.get("backendRefs").and_then(|all| all.items().first());
        if let Some(entry) = settings.entry("retry") {
            let mut layer = Layer::at(FORMAT.id, Seat::Gateway, span(entry));
            layer.callee = backend.and_then(|backend| object.reference(backend));
            layer.reach = Reach::Service;
            fill(&mut layer, entry, settings, reading);
            own_call(&mut layer);
            reading.layers.push(layer);
        }
    }
    node.entries().iter().for_each(|entry| inside(&entry.value, object, reading));
    node.items().iter().for_each(|item| inside(item, object, reading));
}

/// A call of the gateway itself has other defaults: one retry, a second between, no status codes.
fn own_call(layer: &mut Layer) {
    if let crate::Origin::Default(_) = layer.attempts.from {
        layer.attempts = Sourced::default_of(Attempts::Count(2), "Envoy");
    }
    if let crate::Origin::Default(_) = layer.on.from {
        layer.words.retain(|word| word != "503");
        layer.on = Sourced::default_of(conditions(&DEFAULT, &[], false).on, WHO);
    }
    let unsaid = |ms: &Sourced<f64>| matches!(ms.from, crate::Origin::Default(_));
    if layer.delay.base_ms.as_ref().is_some_and(unsaid) {
        layer.delay.base_ms = Some(Sourced::default_of(1000.0, "Envoy"));
        layer.delay.cap_ms = Some(Sourced::default_of(10_000.0, "Envoy"));
    }
    layer.attempt_timeout_ms = None;
}

fn extensions(spec: &Node, reading: &mut Reading) {
    for key in ["wasm", "extProc", "lua"] {
        for one in spec.get(key).map_or(&[][..], Node::items) {
            let why = format!("an {key} filter may refuse or change requests");
            reading.open.push((one.lines[0], why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::failure::Failure;
    use crate::format;

    fn of(spec: &str) -> Reading {
        let text = format!(
            "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {{name: cart, namespace: shop}}\nspec:\n  targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}}]\n{spec}"
        );
        format::read("e.yaml", &parse(Syntax::Yaml, &text).0)
    }

    #[test]
    fn a_policy_that_says_everything() {
        let reading = of(
            "  retry:\n    numRetries: 1\n    retryOn: {triggers: [connect-failure, retriable-status-codes], httpStatusCodes: [503]}\n    perRetry: {timeout: 500ms, backOff: {baseInterval: 50ms, maxInterval: 400ms}}\n  circuitBreaker: {maxParallelRetries: 20, maxPendingRequests: 5}\n  timeout: {http: {requestTimeout: 2s}}\n  rateLimit: {type: Local, local: {rules: [{limit: {requests: 120, unit: Minute}}]}}\n  healthCheck: {passive: {maxEjectionPercent: 30}}\n",
        );
        let layer = &reading.layers[0];
        assert_eq!(layer.lines, [6, 9]);
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 7));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(500.0, 9)));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 11)));
        assert_eq!(layer.delay.cap_ms, Some(Sourced::written(400.0, 9)));
        assert_eq!(layer.route.as_deref(), Some("HTTPRoute shop/cart"));
        let budget = Budget::Concurrent { limit: Some(20) };
        assert_eq!(layer.budget, Some(Sourced::written(budget, 10)));
        assert!(layer.on.value.contains(Failure::Unavailable));
        let rate = What::RateLimit { per_s: Some(2.0), status: Some(429) };
        assert!(reading.facts.iter().any(|fact| fact.what == rate));
        let queue = What::Requests { active: Some(1024), waiting: Some(5) };
        assert!(reading.facts.iter().any(|fact| fact.what == queue));
    }

    #[test]
    fn an_empty_block_retries_twice_and_none_never() {
        let reading = of("  retry: {}\n");
        assert_eq!(reading.layers[0].attempts, Sourced::default_of(Attempts::Count(3), WHO));
        assert!(reading.layers[0].on.value.contains(Failure::Unavailable));
        assert_eq!(reading.layers[0].timeout_ms, Some(Sourced::default_of(15_000.0, "Envoy")));
        assert!(of("  timeout: {}\n").layers.is_empty());
    }

    #[test]
    fn triggers_alone_drop_503() {
        let reading = of("  retry: {retryOn: {triggers: [connect-failure]}}\n");
        assert!(!reading.layers[0].on.value.contains(Failure::Unavailable));
        let both = of("  retry: {retryOn: {triggers: [reset], httpStatusCodes: [500]}}\n");
        assert!(!both.layers[0].on.value.contains(Failure::ServerError));
        assert!(matches!(both.facts[0].what, What::Inert { .. }));
        let codes = of("  retry: {retryOn: {httpStatusCodes: [500]}}\n");
        assert!(codes.layers[0].on.value.contains(Failure::ServerError));
        assert!(codes.layers[0].on.value.contains(Failure::Connect));
    }

    #[test]
    fn calls_of_the_gateway_itself_are_found() {
        let text = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: SecurityPolicy\nmetadata: {name: s, namespace: shop}\nspec:\n  oidc:\n    provider:\n      backendRefs: [{name: id}]\n      backendSettings:\n        retry: {}\n  extAuth: {failOpen: true}\n";
        let reading = format::read("e.yaml", &parse(Syntax::Yaml, text).0);
        assert_eq!(reading.layers[0].attempts.value, Attempts::Count(2));
        assert_eq!(reading.layers[0].delay.base_ms.as_ref().map(|ms| ms.value), Some(1000.0));
        assert_eq!(reading.layers[0].callee, Some(crate::Name::new("id", Some("shop"))));
    }
}
