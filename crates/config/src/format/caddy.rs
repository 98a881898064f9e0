//! Caddy: `reverse_proxy` retries only where `lb_retries` or `lb_try_duration` says so.

use crate::document::{Document, Entry, Node, Syntax, Value};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::span;
use crate::format::shared::{Counted, around, attempts, constant, maps, ms, ms_or};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Fact, Reading, What};
use crate::units;

/// Caddyfiles, and Caddy's JSON.
pub const FORMAT: Format = Format {
    id: "caddy",
    title: "Caddy",
    syntaxes: &[Syntax::Caddyfile, Syntax::Json],
    is: |_, document| {
        document.syntax == Syntax::Caddyfile || document.root.below("apps.http.servers").is_some()
    },
    read,
};

const WHO: &str = "Caddy";

/// What a `reverse_proxy` says, from either way of writing it.
#[derive(Default)]
struct Proxy<'a> {
    retries: Option<(&'a Entry, &'a Node)>,
    duration: Option<(&'a Entry, f64)>,
    interval: Option<(&'a Entry, f64)>,
    matches: Option<&'a Entry>,
    fail_duration: Option<&'a Entry>,
    unhealthy_requests: Option<(&'a Entry, Option<u64>)>,
    dial_ms: Option<Sourced<f64>>,
    response_ms: Option<Sourced<f64>>,
    upstreams: Vec<(String, u32)>,
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    if document.syntax == Syntax::Caddyfile {
        for site in document.root.entries() {
            directives(site, reading);
        }
        return;
    }
    maps(&document.root, &mut |map| {
        if map.get("handler").and_then(Node::text) == Some("reverse_proxy") {
            let proxy = of_json(map);
            put(&proxy, map.lines, reading);
        }
    });
}

fn directives(entry: &Entry, reading: &mut Reading) {
    match &*entry.key {
        // The others are the same handler with settings of their own.
        "reverse_proxy" | "php_fastcgi" | "forward_auth" => {
            put(&of_block(entry), span(entry), reading);
        }
        "import" => {
            let what = entry.value.arg(0).unwrap_or_default();
            reading.open.push((entry.line, format!("import {what}")));
        }
        _ => {
            for inner in entry.value.block().into_iter().flat_map(Node::entries) {
                directives(inner, reading);
            }
        }
    }
}

fn of_block(entry: &Entry) -> Proxy<'_> {
    let mut proxy = Proxy::default();
    let mut upstreams = |words: &[&str], line| {
        // The first word may be a matcher.
        let addresses = words.iter().filter(|word| !word.starts_with(['@', '*', '/']));
        proxy.upstreams.extend(addresses.map(|address| ((*address).to_owned(), line)));
    };
    upstreams(&entry.value.args(), entry.line);
    let Some(block) = entry.value.block() else { return proxy };
    for inner in block.all("to") {
        upstreams(&inner.value.args(), inner.line);
    }
    let duration = |key: &str| {
        let entry = block.all(key).next_back()?;
        Some((entry, units::duration_ms(entry.value.arg(0)?, 0.0)?))
    };
    let retries = block.all("lb_retries").next_back();
    proxy.retries = retries.and_then(|entry| Some((entry, entry.value.items().first()?)));
    proxy.duration = duration("lb_try_duration");
    proxy.interval = duration("lb_try_interval");
    proxy.matches = block.entry("lb_retry_match");
    proxy.fail_duration = block.entry("fail_duration");
    proxy.unhealthy_requests = block
        .entry("unhealthy_request_count")
        .map(|entry| (entry, entry.value.arg(0).and_then(|count| count.parse().ok())));
    let transport = block.get("transport").and_then(Node::block);
    let time = |key: &str| {
        let entry = transport?.entry(key)?;
        Some(Sourced::written(units::duration_ms(entry.value.arg(0)?, 0.0)?, entry.line))
    };
    proxy.dial_ms = time("dial_timeout");
    proxy.response_ms = time("response_header_timeout");
    proxy
}

fn of_json(map: &Node) -> Proxy<'_> {
    // A number counts nanoseconds, as Go does.
    let duration = |node: Option<&'_ Node>| node.and_then(|node| units::duration_of(node, 1e-6));
    let mut proxy = Proxy::default();
    for upstream in map.get("upstreams").map(Node::items).unwrap_or_default() {
        if let Some(dial) = upstream.entry("dial") {
            proxy.upstreams.extend(dial.value.text().map(|text| (text.to_owned(), dial.line)));
        }
    }
    if let Some(balancing) = map.get("load_balancing") {
        let timed = |key: &str| {
            let entry = balancing.entry(key)?;
            Some((entry, duration(Some(&entry.value))?))
        };
        proxy.retries = balancing.entry("retries").map(|entry| (entry, &entry.value));
        proxy.duration = timed("try_duration");
        proxy.interval = timed("try_interval");
        proxy.matches = balancing.entry("retry_match");
    }
    if let Some(passive) = map.below("health_checks.passive") {
        proxy.fail_duration = passive.entry("fail_duration");
        proxy.unhealthy_requests = passive.entry("unhealthy_request_count").map(|entry| {
            (entry, entry.value.integer().and_then(|count| u64::try_from(count).ok()))
        });
    }
    proxy.dial_ms = ms(map.get("transport").and_then(|node| node.entry("dial_timeout")), 1e-6);
    proxy.response_ms =
        ms(map.get("transport").and_then(|node| node.entry("response_header_timeout")), 1e-6);
    proxy
}

fn put(proxy: &Proxy<'_>, place: [u32; 2], reading: &mut Reading) {
    let callees: Vec<_> = proxy
        .upstreams
        .iter()
        .filter(|(to, _)| !to.starts_with("unix/"))
        .filter_map(|(to, line)| Some((Name::of_host(to, None)?, *line)))
        .collect();
    for (callee, line) in &callees {
        reading.calls.push(Call {
            caller: None,
            callee: callee.clone(),
            line: *line,
            evidence: "reverse_proxy".into(),
            count: None,
            protocol: Some("http"),
        });
    }
    let callee = match callees.as_slice() {
        [(callee, _), rest @ ..] if rest.iter().all(|(other, _)| other == callee) => {
            Some(callee.clone())
        }
        _ => None,
    };
    let mut fact = |entry: &Entry, what| {
        reading.facts.push(Fact { lines: span(entry), about: callee.clone(), what });
    };
    if let Some(entry) = proxy.fail_duration {
        fact(entry, What::Ejection { max_percent: None, panic_percent: None });
    }
    if let Some((entry, active)) = proxy.unhealthy_requests {
        fact(entry, What::Requests { active, waiting: None });
    }
    let switched = proxy.retries.map(|(entry, _)| entry);
    if switched.is_none() && proxy.duration.is_none() {
        // Without either of them neither the interval nor the matcher is looked at.
        for entry in [proxy.interval.map(|(entry, _)| entry), proxy.matches].into_iter().flatten() {
            let why = "without `lb_retries` or `lb_try_duration` nothing is retried".to_owned();
            fact(entry, What::Inert { why });
        }
        return;
    }
    let own = [
        switched,
        proxy.duration.map(|(entry, _)| entry),
        proxy.interval.map(|(e, _)| e),
        proxy.matches,
    ];
    let mut layer =
        Layer::at(FORMAT.id, Seat::Gateway, around(own.into_iter().flatten()).unwrap_or(place));
    layer.reach = Reach::Route;
    layer.callee = callee;
    let interval = match (proxy.interval, proxy.duration) {
        (Some((entry, ms)), _) => Sourced::written(ms, entry.line),
        (None, Some(_)) => Sourced::default_of(250.0, WHO),
        (None, None) => Sourced::default_of(0.0, WHO),
    };
    layer.attempts = match (proxy.retries, proxy.duration) {
        // A count of 0 is as if it were not there.
        (Some((entry, value)), duration) if value.integer() != Some(0) || duration.is_none() => {
            Sourced::written(attempts(value, Counted::Retries), entry.line)
        }
        (_, Some((entry, window))) => {
            let most = (interval.value > 0.0).then(|| window / interval.value + 1.0);
            let high = most.filter(|most| *most < 1e9).map(|most| most.ceil() as u32);
            let expression = "as often as the time allows".to_owned();
            Sourced::written(Attempts::Open { expression, low: 1, high }, entry.line)
        }
        _ => Sourced::default_of(Attempts::Count(1), WHO),
    };
    layer.delay = constant(Some(interval));
    layer.timeout_ms = proxy.duration.map(|(entry, ms)| Sourced::written(ms, entry.line));
    layer.attempt_timeout_ms = match (&proxy.dial_ms, &proxy.response_ms) {
        (_, Some(response)) => Some(response.clone()),
        (dial, None) => dial.clone().or_else(|| ms_or(None, 1.0, 3000.0, WHO)),
    };
    if proxy.response_ms.is_none() {
        layer
            .notes
            .push("only connecting has a timeout; an answer is waited for without end".into());
    }
    layer.methods = Methods::Idempotent;
    let mut on = Failures::of(&[Failure::Connect, Failure::Refused, Failure::Reset]);
    if layer.attempt_timeout_ms.is_some() {
        on.insert(Failure::AttemptTimeout);
    }
    layer.on = Sourced::default_of(on, WHO);
    if let Some(matches) = proxy.matches {
        layer.notes.push("`lb_retry_match` may let other requests be retried, too".into());
        if let Value::List(words) = &matches.value.value {
            layer.words = words.iter().filter_map(Node::text).map(str::to_owned).collect();
        }
    }
    reading.layers.push(layer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::{layers, reading};

    #[test]
    fn what_is_written_is_read() {
        let text = "shop.example {\n  reverse_proxy /x orders:8080 {\n    to orders:8081\n    lb_retries 1\n    lb_try_duration 2s\n    lb_try_interval 100ms\n    fail_duration 10s\n    unhealthy_request_count 200\n    transport http {\n      dial_timeout 1s\n      response_header_timeout 3s\n    }\n  }\n}\n";
        let reading = reading("Caddyfile", Syntax::Caddyfile, text);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 4));
        assert_eq!(layer.delay.base_ms, Some(Sourced::written(100.0, 6)));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(2000.0, 5)));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(3000.0, 11)));
        assert_eq!(layer.lines, [4, 6]);
        assert_eq!(layer.callee, Some(Name::new("orders", None)));
        assert_eq!(reading.facts.len(), 2);
    }

    #[test]
    fn nothing_written_retries_nothing() {
        let text = "a\nreverse_proxy b:1 c:1\n";
        assert_eq!(layers("caddy", "Caddyfile", Syntax::Caddyfile, text), []);
        let text = "a {\n reverse_proxy b:1 {\n  lb_try_interval 1s\n }\n}\n";
        assert!(matches!(
            reading("Caddyfile", Syntax::Caddyfile, text).facts[0].what,
            What::Inert { .. }
        ));
    }

    #[test]
    fn a_time_alone_has_no_count() {
        let text = "a {\n handle {\n  reverse_proxy b:1 {\n   lb_try_duration 1s\n  }\n }\n}\n";
        let found = layers("caddy", "Caddyfile", Syntax::Caddyfile, text);
        assert_eq!(found[0].attempts.value.high(), Some(5));
        assert_eq!(found[0].delay.base_ms, Some(Sourced::default_of(250.0, WHO)));
    }

    #[test]
    fn handlers_that_are_it_by_another_name_count() {
        let text = "a {\n php_fastcgi unix//run/php.sock app:9000 {\n  lb_retries 2\n }\n}\n";
        let reading = reading("Caddyfile", Syntax::Caddyfile, text);
        assert_eq!(reading.layers[0].attempts, Sourced::written(Attempts::Count(3), 3));
        assert_eq!(reading.calls.len(), 1);
    }

    #[test]
    fn its_json_says_the_same() {
        let text = "{\"apps\": {\"http\": {\"servers\": {\"s\": {\"routes\": [{\"handle\": [{\n\"handler\": \"reverse_proxy\", \"upstreams\": [{\"dial\": \"orders:80\"}],\n\"load_balancing\": {\"retries\": 2, \"try_duration\": 1000000000}}]}]}}}}}";
        let found = layers("caddy", "caddy.json", Syntax::Json, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 3));
        assert_eq!(found[0].timeout_ms, Some(Sourced::written(1000.0, 3)));
    }
}
