//! Argo: `retryStrategy` of workflows, without a limit if nobody writes one, that of sensors and
//! `connectionBackoff` of event sources, and `retry` of Argo CD's syncs.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::{Object, span};
use crate::format::shared::{
    Counted, attempts, constant, exponential, expression, maps, ms, ms_or, number,
};
use crate::layer::{Attempts, Delay, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;

/// Workflows, their templates, cron workflows, sensors that start some, and event sources.
pub const WORKFLOWS: Format = Format {
    id: "argo-workflows",
    title: "Argo Workflows",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        is_argo(
            document,
            &[
                "Workflow",
                "WorkflowTemplate",
                "ClusterWorkflowTemplate",
                "CronWorkflow",
                "Sensor",
                "EventSource",
            ],
        )
    },
    read: workflows,
};

/// Applications and sets of them.
pub const CD: Format = Format {
    id: "argo-cd",
    title: "Argo CD sync",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| is_argo(document, &["Application", "ApplicationSet"]),
    read: syncs,
};

const WHO: &str = "Argo Workflows";
const EVENTS_WHO: &str = "Argo Events";
/// A bare number of Argo Events is in nanoseconds.
const NANOSECOND_MS: f64 = 1e-6;
const CD_WHO: &str = "Argo CD";

fn is_argo(document: &Document, kinds: &[&str]) -> bool {
    let text = |key| document.root.get(key).and_then(Node::text);
    text("apiVersion").is_some_and(|version| version.starts_with("argoproj.io/"))
        && text("kind").is_some_and(|kind| kinds.contains(&kind))
}

fn workflows(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    let name = Object::at(root).own();
    let mut outer = false;
    for spec in [root.get("spec"), root.below("spec.workflowSpec")].into_iter().flatten() {
        outer |= spec.get("retryStrategy").is_some();
    }
    maps(root, &mut |map| {
        if let Some(backoff) = map.entry("connectionBackoff") {
            let mut layer = Layer::at(WORKFLOWS.id, Seat::Workflow, span(backoff));
            layer.methods = Methods::All;
            layer.callee = name.clone();
            layer.notes.push("connections of an event source".into());
            steps_of(&mut layer, &backoff.value);
            reading.layers.push(layer);
        }
        let Some(strategy) = map.entry("retryStrategy") else { return };
        let mut layer = strategy_of(map, strategy);
        layer.callee = name.clone();
        let template = map.get("name").and_then(Node::text);
        layer.route = template.map(|name| format!("template {name}"));
        layer.reach = if template.is_some() { Reach::Route } else { Reach::Service };
        let parent = map.get("steps").is_some() || map.get("dag").is_some();
        if parent || outer && template.is_some() {
            layer.notes.push("strategies of a template and of those below it multiply".into());
        }
        reading.layers.push(layer);
    });
}

fn strategy_of(template: &Node, entry: &Entry) -> Layer {
    let strategy = &entry.value;
    let mut layer = Layer::at(WORKFLOWS.id, Seat::Workflow, span(entry));
    layer.methods = Methods::All;
    // Sensors of Argo Events write a backoff here.
    if ["steps", "duration", "factor", "jitter"].iter().any(|key| strategy.get(key).is_some()) {
        steps_of(&mut layer, strategy);
        return layer;
    }
    layer.attempts = match strategy.entry("limit") {
        Some(limit) => Sourced::written(attempts(&limit.value, Counted::Retries), limit.line),
        None => Sourced::default_of(Attempts::Unbounded, WHO),
    };
    let policy = strategy.entry("retryPolicy");
    let condition = strategy.entry("expression");
    let word = policy.and_then(|policy| policy.value.text());
    let outside = Failures::of(&[Failure::Connect, Failure::Reset, Failure::Unavailable]);
    let on = match word {
        Some("OnError") => outside,
        Some("OnTransientError") => {
            let mut on = outside;
            on.add(Failures::of(&[Failure::TooMany, Failure::AttemptTimeout]));
            on
        }
        _ => Failures::EVERY,
    };
    layer.on = match policy {
        Some(policy) => Sourced::written(on, policy.line),
        None => Sourced::default_of(on, WHO),
    };
    layer.words.extend(word.map(str::to_owned));
    if let Some(condition) = condition {
        layer.words.push(expression(&condition.value));
        layer.notes.push("an expression decides, too".into());
    }
    layer.delay = match strategy.get("backoff") {
        Some(backoff) => {
            let base = ms(backoff.entry("duration"), 1000.0);
            let factor = backoff.entry("factor");
            layer.timeout_ms = ms(backoff.entry("maxDuration"), 1000.0);
            match factor {
                Some(factor) => exponential(
                    base,
                    factor.value.number().unwrap_or(1.0),
                    ms(backoff.entry("cap"), 1000.0),
                ),
                None => constant(base),
            }
        }
        None => Delay::none(),
    };
    let limit = template.entry("activeDeadlineSeconds").or(template.entry("timeout"));
    layer.attempt_timeout_ms = ms(limit.filter(|_| template.get("templates").is_none()), 1000.0);
    layer
}

/// A backoff of Argo Events, where steps are counted, the first included. What is left out is as in
/// its `pkg/shared/util/retry.go`: five steps, a second apart, up to as much again at random.
fn steps_of(layer: &mut Layer, backoff: &Node) {
    layer.attempts = match backoff.entry("steps") {
        Some(steps) => Sourced::written(attempts(&steps.value, Counted::Total), steps.line),
        None => Sourced::default_of(Attempts::Count(5), EVENTS_WHO),
    };
    layer.on = Sourced::default_of(Failures::EVERY, EVENTS_WHO);
    let base = ms_or(backoff.entry("duration"), NANOSECOND_MS, 1000.0, EVENTS_WHO);
    let of = |key| number(backoff.entry(key)).unwrap_or(1.0);
    layer.delay = exponential(base, of("factor"), None);
    layer.delay.jitter = of("jitter") > 0.0;
}

fn syncs(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    let name = Object::at(root).own();
    for place in ["spec.syncPolicy", "spec.template.spec.syncPolicy"] {
        let Some(retry) = root.below(place).and_then(|policy| policy.entry("retry")) else {
            continue;
        };
        let mut layer = Layer::at(CD.id, Seat::Workflow, span(retry));
        layer.callee = name.clone();
        layer.route = Some("sync".into());
        layer.methods = Methods::All;
        layer.attempts = match retry.value.entry("limit") {
            Some(limit) if limit.value.integer().is_some_and(|limit| limit < 0) => {
                Sourced::written(Attempts::Unbounded, limit.line)
            }
            Some(limit) => Sourced::written(attempts(&limit.value, Counted::Retries), limit.line),
            None => Sourced::default_of(Attempts::Count(6), CD_WHO),
        };
        layer.on = Sourced::default_of(Failures::EVERY, CD_WHO);
        let backoff = retry.value.get("backoff");
        let get = |key: &str| backoff.and_then(|backoff| backoff.entry(key));
        layer.delay = exponential(
            ms_or(get("duration"), 1000.0, 5000.0, CD_WHO),
            number(get("factor")).unwrap_or(2.0),
            ms_or(get("maxDuration"), 1000.0, 180_000.0, CD_WHO),
        );
        reading.layers.push(layer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;
    use crate::layer::Growth;

    const HEAD: &str =
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: settle}\nspec:\n";

    #[test]
    fn what_is_written_is_read() {
        let text = format!(
            "{HEAD}  templates:\n  - name: main\n    activeDeadlineSeconds: 30\n    retryStrategy:\n      limit: \"2\"\n      retryPolicy: OnError\n      backoff: {{duration: \"5\", factor: 2, maxDuration: 2m, cap: 20s}}\n  - name: open\n    retryStrategy: {{limit: \"{{{{inputs.parameters.n}}}}\"}}\n"
        );
        let found = layers("argo-workflows", "w.yaml", Syntax::Yaml, &text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 9));
        assert_eq!(found[0].lines, [8, 11]);
        assert_eq!(
            (found[0].delay.growth, found[0].delay.factor),
            (Growth::Exponential, Some(2.0))
        );
        assert_eq!(found[0].delay.base_ms, Some(Sourced::written(5000.0, 11)));
        assert_eq!(found[0].timeout_ms, Some(Sourced::written(120_000.0, 11)));
        assert_eq!(found[0].attempt_timeout_ms, Some(Sourced::written(30_000.0, 7)));
        assert!(!found[0].on.value.contains(Failure::ServerError));
        assert_eq!((found[1].attempts.value.low(), found[1].attempts.value.high()), (1, None));
    }

    #[test]
    fn a_strategy_without_a_limit_has_no_end_and_none_retries_nothing() {
        let text = format!(
            "{HEAD}  templateDefaults:\n    retryStrategy: {{}}\n  templates: [{{name: a}}]\n"
        );
        let found = layers("argo-workflows", "w.yaml", Syntax::Yaml, &text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Unbounded, WHO));
        assert_eq!(found[0].delay, Delay::none());
    }

    #[test]
    fn steps_of_events_count_the_first() {
        let head = "apiVersion: argoproj.io/v1alpha1\nkind: EventSource\nmetadata: {name: shop}\nspec:\n  nats:\n    one:\n";
        let text = format!(
            "{head}      connectionBackoff: {{duration: 10s, steps: 4, factor: 2, jitter: 0}}\n    two:\n      connectionBackoff: {{duration: 500000000}}\n"
        );
        let found = layers("argo-workflows", "e.yaml", Syntax::Yaml, &text);
        let [one, two] = &found[..] else { panic!("{found:?}") };
        assert_eq!(one.attempts, Sourced::written(Attempts::Count(4), 7));
        assert_eq!((one.delay.growth, one.delay.factor), (Growth::Exponential, Some(2.0)));
        assert_eq!(one.delay.base_ms, Some(Sourced::written(10_000.0, 7)));
        assert!(!one.delay.jitter);
        assert_eq!(two.attempts, Sourced::default_of(Attempts::Count(5), EVENTS_WHO));
        assert_eq!(two.delay.base_ms, Some(Sourced::written(500.0, 9)));
        assert_eq!((two.delay.growth, two.delay.jitter), (Growth::Constant, true));
        let head = "apiVersion: argoproj.io/v1alpha1\nkind: Sensor\nmetadata: {name: shop}\nspec:\n  triggers:\n  - template: {name: a}\n";
        let text = format!("{head}    retryStrategy: {{steps: 3}}\n");
        let found = layers("argo-workflows", "s.yaml", Syntax::Yaml, &text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 7));
        assert_eq!(found[0].delay.base_ms, Some(Sourced::default_of(1000.0, EVENTS_WHO)));
        let text = format!("{head}    retryStrategy: {{duration: 2s}}\n");
        let found = layers("argo-workflows", "s.yaml", Syntax::Yaml, &text);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(5), EVENTS_WHO));
    }

    #[test]
    fn syncs_are_read() {
        let head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\nspec:\n  syncPolicy:\n";
        let text = format!(
            "{head}    retry:\n      limit: 2\n      backoff: {{duration: 1s, factor: 3, maxDuration: 1m}}\n"
        );
        let found = layers("argo-cd", "a.yaml", Syntax::Yaml, &text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 7));
        assert_eq!(found[0].delay.cap_ms, Some(Sourced::written(60_000.0, 8)));
        assert_eq!(
            layers("argo-cd", "a.yaml", Syntax::Yaml, &format!("{head}    automated: {{}}\n")),
            []
        );
    }
}
