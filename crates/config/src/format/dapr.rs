//! Dapr: policies by name, and the targets that use them. A timeout is for one attempt.
//!
//! A call between applications is retried three times if no target names its callee. That layer is
//! made in [`crate::effective`].

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::{Object, fact, from_retries, group, inert, ms_at, span};
use crate::layer::{Attempts, Delay, Growth, Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Reading, Service, What};
use crate::units::duration_of;

/// Resiliency, and annotations that switch Dapr on.
pub const FORMAT: Format = Format {
    id: "dapr-resiliency",
    title: "Dapr resiliency",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        group(document) == Some("dapr.io")
            || group(document).is_none() && policies(document).is_some()
            || annotated(document).is_some()
    },
    read,
};

/// Who does what nobody wrote.
pub(crate) const WHO: &str = "Dapr, built in";
/// The name of the policy that cannot be lowered.
pub(crate) const BUILT_IN: &str = "DaprBuiltInServiceRetries";

fn policies(document: &Document) -> Option<&Node> {
    let policies = document.root.below("spec.policies")?;
    let ours = ["retries", "timeouts", "circuitBreakers"];
    ours.iter()
        .any(|key| policies.get(key).is_some_and(|all| !all.entries().is_empty()))
        .then_some(policies)
}

/// The line and the application's id of a workload with Dapr beside it.
fn annotated(document: &Document) -> Option<(u32, Option<&str>)> {
    let meta = document.root.below("spec.template.metadata.annotations")?;
    let enabled = meta.entry("dapr.io/enabled").filter(|one| one.value.truth() == Some(true))?;
    Some((enabled.line, meta.get("dapr.io/app-id").and_then(Node::text)))
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    let seen = annotated(document);
    let what = What::Mesh { format: FORMAT.id };
    if !reading.facts.iter().any(|fact| fact.what == what) {
        fact(reading, [seen.map_or(root.lines[0], |(line, _)| line); 2], None, what);
    }
    if let Some((line, Some(id))) = seen {
        let name = Name::new(id, Object::of(document).namespace);
        reading.services.push(Service {
            name,
            line,
            labels: vec![],
            replicas: None,
            images: vec![],
        });
    }
    let Some(spec) = root.get("spec").filter(|_| seen.is_none()) else { return };
    let retries = spec.below("policies.retries").map_or(&[][..], Node::entries);
    let mut used: Vec<&str> = Vec::new();
    let apps = spec.below("targets.apps").map_or(&[][..], Node::entries);
    let actors = spec.below("targets.actors").map_or(&[][..], Node::entries);
    for target in apps.iter().chain(actors) {
        used.extend(use_of(target, &target.value, Seat::Sidecar, spec, retries, reading));
    }
    for target in spec.below("targets.components").map_or(&[][..], Node::entries) {
        for (way, seat) in [("outbound", Seat::Sidecar), ("inbound", Seat::Inbound)] {
            if let Some(node) = target.value.get(way) {
                used.extend(use_of(target, node, seat, spec, retries, reading));
            }
        }
    }
    for policy in retries {
        useless_wait(policy, reading);
        by_name(policy, used.contains(&&*policy.key), reading);
    }
}

/// What is retried between sidecars where nobody says anything.
pub(crate) fn built_in_on() -> Failures {
    Failures::of(&[Failure::Connect, Failure::Refused, Failure::GrpcUnavailable])
}

/// A policy that applies by its name, or that nothing uses.
fn by_name(policy: &Entry, used: bool, reading: &mut Reading) {
    let name = &*policy.key;
    if used {
        return;
    }
    let of_components = name.contains("Component");
    let mut layer =
        of_policy(policy, if name.contains("Inbound") { Seat::Inbound } else { Seat::Sidecar });
    if name == BUILT_IN {
        if layer.attempts.value.high().is_none_or(|high| high < 4) {
            let why = format!("{BUILT_IN} with fewer than 3 retries is set to 3");
            inert(reading, span(policy), None, why);
            layer.attempts = Sourced::default_of(Attempts::Count(4), WHO);
        }
        layer.reach = Reach::Everything;
        layer.route = Some(name.to_owned());
        if matches!(layer.on.from, crate::Origin::Default(_)) {
            layer.on = Sourced::default_of(built_in_on(), WHO);
        }
        reading.layers.push(layer);
    } else if name.starts_with("DaprBuiltIn") {
        // Those of actors and of starting up.
        layer.reach = Reach::Group;
        layer.route = Some(name.to_owned());
        reading.layers.push(layer);
    } else if name.starts_with("Default") && name.ends_with("RetryPolicy") {
        let broad = name == "DefaultRetryPolicy";
        layer.reach = if broad { Reach::Everything } else { Reach::Group };
        layer.route = (!broad).then(|| name.to_owned());
        if of_components {
            layer.notes.push("for components, not for calls between applications".to_owned());
        }
        reading.layers.push(layer);
    } else {
        let why = format!("no target of this file uses the policy `{name}`");
        inert(reading, span(policy), None, why);
    }
}

/// The layer of a target; which policy it uses.
fn use_of<'a>(
    target: &Entry,
    node: &'a Node,
    seat: Seat,
    spec: &Node,
    retries: &[Entry],
    reading: &mut Reading,
) -> Option<&'a str> {
    let used = node.get("retry").and_then(Node::text);
    let policy = used.and_then(|name| retries.iter().find(|entry| *entry.key == *name));
    let mut layer = match policy {
        Some(policy) => of_policy(policy, seat),
        None => {
            // Any entry removes what is built in, also one without retries.
            let mut layer = Layer::at(FORMAT.id, seat, span(target));
            layer.attempts = Sourced::written(Attempts::Count(1), target.line);
            layer
        }
    };
    if let (Some(name), None) = (used, policy) {
        let why = format!("the policy `{name}` is not in this file");
        reading.open.push((target.line, why));
    }
    layer.callee = Some(Name::new(&target.key, None));
    if let Some(entry) = node.entry("timeout") {
        let name = entry.value.text().unwrap_or_default();
        let timeouts = spec.below("policies.timeouts");
        let written = timeouts.and_then(|all| all.entry(name));
        let written =
            written.and_then(|one| Some(Sourced::written(duration_of(&one.value, 0.0)?, one.line)));
        layer.attempt_timeout_ms = written.filter(|ms| ms.value > 0.0);
    }
    if let Some(breaker) = node.get("circuitBreaker").and_then(Node::text) {
        layer.notes.push(format!("the circuit breaker `{breaker}` stands inside of the retries"));
    }
    reading.layers.push(layer);
    used
}

/// Whether a policy is of the exponential kind, which waits from half a second on.
fn is_exponential(values: &Node) -> bool {
    values.text_at("policy").is_some_and(|policy| policy.eq_ignore_ascii_case("exponential"))
}

/// Each kind of policy has a key that only the other one reads.
fn useless_wait(policy: &Entry, reading: &mut Reading) {
    let (key, kind) = if is_exponential(&policy.value) {
        ("duration", "constant")
    } else {
        ("maxInterval", "exponential")
    };
    if let Some(entry) = policy.value.entry(key) {
        let why = format!("`{key}` counts only for the {kind} policy");
        inert(reading, span(entry), None, why);
    }
}

fn of_policy(policy: &Entry, seat: Seat) -> Layer {
    let values = &policy.value;
    let mut layer = Layer::at(FORMAT.id, seat, span(policy));
    layer.reach = Reach::Service;
    layer.attempts = match values.entry("maxRetries") {
        None => Sourced::default_of(Attempts::Unbounded, "Dapr"),
        Some(entry) if entry.value.integer().is_some_and(|count| count < 0) => {
            Sourced::written(Attempts::Unbounded, entry.line)
        }
        Some(entry) => from_retries(entry),
    };
    let matching = values.entry("matching");
    layer.on = match matching {
        None => Sourced::default_of(Failures::EVERY, "Dapr"),
        Some(entry) => {
            let mut on = Failures::NONE;
            for (from, to) in ranges(&entry.value, "httpStatusCodes", &mut layer.words) {
                (from.max(100)..=to.min(599)).for_each(|status| on.extend_status(status));
            }
            for (from, to) in ranges(&entry.value, "gRPCStatusCodes", &mut layer.words) {
                let codes =
                    (from..=to.min(16)).filter_map(|code| Failure::of_grpc(&code.to_string()));
                on.add(codes.collect());
            }
            Sourced::written(on, entry.line)
        }
    };
    layer.delay = if is_exponential(values) {
        Delay {
            growth: Growth::Exponential,
            // `duration` counts only for the constant policy.
            base_ms: Some(Sourced::default_of(500.0, "Dapr")),
            factor: Some(1.5),
            cap_ms: ms_at(values, "maxInterval", 0.0)
                .or(Some(Sourced::default_of(60_000.0, "Dapr"))),
            jitter: true,
        }
    } else {
        let written = ms_at(values, "duration", 0.0);
        Delay {
            growth: Growth::Constant,
            base_ms: written.or(Some(Sourced::default_of(5000.0, "Dapr"))),
            factor: None,
            cap_ms: None,
            jitter: false,
        }
    };
    layer
}

/// Codes and ranges of codes.
fn ranges(matching: &Node, key: &str, words: &mut Vec<String>) -> Vec<(u32, u32)> {
    let listed = matching.loose(key).map(crate::units::words).unwrap_or_default();
    let pair = |word: &String| {
        let (from, to) = word.split_once('-').unwrap_or((word, word));
        Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
    };
    let all = listed.iter().filter_map(pair).collect();
    words.extend(listed);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(text: &str) -> Reading {
        format::read("d.yaml", &parse(Syntax::Yaml, text).0)
    }

    const HEAD: &str = "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nmetadata: {name: shop}\n";

    #[test]
    fn a_target_that_says_everything() {
        let reading = of(&format!(
            "{HEAD}spec:\n  policies:\n    timeouts: {{fast: 500ms}}\n    retries:\n      once: {{policy: exponential, maxInterval: 1s, maxRetries: 1, matching: {{httpStatusCodes: '429,502-504', gRPCStatusCodes: '14'}}}}\n  targets:\n    apps:\n      orders: {{timeout: fast, retry: once}}\n"
        ));
        let layer = &reading.layers[0];
        assert_eq!(layer.lines, [8, 8]);
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 8));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(500.0, 6)));
        assert_eq!(layer.delay.cap_ms, Some(Sourced::written(1000.0, 8)));
        assert_eq!(layer.callee, Some(Name::new("orders", None)));
        let mut on = Failures::GATEWAY;
        on.insert(Failure::TooMany);
        on.insert(Failure::GrpcUnavailable);
        assert_eq!(layer.on.value, on);
    }

    #[test]
    fn a_policy_that_says_nothing_has_no_end() {
        let reading = of(&format!(
            "{HEAD}spec:\n  policies: {{retries: {{p: {{}}}}}}\n  targets: {{components: {{store: {{outbound: {{retry: p}}}}}}}}\n"
        ));
        assert_eq!(reading.layers[0].attempts.value, Attempts::Unbounded);
        assert_eq!(reading.layers[0].delay.base_ms, Some(Sourced::default_of(5000.0, "Dapr")));
        assert_eq!(reading.layers[0].on.value, Failures::EVERY);
    }

    #[test]
    fn any_entry_removes_what_is_built_in() {
        let reading = of(&format!(
            "{HEAD}spec:\n  policies: {{timeouts: {{fast: 1s}}}}\n  targets: {{apps: {{orders: {{timeout: fast}}}}}}\n"
        ));
        assert_eq!(reading.layers[0].attempts.value, Attempts::Count(1));
        assert_eq!(reading.layers[0].attempt_timeout_ms, Some(Sourced::written(1000.0, 5)));
    }

    #[test]
    fn each_kind_of_policy_has_its_own_key() {
        let of = |policy: &str| {
            let text = format!(
                "{HEAD}spec:\n  policies: {{retries: {{p: {policy}}}}}\n  targets: {{apps: {{a: {{retry: p}}}}}}\n"
            );
            of(&text)
        };
        let inert = |reading: &Reading| {
            reading.facts.iter().any(|fact| matches!(fact.what, What::Inert { .. }))
        };
        let exponential = of("{policy: exponential, duration: 50ms}");
        assert!(inert(&exponential));
        assert_eq!(exponential.layers[0].delay.base_ms.as_ref().map(|ms| ms.value), Some(500.0));
        assert!(inert(&of("{maxInterval: 1s}")));
        assert!(!inert(&of("{duration: 1s}")));
    }

    #[test]
    fn policies_apply_by_their_names() {
        let reading = of(
            "spec:\n  policies:\n    retries:\n      DefaultRetryPolicy: {policy: constant, duration: 1s, maxRetries: -1}\n      DaprBuiltInServiceRetries: {maxRetries: 0}\n      other: {maxRetries: 3}\n",
        );
        assert_eq!(reading.layers[0].reach, Reach::Everything);
        assert_eq!(reading.layers[0].attempts, Sourced::written(Attempts::Unbounded, 4));
        assert_eq!(reading.layers[1].attempts.value, Attempts::Count(4));
        let inert = |fact: &&crate::reading::Fact| matches!(fact.what, What::Inert { .. });
        assert_eq!(reading.facts.iter().filter(inert).count(), 2);
    }

    #[test]
    fn an_annotation_shows_that_dapr_is_there() {
        let reading = of(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {annotations: {dapr.io/enabled: 'true', dapr.io/app-id: front}}}}\n",
        );
        assert!(reading.facts.iter().any(|fact| fact.what == What::Mesh { format: FORMAT.id }));
        assert!(reading.services.iter().any(|one| one.name.service == "front"));
    }
}
