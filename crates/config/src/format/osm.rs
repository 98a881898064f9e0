//! Open Service Mesh: retries from a service account to services.

use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::format::envoy::vocabulary::conditions;
use crate::format::parts::{
    Object, envoy_delay, from_retries, group, inert, ms_at, positive, span,
};
use crate::layer::{Attempts, Layer, Reach, Seat, Sourced};
use crate::reading::Reading;
use crate::units::words;

/// Retry.
pub const FORMAT: Format = Format {
    id: "open-service-mesh",
    title: "Open Service Mesh",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        group(document) == Some("policy.openservicemesh.io")
            && Object::of(document).kind() == "Retry"
    },
    read,
};

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let Some(spec) = object.root.get("spec") else { return };
    let Some(entry) = spec.entry("retryPolicy") else { return };
    let policy = &entry.value;
    for destination in spec.get("destinations").map_or(&[][..], Node::items) {
        let mut layer = Layer::at(FORMAT.id, Seat::Sidecar, span(entry));
        layer.caller = spec.get("source").and_then(|source| object.reference(source));
        layer.callee = object.reference(destination);
        layer.reach = Reach::Service;
        layer.attempts = match policy.entry("numRetries") {
            Some(entry) => from_retries(entry),
            None => Sourced::default_of(Attempts::Count(2), "Envoy"),
        };
        layer.words = policy.get("retryOn").map(words).unwrap_or_default();
        let found = conditions(&layer.words, &[], false);
        for word in &found.unknown {
            let why = format!("`{word}`: Envoy knows no such word");
            inert(reading, layer.lines, layer.callee.clone(), why);
        }
        layer.on = Sourced::written(found.on, entry.line);
        layer.attempt_timeout_ms = positive(ms_at(policy, "perTryTimeout", 0.0));
        layer.delay = envoy_delay(ms_at(policy, "retryBackoffInterval", 0.0), None, "Envoy");
        reading.layers.push(layer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::{Name, format};

    fn of(policy: &str) -> Reading {
        let text = format!(
            "apiVersion: policy.openservicemesh.io/v1alpha1\nkind: Retry\nmetadata: {{name: r, namespace: shop}}\nspec:\n  source: {{kind: ServiceAccount, name: web, namespace: shop}}\n  destinations: [{{kind: Service, name: orders, namespace: shop}}]\n  {policy}\n"
        );
        format::read("o.yaml", &parse(Syntax::Yaml, &text).0)
    }

    #[test]
    fn a_policy_that_says_everything() {
        let reading = of(
            "retryPolicy: {retryOn: 5xx, perTryTimeout: 500ms, numRetries: 4, retryBackoffInterval: 50ms}",
        );
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(5), 7));
        assert_eq!(layer.delay.base_ms, Some(Sourced::written(50.0, 7)));
        assert_eq!(layer.delay.cap_ms.as_ref().map(|ms| ms.value), Some(500.0));
        assert_eq!(layer.caller, Some(Name::new("web", Some("shop"))));
    }

    #[test]
    fn without_a_policy_there_is_nothing() {
        assert!(of("x: 1").layers.is_empty());
        assert!(!of("retryPolicy: {numRetries: 4}").layers[0].retries());
    }
}
