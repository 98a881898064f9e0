//! Micronaut: its HTTP clients have timeouts and addresses; retries stand in annotations.

use crate::document::{Document, Node};
use crate::format::parts::{entry_below, span};
use crate::format::shared::ms;
use crate::format::{Format, jvm};
use crate::name::Name;
use crate::reading::{Call, Fact, Reading, What};

/// `application.yml` and `.properties`.
pub const FORMAT: Format = Format {
    id: "micronaut",
    title: "Micronaut",
    syntaxes: jvm::SYNTAXES,
    is: |_, document| jvm::has(document, &["micronaut"]),
    read,
};

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = jvm::tree(document);
    let whole = entry_below(&root, "micronaut.http.client.read-timeout");
    if let (Some(entry), Some(time)) = (whole, ms(whole, 1.0)) {
        let what = What::Timeout { attempt_ms: Some(time.value), overall_ms: None };
        reading.facts.push(Fact { lines: span(entry), about: None, what });
    }
    let caller = root.text_at("micronaut.application.name").map(|name| Name::new(name, None));
    let services = root.below("micronaut.http.services").map(Node::entries).unwrap_or_default();
    for service in services {
        let name = Name::new(&service.key, None);
        let urls = ["urls", "url"].into_iter().filter_map(|key| service.value.entry(key));
        for url in urls.flat_map(|entry| entry.value.one_or_more()) {
            if let Some(callee) = url.text().and_then(|url| Name::of_host(url, None)) {
                reading.calls.push(Call {
                    caller: caller.clone(),
                    callee,
                    line: url.lines[0],
                    evidence: format!("service {}", service.key),
                    count: None,
                    protocol: Some("http"),
                });
            }
        }
        let time = service.value.loose_entry("read-timeout");
        if let (Some(entry), Some(time)) = (time, ms(time, 1.0)) {
            let what = What::Timeout { attempt_ms: Some(time.value), overall_ms: None };
            reading.facts.push(Fact { lines: span(entry), about: Some(name), what });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::reading;

    #[test]
    fn clients_have_timeouts_and_addresses() {
        let text = "micronaut:\n  application: {name: shop}\n  http:\n    client: {read-timeout: 1s}\n    services:\n      orders: {urls: [\"http://orders:8080\"], read-timeout: 800ms}\n";
        let reading = reading("application.yml", Syntax::Yaml, text);
        assert_eq!(reading.calls[0].callee, Name::new("orders", None));
        assert_eq!(reading.calls[0].caller, Some(Name::new("shop", None)));
        assert_eq!(reading.facts.len(), 2);
        assert_eq!(
            reading.facts[1].what,
            What::Timeout { attempt_ms: Some(800.0), overall_ms: None }
        );
    }

    #[test]
    fn nothing_written_says_nothing() {
        let reading = reading("application.yml", Syntax::Yaml, "micronaut: {server: {port: 1}}\n");
        assert_eq!((reading.facts, reading.layers), (vec![], vec![]));
    }
}
