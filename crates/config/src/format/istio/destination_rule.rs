//! DestinationRule: what limits calls and retries to a host.

use super::{is_kind, mesh_seen};
use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::format::envoy::cluster::{limit, whole};
use crate::format::parts::{Object, fact, inert, span};
use crate::layer::Budget;
use crate::name::Name;
use crate::reading::{Reading, What};

/// DestinationRule.
pub const FORMAT: Format = Format {
    id: "istio-destinationrule",
    title: "Istio DestinationRule",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| is_kind(document, "networking.istio.io", "DestinationRule"),
    read,
};

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let Some(spec) = object.root.get("spec") else { return };
    mesh_seen(spec.lines[0], reading);
    let about = spec.text_at("host").and_then(|host| object.host(host));
    if let Some(policy) = spec.get("trafficPolicy") {
        with_ports(policy, about.as_ref(), None, reading);
    }
    for subset in spec.get("subsets").map_or(&[][..], Node::items) {
        if let Some(policy) = subset.get("trafficPolicy") {
            with_ports(policy, about.as_ref(), subset.text_at("name"), reading);
        }
    }
}

fn with_ports(policy: &Node, about: Option<&Name>, part: Option<&str>, reading: &mut Reading) {
    traffic_policy(policy, about, part, reading);
    for port in policy.get("portLevelSettings").map_or(&[][..], Node::items) {
        let number = port.text_at("port.number");
        traffic_policy(port, about, part.or(number), reading);
    }
}

/// Reads a traffic policy; `about` is `None` for the defaults of a mesh.
pub(crate) fn traffic_policy(
    policy: &Node,
    about: Option<&Name>,
    part: Option<&str>,
    reading: &mut Reading,
) {
    let mut add = |lines, what| {
        let what = match part {
            Some(part) => What::Part { part: part.to_owned(), what: Box::new(what) },
            None => what,
        };
        fact(reading, lines, about.cloned(), what);
    };
    let http = policy.below("connectionPool.http");
    let number = |key: &str| {
        http.and_then(|http| http.loose(key)).and_then(Node::number).filter(|number| *number > 0.0)
    };
    let (active, waiting) = (number("http2MaxRequests"), number("http1MaxPendingRequests"));
    if let Some(http) = http.filter(|_| active.is_some() || waiting.is_some()) {
        let what =
            What::Requests { active: active.and_then(limit), waiting: waiting.and_then(limit) };
        add(http.lines, what);
    }
    let most = http.and_then(|http| http.loose_entry("maxRetries"));
    let budget = policy.loose_entry("retryBudget");
    if let Some(entry) = budget {
        let number = |key: &str| entry.value.loose(key).and_then(Node::number);
        let what = What::Retries(Budget::ActiveShare {
            percent: number("percent").unwrap_or(20.0),
            min_concurrent: whole(number("minRetryConcurrency").unwrap_or(3.0)),
        });
        add(span(entry), what);
    } else if let Some((entry, number)) = most
        .and_then(|entry| Some((entry, entry.value.number()?)))
        .filter(|(_, number)| *number > 0.0)
    {
        let limit = limit(number).map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
        add(span(entry), What::Retries(Budget::Concurrent { limit }));
    }
    if let Some(entry) = policy.loose_entry("outlierDetection") {
        let number = |key: &str| entry.value.loose(key).and_then(Node::number);
        let what = What::Ejection {
            max_percent: Some(number("maxEjectionPercent").unwrap_or(10.0)),
            // Below this share Istio balances over all of them, as Envoy's panic does.
            panic_percent: Some(number("minHealthPercent").unwrap_or(0.0)),
        };
        add(span(entry), what);
    }
    if let Some(entry) = most.filter(|_| budget.is_some()) {
        let why = "maxRetries beside retryBudget: the budget replaces it".to_owned();
        inert(reading, span(entry), about.cloned(), why);
    }
}
