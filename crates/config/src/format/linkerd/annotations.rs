//! `retry.linkerd.io/…` and `timeout.linkerd.io/…` on a Service, an HTTPRoute or a GRPCRoute, and
//! the local rate limit.

use super::WHO;
use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::gateway_api::headers_of;
use crate::format::parts::{Object, fact, group, inert, ms_at, positive};
use crate::layer::{Attempts, Delay, Growth, Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Reading, What};
use crate::units::duration_of;

/// Annotations of Linkerd 2.16 and later.
pub const FORMAT: Format = Format {
    id: "linkerd-annotations",
    title: "Linkerd annotations",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        group(document).is_some_and(|group| match Object::of(document).kind() {
            "HTTPLocalRateLimitPolicy" => group == "policy.linkerd.io",
            "Service" | "HTTPRoute" | "GRPCRoute" => {
                Object::of(document).annotations().iter().any(|entry| is_ours(&entry.key))
            }
            _ => false,
        })
    },
    read,
};

/// The beginnings of the annotations that matter here.
const OURS: [&str; 3] = ["retry.linkerd.io/", "timeout.linkerd.io/", "balancer.linkerd.io/"];

fn is_ours(key: &str) -> bool {
    OURS.iter().any(|prefix| key.starts_with(prefix))
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    if object.kind() == "HTTPLocalRateLimitPolicy" {
        let per_s = object.root.below("spec.total.requestsPerSecond").and_then(Node::number);
        let lines = object.root.get("spec").map_or(object.root.lines, |spec| spec.lines);
        fact(reading, lines, None, What::RateLimit { per_s, status: Some(429) });
        return;
    }
    let route = object.kind() != "Service";
    let callees = if route { parents(&object) } else { object.own().into_iter().collect() };
    for callee in callees {
        annotations(&object, &callee, route, reading);
    }
}

/// The services that a route is for.
fn parents(object: &Object<'_>) -> Vec<Name> {
    let parents = object.root.below("spec.parentRefs").map_or(&[][..], Node::items).iter();
    let services = parents.filter(|parent| parent.text_at("kind") == Some("Service"));
    services.filter_map(|parent| object.reference(parent)).collect()
}

fn annotations(object: &Object<'_>, callee: &Name, route: bool, reading: &mut Reading) {
    let of = |key: &str| object.annotation(key);
    let retry =
        ["http", "grpc", "limit", "timeout"].map(|key| of(&format!("retry.linkerd.io/{key}")));
    let request = of("timeout.linkerd.io/request");
    let overall = request
        .and_then(|entry| Some(Sourced::written(duration_of(&entry.value, 0.0)?, entry.line)));
    // The route's own timeout counts where no annotation says one.
    let rule = object.root.below("spec.rules").and_then(|rules| rules.items().first());
    let of_rule = || positive(ms_at(rule.filter(|_| route)?, "timeouts.request", 0.0));
    let overall = overall.or_else(of_rule);
    if let Some(entry) = of("balancer.linkerd.io/failure-accrual") {
        let what = What::Ejection { max_percent: None, panic_percent: None };
        fact(reading, [entry.line, entry.line], Some(callee.clone()), what);
    }
    let lines: Vec<_> = retry.iter().flatten().map(|entry| entry.line).collect();
    let (Some(first), Some(last)) = (lines.iter().min(), lines.iter().max()) else {
        if let (Some(ms), Some(entry)) = (overall, request) {
            let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
            fact(reading, [entry.line, entry.line], Some(callee.clone()), what);
        }
        return;
    };
    if object.root.text_at("spec.clusterIP") == Some("None") {
        let why = "Linkerd applies no policy to calls to a headless Service".to_owned();
        inert(reading, [*first, *last], Some(callee.clone()), why);
        return;
    }
    let [http, grpc, limit, timeout] = retry;
    let mut layer = Layer::at(FORMAT.id, Seat::Sidecar, [*first, *last]);
    layer.callee = Some(callee.clone());
    layer.reach = if route { Reach::Route } else { Reach::Service };
    layer.route = if route { object.name.map(str::to_owned) } else { None };
    layer.headers = rule.filter(|_| route).map(headers_of).unwrap_or_default();
    layer.timeout_ms = overall;
    layer.attempt_timeout_ms = timeout
        .and_then(|entry| Some(Sourced::written(duration_of(&entry.value, 0.0)?, entry.line)));
    // Without it the time to an answer ends an attempt, which is then not retried.
    let answer = of("timeout.linkerd.io/response");
    // The proxy also retries where it finds no endpoint at all.
    let mut on = Failures::of(&[Failure::Refused]);
    if layer.attempt_timeout_ms.is_some() {
        on.insert(Failure::AttemptTimeout);
        layer.notes.push("the last attempt has no timeout of its own".to_owned());
    }
    layer.attempt_timeout_ms = layer.attempt_timeout_ms.or_else(|| {
        let entry = answer?;
        Some(Sourced::written(duration_of(&entry.value, 0.0)?, entry.line))
    });
    let zero = limit.is_some_and(|entry| entry.value.integer() == Some(0));
    let numbers =
        limit.filter(|entry| entry.value.text().is_some_and(|n| n.parse::<u16>().is_err()));
    let times = timeout.filter(|entry| duration_of(&entry.value, 0.0).is_none());
    let mut wrong: Vec<&Entry> = numbers.into_iter().chain(times).collect();
    for (entry, parse) in [(http, statuses as fn(&str) -> Option<Failures>), (grpc, codes)] {
        let Some((entry, text)) = entry.and_then(|entry| Some((entry, entry.value.text()?))) else {
            continue;
        };
        layer.words.extend(text.split(',').map(str::to_owned));
        match parse(text) {
            Some(more) => on.add(more),
            None => wrong.push(entry),
        }
    }
    // One that cannot be read takes all the others with it.
    for entry in &wrong {
        let text = entry.value.text().unwrap_or_default();
        let why = format!("{} `{text}` cannot be read: Linkerd retries nothing here", entry.key);
        inert(reading, [entry.line, entry.line], Some(callee.clone()), why);
    }
    let only_zero = zero && http.or(grpc).or(timeout).is_none();
    if !wrong.is_empty() || only_zero {
        return;
    }
    layer.on = Sourced::written(on, *first);
    layer.attempts = attempts(limit, &mut layer.notes);
    layer.delay = Delay {
        growth: Growth::Exponential,
        base_ms: Some(Sourced::default_of(25.0, WHO)),
        factor: Some(2.0),
        cap_ms: Some(Sourced::default_of(250.0, WHO)),
        jitter: true,
    };
    reading.layers.push(layer);
}

/// One retry, unless a number says otherwise; zero says nothing.
fn attempts(limit: Option<&Entry>, notes: &mut Vec<String>) -> Sourced<Attempts> {
    let one = Sourced::default_of(Attempts::Count(2), WHO);
    let Some(entry) = limit else { return one };
    if entry.value.integer() == Some(0) {
        notes.push("a limit of 0 is taken for none said: one retry".to_owned());
        return one;
    }
    crate::format::parts::from_retries(entry)
}

/// Codes, ranges, `5xx` and `gateway-error`, without any blank.
fn statuses(text: &str) -> Option<Failures> {
    let mut on = Failures::NONE;
    for word in text.split(',') {
        match word.to_ascii_lowercase().as_str() {
            "5xx" => on.add(Failures::SERVER),
            "gateway-error" => on.add(Failures::GATEWAY),
            _ => {
                let (from, to) = word.split_once('-').unwrap_or((word, word));
                let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
                if from < 100 || to > 599 || from > to {
                    return None;
                }
                (from..=to).for_each(|status| on.extend_status(status));
            }
        }
    }
    Some(on)
}

fn codes(text: &str) -> Option<Failures> {
    text.split(',').map(|word| word.parse::<u32>().err().and(Failure::of_grpc(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(text: &str) -> Reading {
        format::read("l.yaml", &parse(Syntax::Yaml, text).0)
    }

    fn service(annotations: &str) -> Reading {
        of(&format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: inventory\n  namespace: shop\n  annotations:\n{annotations}"
        ))
    }

    #[test]
    fn annotations_that_say_everything() {
        let reading = service(
            "    retry.linkerd.io/http: gateway-error,500-501\n    retry.linkerd.io/grpc: cancelled\n    retry.linkerd.io/limit: '3'\n    retry.linkerd.io/timeout: 300ms\n    timeout.linkerd.io/request: 1s\n    balancer.linkerd.io/failure-accrual: consecutive\n",
        );
        let layer = &reading.layers[0];
        assert_eq!(layer.lines, [7, 10]);
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(4), 9));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(300.0, 10)));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(1000.0, 11)));
        let mut on = Failures::SERVER;
        on.add(Failures::of(&[Failure::Refused, Failure::AttemptTimeout, Failure::Cancelled]));
        assert_eq!(layer.on.value, on);
        assert_eq!(layer.callee, Some(Name::new("inventory", Some("shop"))));
    }

    #[test]
    fn one_annotation_gives_one_retry_and_zero_is_none_said() {
        let reading = service("    retry.linkerd.io/http: 5xx\n");
        assert_eq!(reading.layers[0].attempts, Sourced::default_of(Attempts::Count(2), WHO));
        let zero = |more: &str| {
            let text = format!("    retry.linkerd.io/limit: '0'\n{more}");
            service(&text).layers.first().map(|layer| layer.attempts.value.clone())
        };
        assert_eq!(zero(""), None);
        assert_eq!(zero("    retry.linkerd.io/timeout: 1s\n"), Some(Attempts::Count(2)));
        assert!(service("    other: x\n").layers.is_empty());
    }

    #[test]
    fn what_cannot_be_read_takes_the_rest_with_it() {
        for wrong in
            ["http: '500, 503'", "http: '600'", "http: 503-500", "grpc: '14'", "limit: many"]
        {
            let text = format!("    retry.linkerd.io/{wrong}\n    retry.linkerd.io/timeout: 1s\n");
            let reading = service(&text);
            assert!(matches!(reading.facts[0].what, What::Inert { .. }), "{wrong}");
            assert!(reading.layers.is_empty(), "{wrong}");
        }
        assert_eq!(service("    retry.linkerd.io/http: 5XX\n").layers.len(), 1);
    }

    #[test]
    fn a_route_speaks_for_the_service_it_belongs_to() {
        let reading = of(
            "apiVersion: policy.linkerd.io/v1beta3\nkind: HTTPRoute\nmetadata:\n  name: stock\n  namespace: shop\n  annotations: {retry.linkerd.io/limit: '2'}\nspec:\n  parentRefs: [{kind: Service, name: inventory}]\n  rules: [{timeouts: {request: 3s}}]\n",
        );
        assert_eq!(reading.layers[0].timeout_ms, Some(Sourced::written(3000.0, 9)));
        assert_eq!(reading.layers[0].callee, Some(Name::new("inventory", Some("shop"))));
        assert_eq!(reading.layers[0].reach, Reach::Route);
    }

    #[test]
    fn a_rate_limit_refuses_with_429() {
        let reading = of(
            "apiVersion: policy.linkerd.io/v1alpha1\nkind: HTTPLocalRateLimitPolicy\nmetadata: {name: l}\nspec:\n  total: {requestsPerSecond: 200}\n",
        );
        let what = What::RateLimit { per_s: Some(200.0), status: Some(429) };
        assert_eq!(reading.facts[0].what, what);
    }
}
