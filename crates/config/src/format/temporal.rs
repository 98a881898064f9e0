//! Temporal: activities are retried without end if nobody says otherwise.

use crate::document::{Document, Entry, Node, Syntax, same_word};
use crate::failure::Failures;
use crate::format::Format;
use crate::format::parts::span;
use crate::format::shared::{Counted, attempts, exponential, maps, ms, number};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;
use crate::units;

/// Retry policies in files of workflows, and the defaults in the server's dynamic configuration.
pub const FORMAT: Format = Format {
    id: "temporal",
    title: "Temporal",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| !policies(&document.root).is_empty(),
    read,
};

const WHO: &str = "Temporal";

/// Words that only its policies have.
const OWN: &[&str] = &["backoffCoefficient", "maximumAttempts", "nonRetryableErrorTypes"];

/// Policies with the map around them.
fn policies(root: &Node) -> Vec<(&Node, &Entry)> {
    let mut found = Vec::new();
    maps(root, &mut |map| {
        for entry in map.entries() {
            let named = same_word(&entry.key, "retryPolicy");
            let own =
                |policy: &Node| OWN.iter().filter(|word| policy.loose(word).is_some()).count();
            // The interval alone is not Temporal's.
            let clear = own(&entry.value) > 0
                && (own(&entry.value) > 1 || entry.value.loose("initialInterval").is_some());
            if named && clear {
                found.push((map, entry));
            }
            if &*entry.key == "history.defaultActivityRetryPolicy" {
                let values = entry.value.items().iter().filter_map(|item| item.entry("value"));
                found.extend(values.map(|value| (map, value)));
            }
        }
    });
    found
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    for (around, entry) in policies(&document.root) {
        reading.layers.push(layer(around, entry));
    }
}

fn layer(around: &Node, entry: &Entry) -> Layer {
    let policy = &entry.value;
    let server = &*entry.key == "value";
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, span(entry));
    layer.reach = if server { Reach::Everything } else { Reach::Route };
    layer.methods = Methods::All;
    layer.attempts = match policy.loose_entry("maximumAttempts") {
        Some(count) if count.value.integer() == Some(0) => {
            Sourced::written(Attempts::Unbounded, count.line)
        }
        Some(count) => Sourced::written(attempts(&count.value, Counted::Total), count.line),
        None => Sourced::default_of(Attempts::Unbounded, WHO),
    };
    layer.on = Sourced::default_of(Failures::EVERY, WHO);
    let fatal = policy.loose_entry("nonRetryableErrorTypes");
    let fatal = fatal.map(|entry| units::words(&entry.value)).unwrap_or_default();
    layer.words.extend(fatal.into_iter().map(|name| format!("not {name}")));
    let base =
        policy.loose_entry("initialInterval").or(policy.loose_entry("initialIntervalInSeconds"));
    let base = ms(base, 1000.0).or(Some(Sourced::default_of(1000.0, WHO)));
    let factor = number(policy.loose_entry("backoffCoefficient")).unwrap_or(2.0);
    let cap = ms(policy.loose_entry("maximumInterval"), 1000.0);
    let cap = cap.or_else(|| base.as_ref().map(|base| Sourced::derived(base.value * 100.0)));
    layer.delay = exponential(base, factor, cap);
    layer.attempt_timeout_ms = ms(around.loose_entry("startToCloseTimeout"), 1000.0);
    layer.timeout_ms = ms(around.loose_entry("scheduleToCloseTimeout"), 1000.0);
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;

    #[test]
    fn what_is_written_and_what_is_not() {
        let text = "activities:\n  charge:\n    startToCloseTimeout: 5s\n    scheduleToCloseTimeout: 1m\n    retryPolicy:\n      initialInterval: 2s\n      maximumAttempts: 4\n      nonRetryableErrorTypes: [Declined]\n  ship:\n    retry_policy: {initial_interval: 1s, backoff_coefficient: 1}\n  zero:\n    retry_policy: {maximum_attempts: 0, initial_interval: 1s}\n";
        let found = layers("temporal", "w.yaml", Syntax::Yaml, text);
        let [charge, ship, zero] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(charge.attempts, Sourced::written(Attempts::Count(4), 7));
        assert_eq!(charge.delay.cap_ms, Some(Sourced::derived(200_000.0)));
        assert_eq!(charge.attempt_timeout_ms, Some(Sourced::written(5000.0, 3)));
        assert_eq!(
            (charge.lines, charge.words.as_slice()),
            ([5, 8], &["not Declined".to_owned()][..])
        );
        assert_eq!(ship.attempts, Sourced::default_of(Attempts::Unbounded, WHO));
        assert_eq!(zero.attempts.value, Attempts::Unbounded);
        let other = "retryPolicy: {numRetries: 3, retryOn: 5xx}\n";
        assert_eq!(layers("temporal", "w.yaml", Syntax::Yaml, other), []);
    }
}
