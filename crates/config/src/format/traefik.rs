//! Traefik: the `retry` middleware, in files, in labels of containers and as a Kubernetes object.

use crate::document::{Document, Entry, Node, Syntax, dotted};
use crate::failure::{Failure, Failures};
use crate::format::parts::{Object, span};
use crate::format::shared::{Counted, attempts, exponential, ms, number};
use crate::format::{Format, is_object};
use crate::layer::{Attempts, Delay, Growth, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::{Fact, Reading, What};
use crate::units;

/// Dynamic files, labels of Compose, `IngressRoute`s' `Middleware`s.
pub const FORMAT: Format = Format {
    id: "traefik",
    title: "Traefik",
    syntaxes: &[Syntax::Yaml, Syntax::Toml, Syntax::Json],
    is: |_, document| {
        is_middleware(document)
            || document.root.below("http.middlewares").is_some()
            || document.root.below("http.serversTransports").is_some()
            || labels(&document.root).iter().any(|(key, _)| key.starts_with("traefik."))
    },
    read,
};

const WHO: &str = "Traefik";

fn is_middleware(document: &Document) -> bool {
    is_object(document, "traefik.io", &["Middleware"])
        || is_object(document, "traefik.containo.us", &["Middleware"])
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    if is_middleware(document) {
        let Some(spec) = root.get("spec") else { return };
        let name = Object::at(root).own().map(|name| name.service);
        middleware(name.as_deref(), spec, reading);
        return;
    }
    if let Some(http) = root.get("http") {
        whole(http, reading);
    }
    // Labels are the same tree, written as dotted keys.
    let mut tree = dotted::Tree::default();
    let mut any = false;
    for (key, value) in labels(root) {
        if let Some(path) = key.strip_prefix("traefik.http.") {
            let steps = dotted::steps(path);
            any |= tree.put(&steps, value.lines[0], value);
        }
    }
    if any {
        whole(&tree.into_node(1), reading);
    }
}

/// Every label of a Compose file, or of a file that is nothing but labels: `a.b=c` in a list, or
/// keys of a map.
fn labels(root: &Node) -> Vec<(String, Node)> {
    let mut found = Vec::new();
    let mut take = |labels: &Node| {
        for item in labels.items() {
            let pair = item.text().and_then(|text| text.split_once('='));
            if let Some((key, value)) = pair.filter(|(key, _)| key.starts_with("traefik.")) {
                found
                    .push((key.trim().to_owned(), Node::scalar(value.trim(), true, item.lines[0])));
            }
        }
        for entry in labels.entries() {
            if entry.key.starts_with("traefik.") {
                let mut value = entry.value.clone();
                value.lines = span(entry);
                found.push((entry.key.to_string(), value));
            }
        }
    };
    take(root);
    if let Some(labels) = root.get("labels") {
        take(labels);
    }
    for service in root.get("services").map(Node::entries).unwrap_or_default() {
        for place in ["labels", "deploy.labels"] {
            if let Some(labels) = service.value.below(place) {
                take(labels);
            }
        }
    }
    found
}

fn whole(http: &Node, reading: &mut Reading) {
    for entry in http.loose("middlewares").map(Node::entries).unwrap_or_default() {
        middleware(Some(&entry.key), &entry.value, reading);
    }
    for transport in http.loose("serversTransports").map(Node::entries).unwrap_or_default() {
        let times = transport.value.loose_entry("forwardingTimeouts");
        if let Some(times) = times {
            let of = |key: &str| {
                times.value.loose(key).and_then(|node| units::duration_of(node, 1000.0))
            };
            let attempt_ms = of("responseHeaderTimeout").filter(|ms| *ms > 0.0);
            let what =
                What::Timeout { attempt_ms: attempt_ms.or(of("dialTimeout")), overall_ms: None };
            reading.facts.push(Fact { lines: span(times), about: None, what });
        }
    }
}

fn middleware(name: Option<&str>, spec: &Node, reading: &mut Reading) {
    if let Some(retry) = spec.loose_entry("retry") {
        reading.layers.push(layer(name, retry));
    }
    if let Some(limit) = spec.loose_entry("inFlightReq") {
        let active = number(limit.value.loose_entry("amount")).filter(|amount| *amount > 0.0);
        let what = What::Requests { active: active.map(|amount| amount as u64), waiting: None };
        reading.facts.push(Fact { lines: span(limit), about: None, what });
    }
    if let Some(limit) = spec.loose_entry("rateLimit") {
        let average = number(limit.value.loose_entry("average")).filter(|average| *average > 0.0);
        let period = limit.value.loose("period").and_then(|node| units::duration_of(node, 1000.0));
        let per_s = average.map(|average| average * 1000.0 / period.unwrap_or(1000.0));
        let what =
            What::RateLimit { per_s: per_s.filter(|rate| rate.is_finite()), status: Some(429) };
        reading.facts.push(Fact { lines: span(limit), about: None, what });
    }
    if let Some(breaker) = spec.loose_entry("circuitBreaker") {
        let what = What::Ejection { max_percent: None, panic_percent: None };
        reading.facts.push(Fact { lines: span(breaker), about: None, what });
    }
}

fn layer(name: Option<&str>, retry: &Entry) -> Layer {
    let spec = &retry.value;
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, span(retry));
    layer.route = name.map(|name| format!("middleware {name}"));
    layer.reach = Reach::Route;
    // The code counts tries, though the documentation speaks of retries.
    let count = spec.loose_entry("attempts");
    layer.attempts = match count {
        Some(entry) => Sourced::written(attempts(&entry.value, Counted::Total), entry.line),
        None => Sourced::default_of(Attempts::Count(1), WHO),
    };
    let base = ms(spec.loose_entry("initialInterval"), 1000.0).filter(|base| base.value > 0.0);
    layer.delay = match (base, &layer.attempts.value) {
        (Some(base), Attempts::Count(count @ 2..)) => {
            let mut delay =
                exponential(Some(base.clone()), 2.0_f64.powf(1.0 / f64::from(count - 1)), None);
            delay.growth = Growth::Exponential;
            delay.cap_ms = Some(Sourced::derived(base.value * 2.0));
            delay.jitter = true;
            delay
        }
        (Some(base), _) => {
            let mut delay = exponential(Some(base), 1.5, None);
            (delay.factor, delay.jitter) = (None, true);
            delay
        }
        (None, _) => Delay::none(),
    };
    layer.timeout_ms = ms(spec.loose_entry("timeout"), 1000.0).filter(|time| time.value > 0.0);
    let truth = |key: &str| spec.loose(key).and_then(Node::truth) == Some(true);
    let mut on = Failures::NONE;
    if !truth("disableRetryOnNetworkError") {
        on.add(Failures::of(&[Failure::Connect, Failure::Refused]));
        layer.words.push("network-error".into());
    }
    layer.on = match spec.loose_entry("status") {
        Some(entry) => {
            for word in units::words(&entry.value) {
                on.add(statuses(&word));
                layer.words.push(word);
            }
            Sourced::written(on, entry.line)
        }
        None => Sourced::default_of(on, WHO),
    };
    layer.methods =
        if truth("retryNonIdempotentMethod") { Methods::All } else { Methods::Idempotent };
    if spec.loose("status").is_none() {
        layer.notes.push("only while no byte of the request has reached the other side".into());
    }
    layer.notes.push("it acts where a router names the middleware".into());
    layer
}

/// `503`, `500-504`.
fn statuses(word: &str) -> Failures {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let of = |text: &str| text.trim().parse::<u32>().ok().map(|status| status.clamp(100, 599));
    match (of(first), of(last)) {
        (Some(first), Some(last)) => (first..=last).filter_map(Failure::of_status).collect(),
        _ => Failures::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::{layers, reading};

    #[test]
    fn what_is_written_is_read() {
        let text = "http:\n  middlewares:\n    twice:\n      retry: {attempts: 3, initialInterval: 100ms, timeout: 2s,\n        status: [\"503\", \"500-502\"], retryNonIdempotentMethod: true}\n    cap: {inFlightReq: {amount: 200}}\n    slow: {rateLimit: {average: 60, period: 1m}}\n";
        let reading = reading("dynamic.yml", Syntax::Yaml, text);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(3), 4));
        assert_eq!(layer.delay.base_ms, Some(Sourced::written(100.0, 4)));
        assert_eq!(layer.delay.factor, Some(2.0_f64.sqrt()));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 4)));
        assert_eq!(layer.lines, [4, 5]);
        assert_eq!(layer.methods, Methods::All);
        assert!(
            layer.on.value.contains(Failure::Unavailable)
                && layer.on.value.contains(Failure::ServerError)
        );
        assert_eq!(reading.facts[0].what, What::Requests { active: Some(200), waiting: None });
        assert_eq!(reading.facts[1].what, What::RateLimit { per_s: Some(1.0), status: Some(429) });
    }

    #[test]
    fn nothing_written_is_one_try() {
        let found = layers(
            "traefik",
            "x.toml",
            Syntax::Toml,
            "[http.middlewares.a.retry]\n  attempts = 1\n",
        );
        assert_eq!(found[0].attempts.value, Attempts::Count(1));
        assert_eq!(found[0].lines, [1, 2]);
        let found =
            layers("traefik", "x.yml", Syntax::Yaml, "http: {middlewares: {a: {compress: {}}}}\n");
        assert_eq!(found, []);
    }

    #[test]
    fn labels_and_objects_say_the_same() {
        let text = "services:\n  shop:\n    labels:\n      - \"traefik.http.middlewares.m.retry.attempts=4\"\n      - \"traefik.http.middlewares.m.retry.initialinterval=500ms\"\n";
        let found = layers("traefik", "compose.yml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(4), 4));
        assert_eq!(found[0].lines, [4, 5]);
        let text = "apiVersion: traefik.io/v1alpha1\nkind: Middleware\nmetadata: {name: m}\nspec: {retry: {attempts: 2}}\n";
        let found = layers("traefik", "m.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(2), 4));
        assert_eq!(found[0].on.value, Failures::BEFORE);
    }
}
