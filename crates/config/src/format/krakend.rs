//! KrakenD: no retries; timeouts, rate limits, breakers, and which backends an endpoint calls.

use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::format::parts::span;
use crate::format::shared::number;
use crate::name::Name;
use crate::reading::{Call, Fact, Reading, What};
use crate::units;

/// `krakend.json`.
pub const FORMAT: Format = Format {
    id: "krakend",
    title: "KrakenD",
    syntaxes: &[Syntax::Json, Syntax::Yaml, Syntax::Toml],
    is: |_, document| {
        let endpoints = document.root.get("endpoints").map(Node::items).unwrap_or_default();
        endpoints.iter().any(|one| one.get("endpoint").is_some() && one.get("backend").is_some())
    },
    read,
};

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    let whole = root.get("timeout").and_then(|time| units::duration_of(time, 0.0));
    for endpoint in root.get("endpoints").map(Node::items).unwrap_or_default() {
        extra(endpoint, None, reading);
        for backend in endpoint.get("backend").map(Node::items).unwrap_or_default() {
            let host = backend.entry("host").or(root.entry("host"));
            let first = host.and_then(|host| host.value.one_or_more().first());
            let callee = first.and_then(|host| Name::of_host(host.text()?, None));
            let line = backend.lines[0];
            if let Some(callee) = callee.clone() {
                let path = endpoint.get("endpoint").and_then(Node::text).unwrap_or_default();
                let evidence = format!("endpoint {path}");
                let protocol = Some("http");
                reading.calls.push(Call {
                    caller: None,
                    callee,
                    line,
                    evidence,
                    count: None,
                    protocol,
                });
            }
            extra(backend, callee, reading);
        }
        let own = endpoint.entry("timeout");
        let time = own.and_then(|time| units::duration_of(&time.value, 0.0)).or(whole);
        if let Some(overall_ms) = time {
            let lines = own.map_or([endpoint.lines[0]; 2], span);
            let what = What::Timeout { attempt_ms: None, overall_ms: Some(overall_ms) };
            reading.facts.push(Fact { lines, about: None, what });
        }
    }
}

fn extra(node: &Node, about: Option<Name>, reading: &mut Reading) {
    for entry in node.get("extra_config").map(Node::entries).unwrap_or_default() {
        let what = match &*entry.key {
            "qos/circuit-breaker" => What::Ejection { max_percent: None, panic_percent: None },
            "qos/ratelimit/router" | "qos/ratelimit/proxy" => {
                let status = if entry.key.ends_with("router") { 503 } else { 429 };
                What::RateLimit {
                    per_s: number(entry.value.entry("max_rate")),
                    status: Some(status),
                }
            }
            _ => continue,
        };
        reading.facts.push(Fact { lines: span(entry), about: about.clone(), what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::reading;

    #[test]
    fn what_is_written_is_read_and_nothing_is_retried() {
        let text = "{\"version\": 3, \"timeout\": \"2s\", \"endpoints\": [\n{\"endpoint\": \"/a\", \"timeout\": \"800ms\", \"backend\": [\n {\"host\": [\"http://orders:80\"], \"extra_config\": {\"qos/circuit-breaker\": {}}},\n {\"host\": [\"http://stock:80\"]}],\n \"extra_config\": {\"qos/ratelimit/router\": {\"max_rate\": 50}}}]}";
        let reading = reading("krakend.json", Syntax::Json, text);
        assert_eq!((reading.layers.len(), reading.calls.len()), (0, 2));
        assert_eq!(reading.facts[0].what, What::RateLimit { per_s: Some(50.0), status: Some(503) });
        assert_eq!(reading.facts[1].about, Some(Name::new("orders", None)));
        assert_eq!(
            reading.facts[2].what,
            What::Timeout { attempt_ms: None, overall_ms: Some(800.0) }
        );
    }
}
