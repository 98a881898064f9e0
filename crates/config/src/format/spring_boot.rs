//! Spring Boot's own: listeners and templates of RabbitMQ, topics of Kafka; off if nobody says
//! otherwise.

use crate::document::{Document, Entry, Node};
use crate::failure::Failures;
use crate::format::parts::{entry_below, span};
use crate::format::shared::{Counted, attempts, attempts_or, exponential, ms_or, number};
use crate::format::{Format, jvm};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::{Fact, Reading, What};

/// `application.yml` and `.properties`.
pub const FORMAT: Format = Format {
    id: "spring-boot",
    title: "Spring Boot (RabbitMQ, Kafka, HTTP clients)",
    syntaxes: jvm::SYNTAXES,
    is: |_, document| {
        jvm::has(document, &["spring"]) && {
            let root = jvm::tree(document);
            let known = |path: &&str| root.below(path).is_some();
            RABBIT.iter().any(|(path, _)| known(path)) || known(&KAFKA) || CLIENTS.iter().any(known)
        }
    },
    read,
};

const WHO: &str = "Spring Boot";
const RABBIT: [(&str, Seat); 4] = [
    ("spring.rabbitmq.listener.simple.retry", Seat::Workflow),
    ("spring.rabbitmq.listener.direct.retry", Seat::Workflow),
    ("spring.rabbitmq.listener.stream.retry", Seat::Workflow),
    ("spring.rabbitmq.template.retry", Seat::Client),
];
const KAFKA: &str = "spring.kafka.retry.topic";
const CLIENTS: [&str; 2] = ["spring.http.client", "spring.http.clients"];

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = jvm::tree(document);
    for (path, seat) in RABBIT {
        let Some(retry) = entry_below(&root, path) else { continue };
        let keys = Keys {
            initial: "initialInterval",
            initial_ms: 1000.0,
            longest: "maxInterval",
            longest_ms: 10_000.0,
        };
        let get = |key: &str| retry.value.loose_entry(key);
        let found = match get("maxRetries") {
            Some(entry) => Sourced::written(attempts(&entry.value, Counted::Retries), entry.line),
            None => attempts_or(get("maxAttempts"), Counted::Total, Attempts::Count(3), WHO),
        };
        let mut layer = layer(retry, &retry.value, seat, found, &keys, reading);
        if get("maxRetries").is_none() && get("maxAttempts").is_none() {
            layer.notes.push("3 in all up to Spring Boot 3, 4 from Spring Boot 4 on".into());
        }
        reading.layers.push(layer);
    }
    if let Some(retry) = entry_below(&root, KAFKA) {
        let keys = Keys {
            initial: "delay",
            initial_ms: 1000.0,
            longest: "maxDelay",
            longest_ms: 30_000.0,
        };
        let waits = retry.value.loose("backoff").unwrap_or(&retry.value);
        let written = retry.value.loose_entry("attempts");
        let found = attempts_or(written, Counted::Total, Attempts::Count(3), WHO);
        let layer = layer(retry, waits, Seat::Workflow, found, &keys, reading);
        reading.layers.push(layer);
    }
    for path in CLIENTS {
        let Some(clients) = entry_below(&root, path) else { continue };
        if let Some(time) = crate::format::shared::ms(clients.value.loose_entry("readTimeout"), 1.0)
        {
            let what = What::Timeout { attempt_ms: Some(time.value), overall_ms: None };
            reading.facts.push(Fact { lines: span(clients), about: None, what });
        }
    }
}

/// Names of the waits with their defaults in milliseconds.
struct Keys {
    initial: &'static str,
    initial_ms: f64,
    longest: &'static str,
    longest_ms: f64,
}

fn layer(
    retry: &Entry,
    waits: &Node,
    seat: Seat,
    found: Sourced<Attempts>,
    keys: &Keys,
    reading: &mut Reading,
) -> Layer {
    let mut layer = Layer::at(FORMAT.id, seat, span(retry));
    layer.reach = Reach::Everything;
    layer.route = Some(retry.key.to_string());
    let enabled = retry.value.loose_entry("enabled");
    if enabled.and_then(|entry| entry.value.truth()) != Some(true) {
        let line = enabled.map_or(retry.line, |entry| entry.line);
        layer.attempts = match enabled.map(|entry| &entry.value) {
            Some(value) if value.truth().is_none() => {
                let high = found.value.high();
                let expression = crate::format::shared::expression(value);
                Sourced::written(Attempts::Open { expression, low: 1, high }, line)
            }
            Some(_) => Sourced::written(Attempts::Count(1), line),
            None => Sourced::default_of(Attempts::Count(1), WHO),
        };
        if enabled.is_none() {
            let why = "without `enabled: true` nothing is retried".to_owned();
            reading.facts.push(Fact { lines: span(retry), about: None, what: What::Inert { why } });
        }
        if layer.attempts.value == Attempts::Count(1) {
            return layer;
        }
    } else {
        layer.attempts = found;
    }
    layer.on = Sourced::default_of(Failures::EVERY, WHO);
    layer.methods = Methods::All;
    let base = ms_or(waits.loose_entry(keys.initial), 1.0, keys.initial_ms, WHO);
    let cap = ms_or(waits.loose_entry(keys.longest), 1.0, keys.longest_ms, WHO);
    let factor = number(waits.loose_entry("multiplier")).unwrap_or(1.0);
    layer.delay = exponential(base, factor, cap);
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::reading;
    use crate::layer::Growth;

    #[test]
    fn what_is_written_is_read() {
        let text = "spring:\n  rabbitmq:\n    listener:\n      simple:\n        retry: {enabled: true, max-attempts: 4, initial-interval: 2s, multiplier: 2}\n    template:\n      retry: {enabled: true, max-retries: 4}\n  kafka:\n    retry:\n      topic: {enabled: true, attempts: 5, backoff: {delay: 100ms}}\n";
        let reading = reading("application.yml", Syntax::Yaml, text);
        let [listener, template, topic] = reading.layers.as_slice() else { panic!("{reading:#?}") };
        assert_eq!(listener.attempts, Sourced::written(Attempts::Count(4), 5));
        assert_eq!(
            (listener.delay.growth, listener.delay.factor),
            (Growth::Exponential, Some(2.0))
        );
        // The newer name counts retries.
        assert_eq!(template.attempts, Sourced::written(Attempts::Count(5), 7));
        assert_eq!(topic.attempts.value, Attempts::Count(5));
        assert_eq!(topic.delay.base_ms, Some(Sourced::written(100.0, 10)));
    }

    #[test]
    fn nothing_is_retried_without_being_enabled() {
        let text = "spring.rabbitmq.listener.simple.retry.max-attempts=4\n";
        let reading = reading("application.properties", Syntax::Properties, text);
        assert_eq!(reading.layers[0].attempts, Sourced::default_of(Attempts::Count(1), WHO));
        assert!(matches!(reading.facts[0].what, What::Inert { .. }));
        let text = "spring.rabbitmq.host=a\n";
        assert_eq!(
            crate::format::shared::reading("a.properties", Syntax::Properties, text),
            Reading::default()
        );
    }
}
