//! ServiceProfile: routes that may be retried as long as a budget lasts.

use super::WHO;
use crate::document::{Document, Node, Syntax};
use crate::failure::Failures;
use crate::format::Format;
use crate::format::parts::{Object, fact, group, ms_at, positive};
use crate::layer::{Attempts, Budget, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Reading, Service, What};

/// ServiceProfile.
pub const FORMAT: Format = Format {
    id: "linkerd-serviceprofile",
    title: "Linkerd ServiceProfile",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        group(document) == Some("linkerd.io") && Object::of(document).kind() == "ServiceProfile"
    },
    read,
};

/// The label of a service that has a profile.
pub(crate) const PROFILE: &str = "linkerd.io/ServiceProfile";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let Some(spec) = object.root.get("spec") else { return };
    let callee = object.name.and_then(|name| Name::of_host(name, object.namespace));
    if let Some(name) = callee.clone() {
        // That there is a profile matters even where it retries nothing.
        let labels = vec![(PROFILE.to_owned(), String::new())];
        reading.services.push(Service {
            name,
            line: spec.lines[0],
            labels,
            replicas: None,
            images: vec![],
        });
    }
    let budget = budget(spec);
    for route in spec.get("routes").map_or(&[][..], Node::items) {
        let timeout = positive(ms_at(route, "timeout", 0.0));
        if route.get("isRetryable").and_then(Node::truth) != Some(true) {
            if let Some(ms) = timeout {
                let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
                fact(reading, route.lines, callee.clone(), what);
            }
            continue;
        }
        let mut layer = Layer::at(FORMAT.id, Seat::Sidecar, route.lines);
        layer.callee.clone_from(&callee);
        layer.reach = Reach::Route;
        layer.route = route.text_at("name").map(str::to_owned);
        let line = route.entry("isRetryable").map_or(route.lines[0], |entry| entry.line);
        layer.attempts = Sourced::written(Attempts::Unbounded, line);
        layer.on = failures(route);
        layer.timeout_ms = timeout;
        layer.budget = Some(budget.clone());
        if let Some(method) = route.text_at("condition.method") {
            layer.methods = Methods::Listed(vec![method.to_owned()]);
        }
        layer.notes.push("no limit for one request: the budget limits all together".to_owned());
        reading.layers.push(layer);
    }
}

fn budget(spec: &Node) -> Sourced<Budget> {
    let block = spec.entry("retryBudget");
    let number = |key: &str| block.and_then(|entry| entry.value.get(key)).and_then(Node::number);
    let window = block.and_then(|entry| ms_at(&entry.value, "ttl", 0.0));
    let budget = Budget::RateShare {
        percent: number("retryRatio").unwrap_or(0.2) * 100.0,
        min_per_s: number("minRetriesPerSecond").unwrap_or(10.0),
        window_ms: window.map_or(10_000.0, |ms| ms.value),
    };
    match block {
        Some(entry) => Sourced::written(budget, entry.line),
        None => Sourced::default_of(budget, WHO),
    }
}

/// What counts as a failure: any 5xx, unless response classes say otherwise.
fn failures(route: &Node) -> Sourced<Failures> {
    let Some(classes) = route.entry("responseClasses") else {
        return Sourced::default_of(Failures::SERVER, WHO);
    };
    let mut on = Failures::NONE;
    for class in classes.value.items() {
        let bound = |key: &str| {
            let number = class.below("condition.status").and_then(|status| status.get(key));
            number.and_then(|number| u32::try_from(number.integer()?).ok())
        };
        let failure = class.get("isFailure").and_then(Node::truth) == Some(true);
        if let (Some(min), true) = (bound("min").or(bound("max")), failure) {
            let max = bound("max").unwrap_or(min).min(599);
            (min.max(100)..=max).for_each(|status| on.extend_status(status));
        }
    }
    Sourced::written(on, classes.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(spec: &str) -> Reading {
        let text = format!(
            "apiVersion: linkerd.io/v1alpha2\nkind: ServiceProfile\nmetadata: {{name: inventory.shop.svc.cluster.local, namespace: shop}}\nspec:\n{spec}"
        );
        format::read("l.yaml", &parse(Syntax::Yaml, &text).0)
    }

    #[test]
    fn a_retryable_route_is_limited_by_its_budget_alone() {
        let reading = of(
            "  routes:\n  - name: stock\n    condition: {method: GET, pathRegex: '/stock/[^/]+'}\n    isRetryable: true\n    timeout: 800ms\n    responseClasses: [{condition: {status: {min: 500, max: 502}}, isFailure: true}]\n  - name: order\n    condition: {method: POST}\n  retryBudget: {retryRatio: 0.1, minRetriesPerSecond: 5, ttl: 20s}\n",
        );
        assert_eq!(reading.layers.len(), 1);
        let layer = &reading.layers[0];
        assert_eq!(layer.lines, [6, 10]);
        assert_eq!(layer.attempts, Sourced::written(Attempts::Unbounded, 8));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(800.0, 9)));
        let budget = Budget::RateShare { percent: 10.0, min_per_s: 5.0, window_ms: 20_000.0 };
        assert_eq!(layer.budget, Some(Sourced::written(budget, 13)));
        assert_eq!(layer.methods, Methods::Listed(vec!["GET".to_owned()]));
        assert_eq!(layer.callee, Some(Name::new("inventory", Some("shop"))));
        assert!(!layer.on.value.contains(crate::Failure::Unavailable));
    }

    #[test]
    fn a_profile_that_says_nothing_retries_nothing() {
        assert!(of("  routes:\n  - name: a\n    condition: {method: GET}\n").layers.is_empty());
        let least = of("  routes:\n  - {name: a, isRetryable: true}\n");
        let budget = Budget::RateShare { percent: 20.0, min_per_s: 10.0, window_ms: 10_000.0 };
        assert_eq!(least.layers[0].budget, Some(Sourced::default_of(budget, WHO)));
        assert_eq!(least.layers[0].on.value, Failures::SERVER);
    }
}
