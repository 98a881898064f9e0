//! Emissary: Mappings, and what the Module says for all of them.

use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::format::envoy::cluster::{limit, whole};
use crate::format::envoy::policy;
use crate::format::parts::{
    Object, call, drop_useless_attempt_timeout, fact, group, inert, ms_at, positive, span,
};
use crate::layer::{Budget, Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Reading, What};

/// Mapping and Module.
pub const FORMAT: Format = Format {
    id: "emissary",
    title: "Emissary",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        matches!(group(document), Some("getambassador.io" | "x.getambassador.io"))
            && matches!(Object::of(document).kind(), "Mapping" | "AmbassadorMapping" | "Module")
    },
    read,
};

const WHO: &str = "Emissary";
/// Words that its schema takes, one of them at a time.
const WORDS: [&str; 6] = [
    "5xx",
    "gateway-error",
    "connect-failure",
    "retriable-4xx",
    "refused-stream",
    "retriable-status-codes",
];

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let Some(spec) = object.root.get("spec") else { return };
    if object.kind() == "Module" {
        let Some(config) = spec.get("config") else { return };
        let timeout = ms_at(config, "cluster_request_timeout_ms", 1.0);
        policies(config, None, timeout, Reach::Everything, reading);
        return;
    }
    let service = spec.entry("service");
    let callee = service.and_then(|entry| object.host(entry.value.text()?));
    if let (Some(entry), Some(callee)) = (service, &callee) {
        call(reading, None, callee.clone(), entry.line, "route");
    }
    let timeout = ms_at(spec, "timeout_ms", 1.0);
    policies(spec, callee, timeout, Reach::Route, reading);
}

fn policies(
    node: &Node,
    callee: Option<Name>,
    timeout: Option<Sourced<f64>>,
    reach: Reach,
    reading: &mut Reading,
) {
    for breaker in node.get("circuit_breakers").map_or(&[][..], Node::items) {
        let number = |key: &str| breaker.get(key).and_then(Node::number);
        if let Some(most) = number("max_retries") {
            let budget = Budget::Concurrent { limit: Some(whole(most)) };
            fact(reading, breaker.lines, callee.clone(), What::Retries(budget));
        }
        if number("max_requests").or(number("max_pending_requests")).is_some() {
            let what = What::Requests {
                active: limit(number("max_requests").unwrap_or(1024.0)),
                waiting: limit(number("max_pending_requests").unwrap_or(1024.0)),
            };
            fact(reading, breaker.lines, callee.clone(), what);
        }
    }
    let Some(entry) = node.entry("retry_policy") else {
        if let Some(ms) = positive(timeout) {
            let line = match ms.from {
                crate::Origin::Written(line) => line,
                _ => node.lines[0],
            };
            let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
            fact(reading, [line; 2], callee, what);
        }
        return;
    };
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, span(entry));
    layer.callee = callee;
    layer.reach = reach;
    layer.route = node.text_at("prefix").map(str::to_owned);
    layer.timeout_ms = match timeout {
        Some(ms) => positive(Some(ms)),
        None => Some(Sourced::default_of(3000.0, WHO)),
    };
    policy::fill(&mut layer, &entry.value, None, reading);
    if let Some(on) = entry.value.get("retry_on")
        && on.text().is_some_and(|word| !WORDS.contains(&word))
    {
        let why = "retry_on takes one word of Emissary's own list".to_owned();
        inert(reading, on.lines, layer.callee.clone(), why);
    }
    drop_useless_attempt_timeout(&mut layer, reading);
    reading.layers.push(layer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::{Attempts, format};

    fn of(text: &str) -> Reading {
        format::read("e.yaml", &parse(Syntax::Yaml, text).0)
    }

    fn mapping(rest: &str) -> Reading {
        of(&format!(
            "apiVersion: getambassador.io/v3alpha1\nkind: Mapping\nmetadata: {{name: orders, namespace: shop}}\nspec:\n  prefix: /orders/\n  service: orders:8080\n{rest}"
        ))
    }

    #[test]
    fn a_mapping_that_says_everything() {
        let reading = mapping(
            "  timeout_ms: 2000\n  retry_policy: {retry_on: gateway-error, num_retries: 3, per_try_timeout: 0.5s}\n  circuit_breakers: [{max_retries: 5, max_requests: 400}]\n",
        );
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(4), 8));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 7)));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(500.0, 8)));
        assert_eq!(layer.callee, Some(Name::new("orders", Some("shop"))));
        let what = What::Retries(Budget::Concurrent { limit: Some(5) });
        assert_eq!(reading.facts[0].what, what);
        assert_eq!(reading.calls[0].callee, Name::new("orders", Some("shop")));
    }

    #[test]
    fn what_nobody_wrote_is_a_default() {
        let reading = mapping("  retry_policy: {retry_on: 5xx}\n");
        assert_eq!(reading.layers[0].attempts.value, Attempts::Count(2));
        assert_eq!(reading.layers[0].timeout_ms, Some(Sourced::default_of(3000.0, WHO)));
        assert!(mapping("").layers.is_empty());
    }

    #[test]
    fn several_words_are_not_taken() {
        let reading = mapping("  retry_policy: {retry_on: '5xx,reset'}\n");
        assert!(matches!(reading.facts[0].what, What::Inert { .. }));
    }

    #[test]
    fn the_module_speaks_for_all() {
        let reading = of(
            "apiVersion: getambassador.io/v2\nkind: Module\nmetadata: {name: ambassador}\nspec:\n  config:\n    retry_policy: {retry_on: 5xx, num_retries: 4}\n    cluster_request_timeout_ms: 9000\n",
        );
        assert_eq!(reading.layers[0].reach, Reach::Everything);
        assert_eq!(reading.layers[0].timeout_ms, Some(Sourced::written(9000.0, 7)));
    }
}
