//! Consul: config entries of the mesh, as HCL or JSON, or as an object of Kubernetes.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::envoy::cluster::limit;
use crate::format::envoy::vocabulary::conditions;
use crate::format::parts::{
    Object, envoy_delay, fact, from_retries, group, inert, ms_at, positive, span,
};
use crate::layer::{Attempts, Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Reading, What};
use crate::tree::references::BACKENDS;
use crate::units::words;

/// service-router, service-resolver and service-defaults.
pub const FORMAT: Format = Format {
    id: "consul",
    title: "Consul service mesh",
    syntaxes: &[Syntax::Yaml, Syntax::Json, Syntax::Hcl],
    is: |_, document| kind(document).is_some(),
    read,
};

/// Nanoseconds, which a bare number counts.
const NANOSECOND: f64 = 1e-6;

/// Kinds as an entry writes them, and as Kubernetes does.
const KINDS: [(&str, &str); 5] = [
    ("service-router", "ServiceRouter"),
    ("service-resolver", "ServiceResolver"),
    ("service-defaults", "ServiceDefaults"),
    ("route-retry-filter", "RouteRetryFilter"),
    ("route-timeout-filter", "RouteTimeoutFilter"),
];

fn kind(document: &Document) -> Option<&'static str> {
    let written = document.root.loose("kind")?.text()?;
    if group(document).is_some_and(|group| group != "consul.hashicorp.com") {
        return None;
    }
    let of = |(entry, object): &&(&str, &str)| *entry == written || *object == written;
    KINDS.iter().find(of).map(|(entry, _)| *entry)
}

/// A block, which HCL may give as a list of one.
fn block<'a>(node: &'a Node, key: &str) -> Option<&'a Entry> {
    node.loose_entry(key).filter(|entry| !entry.value.is_null())
}

fn inner(entry: &Entry) -> &Node {
    entry.value.items().first().unwrap_or(&entry.value)
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    let object = Object::of(document);
    let spec = root.get("spec").unwrap_or(root);
    let namespace = object.namespace.or_else(|| root.text_at("namespace"));
    let own = object.name.or_else(|| root.text_at("name"));
    let own = own.map(|name| Name::new(name, namespace));
    match kind(document) {
        Some("service-router") => router(spec, own.as_ref(), reading),
        Some("service-resolver") => {
            if let Some(entry) = block(spec, "RequestTimeout") {
                let ms = ms_at(spec, "RequestTimeout", NANOSECOND).filter(|ms| ms.value > 0.0);
                if let Some(ms) = ms {
                    let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
                    fact(reading, span(entry), own, what);
                }
            }
        }
        Some("service-defaults") => defaults(spec, reading),
        Some("route-retry-filter") => {
            for callee in filtered(spec, &object) {
                retry_filter(spec, callee, reading);
            }
        }
        Some("route-timeout-filter") => {
            let ms = positive(ms_at(spec, "requestTimeout", NANOSECOND));
            if let (Some(ms), Some(entry)) = (ms, spec.entry("requestTimeout")) {
                for callee in filtered(spec, &object) {
                    let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
                    fact(reading, span(entry), callee, what);
                }
            }
        }
        _ => {}
    }
}

/// Whom the routes lead to that name a filter; nobody, if no route does.
fn filtered(spec: &Node, object: &Object<'_>) -> Vec<Option<Name>> {
    let backends = spec.get(BACKENDS).map_or(&[][..], Node::items);
    let found: Vec<_> = backends.iter().filter_map(|one| object.reference(one)).map(Some).collect();
    if found.is_empty() { vec![None] } else { found }
}

/// What Consul's API gateway retries for the routes that name a filter.
fn retry_filter(spec: &Node, callee: Option<Name>, reading: &mut Reading) {
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, spec.lines);
    layer.callee = callee;
    layer.reach = Reach::Route;
    if spec.get(BACKENDS).is_none() {
        layer.notes.push("no route that names this filter was found".to_owned());
    }
    let (count, on) = (spec.entry("numRetries"), spec.entry("retryOn"));
    layer.words = on.map(|entry| words(&entry.value)).unwrap_or_default();
    let found = conditions(&layer.words, &[], false);
    let mut all = found.on;
    for word in &found.unknown {
        let why = format!("`{word}`: Envoy knows no such word");
        inert(reading, spec.lines, layer.callee.clone(), why);
    }
    let connect = spec.entry("retryOnConnectFailure");
    if connect.is_some_and(|entry| entry.value.truth() == Some(true)) {
        all.insert(Failure::Connect);
        layer.words.push("connect-failure".to_owned());
    }
    for code in spec.get("retryOnStatusCodes").map_or(&[][..], Node::items) {
        if let Some(status) = code.integer().and_then(|code| u32::try_from(code).ok()) {
            all.extend_status(status);
            layer.words.push(status.to_string());
        }
    }
    let line = on.or(connect).map_or(spec.lines[0], |entry| entry.line);
    layer.on = Sourced::written(all, line);
    layer.attempts = match count {
        Some(entry) if entry.value.integer() != Some(0) => from_retries(entry),
        _ if all.is_empty() => Sourced::derived(Attempts::Count(1)),
        _ => Sourced::default_of(Attempts::Count(2), "Envoy"),
    };
    layer.delay = envoy_delay(None, None, "Envoy");
    reading.layers.push(layer);
}

fn router(spec: &Node, own: Option<&Name>, reading: &mut Reading) {
    for route in spec.loose("Routes").map_or(&[][..], Node::one_or_more) {
        let Some(entry) = block(route, "Destination") else { continue };
        let to = inner(entry);
        let service = to.text_at("Service").filter(|name| !name.is_empty());
        let namespace = own.and_then(|name| name.namespace.as_deref());
        let callee = service.map(|name| Name::new(name, namespace)).or_else(|| own.cloned());
        let timeout = match ms_at(to, "RequestTimeout", NANOSECOND) {
            Some(ms) if ms.value > 0.0 => Some(ms),
            _ if to.text_at("RequestTimeout").is_some_and(|text| text.starts_with('-')) => None,
            _ => Some(Sourced::default_of(15_000.0, "Envoy")),
        };
        let count = to.loose_entry("NumRetries");
        let on = to.loose_entry("RetryOn");
        let codes = to.loose_entry("RetryOnStatusCodes");
        let connect = to.loose_entry("RetryOnConnectFailure");
        let written = [count, on, codes, connect].into_iter().flatten();
        let lines: Vec<_> = written.map(span).collect();
        let first = lines.iter().map(|lines| lines[0]).min();
        let (Some(first), Some(last)) = (first, lines.iter().map(|lines| lines[1]).max()) else {
            if let Some(ms) = positive(timeout).filter(|ms| ms.value > 0.0)
                && let crate::Origin::Written(line) = ms.from
            {
                let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
                fact(reading, [line; 2], callee, what);
            }
            continue;
        };
        let mut layer = Layer::at(FORMAT.id, Seat::Sidecar, [first, last]);
        layer.callee = callee;
        layer.reach = Reach::Route;
        layer.route = path(route);
        layer.timeout_ms = timeout;
        layer.words = on.map(|entry| words(&entry.value)).unwrap_or_default();
        let found = conditions(&layer.words, &[], false);
        let mut all = found.on;
        for word in &found.unknown {
            let why = format!("`{word}`: Envoy knows no such word");
            inert(reading, [first, last], layer.callee.clone(), why);
        }
        if connect.is_some_and(|entry| entry.value.truth() == Some(true)) {
            all.add(Failures::of(&[Failure::Connect]));
            layer.words.push("connect-failure".to_owned());
        }
        for code in codes.map_or(&[][..], |entry| entry.value.one_or_more()) {
            if let Some(status) = code.integer().and_then(|code| u32::try_from(code).ok()) {
                all.extend_status(status);
                layer.words.push(status.to_string());
            }
        }
        layer.on = Sourced::written(all, on.or(codes).or(connect).map_or(first, |one| one.line));
        layer.attempts = match count {
            // Zero is the same as nothing written.
            Some(entry) if entry.value.integer() != Some(0) => from_retries(entry),
            _ => Sourced::default_of(Attempts::Count(2), "Envoy"),
        };
        layer.delay = envoy_delay(None, None, "Envoy");
        if all.is_empty() {
            let why = "NumRetries without a condition: nothing is retried".to_owned();
            inert(reading, [first, last], layer.callee.clone(), why);
            layer.attempts = Sourced::derived(Attempts::Count(1));
        }
        reading.layers.push(layer);
    }
}

fn path(route: &Node) -> Option<String> {
    let http = inner(block(inner(block(route, "Match")?), "HTTP")?);
    let keys = ["PathPrefix", "PathExact", "PathRegex"];
    keys.iter().find_map(|key| http.text_at(key)).map(str::to_owned)
}

fn defaults(spec: &Node, reading: &mut Reading) {
    let Some(upstreams) = block(spec, "UpstreamConfig").map(inner) else { return };
    let general = block(upstreams, "Defaults").map(|entry| (None, inner(entry)));
    let overrides = upstreams.loose("Overrides").map_or(&[][..], Node::one_or_more).iter();
    let named = overrides.map(|one| (one.text_at("Name").map(|name| Name::new(name, None)), one));
    for (about, one) in general.into_iter().chain(named) {
        if let Some(entry) = block(one, "Limits") {
            let number = |key: &str| inner(entry).loose(key).and_then(Node::number);
            let what = What::Requests {
                active: limit(number("MaxConcurrentRequests").unwrap_or(1024.0)),
                waiting: limit(number("MaxPendingRequests").unwrap_or(1024.0)),
            };
            fact(reading, span(entry), about.clone(), what);
        }
        if let Some(entry) = block(one, "PassiveHealthCheck") {
            let max = inner(entry).loose("MaxEjectionPercent").and_then(Node::number);
            let what = What::Ejection {
                max_percent: Some(max.unwrap_or(10.0)),
                panic_percent: Some(50.0),
            };
            fact(reading, span(entry), about, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn json(destination: &str) -> Reading {
        let text = format!(
            "{{\"Kind\": \"service-router\", \"Name\": \"orders\",\n\"Routes\": [{{\"Match\": {{\"HTTP\": {{\"PathPrefix\": \"/\"}}}},\n\"Destination\": {{{destination}}}}}]}}"
        );
        let (documents, troubles) = parse(Syntax::Json, &text);
        assert_eq!(troubles, []);
        format::read("c.json", &documents)
    }

    #[test]
    fn a_route_that_says_everything() {
        let reading = json(
            "\"RequestTimeout\": \"2s\", \"NumRetries\": 3,\n\"RetryOnConnectFailure\": true, \"RetryOnStatusCodes\": [503], \"RetryOn\": [\"reset\"]",
        );
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(4), 3));
        assert_eq!(layer.lines, [3, 4]);
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 3)));
        assert!(layer.on.value.contains(Failure::Unavailable));
        assert_eq!(layer.route.as_deref(), Some("/"));
        assert_eq!(layer.callee, Some(Name::new("orders", None)));
    }

    #[test]
    fn a_number_without_conditions_does_nothing_and_conditions_alone_retry_once() {
        let number = json("\"NumRetries\": 3");
        assert!(!number.layers[0].retries());
        assert!(matches!(number.facts[0].what, What::Inert { .. }));
        let words = json("\"RetryOn\": [\"5xx\"]");
        assert_eq!(words.layers[0].attempts.value, Attempts::Count(2));
        assert!(json("\"RequestTimeout\": \"2s\"").layers.is_empty());
        assert!(json("").facts.is_empty());
    }

    #[test]
    fn durations_may_count_nanoseconds_and_negative_ones_are_none() {
        let of = |text: &str| {
            let text = format!("\"RetryOn\": [\"5xx\"], \"RequestTimeout\": {text}");
            json(&text).layers[0].timeout_ms.clone().map(|ms| ms.value)
        };
        assert_eq!(of("2000000000"), Some(2000.0));
        assert_eq!(of("\"-1s\""), None);
        assert_eq!(of("0"), Some(15_000.0));
    }

    #[test]
    fn objects_of_kubernetes_say_the_same() {
        let text = "apiVersion: consul.hashicorp.com/v1alpha1\nkind: ServiceRouter\nmetadata: {name: orders, namespace: shop}\nspec:\n  routes:\n  - destination: {numRetries: 1, retryOnConnectFailure: true, service: pay}\n---\napiVersion: consul.hashicorp.com/v1alpha1\nkind: ServiceDefaults\nmetadata: {name: web}\nspec:\n  upstreamConfig:\n    defaults: {limits: {maxPendingRequests: 7}, passiveHealthCheck: {maxEjectionPercent: 50}}\n---\napiVersion: consul.hashicorp.com/v1alpha1\nkind: ServiceResolver\nmetadata: {name: orders}\nspec: {requestTimeout: 3s}\n";
        let reading = format::read("c.yaml", &parse(Syntax::Yaml, text).0);
        assert_eq!(reading.layers[0].callee, Some(Name::new("pay", Some("shop"))));
        let queue = What::Requests { active: Some(1024), waiting: Some(7) };
        assert_eq!(reading.facts[0].what, queue);
        let what = What::Timeout { attempt_ms: None, overall_ms: Some(3000.0) };
        assert_eq!(reading.facts[2].what, what);
    }
}
