//! Kuma: policies for retries, timeouts, limits and rates, on Kubernetes and elsewhere.
//!
//! Every mesh begins with a policy of five retries for all calls. That layer is made in
//! [`crate::effective`].

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::envoy::cluster::{limit, named, whole};
use crate::format::envoy::vocabulary::conditions;
use crate::format::parts::{
    entry_below, envoy_delay, fact, from_attempts, from_retries, group, inert, ms_at, positive,
    span,
};
use crate::layer::{Attempts, Budget, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Reading, What};
use crate::tree::references::ROUTE;

/// MeshRetry, MeshTimeout, MeshCircuitBreaker, MeshRateLimit, MeshHTTPRoute and Mesh.
pub const FORMAT: Format = Format {
    id: "kuma",
    title: "Kuma",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| kind(document).is_some(),
    read,
};

/// Who does what nobody wrote.
pub(crate) const WHO: &str = "Kuma";

const KINDS: [&str; 6] =
    ["Mesh", "MeshRetry", "MeshTimeout", "MeshCircuitBreaker", "MeshRateLimit", "MeshHTTPRoute"];

/// The words of Kuma and what Envoy calls them.
const WORDS: &[(&str, &str)] = &[
    ("5xx", "5xx"),
    ("5XX", "5xx"),
    ("GatewayError", "gateway-error"),
    ("Reset", "reset"),
    ("Retriable4xx", "retriable-4xx"),
    ("ConnectFailure", "connect-failure"),
    ("EnvoyRatelimited", "envoy-ratelimited"),
    ("RefusedStream", "refused-stream"),
    ("Http3PostConnectFailure", "http3-post-connect-failure"),
    // So it is handed to Envoy, which knows the word with two letters `l` only.
    ("Canceled", "canceled"),
    ("DeadlineExceeded", "deadline-exceeded"),
    ("Internal", "internal"),
    ("ResourceExhausted", "resource-exhausted"),
    ("Unavailable", "unavailable"),
];

const HTTP: [&str; 3] = ["gateway-error", "connect-failure", "refused-stream"];
const GRPC: [&str; 7] = [
    "cancelled",
    "connect-failure",
    "gateway-error",
    "refused-stream",
    "reset",
    "resource-exhausted",
    "unavailable",
];

/// What the first policy of a mesh retries.
pub(crate) fn default_on() -> Failures {
    conditions(&HTTP, &[], false).on
}

/// The kind of a resource: `kind` on Kubernetes, `type` elsewhere.
fn kind(document: &Document) -> Option<&str> {
    let root = &document.root;
    let on_kubernetes = group(document) == Some("kuma.io");
    let elsewhere = root.get("apiVersion").is_none() && root.get("kind").is_none();
    let kind = match (on_kubernetes, elsewhere) {
        (true, _) => root.get("kind"),
        (_, true) if root.get("name").is_none() => None,
        (_, true) if root.get("mesh").is_some() || root.get("type")?.text() == Some("Mesh") => {
            root.get("type")
        }
        _ => None,
    };
    kind?.text().filter(|kind| KINDS.contains(kind))
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    let kind = kind(document).unwrap_or_default();
    if kind == "Mesh" {
        mesh(root, reading);
        return;
    }
    let what = What::Mesh { format: FORMAT.id };
    if !reading.facts.iter().any(|fact| fact.what == what) {
        fact(reading, [root.lines[0]; 2], None, what);
    }
    let Some(spec) = root.get("spec") else { return };
    let (caller, own_reach) = target(spec.get("targetRef"));
    if kind == "MeshHTTPRoute" {
        calls(spec, caller.as_ref(), reading);
        return;
    }
    for to in spec.get("to").map_or(&[][..], Node::items) {
        let (callee, reach) = target(to.get("targetRef"));
        let Some(values) = to.entry("default") else { continue };
        let place = Place {
            caller: caller.clone(),
            callee,
            part: to.text_at("targetRef.sectionName").map(str::to_owned),
            reach: reach.max(own_reach),
        };
        match kind {
            "MeshRetry" => retry(&values.value, &place, reading),
            "MeshTimeout" => timeout(&values.value, &place, reading),
            "MeshCircuitBreaker" => breaker(&values.value, &place, reading),
            _ => {}
        }
    }
    if kind == "MeshRateLimit" {
        for key in ["from", "rules"] {
            for one in spec.get(key).map_or(&[][..], Node::items) {
                rate(one, caller.clone(), reading);
            }
        }
    }
}

/// Whom the routes of a caller lead to; the routes of everybody say nothing of who calls.
fn calls(spec: &Node, caller: Option<&Name>, reading: &mut Reading) {
    let Some(caller) = caller else { return };
    let to = spec.get("to").map_or(&[][..], Node::items).iter();
    let rules = to.flat_map(|one| one.get("rules").map_or(&[][..], Node::items));
    for rule in rules {
        let backends = rule.below("default.backendRefs").map_or(&[][..], Node::items);
        let weight = |one: &Node| one.get("weight").and_then(Node::number).unwrap_or(1.0);
        let sum: f64 = backends.iter().map(weight).sum();
        for backend in backends {
            let Some(callee) = target(Some(backend)).0 else { continue };
            reading.calls.push(Call {
                caller: Some(caller.clone()),
                callee,
                line: backend.lines[0],
                evidence: "MeshHTTPRoute".to_owned(),
                count: (backends.len() > 1 && sum > 0.0).then(|| weight(backend) / sum),
                protocol: Some("http"),
            });
        }
    }
}

/// A mesh makes its first policies itself, unless it is told not to.
fn mesh(root: &Node, reading: &mut Reading) {
    let skipped = root
        .below("spec.skipCreatingInitialPolicies")
        .or_else(|| root.get("skipCreatingInitialPolicies"));
    let skips = |word: &Node| matches!(word.text(), Some("*" | "MeshRetry"));
    match skipped.filter(|list| list.items().iter().any(skips)) {
        None => fact(reading, [root.lines[0]; 2], None, What::Mesh { format: FORMAT.id }),
        Some(list) => {
            let mut layer = Layer::at(FORMAT.id, Seat::Sidecar, list.lines);
            layer.reach = Reach::Everything;
            layer.attempts = Sourced::written(Attempts::Count(1), list.lines[0]);
            layer.notes.push("the mesh makes no policy for retries of its own".to_owned());
            reading.layers.push(layer);
        }
    }
}

/// For whom, or whose calls.
struct Place {
    caller: Option<Name>,
    callee: Option<Name>,
    part: Option<String>,
    reach: Reach,
}

/// Whom a `targetRef` means, and how specific it is.
fn target(reference: Option<&Node>) -> (Option<Name>, Reach) {
    let Some(reference) = reference else { return (None, Reach::Everything) };
    let labels = reference.get("labels").or(reference.get("tags"));
    let label = labels.and_then(|labels| {
        ["app", "kuma.io/service", "kuma.io/display-name", "k8s.kuma.io/service-name"]
            .iter()
            .find_map(|key| labels.get(key)?.text())
    });
    let name = reference.get("name").and_then(Node::text).or(label);
    let namespace = reference.get("namespace").and_then(Node::text);
    let name = name.and_then(named).map(|mut name| {
        name.namespace = name.namespace.or_else(|| namespace.map(str::to_owned));
        name
    });
    match reference.get("kind").and_then(Node::text).unwrap_or("Mesh") {
        "Mesh" => (None, Reach::Everything),
        "MeshSubset" | "MeshGateway" => (name, Reach::Group),
        "MeshHTTPRoute" | "MeshTCPRoute" => (None, Reach::Route),
        // It has come from a route.
        _ if reference.get(ROUTE).is_some() => (name, Reach::Route),
        _ => (name, Reach::Service),
    }
}

fn retry(values: &Node, place: &Place, reading: &mut Reading) {
    for (key, unsaid) in [("http", &HTTP[..]), ("grpc", &GRPC[..])] {
        let Some(entry) = values.entry(key) else { continue };
        let mut layer = layer(entry, place);
        layer.notes.push(format!("for {key}"));
        over_http(&mut layer, &entry.value, unsaid, reading);
        reading.layers.push(layer);
    }
    let tcp = values.entry("tcp");
    if let Some((entry, most)) =
        tcp.and_then(|tcp| Some((tcp, tcp.value.entry("maxConnectAttempt")?)))
    {
        let mut layer = layer(entry, place);
        layer.notes.push("for tcp".to_owned());
        layer.attempts = from_attempts(most);
        layer.on = Sourced::default_of(Failures::of(&[Failure::Connect]), WHO);
        layer.words = vec!["connect".to_owned()];
        reading.layers.push(layer);
    }
}

fn layer(entry: &Entry, place: &Place) -> Layer {
    let mut layer = Layer::at(FORMAT.id, Seat::Sidecar, span(entry));
    layer.caller.clone_from(&place.caller);
    layer.callee.clone_from(&place.callee);
    layer.part.clone_from(&place.part);
    layer.reach = place.reach;
    layer
}

fn over_http(layer: &mut Layer, values: &Node, unsaid: &[&str], reading: &mut Reading) {
    layer.attempts = match values.entry("numRetries") {
        Some(entry) => from_retries(entry),
        None => Sourced::default_of(Attempts::Count(2), WHO),
    };
    layer.attempt_timeout_ms = positive(ms_at(values, "perTryTimeout", 0.0));
    layer.delay = envoy_delay(
        ms_at(values, "backOff.baseInterval", 0.0),
        ms_at(values, "backOff.maxInterval", 0.0),
        WHO,
    );
    layer.pushback = values
        .below("rateLimitedBackOff.resetHeaders")
        .is_some_and(|headers| !headers.items().is_empty());
    let listed = entry_below(values, "retryOn").filter(|entry| !entry.value.items().is_empty());
    let Some(entry) = listed else {
        layer.on = Sourced::default_of(conditions(unsaid, &[], true).on, WHO);
        layer.words = unsaid.iter().map(ToString::to_string).collect();
        return;
    };
    let (mut methods, mut words) = (Vec::new(), Vec::new());
    for word in entry.value.items().iter().filter_map(Node::text) {
        if let Some(method) = word.strip_prefix("HttpMethod") {
            methods.push(method.to_ascii_uppercase());
            continue;
        }
        let known = WORDS.iter().find(|(known, _)| *known == word);
        words.push(known.map_or(word, |(_, envoys)| envoys).to_owned());
    }
    // Codes and methods alone come beside the default words, not in their place.
    if words.iter().all(|word| word.parse::<u32>().is_ok()) {
        words.extend(unsaid.iter().map(ToString::to_string));
    }
    let found = conditions(&words, &[], true);
    for word in &found.unknown {
        let why = format!("`{word}` reaches Envoy, which knows no such word");
        inert(reading, span(entry), layer.callee.clone(), why);
    }
    layer.on = Sourced::written(found.on, entry.line);
    layer.words = words;
    if !methods.is_empty() {
        layer.methods = Methods::Listed(methods);
    }
}

fn timeout(values: &Node, place: &Place, reading: &mut Reading) {
    let Some(entry) = entry_below(values, "http.requestTimeout") else { return };
    let Some(ms) = crate::units::duration_of(&entry.value, 0.0).filter(|ms| *ms > 0.0) else {
        return;
    };
    let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms) };
    fact(reading, span(entry), place.callee.clone(), what);
}

fn breaker(values: &Node, place: &Place, reading: &mut Reading) {
    if let Some(limits) = values.entry("connectionLimits") {
        let number = |key: &str| limits.value.get(key).and_then(Node::number);
        if let Some(most) = limits.value.entry("maxRetries") {
            let budget = Budget::Concurrent { limit: most.value.number().map(whole) };
            fact(reading, span(most), place.callee.clone(), What::Retries(budget));
        }
        let what = What::Requests {
            active: limit(number("maxRequests").unwrap_or(1024.0)),
            waiting: limit(number("maxPendingRequests").unwrap_or(1024.0)),
        };
        fact(reading, span(limits), place.callee.clone(), what);
    }
    if let Some(outlier) = values.entry("outlierDetection") {
        let max = outlier.value.get("maxEjectionPercent").and_then(Node::number);
        let panic = outlier.value.get("healthyPanicThreshold").and_then(Node::number);
        let what = What::Ejection {
            max_percent: Some(max.unwrap_or(10.0)),
            panic_percent: Some(panic.unwrap_or(50.0)),
        };
        fact(reading, span(outlier), place.callee.clone(), what);
    }
}

fn rate(one: &Node, about: Option<Name>, reading: &mut Reading) {
    let Some(http) = one.below("default.local.http") else { return };
    let interval = ms_at(http, "requestRate.interval", 0.0).filter(|ms| ms.value > 0.0);
    let count = http.below("requestRate.num").and_then(Node::number);
    let per_s = count.zip(interval).map(|(count, ms)| count * 1000.0 / ms.value);
    let status = http.below("onRateLimit.status").and_then(Node::integer);
    let status = status.and_then(|status| u32::try_from(status).ok());
    let what = What::RateLimit { per_s, status: Some(status.unwrap_or(429)) };
    fact(reading, http.lines, about, what);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(text: &str) -> Reading {
        format::read("k.yaml", &parse(Syntax::Yaml, text).0)
    }

    fn retries(values: &str) -> Reading {
        of(&format!(
            "apiVersion: kuma.io/v1alpha1\nkind: MeshRetry\nmetadata: {{name: orders, namespace: kuma-system}}\nspec:\n  targetRef: {{kind: Dataplane, labels: {{app: web}}}}\n  to:\n  - targetRef: {{kind: MeshService, name: orders_shop_svc_80}}\n    default:\n{values}"
        ))
    }

    #[test]
    fn a_policy_that_says_everything() {
        let reading = retries(
            "      http: {numRetries: 2, perTryTimeout: 500ms, retryOn: [ConnectFailure, '503', HttpMethodGet], backOff: {baseInterval: 50ms, maxInterval: 400ms}, rateLimitedBackOff: {resetHeaders: [{name: retry-after, format: Seconds}]}}\n      tcp: {maxConnectAttempt: 4}\n",
        );
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(3), 9));
        assert_eq!(layer.caller, Some(Name::new("web", None)));
        assert_eq!(layer.callee, Some(Name::new("orders", Some("shop"))));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(500.0, 9)));
        assert_eq!(layer.delay.cap_ms, Some(Sourced::written(400.0, 9)));
        assert_eq!(layer.methods, Methods::Listed(vec!["GET".to_owned()]));
        let on = Failures::of(&[Failure::Connect, Failure::Unavailable]);
        assert_eq!(layer.on.value, on);
        assert!(layer.pushback);
        assert_eq!(reading.layers[1].attempts.value, Attempts::Count(4));
    }

    #[test]
    fn a_policy_that_says_nothing_retries_once() {
        let reading = retries("      http: {}\n      grpc: {numRetries: 0}\n");
        assert_eq!(reading.layers[0].attempts, Sourced::default_of(Attempts::Count(2), WHO));
        assert_eq!(reading.layers[0].on.value, conditions(&HTTP, &[], true).on);
        assert!(!reading.layers[1].retries());
    }

    #[test]
    fn codes_alone_come_beside_the_default_words() {
        let reading = retries("      http: {retryOn: ['429', HttpMethodGet]}\n");
        let mut on = conditions(&HTTP, &[], true).on;
        on.insert(Failure::TooMany);
        assert_eq!(reading.layers[0].on.value, on);
    }

    #[test]
    fn canceled_is_a_word_that_envoy_does_not_know() {
        let reading = retries("      grpc: {retryOn: [Canceled, Unavailable]}\n");
        assert!(reading.facts.iter().any(|fact| matches!(fact.what, What::Inert { .. })));
        assert_eq!(reading.layers[0].on.value, Failures::of(&[Failure::GrpcUnavailable]));
    }

    #[test]
    fn a_mesh_has_its_first_policies_unless_told_not_to() {
        let reading = of("type: Mesh\nname: default\n");
        assert_eq!(reading.facts[0].what, What::Mesh { format: "kuma" });
        let without = of(
            "apiVersion: kuma.io/v1alpha1\nkind: Mesh\nmetadata: {name: default}\nspec: {skipCreatingInitialPolicies: ['*']}\n",
        );
        assert!(without.facts.is_empty() && !without.layers[0].retries());
    }

    #[test]
    fn limits_timeouts_and_rates_are_facts() {
        let policy = |kind: &str, rest: &str| {
            of(&format!("type: {kind}\nmesh: default\nname: p\nspec:\n  {rest}\n"))
        };
        let to = "to: [{targetRef: {kind: MeshService, name: orders}, default: ";
        let limits = policy(
            "MeshCircuitBreaker",
            &format!(
                "{to}{{connectionLimits: {{maxRetries: 7}}, outlierDetection: {{maxEjectionPercent: 30}}}}}}]"
            ),
        );
        let budget = What::Retries(Budget::Concurrent { limit: Some(7) });
        assert!(limits.facts.iter().any(|fact| fact.what == budget));
        let times = policy("MeshTimeout", &format!("{to}{{http: {{requestTimeout: 2s}}}}}}]"));
        let what = What::Timeout { attempt_ms: None, overall_ms: Some(2000.0) };
        assert!(times.facts.iter().any(|fact| fact.what == what));
        let rates = policy(
            "MeshRateLimit",
            "from: [{default: {local: {http: {requestRate: {num: 5, interval: 10s}}}}}]",
        );
        let what = What::RateLimit { per_s: Some(0.5), status: Some(429) };
        assert!(rates.facts.iter().any(|fact| fact.what == what));
    }
}
