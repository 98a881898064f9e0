//! Google Workflows: `try` with `retry`, by numbers or by a policy that is built in.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::span;
use crate::format::shared::{
    Counted, attempts, embedded, exponential, expression, maps, ms, number,
};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;

/// Workflows, also inside of Terraform.
pub const FORMAT: Format = Format {
    id: "google-workflows",
    title: "Google Workflows",
    syntaxes: &[Syntax::Yaml, Syntax::Json, Syntax::Hcl],
    is: |_, document| match document.syntax {
        Syntax::Hcl => super::cloud::has(document, &["google_workflows_workflow"]),
        _ => {
            let steps = |entry: &Entry| {
                entry.value.get("steps").is_some_and(|steps| !steps.items().is_empty())
            };
            document.root.get("apiVersion").is_none()
                && (document.root.get("main").is_some_and(|main| main.get("steps").is_some())
                    || document
                        .root
                        .entries()
                        .iter()
                        .any(|entry| &*entry.key == "main" && steps(entry)))
        }
    },
    read,
};

const WHO: &str = "Google Workflows";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    if document.syntax != Syntax::Hcl {
        return steps(&document.root, reading);
    }
    for one in super::cloud::resources(document) {
        let source =
            one.body.get("source_contents").filter(|_| one.kind == "google_workflows_workflow");
        if let Some(inner) = source.and_then(embedded) {
            steps(&inner, reading);
        }
    }
}

fn steps(root: &Node, reading: &mut Reading) {
    maps(root, &mut |map| {
        if let (Some(_), Some(retry)) = (map.get("try"), map.entry("retry")) {
            reading.layers.push(layer(map, retry));
        }
    });
}

fn layer(step: &Node, retry: &Entry) -> Layer {
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, span(retry));
    layer.reach = Reach::Route;
    layer.methods = Methods::All;
    let of = |text: &str| {
        let mut on = Failures::of(&[
            Failure::TooMany,
            Failure::BadGateway,
            Failure::Unavailable,
            Failure::GatewayTimeout,
        ]);
        if !text.contains("non_idempotent") {
            on.add(Failures::of(&[
                Failure::Connect,
                Failure::Refused,
                Failure::Reset,
                Failure::AttemptTimeout,
            ]));
        }
        if text.contains("http.default_retry") { on } else { Failures::EVERY }
    };
    if retry.value.entries().is_empty() {
        let text = expression(&retry.value);
        let known = text.contains("http.default_retry");
        layer.on = Sourced::default_of(of(&text), WHO);
        layer.attempts = if known {
            Sourced::default_of(Attempts::Count(6), WHO)
        } else {
            Sourced::written(
                Attempts::Open { expression: text.clone(), low: 1, high: None },
                retry.line,
            )
        };
        if known {
            layer.delay = exponential(
                Some(Sourced::default_of(1000.0, WHO)),
                1.25,
                Some(Sourced::default_of(60_000.0, WHO)),
            );
        }
        layer.words.push(text);
    } else {
        layer.attempts = match retry.value.entry("max_retries") {
            Some(count) => Sourced::written(attempts(&count.value, Counted::Retries), count.line),
            None => Sourced::default_of(
                Attempts::Open { expression: "max_retries".into(), low: 1, high: None },
                WHO,
            ),
        };
        let predicate = retry.value.entry("predicate");
        let text = predicate.map(|predicate| expression(&predicate.value));
        layer.on = match predicate {
            Some(entry) => Sourced::written(of(text.as_deref().unwrap_or_default()), entry.line),
            None => Sourced::default_of(Failures::EVERY, WHO),
        };
        layer.words.extend(text);
        let backoff = retry.value.get("backoff");
        let get = |key: &str| backoff.and_then(|backoff| backoff.entry(key));
        let base = ms(get("initial_delay"), 1000.0);
        layer.delay = exponential(
            base,
            number(get("multiplier")).unwrap_or(1.0),
            ms(get("max_delay"), 1000.0),
        );
    }
    layer.attempt_timeout_ms =
        step.below("try.args").and_then(|args| ms(args.entry("timeout"), 1000.0));
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;

    #[test]
    fn what_is_written_and_what_is_built_in() {
        let text = "main:\n  steps:\n  - a:\n      try: {call: http.get, args: {url: \"https://x\", timeout: 5}}\n      retry:\n        predicate: ${http.default_retry_predicate}\n        max_retries: 1\n        backoff: {initial_delay: 1, max_delay: 8, multiplier: 2}\n  - b:\n      try: {call: http.get}\n      retry: ${http.default_retry_non_idempotent}\n  - c: {call: x}\n";
        let found = layers("google-workflows", "w.yaml", Syntax::Yaml, text);
        let [a, b] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(a.attempts, Sourced::written(Attempts::Count(2), 7));
        assert_eq!((a.lines, a.delay.factor), ([5, 8], Some(2.0)));
        assert_eq!(a.attempt_timeout_ms, Some(Sourced::written(5000.0, 4)));
        assert_eq!(b.attempts, Sourced::default_of(Attempts::Count(6), WHO));
        assert!(!b.on.value.contains(Failure::Reset) && b.on.value.contains(Failure::Unavailable));
    }
}
