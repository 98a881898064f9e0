//! The older Netflix stack of Spring Cloud: Ribbon, Hystrix, Zuul.

use crate::document::{Document, Entry, Node};
use crate::failure::{Failure, Failures};
use crate::format::parts::span;
use crate::format::shared::{around, ms};
use crate::format::spring_cloud_loadbalancer::product;
use crate::format::{Format, jvm};
use crate::layer::{Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Fact, Reading, What};

/// `application.yml` and `.properties`.
pub const FORMAT: Format = Format {
    id: "netflix",
    title: "Ribbon, Hystrix, Zuul",
    syntaxes: jvm::SYNTAXES,
    is: |_, document| {
        document.root.get("apiVersion").is_none()
            && document.root.entries().iter().any(|entry| {
                let top = entry.key.split('.').next().unwrap_or_default();
                matches!(top, "ribbon" | "hystrix" | "zuul")
                    || entry.value.get("ribbon").is_some()
                    || entry.key.contains(".ribbon")
            })
    },
    read,
};

const WHO: &str = "Ribbon";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = jvm::tree(document);
    let whole = root.entry("ribbon");
    if let Some(ribbon) = whole {
        ribbon_of(ribbon, None, None, reading);
    }
    for client in root.entries() {
        if let Some(ribbon) = client.value.entry("ribbon") {
            ribbon_of(ribbon, whole, Some(&client.key), reading);
        }
    }
    let hystrix = root.get("hystrix");
    let below = |key: &str| {
        hystrix.and_then(|hystrix| hystrix.get(key)).map(Node::entries).unwrap_or_default()
    };
    for command in below("command") {
        let time = command.value.below("execution.isolation.thread.timeoutInMilliseconds");
        if let Some(attempt_ms) = time.and_then(Node::number) {
            let overall_ms = Some(attempt_ms);
            let what = What::Timeout { attempt_ms: None, overall_ms };
            reading.facts.push(Fact { lines: span(command), about: None, what });
        }
    }
    for pool in below("threadpool") {
        let count = |key: &str| {
            let count = pool.value.get(key).and_then(Node::integer);
            count.and_then(|count| u64::try_from(count).ok())
        };
        let waiting = count("maxQueueSize").or(Some(0));
        let what = What::Requests { active: count("coreSize").or(Some(10)), waiting };
        reading.facts.push(Fact { lines: span(pool), about: None, what });
    }
    if let Some(zuul) = root.entry("zuul") {
        let retryable = zuul.value.get("retryable").and_then(Node::truth) == Some(true);
        let spoken = reading.layers.iter().any(|layer| layer.format == FORMAT.id);
        if let Some(entry) = zuul.value.entry("retryable").filter(|_| retryable && !spoken) {
            let mut layer = Layer::at(FORMAT.id, Seat::Gateway, span(entry));
            layer.reach = Reach::Everything;
            layer.attempts = product(None, None, WHO);
            layer.on = Sourced::default_of(io(), WHO);
            layer.methods = Methods::Listed(vec!["GET".into()]);
            reading.layers.push(layer);
        }
    }
}

fn io() -> Failures {
    Failures::of(&[Failure::Connect, Failure::Refused, Failure::Reset, Failure::AttemptTimeout])
}

fn ribbon_of(ribbon: &Entry, whole: Option<&Entry>, client: Option<&str>, reading: &mut Reading) {
    let get = |key: &str| {
        let above = || whole.and_then(|whole| whole.value.entry(key));
        ribbon.value.entry(key).or_else(above)
    };
    let callee = client.map(|client| Name::new(client, None));
    let time = ms(get("ReadTimeout"), 1.0);
    let (same, next) =
        (ribbon.value.entry("MaxAutoRetries"), ribbon.value.entry("MaxAutoRetriesNextServer"));
    let every = ribbon.value.entry("OkToRetryOnAllOperations");
    let Some(place) = around([same, next, every].into_iter().flatten()) else {
        if let Some(time) = time {
            let what = What::Timeout { attempt_ms: Some(time.value), overall_ms: None };
            reading.facts.push(Fact { lines: span(ribbon), about: callee, what });
        }
        return;
    };
    let mut layer = Layer::at(FORMAT.id, Seat::Client, place);
    layer.reach = if client.is_some() { Reach::Service } else { Reach::Everything };
    layer.callee = callee;
    layer.attempts = product(get("MaxAutoRetries"), get("MaxAutoRetriesNextServer"), WHO);
    layer.on = Sourced::default_of(io(), WHO);
    let codes = get("retryableStatusCodes");
    for code in codes.map(|entry| crate::units::words(&entry.value)).unwrap_or_default() {
        layer.on.value.extend_word(Some(&code));
        layer.words.push(code);
    }
    let all = get("OkToRetryOnAllOperations").and_then(|entry| entry.value.truth()) == Some(true);
    layer.methods = if all { Methods::All } else { Methods::Listed(vec!["GET".into()]) };
    layer.attempt_timeout_ms = time;
    reading.layers.push(layer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::{layers, reading};
    use crate::layer::Attempts;

    #[test]
    fn what_is_written_is_read() {
        let text = "ribbon: {ReadTimeout: 900}\norders:\n  ribbon:\n    MaxAutoRetries: 1\n    MaxAutoRetriesNextServer: 2\n    OkToRetryOnAllOperations: true\nhystrix:\n  command:\n    default: {execution.isolation.thread.timeoutInMilliseconds: 10000}\n  threadpool:\n    default: {coreSize: 30}\n";
        let reading = reading("application.yml", Syntax::Yaml, text);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(6), 4));
        assert_eq!((layer.lines, &layer.methods), ([4, 6], &Methods::All));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(900.0, 1)));
        assert!(reading.facts.iter().any(
            |fact| fact.what == What::Timeout { attempt_ms: None, overall_ms: Some(10_000.0) }
        ));
        assert!(
            reading
                .facts
                .iter()
                .any(|fact| fact.what == What::Requests { active: Some(30), waiting: Some(0) })
        );
    }

    #[test]
    fn nothing_written_is_one_retry_where_zuul_retries() {
        let found = layers("netflix", "a.properties", Syntax::Properties, "zuul.retryable=true\n");
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(2), WHO));
        assert_eq!(layers("netflix", "a.properties", Syntax::Properties, "zuul.prefix=/x\n"), []);
    }
}
