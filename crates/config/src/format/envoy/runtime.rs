//! Values of Envoy's runtime that change every retry policy of a process.

use crate::document::{Entry, Node};
use crate::layer::{Attempts, Layer, Sourced};

/// The share of retries that are made at all, in percent.
const USE_RETRY: &str = "upstream.use_retry";
/// The first wait where a policy says none.
const BASE: &str = "upstream.base_retry_backoff_ms";

/// Changes layers as the static layers of a bootstrap file say; the last layer counts.
pub(super) fn apply(root: &Node, layers: &mut [Layer]) {
    let Some(all) = root.below("layered_runtime.layers") else { return };
    let said = |key: &str| {
        let values = all.items().iter().filter_map(|layer| layer.loose("static_layer"));
        values.filter_map(|values| find(values, key)).next_back()
    };
    let off = said(USE_RETRY).filter(|entry| entry.value.number() == Some(0.0));
    let base =
        said(BASE).and_then(|entry| Some(Sourced::written(entry.value.number()?, entry.line)));
    for layer in layers {
        if let Some(entry) = off {
            layer.attempts = Sourced::written(Attempts::Count(1), entry.line);
            layer.notes.push(format!("{USE_RETRY} is 0: nothing is retried"));
        }
        let unsaid = layer.delay.base_ms.as_ref().is_some_and(|ms| !is_written(ms));
        if let Some(base) = base.as_ref().filter(|base| unsaid && base.value > 0.0) {
            layer.delay.base_ms = Some(base.clone());
            if layer.delay.cap_ms.as_ref().is_some_and(|ms| !is_written(ms)) {
                layer.delay.cap_ms = Some(Sourced::derived(base.value * 10.0));
            }
        }
    }
}

fn is_written(ms: &Sourced<f64>) -> bool {
    matches!(ms.from, crate::Origin::Written(_))
}

/// The entry of a key that is written in one word or in nested maps.
fn find<'a>(values: &'a Node, key: &str) -> Option<&'a Entry> {
    let whole = values.entry(key).filter(|entry| entry.value.entries().is_empty());
    whole.or_else(|| {
        let (first, rest) = key.split_once('.')?;
        find(values.get(first)?, rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Syntax, parse};
    use crate::format;

    fn of(values: &str) -> Layer {
        let text = format!(
            "{}layered_runtime:\n  layers:\n  - name: l\n    static_layer: {values}\n",
            include_str!("../../../tests/envoy/least.yaml")
        );
        format::read("envoy.yaml", &parse(Syntax::Yaml, &text).0).layers.remove(0)
    }

    #[test]
    fn retries_can_be_switched_off_for_a_process() {
        assert_eq!(of("{upstream.use_retry: 0}").attempts.value, Attempts::Count(1));
        assert_eq!(of("{upstream: {use_retry: 0}}").attempts.value, Attempts::Count(1));
        assert_eq!(of("{upstream: {use_retry: 100}}").attempts.value, Attempts::Count(2));
    }

    #[test]
    fn the_first_wait_can_be_longer() {
        let delay = of("{upstream: {base_retry_backoff_ms: 40}}").delay;
        assert_eq!(delay.base_ms.map(|ms| ms.value), Some(40.0));
        assert_eq!(delay.cap_ms.map(|ms| ms.value), Some(400.0));
    }
}
