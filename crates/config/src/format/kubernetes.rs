//! Objects of Kubernetes itself: services, workloads and whom their environment names, entry
//! points, health checks and autoscaling.

use crate::document::{Document, Node, Syntax};
use crate::format::parts::{Object, fact, group, ingress_backends, span};
use crate::format::{Format, peers};
use crate::name::Name;
use crate::reading::{Call, Reading, Service, What, image_name};

/// Services, workloads, Ingresses, autoscalers.
pub const FORMAT: Format = Format {
    id: "kubernetes",
    title: "Kubernetes manifests",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        group(document).is_some_and(|group| {
            let kind = Object::of(document).kind();
            KINDS.iter().any(|(of, kinds)| *of == group && kinds.contains(&kind))
        })
    },
    read,
};

/// Kinds by their groups.
const KINDS: &[(&str, &[&str])] = &[
    ("", &["Service", "Pod"]),
    ("apps", &["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]),
    ("batch", &["Job", "CronJob"]),
    ("networking.k8s.io", &["Ingress"]),
    ("extensions", &["Ingress"]),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("argoproj.io", &["Rollout"]),
    ("serving.knative.dev", &["Service"]),
];

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    match (object.kind(), group(document)) {
        ("Service", Some("")) => service(&object, reading),
        ("HorizontalPodAutoscaler", _) => autoscaler(&object, reading),
        ("Ingress", _) => {
            for (callee, line) in ingress_backends(&object) {
                crate::format::parts::call(reading, None, callee, line, "Ingress");
            }
        }
        _ => workload(&object, reading),
    }
}

fn labels(node: Option<&Node>) -> Vec<(String, String)> {
    let entries = node.map_or(&[][..], Node::entries).iter();
    entries.filter_map(|one| Some((one.key.to_string(), one.value.text()?.to_owned()))).collect()
}

fn service(object: &Object<'_>, reading: &mut Reading) {
    let Some(name) = object.own() else { return };
    let line = object.root.below("metadata").map_or(object.root.lines[0], |meta| meta.lines[0]);
    let labels = labels(object.root.below("spec").and_then(|spec| spec.get("selector")));
    reading.services.push(Service { name, line, labels, replicas: None, images: vec![] });
}

fn workload(object: &Object<'_>, reading: &mut Reading) {
    let Some(name) = object.own() else { return };
    let root = object.root;
    let paths = ["spec.jobTemplate.spec.template", "spec.template"];
    let pod = paths.iter().find_map(|path| root.below(path)).unwrap_or(root);
    let containers = pod.below("spec.containers").map_or(&[][..], Node::items);
    let line = root.below("metadata").map_or(root.lines[0], |meta| meta.lines[0]);
    let replicas = root.below("spec.replicas").and_then(Node::integer);
    let replicas = match object.kind() {
        "Deployment" | "StatefulSet" | "ReplicaSet" | "Rollout" => Some(replicas.unwrap_or(1)),
        _ => replicas,
    };
    reading.services.push(Service {
        name: name.clone(),
        line,
        labels: labels(pod.below("metadata").and_then(|meta| meta.get("labels"))),
        replicas: replicas.and_then(|count| u32::try_from(count).ok()),
        images: containers.iter().filter_map(|one| image_name(one.text_at("image")?)).collect(),
    });
    for container in containers {
        environment(container, &name, object, reading);
        for key in ["command", "args"] {
            for argument in container.get(key).map_or(&[][..], Node::items) {
                let Some(text) = argument.text() else { continue };
                if let Some(peer) = peers::of_argument(text, object.namespace) {
                    let flag = text.split('=').next().unwrap_or_default();
                    add(&name, peer, argument.lines[0], format!("argument {flag}"), reading);
                }
            }
        }
        for (key, kind) in [
            ("livenessProbe", "liveness"),
            ("readinessProbe", "readiness"),
            ("startupProbe", "startup"),
        ] {
            if let Some(entry) = container.entry(key) {
                let seconds = entry.value.get("timeoutSeconds").and_then(Node::number);
                let timeout_ms = Some(seconds.unwrap_or(1.0) * 1000.0);
                let what = What::HealthCheck { kind, timeout_ms };
                fact(reading, span(entry), Some(name.clone()), what);
            }
        }
    }
}

fn environment(container: &Node, name: &Name, object: &Object<'_>, reading: &mut Reading) {
    for variable in container.get("env").map_or(&[][..], Node::items) {
        let Some(key) = variable.get("name").and_then(Node::text) else { continue };
        let Some(entry) = variable.entry("value") else { continue };
        if let Some(expression) = entry.value.open() {
            reading.open.push((entry.line, format!("environment {key}: {expression}")));
        }
        let Some(value) = entry.value.text() else { continue };
        if let Some(peer) = peers::of_variable(key, value, object.namespace) {
            add(name, peer, entry.line, format!("environment {key}"), reading);
        }
    }
}

fn add(caller: &Name, peer: peers::Peer, line: u32, evidence: String, reading: &mut Reading) {
    let twice = reading
        .calls
        .iter()
        .any(|call| call.caller.as_ref() == Some(caller) && call.callee == peer.name);
    if *caller == peer.name || twice {
        return;
    }
    reading.calls.push(Call {
        caller: Some(caller.clone()),
        callee: peer.name,
        line,
        evidence,
        count: None,
        protocol: peer.protocol,
    });
}

fn autoscaler(object: &Object<'_>, reading: &mut Reading) {
    let Some(spec) = object.root.get("spec") else { return };
    let about = spec.text_at("scaleTargetRef.name").map(|name| Name::new(name, object.namespace));
    let first = spec.get("metrics").and_then(|metrics| metrics.items().first());
    let metric = first.and_then(|metric| {
        let of_pods =
            ["resource.name", "pods.metric.name", "object.metric.name", "external.metric.name"];
        of_pods.iter().find_map(|path| metric.text_at(path)).map(str::to_owned)
    });
    let old = spec.get("targetCPUUtilizationPercentage").map(|_| "cpu".to_owned());
    fact(reading, spec.lines, about, What::Autoscaling { metric: metric.or(old) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(text: &str) -> Reading {
        format::read("k.yaml", &parse(Syntax::Yaml, text).0)
    }

    #[test]
    fn a_workload_calls_whom_its_environment_names() {
        let reading = of(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  replicas: 3\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: web\n        args: ['--search=http://search.find']\n        env:\n        - {name: ORDERS_SERVICE_ADDR, value: 'orders:8080'}\n        - {name: ORDERS_URL, value: 'http://orders'}\n        - {name: MODE, value: fast}\n        readinessProbe: {timeoutSeconds: 2}\n        livenessProbe: {httpGet: {path: /}}\n",
        );
        let web = Name::new("web", Some("shop"));
        assert_eq!(reading.services[0].name, web);
        assert_eq!(reading.services[0].replicas, Some(3));
        assert_eq!(reading.services[0].labels, [("app".to_owned(), "web".to_owned())]);
        let calls: Vec<_> = reading
            .calls
            .iter()
            .map(|call| (call.callee.to_string(), call.line, call.evidence.as_str()))
            .collect();
        assert_eq!(
            calls,
            [
                ("orders.shop".to_owned(), 13, "environment ORDERS_SERVICE_ADDR"),
                ("search.find".to_owned(), 11, "argument --search"),
            ]
        );
        let checks: Vec<_> = reading.facts.iter().map(|fact| &fact.what).collect();
        assert_eq!(
            checks,
            [
                &What::HealthCheck { kind: "liveness", timeout_ms: Some(1000.0) },
                &What::HealthCheck { kind: "readiness", timeout_ms: Some(2000.0) },
            ]
        );
    }

    #[test]
    fn a_service_has_the_labels_that_select_it() {
        let reading = of(
            "apiVersion: v1\nkind: Service\nmetadata: {name: orders}\nspec: {selector: {app: orders}}\n",
        );
        assert_eq!(reading.services[0].labels, [("app".to_owned(), "orders".to_owned())]);
        assert!(reading.calls.is_empty());
    }

    #[test]
    fn an_ingress_is_where_calls_come_in() {
        let reading = of(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i, namespace: shop}\nspec:\n  rules:\n  - http:\n      paths:\n      - path: /\n        backend: {service: {name: web, port: {number: 80}}}\n",
        );
        assert_eq!(reading.calls[0].caller, None);
        assert_eq!(reading.calls[0].callee, Name::new("web", Some("shop")));
    }

    #[test]
    fn an_autoscaler_looks_at_something() {
        let reading = of(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec:\n  scaleTargetRef: {name: web}\n  metrics: [{type: Resource, resource: {name: cpu}}]\n",
        );
        assert_eq!(reading.facts[0].what, What::Autoscaling { metric: Some("cpu".to_owned()) });
    }
}
