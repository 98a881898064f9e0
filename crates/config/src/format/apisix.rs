//! APISIX: as many attempts as an upstream has nodes, if nobody says otherwise.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::parts::{Object, span};
use crate::format::shared::{Counted, attempts, maps, ms, ms_or, number};
use crate::format::{Format, is_object};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Fact, Reading, What};

/// Standalone files.
pub const FORMAT: Format = Format {
    id: "apisix",
    title: "APISIX",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |path, document| {
        let root = &document.root;
        let named = path.rsplit('/').next().is_some_and(|name| name.starts_with("apisix"));
        let shaped = |key: &str| {
            let items = root.get(key).map(Node::items).unwrap_or_default();
            items.iter().any(|item| {
                let upstream = item.get("upstream").unwrap_or(item);
                upstream.get("nodes").is_some() && (named || upstream.get("type").is_some())
            })
        };
        is_object(document, "apisix.apache.org", &["ApisixUpstream"])
            || root.get("apiVersion").is_none()
                && ["routes", "services", "upstreams"].into_iter().any(shaped)
    },
    read,
};

const WHO: &str = "APISIX";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    if let Some(entry) = root.below("spec").and_then(|spec| spec.entry("retries")) {
        // As many as endpoints where nobody writes it; how many those are is not told here.
        let mut layer = Layer::at(FORMAT.id, Seat::Gateway, span(entry));
        layer.callee = Object::at(root).own();
        layer.attempts = Sourced::written(attempts(&entry.value, Counted::Retries), entry.line);
        layer.on = Sourced::default_of(kinds(), WHO);
        layer.methods = Methods::Idempotent;
        let read = root.below("spec.timeout").and_then(|timeout| timeout.entry("read"));
        layer.attempt_timeout_ms = ms_or(read, 1000.0, 60_000.0, WHO);
        reading.layers.push(layer);
    }
    for key in ["routes", "services", "upstreams"] {
        for item in root.get(key).map(Node::items).unwrap_or_default() {
            let (upstream, within) = match item.entry("upstream") {
                Some(entry) => (&entry.value, entry.line),
                None if key == "upstreams" => (item, item.lines[0]),
                None => continue,
            };
            let name = ["name", "id", "uri"].into_iter().find_map(|key| item.get(key)?.text());
            put(name, upstream, within, reading);
        }
    }
    maps(root, &mut |map| {
        for entry in map.get("plugins").map(Node::entries).unwrap_or_default() {
            plugin(entry, reading);
        }
    });
}

fn kinds() -> Failures {
    Failures::of(&[Failure::Connect, Failure::Refused, Failure::Reset, Failure::AttemptTimeout])
}

fn put(name: Option<&str>, upstream: &Node, line: u32, reading: &mut Reading) {
    let Some(nodes) = upstream.entry("nodes") else { return };
    let by_map = nodes.value.entries().iter().map(|node| (node.key.to_string(), node.line));
    let by_list = nodes
        .value
        .items()
        .iter()
        .filter_map(|node| Some((node.get("host")?.text()?.to_owned(), node.lines[0])));
    let hosts: Vec<(String, u32)> = by_map.chain(by_list).collect();
    let callees: Vec<_> =
        hosts.iter().filter_map(|(host, line)| Some((Name::of_host(host, None)?, *line))).collect();
    for (callee, line) in &callees {
        reading.calls.push(Call {
            caller: None,
            callee: callee.clone(),
            line: *line,
            evidence: "upstream".into(),
            count: None,
            protocol: Some("http"),
        });
    }
    let retries = upstream.entry("retries");
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, retries.map_or([line, line], span));
    layer.reach = Reach::Route;
    layer.route = name.map(str::to_owned);
    layer.callee = match callees.as_slice() {
        [(callee, _), rest @ ..] if rest.iter().all(|(other, _)| other == callee) => {
            Some(callee.clone())
        }
        _ => None,
    };
    layer.implicit = retries.is_none();
    layer.attempts = match retries {
        Some(entry) => Sourced::written(attempts(&entry.value, Counted::Retries), entry.line),
        None => {
            let count = u32::try_from(hosts.len().max(1)).unwrap_or(u32::MAX);
            Sourced::default_of(Attempts::Count(count), WHO)
        }
    };
    layer.on = Sourced::default_of(kinds(), WHO);
    layer.methods = Methods::Idempotent;
    layer.timeout_ms = ms(upstream.entry("retry_timeout"), 1000.0).filter(|time| time.value > 0.0);
    let timeout = upstream.get("timeout");
    layer.attempt_timeout_ms = ms(timeout.and_then(|node| node.entry("read")), 1000.0)
        .or(Some(Sourced::default_of(60_000.0, WHO)));
    if layer.retries() || retries.is_some() {
        reading.layers.push(layer);
    }
    if let Some(entry) = upstream.entry("timeout") {
        let whole = ["connect", "send", "read"].iter().all(|key| entry.value.get(key).is_some());
        if !whole {
            let why = "`timeout` needs connect, send and read together".to_owned();
            reading.facts.push(Fact { lines: span(entry), about: None, what: What::Inert { why } });
        }
    }
}

fn plugin(entry: &Entry, reading: &mut Reading) {
    let config = &entry.value;
    let status = config.get("rejected_code").and_then(Node::integer);
    let status = status.and_then(|status| u32::try_from(status).ok()).or(Some(503));
    let what = match &*entry.key {
        "limit-req" => What::RateLimit { per_s: number(config.entry("rate")), status },
        "limit-count" => {
            let (count, window) =
                (number(config.entry("count")), number(config.entry("time_window")));
            let per_s = count.zip(window).map(|(count, window)| count / window);
            What::RateLimit { per_s: per_s.filter(|rate| rate.is_finite()), status }
        }
        "limit-conn" => {
            let active = number(config.entry("conn")).map(|most| most as u64);
            let waiting = number(config.entry("burst")).map(|most| most as u64);
            What::Requests { active, waiting }
        }
        "api-breaker" => What::Ejection { max_percent: None, panic_percent: None },
        _ => return,
    };
    reading.facts.push(Fact { lines: span(entry), about: None, what });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::{layers, reading};

    #[test]
    fn what_is_written_is_read() {
        let text = "routes:\n- uri: /orders/*\n  plugins: {limit-count: {count: 60, time_window: 60, rejected_code: 429}}\n  upstream:\n    type: roundrobin\n    nodes: {\"o1:8080\": 1, \"o2:8080\": 1}\n    retries: 2\n    retry_timeout: 2\n    timeout: {connect: 0.25, read: 1}\n#END\n";
        let reading = reading("apisix.yaml", Syntax::Yaml, text);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(3), 7));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 8)));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(1000.0, 9)));
        assert_eq!(reading.calls.len(), 2);
        let inert = |fact: &Fact| matches!(fact.what, What::Inert { .. });
        assert!(reading.facts.iter().any(inert));
        assert!(
            reading
                .facts
                .iter()
                .any(|fact| fact.what == What::RateLimit { per_s: Some(1.0), status: Some(429) })
        );
    }

    #[test]
    fn an_object_says_the_same() {
        let text = "apiVersion: apisix.apache.org/v2\nkind: ApisixUpstream\nmetadata: {name: orders}\nspec:\n  retries: 1\n  timeout: {read: 2s}\n";
        let found = layers("apisix", "u.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(2), 5));
        assert_eq!(found[0].attempt_timeout_ms, Some(Sourced::written(2000.0, 6)));
    }

    #[test]
    fn nothing_written_tries_every_node() {
        let text = "upstreams:\n- id: 1\n  type: roundrobin\n  nodes: [{host: a, port: 1}, {host: b, port: 1}, {host: c, port: 1}]\n";
        let found = layers("apisix", "apisix.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(3), WHO));
        assert!(found[0].implicit);
        let text = "upstreams:\n- {id: 1, type: roundrobin, nodes: {\"a:1\": 1}}\n";
        assert_eq!(layers("apisix", "apisix.yaml", Syntax::Yaml, text), []);
    }
}
