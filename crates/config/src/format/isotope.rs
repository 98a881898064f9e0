//! Service graphs of Isotope (istio/tools): services whose scripts say whom they call, one after
//! another or together, and how often.

use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::name::Name;
use crate::reading::{Call, Reading, Service};

/// Graphs of mock services.
pub const FORMAT: Format = Format {
    id: "isotope",
    title: "Isotope service graph",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        let services = document.root.get("services").map_or(&[][..], Node::items);
        let named = |service: &Node| service.get("name").is_some();
        let graph = |service: &Node| {
            service.get("isEntrypoint").is_some()
                || service.get("script").is_some_and(|script| !script.items().is_empty())
        };
        !services.is_empty() && services.iter().all(named) && services.iter().any(graph)
    },
    read,
};

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let defaults = document.root.get("defaults");
    for service in document.root.get("services").map_or(&[][..], Node::items) {
        let Some(name) = service.get("name").and_then(Node::text) else { continue };
        let name = Name::new(name, service.get("namespace").and_then(Node::text));
        let of = |key: &str| service.get(key).or_else(|| defaults.and_then(|all| all.get(key)));
        let replicas = of("numReplicas").and_then(Node::integer);
        reading.services.push(Service {
            name: name.clone(),
            line: service.lines[0],
            labels: Vec::new(),
            replicas: replicas.and_then(|count| u32::try_from(count).ok()),
            images: Vec::new(),
        });
        if service.get("isEntrypoint").and_then(Node::truth) == Some(true) {
            reading.calls.push(call(None, name.clone(), service.lines[0], 1.0));
        }
        for step in of("script").map_or(&[][..], Node::items) {
            // A list in the list: calls that are made together.
            let together =
                if step.items().is_empty() { std::slice::from_ref(step) } else { step.items() };
            for command in together {
                let Some(to) = command.get("call") else { continue };
                let service = to.text().or_else(|| to.get("service")?.text());
                let Some(callee) = service.map(|service| Name::new(service, None)) else {
                    continue;
                };
                // In percent; without one, and with 0, the call is always made.
                let chance = to.get("probability").and_then(Node::number).filter(|p| *p > 0.0);
                let count = chance.map_or(1.0, |percent| (percent / 100.0).min(1.0));
                reading.calls.push(call(Some(name.clone()), callee, to.lines[0], count));
            }
        }
    }
}

fn call(caller: Option<Name>, callee: Name, line: u32, count: f64) -> Call {
    let evidence = if caller.is_some() { "script" } else { "isEntrypoint" }.to_owned();
    Call { caller, callee, line, evidence, count: Some(count), protocol: Some("http") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    #[test]
    fn a_script_says_whom_and_how_often() {
        let text = "defaults: {numReplicas: 2}\nservices:\n- name: shop\n  isEntrypoint: true\n  script:\n  - call: stock\n  - - call: {service: price, probability: 25}\n    - call: stock\n  - sleep: 10ms\n- name: stock\n- name: price\n";
        let reading = format::read("topology.yaml", &parse(Syntax::Yaml, text).0);
        assert_eq!(reading.formats, ["isotope"]);
        assert_eq!(reading.services[1].replicas, Some(2));
        let calls: Vec<_> = reading
            .calls
            .iter()
            .map(|call| (call.caller.is_some(), call.callee.to_string(), call.line, call.count))
            .collect();
        let named = |from, to: &str, line, count| (from, to.to_owned(), line, Some(count));
        assert_eq!(
            calls,
            [
                named(false, "shop", 3, 1.0),
                named(true, "stock", 6, 1.0),
                named(true, "price", 7, 0.25),
                named(true, "stock", 8, 1.0),
            ]
        );
    }

    #[test]
    fn a_compose_file_is_none() {
        let text = "services: {web: {image: a}}\n";
        assert!(format::read("x.yaml", &parse(Syntax::Yaml, text).0).calls.is_empty());
    }
}
