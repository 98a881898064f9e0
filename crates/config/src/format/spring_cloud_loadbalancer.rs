//! Spring Cloud LoadBalancer: one retry at the next instance, of GET, if nobody says otherwise.

use crate::document::{Document, Entry, Node};
use crate::failure::{Failure, Failures};
use crate::format::parts::span;
use crate::format::shared::{around, exponential, ms};
use crate::format::{Format, jvm};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::Reading;
use crate::units;

/// `application.yml` and `.properties`.
pub const FORMAT: Format = Format {
    id: "spring-cloud-loadbalancer",
    title: "Spring Cloud LoadBalancer",
    syntaxes: jvm::SYNTAXES,
    is: |_, document| {
        jvm::has(document, &["spring"])
            && jvm::tree(document).below("spring.cloud.loadbalancer").is_some()
    },
    read,
};

const WHO: &str = "Spring Cloud LoadBalancer";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = jvm::tree(document);
    let Some(balancer) = root.below("spring.cloud.loadbalancer") else { return };
    let whole = balancer.loose_entry("retry");
    if let Some(retry) = whole {
        reading.layers.push(layer(retry, None));
    }
    for client in balancer.loose("clients").map(Node::entries).unwrap_or_default() {
        if let Some(retry) = client.value.loose_entry("retry") {
            let mut layer = layer(retry, whole);
            layer.callee = Some(Name::new(&client.key, None));
            layer.reach = Reach::Service;
            reading.layers.push(layer);
        }
    }
}

fn layer(retry: &Entry, whole: Option<&Entry>) -> Layer {
    let get = |key: &str| {
        let above = || whole.and_then(|whole| whole.value.loose_entry(key));
        retry.value.loose_entry(key).or_else(above)
    };
    let mut layer = Layer::at(FORMAT.id, Seat::Client, span(retry));
    layer.reach = Reach::Everything;
    let (same, next) =
        (get("maxRetriesOnSameServiceInstance"), get("maxRetriesOnNextServiceInstance"));
    layer.attempts = product(same, next, WHO);
    let enabled = get("enabled");
    match enabled.and_then(|entry| entry.value.truth()) {
        Some(false) => {
            let line = enabled.map_or(retry.line, |entry| entry.line);
            layer.attempts = Sourced::written(Attempts::Count(1), line);
            return layer;
        }
        Some(true) => {}
        None => layer.notes.push(
            "blocking clients retry if spring-retry is there, reactive ones only with `enabled: true`".into(),
        ),
    }
    let mut on = Failures::of(&[
        Failure::Connect,
        Failure::Refused,
        Failure::Reset,
        Failure::AttemptTimeout,
    ]);
    let codes = get("retryableStatusCodes");
    for code in codes.map(|entry| units::words(&entry.value)).unwrap_or_default() {
        on.extend_word(Some(&code));
        layer.words.push(code);
    }
    if get("retryOnAllExceptions").and_then(|entry| entry.value.truth()) == Some(true) {
        on = Failures::EVERY;
    }
    layer.on = match codes {
        Some(codes) => Sourced::written(on, codes.line),
        None => Sourced::default_of(on, WHO),
    };
    let every = get("retryOnAllOperations").and_then(|entry| entry.value.truth()) == Some(true);
    layer.methods = if every { Methods::All } else { Methods::Listed(vec!["GET".into()]) };
    let backoff = get("backoff")
        .filter(|backoff| backoff.value.loose("enabled").and_then(Node::truth) == Some(true));
    if let Some(backoff) = backoff {
        let base = ms(backoff.value.loose_entry("minBackoff"), 1.0);
        let base = base.or(Some(Sourced::default_of(5.0, WHO)));
        layer.delay = exponential(base, 2.0, ms(backoff.value.loose_entry("maxBackoff"), 1.0));
        layer.delay.jitter = true;
    }
    layer
}

/// Attempts from retries at the same instance (0 by default) and at others (1).
pub(super) fn product(
    same: Option<&Entry>,
    next: Option<&Entry>,
    who: &'static str,
) -> Sourced<Attempts> {
    let count = |entry: Option<&Entry>, default: u32| match entry {
        Some(entry) => {
            entry.value.integer().map(|count| u32::try_from(count.max(0)).unwrap_or(u32::MAX))
        }
        None => Some(default),
    };
    let value = match (count(same, 0), count(next, 1)) {
        (Some(same), Some(next)) => {
            Attempts::Count(same.saturating_add(1).saturating_mul(next.saturating_add(1)))
        }
        _ => {
            let open =
                [same, next].into_iter().flatten().find(|entry| entry.value.integer().is_none());
            let expression =
                open.map(|entry| super::shared::expression(&entry.value)).unwrap_or_default();
            Attempts::Open { expression, low: 1, high: None }
        }
    };
    match around([same, next].into_iter().flatten()) {
        Some([line, _]) => Sourced::written(value, line),
        None => Sourced::default_of(value, who),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::layers;

    fn of(text: &str) -> Vec<Layer> {
        layers("spring-cloud-loadbalancer", "application.yml", Syntax::Yaml, text)
    }

    #[test]
    fn what_is_written_is_read() {
        let found = of(
            "spring:\n  cloud:\n    loadbalancer:\n      retry: {enabled: true, max-retries-on-same-service-instance: 1, max-retries-on-next-service-instance: 2, retryable-status-codes: [503], backoff: {enabled: true, min-backoff: 10ms}}\n      clients:\n        orders: {retry: {retry-on-all-operations: true}}\n",
        );
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(6), 4));
        assert!(found[0].on.value.contains(Failure::Unavailable) && found[0].delay.jitter);
        assert_eq!(found[1].callee, Some(Name::new("orders", None)));
        assert_eq!((found[1].attempts.value.low(), &found[1].methods), (6, &Methods::All));
    }

    #[test]
    fn nothing_written_is_one_retry() {
        let found = of("spring.cloud.loadbalancer.retry: {}\n");
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(2), WHO));
        assert_eq!(found[0].methods, Methods::Listed(vec!["GET".into()]));
        let found = of("spring.cloud.loadbalancer.retry.enabled: false\n");
        assert_eq!(found[0].attempts.value, Attempts::Count(1));
    }
}
