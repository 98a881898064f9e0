//! Contour: HTTPProxy, and annotations of Ingresses and Services.

use crate::document::{Document, Entry, Node, Syntax};
use crate::format::Format;
use crate::format::envoy::cluster::{limit, whole};
use crate::format::envoy::vocabulary::conditions;
use crate::format::parts::{
    Object, call, drop_useless_attempt_timeout, envoy_delay, fact, from_retries, group, inert,
    positive, span,
};
use crate::layer::{Attempts, Budget, Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Reading, What};
use crate::units::{duration_of, words};

/// HTTPProxy, ContourConfiguration and annotations.
pub const FORMAT: Format = Format {
    id: "contour",
    title: "Contour",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        let object = Object::of(document);
        match group(document) {
            Some("projectcontour.io") => true,
            Some("" | "networking.k8s.io") => {
                object.annotations().iter().any(|entry| entry.key.starts_with(PREFIX))
            }
            _ => false,
        }
    },
    read,
};

const WHO: &str = "Contour";
const PREFIX: &str = "projectcontour.io/";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    match object.kind() {
        "HTTPProxy" => proxy(&object, reading),
        "Ingress" => ingress(&object, reading),
        "Service" => {
            let of = |key: &str| object.annotation(&format!("{PREFIX}{key}"));
            let keys = ["max-retries", "max-requests", "max-pending-requests"];
            limits(keys.map(of), object.own(), reading);
        }
        "ContourConfiguration" => {
            let breaker = object.root.below("spec.envoy.cluster.circuitBreakers");
            let of = |key: &str| breaker.and_then(|node| node.get(key).and(node.entry(key)));
            limits(["maxRetries", "maxRequests", "maxPendingRequests"].map(of), None, reading);
        }
        _ => {}
    }
}

fn limits(entries: [Option<&Entry>; 3], about: Option<Name>, reading: &mut Reading) {
    let [retries, active, waiting] = entries;
    let number = |entry: Option<&Entry>| entry.and_then(|entry| entry.value.number());
    if let (Some(entry), Some(count)) = (retries, number(retries)) {
        let what = What::Retries(Budget::Concurrent { limit: Some(whole(count)) });
        fact(reading, span(entry), about.clone(), what);
    }
    if let Some(entry) = active.or(waiting) {
        let what = What::Requests {
            active: limit(number(active).unwrap_or(1024.0)),
            waiting: limit(number(waiting).unwrap_or(1024.0)),
        };
        fact(reading, span(entry), about, what);
    }
}

/// `infinity` is no timeout, and zero is the same as nothing written.
fn response(entry: Option<&Entry>) -> Option<Sourced<f64>> {
    let unsaid = Sourced::default_of(15_000.0, "Envoy");
    let Some(entry) = entry else { return Some(unsaid) };
    if entry.value.text().is_some_and(|text| text.trim_start_matches('-').starts_with("inf")) {
        return None;
    }
    let written = duration_of(&entry.value, 0.0).map(|ms| Sourced::written(ms, entry.line));
    Some(positive(written).unwrap_or(unsaid))
}

fn proxy(object: &Object<'_>, reading: &mut Reading) {
    let Some(spec) = object.root.get("spec") else { return };
    for route in spec.get("routes").map_or(&[][..], Node::items) {
        let mut callees = Vec::new();
        for service in route.get("services").map_or(&[][..], Node::items) {
            let Some(name) = object.reference(service) else { continue };
            let mirror = service.get("mirror").and_then(Node::truth) == Some(true);
            let evidence = if mirror { "mirror" } else { "route" };
            call(reading, None, name.clone(), service.lines[0], evidence);
            if !mirror && !callees.contains(&Some(name.clone())) {
                callees.push(Some(name));
            }
        }
        if callees.is_empty() {
            callees.push(None);
        }
        if let Some(local) = route.below("rateLimitPolicy.local") {
            rate(local, callees.first().cloned().flatten(), reading);
        }
        let timeout = route.below("timeoutPolicy").and_then(|policy| policy.entry("response"));
        for callee in callees {
            let Some(entry) = route.entry("retryPolicy") else {
                if let (Some(entry), Some(ms)) = (timeout, response(timeout)) {
                    let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
                    fact(reading, span(entry), callee, what);
                }
                continue;
            };
            let mut layer = Layer::at(FORMAT.id, Seat::Gateway, span(entry));
            layer.callee = callee;
            layer.reach = Reach::Route;
            let prefix =
                route.get("conditions").and_then(|all| all.items().first()?.text_at("prefix"));
            layer.route = prefix.map(str::to_owned);
            layer.timeout_ms = response(timeout);
            let policy = &entry.value;
            let keys = ["retryOn", "retriableStatusCodes", "perTryTimeout"];
            let count = policy.entry("count").or(policy.entry("numRetries"));
            let [on, codes, attempt] = keys.map(|key| policy.entry(key));
            fill(&mut layer, count, on, codes, attempt, reading);
            reading.layers.push(layer);
        }
    }
}

fn rate(local: &Node, about: Option<Name>, reading: &mut Reading) {
    let seconds = match local.text_at("unit").unwrap_or("second") {
        "minute" => 60.0,
        "hour" => 3600.0,
        _ => 1.0,
    };
    let status = local.get("responseStatusCode").and_then(Node::integer);
    let status = status.and_then(|status| u32::try_from(status).ok()).filter(|code| *code > 0);
    let per_s = local.get("requests").and_then(Node::number).map(|count| count / seconds);
    let what = What::RateLimit { per_s, status: Some(status.unwrap_or(429)) };
    fact(reading, local.lines, about, what);
}

fn ingress(object: &Object<'_>, reading: &mut Reading) {
    let of = |key: &str| object.annotation(&format!("{PREFIX}{key}"));
    let [on, count, attempt] = ["retry-on", "num-retries", "per-try-timeout"].map(of);
    // Without conditions Contour makes no policy of the others.
    if on.is_none() {
        if let Some(entry) = count.or(attempt) {
            let why = format!("{} without {PREFIX}retry-on", entry.key);
            inert(reading, span(entry), None, why);
        }
        return;
    }
    let entries: Vec<_> = [on, count, attempt].into_iter().flatten().map(|one| one.line).collect();
    let (Some(first), Some(last)) = (entries.iter().min(), entries.iter().max()) else { return };
    let mut callees = crate::format::parts::ingress_backends(object);
    callees.dedup_by(|a, b| a.0 == b.0);
    let callees: Vec<_> = if callees.is_empty() {
        vec![None]
    } else {
        callees.into_iter().map(|(name, _)| Some(name)).collect()
    };
    for callee in callees {
        let mut layer = Layer::at(FORMAT.id, Seat::Gateway, [*first, *last]);
        layer.callee = callee;
        layer.reach = Reach::Service;
        layer.timeout_ms = response(of("response-timeout"));
        fill(&mut layer, count, on, None, attempt, reading);
        reading.layers.push(layer);
    }
}

fn fill(
    layer: &mut Layer,
    count: Option<&Entry>,
    on: Option<&Entry>,
    codes: Option<&Entry>,
    attempt: Option<&Entry>,
    reading: &mut Reading,
) {
    layer.words = on.map(|entry| words(&entry.value)).unwrap_or_default();
    let unsaid = layer.words.is_empty();
    if unsaid {
        layer.words.push("5xx".to_owned());
    }
    let codes: Vec<u32> = codes
        .map_or(&[][..], |entry| entry.value.one_or_more())
        .iter()
        .filter_map(|code| u32::try_from(code.integer()?).ok())
        .collect();
    let found = conditions(&layer.words, &codes, false);
    layer.words.extend(codes.iter().map(ToString::to_string));
    for word in &found.unknown {
        let why = format!("`{word}`: Envoy knows no such word");
        inert(reading, layer.lines, layer.callee.clone(), why);
    }
    layer.on = match on.filter(|_| !unsaid) {
        Some(entry) => Sourced::written(found.on, entry.line),
        None => Sourced::default_of(found.on, WHO),
    };
    // Zero and nothing are one retry; only -1 is none.
    layer.attempts = match count.map(|entry| (entry, entry.value.integer())) {
        None | Some((_, Some(0))) => Sourced::default_of(Attempts::Count(2), WHO),
        Some((entry, _)) => from_retries(entry),
    };
    let written =
        |entry: &Entry| Some(Sourced::written(duration_of(&entry.value, 0.0)?, entry.line));
    layer.attempt_timeout_ms = positive(attempt.and_then(written));
    layer.delay = envoy_delay(None, None, "Envoy");
    drop_useless_attempt_timeout(layer, reading);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(text: &str) -> Reading {
        format::read("c.yaml", &parse(Syntax::Yaml, text).0)
    }

    fn route(rest: &str) -> Reading {
        of(&format!(
            "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {{name: cart, namespace: shop}}\nspec:\n  routes:\n  - conditions: [{{prefix: /cart}}]\n    services: [{{name: cart, port: 8080}}]\n{rest}"
        ))
    }

    #[test]
    fn a_route_that_says_everything() {
        let reading = route(
            "    timeoutPolicy: {response: 2s}\n    retryPolicy: {count: 3, perTryTimeout: 500ms, retryOn: [connect-failure, retriable-status-codes], retriableStatusCodes: [503]}\n    rateLimitPolicy: {local: {requests: 60, unit: minute}}\n",
        );
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(4), 9));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 8)));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(500.0, 9)));
        assert!(layer.on.value.contains(crate::Failure::Unavailable));
        let rate = What::RateLimit { per_s: Some(1.0), status: Some(429) };
        assert_eq!(reading.facts[0].what, rate);
        assert_eq!(reading.calls[0].callee, Name::new("cart", Some("shop")));
    }

    #[test]
    fn zero_is_one_retry_and_minus_one_none() {
        let of = |count: &str| {
            let text = format!("    retryPolicy: {{count: {count}, retryOn: [5xx]}}\n");
            route(&text).layers[0].attempts.value.clone()
        };
        assert_eq!(of("0"), Attempts::Count(2));
        assert_eq!(of("-1"), Attempts::Count(1));
        let unsaid = route("    retryPolicy: {count: 2}\n");
        assert!(unsaid.layers[0].on.value.contains(crate::Failure::AttemptTimeout));
        assert_eq!(unsaid.layers[0].words, ["5xx"]);
        assert!(route("").layers.is_empty());
    }

    #[test]
    fn infinity_is_no_timeout_and_zero_none_said() {
        let of = |text: &str| {
            let policy = "    retryPolicy: {retryOn: [5xx]}\n";
            let text = format!("    timeoutPolicy: {{response: {text}}}\n{policy}");
            route(&text).layers[0].timeout_ms.clone().map(|ms| ms.value)
        };
        assert_eq!(of("infinity"), None);
        assert_eq!(of("0s"), Some(15_000.0));
    }

    #[test]
    fn annotations_say_the_same() {
        let reading = of(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: i\n  namespace: shop\n  annotations:\n    projectcontour.io/retry-on: gateway-error\n    projectcontour.io/num-retries: '2'\nspec:\n  defaultBackend: {service: {name: cart, port: {number: 80}}}\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: cart\n  namespace: shop\n  annotations: {projectcontour.io/max-retries: '7'}\n",
        );
        assert_eq!(reading.layers[0].attempts, Sourced::written(Attempts::Count(3), 8));
        assert_eq!(reading.layers[0].callee, Some(Name::new("cart", Some("shop"))));
        let what = What::Retries(Budget::Concurrent { limit: Some(7) });
        assert!(reading.facts.iter().any(|fact| fact.what == what));
        let alone = of(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i, annotations: {projectcontour.io/num-retries: '2'}}\n",
        );
        assert!(alone.layers.is_empty());
        assert!(matches!(alone.facts[0].what, What::Inert { .. }));
    }
}
