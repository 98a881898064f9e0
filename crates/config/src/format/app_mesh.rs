//! AWS App Mesh: routes as the API, CloudFormation and Kubernetes write them.

use crate::document::{Document, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::envoy::vocabulary::conditions;
use crate::format::parts::{
    drop_useless_attempt_timeout, entry_below, envoy_delay, fact, from_retries, group, inert, span,
};
use crate::layer::{Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Reading, What};
use crate::units::words;

/// Routes of App Mesh.
pub const FORMAT: Format = Format {
    id: "app-mesh",
    title: "AWS App Mesh",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| !specs(document).is_empty(),
    read,
};

const ROUTES: [&str; 4] = ["httpRoute", "http2Route", "grpcRoute", "tcpRoute"];

/// The specifications of routes in a document.
fn specs(document: &Document) -> Vec<&Node> {
    let root = &document.root;
    match group(document) {
        Some("appmesh.k8s.aws") => {
            let routes = root.below("spec.routes").map_or(&[][..], Node::items);
            return routes.iter().collect();
        }
        Some(_) => return Vec::new(),
        None => {}
    }
    if root.get("meshName").is_some() || root.get("virtualRouterName").is_some() {
        return root.get("spec").into_iter().collect();
    }
    let resources = root.get("Resources").map_or(&[][..], Node::entries).iter();
    let ours = resources.filter(|one| one.value.text_at("Type") == Some("AWS::AppMesh::Route"));
    ours.filter_map(|one| one.value.below("Properties.Spec")).collect()
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    for spec in specs(document) {
        for key in ROUTES {
            if let Some(route) = spec.loose(key) {
                of_route(route, reading);
            }
        }
    }
}

/// A duration `{unit, value}`.
fn pair(node: Option<&Node>) -> Option<Sourced<f64>> {
    let node = node?;
    let value = node.loose("value")?;
    let unit = if node.text_at("unit") == Some("s") { 1000.0 } else { 1.0 };
    Some(Sourced::written(value.number()? * unit, node.lines[0])).filter(|ms| ms.value > 0.0)
}

fn of_route(route: &Node, reading: &mut Reading) {
    let targets = route.below("action.weightedTargets").map_or(&[][..], Node::items);
    let name = |one: &Node| {
        let name = one.text_at("virtualNode").or(one.text_at("virtualNodeRef.name"))?;
        Some(Name::new(name, one.text_at("virtualNodeRef.namespace")))
    };
    let callees: Vec<_> = targets.iter().map(name).collect();
    let overall = pair(route.below("timeout.perRequest"));
    let policy = route.loose_entry("retryPolicy");
    for callee in if callees.is_empty() { vec![None] } else { callees } {
        let Some(entry) = policy else {
            if let Some(ms) = &overall {
                let lines = route.loose("timeout").map_or(route.lines, |node| node.lines);
                let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
                fact(reading, lines, callee, what);
            }
            continue;
        };
        let mut layer = Layer::at(FORMAT.id, Seat::Sidecar, span(entry));
        layer.callee = callee;
        layer.reach = Reach::Route;
        let path = ["match.prefix", "match.path.exact", "match.serviceName"];
        layer.route = path.iter().find_map(|path| route.text_at(path)).map(str::to_owned);
        if let Some(count) = entry_below(&entry.value, "maxRetries") {
            layer.attempts = from_retries(count);
        }
        layer.on = Sourced::written(events(&entry.value, &mut layer.words), entry.line);
        if layer.on.value.is_empty() {
            let why = "a retry policy without events: nothing is retried".to_owned();
            inert(reading, layer.lines, layer.callee.clone(), why);
        }
        layer.attempt_timeout_ms = pair(entry.value.loose("perRetryTimeout"));
        layer.timeout_ms = overall.clone().or(Some(Sourced::default_of(15_000.0, "App Mesh")));
        layer.delay = envoy_delay(None, None, "Envoy");
        drop_useless_attempt_timeout(&mut layer, reading);
        reading.layers.push(layer);
    }
}

fn events(policy: &Node, words_of: &mut Vec<String>) -> Failures {
    let mut on = Failures::NONE;
    for key in ["httpRetryEvents", "tcpRetryEvents", "grpcRetryEvents"] {
        let events = policy.loose(key).map(words).unwrap_or_default();
        for event in &events {
            match event.as_str() {
                // Both also stand for a reset.
                "server-error" => on.add(Failures::SERVER),
                "gateway-error" => on.add(Failures::GATEWAY),
                "client-error" => on.insert(Failure::Conflict),
                "stream-error" => on.insert(Failure::Refused),
                "connection-error" => on.insert(Failure::Connect),
                other => on.add(conditions(&[other], &[], false).on),
            }
            if matches!(event.as_str(), "server-error" | "gateway-error") {
                on.add(Failures::of(&[Failure::Reset, Failure::AttemptTimeout]));
            }
        }
        words_of.extend(events);
    }
    on
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::{Attempts, format};

    const ROUTE: &str = r#"{"match": {"prefix": "/"},
  "action": {"weightedTargets": [{"virtualNode": "orders", "weight": 1}]},
  "retryPolicy": {"maxRetries": 1, "perRetryTimeout": {"unit": "ms", "value": 500},
    "httpRetryEvents": ["gateway-error"], "tcpRetryEvents": ["connection-error"]},
  "timeout": {"perRequest": {"unit": "s", "value": 2}}}"#;

    #[test]
    fn a_route_that_says_everything() {
        let text = format!("{{\"meshName\": \"shop\", \"spec\": {{\"httpRoute\": {ROUTE}}}}}");
        let reading = format::read("a.json", &parse(Syntax::Json, &text).0);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 3));
        assert_eq!(layer.lines, [3, 4]);
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(500.0, 3)));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 5)));
        assert_eq!(layer.callee, Some(Name::new("orders", None)));
        assert!(layer.on.value.contains(Failure::Connect));
        assert!(!layer.on.value.contains(Failure::ServerError));
    }

    #[test]
    fn templates_and_objects_say_the_same() {
        let text = "Resources:\n  R:\n    Type: AWS::AppMesh::Route\n    Properties:\n      Spec:\n        HttpRoute:\n          Action: {WeightedTargets: [{VirtualNode: orders, Weight: 1}]}\n          RetryPolicy: {MaxRetries: 2, HttpRetryEvents: [server-error], PerRetryTimeout: {Unit: s, Value: 1}}\n";
        let reading = format::read("a.yaml", &parse(Syntax::Yaml, text).0);
        assert_eq!(reading.layers[0].attempts.value, Attempts::Count(3));
        let text = "apiVersion: appmesh.k8s.aws/v1beta2\nkind: VirtualRouter\nmetadata: {name: r}\nspec:\n  routes:\n  - grpcRoute:\n      action: {weightedTargets: [{virtualNodeRef: {name: orders}}]}\n      retryPolicy: {maxRetries: 4, grpcRetryEvents: [unavailable]}\n  - httpRoute: {action: {weightedTargets: []}}\n";
        let reading = format::read("a.yaml", &parse(Syntax::Yaml, text).0);
        assert_eq!(reading.layers.len(), 1);
        assert_eq!(reading.layers[0].attempts.value, Attempts::Count(5));
    }
}
