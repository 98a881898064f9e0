//! MicroProfile Fault Tolerance with SmallRye's and Quarkus' keys: what properties say over the
//! annotations in code.

use std::collections::BTreeMap;

use crate::document::{Document, Entry, Node, same_word};
use crate::failure::Failures;
use crate::format::shared::{Counted, around, attempts};
use crate::format::{Format, jvm};
use crate::layer::{Attempts, Delay, Growth, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::{Fact, Reading, What};
use crate::units;

/// `microprofile-config.properties`, `application.properties` and `.yml`.
pub const FORMAT: Format = Format {
    id: "microprofile-fault-tolerance",
    title: "MicroProfile Fault Tolerance, SmallRye, Quarkus",
    syntaxes: jvm::SYNTAXES,
    is: |_, document| may_be(document) && !settings(&jvm::tree(document)).is_empty(),
    read,
};

const WHO: &str = "MicroProfile Fault Tolerance";
const KINDS: [&str; 5] = ["Retry", "Timeout", "Bulkhead", "CircuitBreaker", "RateLimit"];

/// Whether it is worth writing out the tree.
fn may_be(document: &Document) -> bool {
    let key = |key: &str| {
        key.starts_with(['%', '"'])
            || key.contains("Retry/")
            || KINDS.iter().any(|kind| key.contains(kind))
    };
    jvm::has(document, &["smallrye", "quarkus"])
        || document.root.get("apiVersion").is_none()
            && document.root.entries().iter().any(|entry| key(&entry.key))
}

/// Parameters by the place they hold for (empty: everywhere) and by the annotation.
type Settings<'a> = BTreeMap<(String, &'static str), Vec<(String, &'a Entry)>>;

fn settings(root: &Node) -> Settings<'_> {
    let mut found = Settings::new();
    slashes(root, &mut found);
    for profile in root.entries().iter().filter(|entry| entry.key.starts_with('%')) {
        slashes(&profile.value, &mut found);
    }
    for path in ["smallrye.faulttolerance", "quarkus.fault-tolerance"] {
        for place in root.below(path).map(Node::entries).unwrap_or_default() {
            let name = if &*place.key == "global" { "" } else { &*place.key };
            for kind in place.value.entries() {
                let Some(known) = KINDS.iter().find(|known| same_word(known, &kind.key)) else {
                    continue;
                };
                let into = found.entry((name.to_owned(), *known)).or_default();
                into.extend(
                    kind.value.entries().iter().map(|entry| (entry.key.to_string(), entry)),
                );
            }
        }
    }
    found
}

/// `com.example.Orders/get/Retry/maxRetries`.
fn slashes<'a>(root: &'a Node, found: &mut Settings<'a>) {
    for entry in root.entries() {
        let key = match entry.key.strip_prefix('%') {
            Some(rest) => rest.split_once('.').map_or("", |(_, key)| key),
            None => &entry.key,
        };
        let mut parts: Vec<&str> = key.split('/').collect();
        let (Some(parameter), Some(kind)) = (parts.pop(), parts.pop()) else { continue };
        if let Some(known) = KINDS.iter().find(|known| **known == kind) {
            let into = found.entry((parts.join("/"), known)).or_default();
            into.push((parameter.to_owned(), entry));
        }
    }
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = jvm::tree(document);
    let found = settings(&root);
    for ((place, kind), parameters) in &found {
        match *kind {
            "Retry" => reading.layers.push(layer(place, parameters, &found)),
            "Bulkhead" => {
                let count = |key: &str| {
                    let count = get(parameters, key).and_then(|entry| entry.value.integer());
                    count.and_then(|count| u64::try_from(count).ok())
                };
                let what = What::Requests {
                    active: count("value").or(Some(10)),
                    waiting: count("waitingTaskQueue"),
                };
                fact(parameters, what, reading);
            }
            "Timeout" if !found.contains_key(&(place.clone(), "Retry")) => {
                let attempt_ms = time(parameters, "value", "unit").map(|time| time.value);
                fact(parameters, What::Timeout { attempt_ms, overall_ms: None }, reading);
            }
            "CircuitBreaker" => {
                let what = What::Ejection { max_percent: None, panic_percent: None };
                fact(parameters, what, reading);
            }
            _ => {}
        }
    }
}

fn fact(parameters: &[(String, &Entry)], what: What, reading: &mut Reading) {
    if let Some(lines) = around(parameters.iter().map(|(_, entry)| *entry)) {
        reading.facts.push(Fact { lines, about: None, what });
    }
}

fn get<'a>(parameters: &[(String, &'a Entry)], key: &str) -> Option<&'a Entry> {
    parameters.iter().rev().find(|(name, _)| same_word(name, key)).map(|(_, entry)| *entry)
}

/// A time whose unit is another parameter; milliseconds if nobody says.
fn time(parameters: &[(String, &Entry)], key: &str, unit: &str) -> Option<Sourced<f64>> {
    let entry = get(parameters, key)?;
    let unit = get(parameters, unit).and_then(|entry| entry.value.text()).unwrap_or("MILLIS");
    let bare_ms = match unit.to_ascii_uppercase().as_str() {
        "NANOS" => 1e-6,
        "MICROS" => 1e-3,
        "SECONDS" => 1e3,
        "MINUTES" => 60e3,
        "HOURS" => 3_600e3,
        _ => 1.0,
    };
    Some(Sourced::written(units::duration_of(&entry.value, bare_ms)?, entry.line))
}

fn layer(place: &str, parameters: &[(String, &Entry)], all: &Settings<'_>) -> Layer {
    let lines = around(parameters.iter().map(|(_, entry)| *entry)).unwrap_or([1, 1]);
    let mut layer = Layer::at(FORMAT.id, Seat::Client, lines);
    layer.route = (!place.is_empty()).then(|| place.to_owned());
    layer.reach = match place {
        "" => Reach::Everything,
        place if place.contains('/') => Reach::Route,
        _ => Reach::Service,
    };
    layer.methods = Methods::All;
    let enabled = get(parameters, "enabled");
    if let Some(entry) = enabled.filter(|entry| entry.value.truth() == Some(false)) {
        layer.attempts = Sourced::written(Attempts::Count(1), entry.line);
        return layer;
    }
    layer.attempts = match get(parameters, "maxRetries") {
        Some(entry) if entry.value.integer() == Some(-1) => {
            Sourced::written(Attempts::Unbounded, entry.line)
        }
        Some(entry) => Sourced::written(attempts(&entry.value, Counted::Retries), entry.line),
        None => {
            layer.notes.push("the annotation in code may say another number".into());
            Sourced::default_of(Attempts::Count(4), WHO)
        }
    };
    layer.notes.push("it acts only on methods that carry the annotation".into());
    let base = time(parameters, "delay", "delayUnit");
    let jitter = time(parameters, "jitter", "jitterDelayUnit");
    let wait = base.as_ref().is_some_and(|base| base.value > 0.0);
    layer.delay = Delay {
        growth: if wait { Growth::Constant } else { Growth::None },
        base_ms: base.filter(|_| wait),
        jitter: jitter.is_none_or(|jitter| jitter.value > 0.0),
        ..Delay::none()
    };
    let most = time(parameters, "maxDuration", "durationUnit");
    layer.timeout_ms =
        most.or(Some(Sourced::default_of(180_000.0, WHO))).filter(|most| most.value > 0.0);
    let (on, words) = jvm::retried(get(parameters, "retryOn"), Failures::EVERY, WHO);
    (layer.on, layer.words) = (on, words);
    let aborted = get(parameters, "abortOn").map(|entry| units::words(&entry.value));
    layer.words.extend(aborted.into_iter().flatten().map(|name| format!("not {name}")));
    // A timeout is inside of the retry.
    let timeout = all.get(&(place.to_owned(), "Timeout"));
    layer.attempt_timeout_ms = timeout.and_then(|parameters| time(parameters, "value", "unit"));
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::reading;

    fn of(text: &str) -> Reading {
        reading("application.properties", Syntax::Properties, text)
    }

    #[test]
    fn what_is_written_is_read() {
        let reading = of(
            "Retry/maxRetries=1\ncom.example.Orders/get/Retry/maxRetries=-1\ncom.example.Orders/get/Retry/delay=2\ncom.example.Orders/get/Retry/delayUnit=SECONDS\ncom.example.Orders/get/Retry/jitter=0\ncom.example.Orders/get/Retry/retryOn=java.io.IOException\ncom.example.Orders/get/Timeout/value=800\nsmallrye.faulttolerance.\"com.example.Stock/list\".retry.max-retries=2\nBulkhead/value=5\n",
        );
        let [all, get, list] = reading.layers.as_slice() else { panic!("{reading:#?}") };
        assert_eq!(
            (all.attempts.clone(), all.reach),
            (Sourced::written(Attempts::Count(2), 1), Reach::Everything)
        );
        assert_eq!(all.timeout_ms, Some(Sourced::default_of(180_000.0, WHO)));
        assert_eq!(get.attempts.value, Attempts::Unbounded);
        assert_eq!(get.delay.base_ms, Some(Sourced::written(2000.0, 3)));
        assert!(!get.delay.jitter && all.delay.jitter);
        assert_eq!(get.attempt_timeout_ms, Some(Sourced::written(800.0, 7)));
        assert_eq!(list.attempts, Sourced::written(Attempts::Count(3), 8));
        assert_eq!(list.route.as_deref(), Some("com.example.Stock/list"));
        assert_eq!(reading.facts[0].what, What::Requests { active: Some(5), waiting: None });
    }

    #[test]
    fn nothing_written_is_what_the_annotation_says() {
        let reading = of("A/Retry/jitter=50\nB/Retry/enabled=false\n");
        assert_eq!(reading.layers[0].attempts, Sourced::default_of(Attempts::Count(4), WHO));
        assert_eq!(reading.layers[1].attempts, Sourced::written(Attempts::Count(1), 2));
        assert_eq!(of("A/b=c\nquarkus.http.port=1\n"), Reading::default());
    }
}
