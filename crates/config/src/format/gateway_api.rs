//! The Gateway API of Kubernetes: retries and timeouts of routes, budgets of backends.

use crate::document::{Document, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::{
    Object, drop_useless_attempt_timeout, entry_below, exact_headers, fact, from_retries, group,
    header_route, ms_at, positive, span,
};
use crate::layer::{Attempts, Budget, Delay, Growth, Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Reading, What};

/// HTTPRoute, GRPCRoute and XBackendTrafficPolicy.
pub const FORMAT: Format = Format {
    id: "gateway-api",
    title: "Kubernetes Gateway API",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        let kind = Object::of(document).kind();
        match group(document) {
            Some("gateway.networking.k8s.io" | "policy.linkerd.io") => {
                matches!(kind, "HTTPRoute" | "GRPCRoute")
            }
            Some("gateway.networking.x-k8s.io") => kind == "XBackendTrafficPolicy",
            _ => false,
        }
    },
    read,
};

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let Some(spec) = object.root.get("spec") else { return };
    if object.kind() == "XBackendTrafficPolicy" {
        budget(spec, &object, reading);
        return;
    }
    let parents = spec.get("parentRefs").map_or(&[][..], Node::items);
    // A route whose parent is a Service is for the calls inside of a mesh.
    let inside = parents.iter().any(|parent| parent.text_at("kind") == Some("Service"));
    let seat = if inside { Seat::Sidecar } else { Seat::Gateway };
    for rule in spec.get("rules").map_or(&[][..], Node::items) {
        let backends = backends(rule, &object);
        if !inside {
            calls(rule, &backends, &object, reading);
        }
        for callee in callees(&backends) {
            of_rule(rule, seat, callee, &object, reading);
        }
    }
}

/// What says that a call goes through a route: policies name the route, not the service.
pub(crate) fn evidence(kind: &str, name: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

struct Backend {
    name: Name,
    line: u32,
    share: Option<f64>,
}

fn backends(rule: &Node, object: &Object<'_>) -> Vec<Backend> {
    let all = rule.get("backendRefs").map_or(&[][..], Node::items);
    let weight = |one: &Node| one.get("weight").and_then(Node::number).unwrap_or(1.0);
    let sum: f64 = all.iter().map(weight).sum();
    let backend = |one: &Node| {
        let share = (all.len() > 1 && sum > 0.0).then(|| weight(one) / sum);
        Some(Backend { name: object.reference(one)?, line: one.lines[0], share })
    };
    all.iter().filter_map(backend).collect()
}

/// Each service once; nobody, where a rule names none.
fn callees(backends: &[Backend]) -> Vec<Option<Name>> {
    let mut all: Vec<Option<Name>> = Vec::new();
    for one in backends {
        if !all.contains(&Some(one.name.clone())) {
            all.push(Some(one.name.clone()));
        }
    }
    if all.is_empty() {
        all.push(None);
    }
    all
}

fn of_rule(
    rule: &Node,
    seat: Seat,
    callee: Option<Name>,
    object: &Object<'_>,
    reading: &mut Reading,
) {
    let overall = positive(ms_at(rule, "timeouts.request", 0.0));
    let attempt = positive(ms_at(rule, "timeouts.backendRequest", 0.0));
    let headers = headers_of(rule);
    let of = object.name.map(|name| evidence(object.kind(), name, object.namespace));
    header_route(reading, seat, [None, callee.as_ref()], of, &headers);
    let Some(entry) = rule.entry("retry") else {
        if let (Some(entry), true) =
            (rule.entry("timeouts"), overall.is_some() || attempt.is_some())
        {
            let what = What::Timeout {
                attempt_ms: attempt.map(|ms| ms.value),
                overall_ms: overall.map(|ms| ms.value),
            };
            fact(reading, span(entry), callee, what);
        }
        return;
    };
    let mut layer = Layer::at(FORMAT.id, seat, span(entry));
    layer.callee = callee;
    layer.headers = headers;
    layer.reach = Reach::Route;
    let path = rule.get("matches").and_then(|all| all.items().first()?.text_at("path.value"));
    layer.route = path.or(object.name).map(str::to_owned);
    layer.attempts = match entry.value.get("attempts") {
        Some(_) => entry_below(&entry.value, "attempts").map_or(layer.attempts, from_retries),
        None => Sourced::derived(Attempts::Open {
            expression: "the implementation's default number of retries".to_owned(),
            low: 1,
            high: None,
        }),
    };
    let codes = entry.value.get("codes");
    // Connection errors are to be retried as well.
    let mut on = Failures::of(&[Failure::Connect, Failure::Refused]);
    for code in codes.map_or(&[][..], Node::items) {
        if let Some(status) = code.integer().and_then(|code| u32::try_from(code).ok()) {
            on.extend_status(status);
            layer.words.push(status.to_string());
        }
    }
    layer.on = Sourced::written(on, codes.map_or(entry.line, |codes| codes.lines[0]));
    let base = ms_at(&entry.value, "backoff", 0.0);
    layer.delay =
        Delay { growth: Growth::Unknown, base_ms: base, factor: None, cap_ms: None, jitter: false };
    layer.timeout_ms = overall;
    layer.attempt_timeout_ms = attempt;
    drop_useless_attempt_timeout(&mut layer, reading);
    reading.layers.push(layer);
}

/// The headers of a rule, if all of its matches ask for the same.
pub(crate) fn headers_of(rule: &Node) -> Vec<(String, String)> {
    let matches = rule.get("matches").map_or(&[][..], Node::items).iter();
    let mut all = matches.map(|one| exact_headers(one.get("headers")));
    let Some(first) = all.next() else { return Vec::new() };
    if all.all(|one| one == first) { first } else { Vec::new() }
}

fn calls(rule: &Node, backends: &[Backend], object: &Object<'_>, reading: &mut Reading) {
    let grpc = object.kind() == "GRPCRoute";
    let evidence = evidence(object.kind(), object.name.unwrap_or_default(), object.namespace);
    let mut add = |backend: &Backend, evidence: &str| {
        reading.calls.push(Call {
            caller: None,
            callee: backend.name.clone(),
            line: backend.line,
            evidence: evidence.to_owned(),
            count: backend.share,
            protocol: Some(if grpc { "grpc" } else { "http" }),
        });
    };
    backends.iter().for_each(|backend| add(backend, &evidence));
    for filter in rule.get("filters").map_or(&[][..], Node::items) {
        let mirror = filter.below("requestMirror.backendRef");
        if let Some((one, name)) = mirror.and_then(|one| Some((one, object.reference(one)?))) {
            add(&Backend { name, line: one.lines[0], share: None }, "mirror");
        }
    }
}

fn budget(spec: &Node, object: &Object<'_>, reading: &mut Reading) {
    let Some(entry) = spec.entry("retryConstraint") else { return };
    let number = |path: &str| entry.value.below(path).and_then(Node::number);
    let ms = |path: &str, unsaid: f64| ms_at(&entry.value, path, 0.0).map_or(unsaid, |ms| ms.value);
    let budget = Budget::RateShare {
        percent: number("budget.percent").unwrap_or(20.0),
        min_per_s: number("minRetryRate.count").unwrap_or(10.0) * 1000.0
            / ms("minRetryRate.interval", 1000.0).max(1.0),
        window_ms: ms("budget.interval", 10_000.0),
    };
    for target in spec.get("targetRefs").map_or(&[][..], Node::items) {
        let about = object.reference(target);
        fact(reading, span(entry), about, What::Retries(budget.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(text: &str) -> Reading {
        format::read("g.yaml", &parse(Syntax::Yaml, text).0)
    }

    fn route(rule: &str) -> Reading {
        of(&format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: cart, namespace: shop}}\nspec:\n  parentRefs: [{{name: edge}}]\n  rules:\n  - matches: [{{path: {{type: PathPrefix, value: /cart}}}}]\n    backendRefs: [{{name: cart, port: 8080}}]\n{rule}"
        ))
    }

    #[test]
    fn a_rule_that_says_everything() {
        let reading = route(
            "    timeouts: {request: 2s, backendRequest: 600ms}\n    retry: {codes: [502, 503], attempts: 2, backoff: 50ms}\n",
        );
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(3), 10));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 9)));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(600.0, 9)));
        assert_eq!(layer.delay.base_ms, Some(Sourced::written(50.0, 10)));
        assert_eq!(layer.route.as_deref(), Some("/cart"));
        assert_eq!(layer.seat, Seat::Gateway);
        assert!(layer.on.value.contains(Failure::Connect));
        assert!(!layer.on.value.contains(Failure::GatewayTimeout));
        assert_eq!(reading.calls[0].evidence, "HTTPRoute shop/cart");
    }

    #[test]
    fn the_number_is_the_implementations_where_none_is_said() {
        let reading = route("    retry: {codes: [503]}\n");
        assert!(matches!(reading.layers[0].attempts.value, Attempts::Open { low: 1, .. }));
        assert!(route("").layers.is_empty());
    }

    #[test]
    fn a_timeout_alone_is_a_fact() {
        let reading = route("    timeouts: {request: 2s, backendRequest: 0s}\n");
        let what = What::Timeout { attempt_ms: None, overall_ms: Some(2000.0) };
        assert_eq!(reading.facts[0].what, what);
    }

    #[test]
    fn a_budget_is_a_share_of_the_requests_of_a_window() {
        let reading = of(
            "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackendTrafficPolicy\nmetadata: {name: b, namespace: shop}\nspec:\n  targetRefs: [{group: '', kind: Service, name: cart}]\n  retryConstraint:\n    budget: {percent: 10, interval: 5s}\n    minRetryRate: {count: 5, interval: 2s}\n",
        );
        let budget = Budget::RateShare { percent: 10.0, min_per_s: 2.5, window_ms: 5000.0 };
        assert_eq!(reading.facts[0].what, What::Retries(budget));
        assert_eq!(reading.facts[0].about, Some(Name::new("cart", Some("shop"))));
    }
}
