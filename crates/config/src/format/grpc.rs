//! The service config of gRPC: a file, or a text in code. One invalid field rejects all of it.

use std::collections::HashSet;

use crate::document::{Entry, Node, Syntax, json};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::{fact, inert, ms_at, shift_lines, span};
use crate::layer::{Attempts, Budget, Delay, Growth, Layer, Reach, Seat, Sourced};
use crate::reading::{Reading, What};
use crate::units::duration_of;

/// Service configs.
pub const FORMAT: Format = Format {
    id: "grpc-service-config",
    title: "gRPC service config",
    syntaxes: &[Syntax::Json, Syntax::Yaml],
    is: |_, document| is_config(&document.root),
    read: |_, document, reading| read(&document.root, reading),
};

/// Attempts that a client makes at most, whatever the config says.
const CAP: u32 = 5;

fn is_config(root: &Node) -> bool {
    let methods = root.get("methodConfig").or(root.get("method_config"));
    let methods = methods.map_or(&[][..], Node::items);
    let has = |one: &Node| {
        let keys = ["name", "retryPolicy", "hedgingPolicy", "timeout", "waitForReady"];
        keys.iter().any(|key| one.loose(key).is_some())
    };
    methods.iter().any(has)
}

/// Reads a text in code that begins at a line; nothing, where it is no service config.
#[must_use]
pub fn of_text(text: &str, line: u32) -> Reading {
    let mut reading = Reading::default();
    for mut document in json::parse(text).0 {
        shift_lines(&mut document.root, line.saturating_sub(1));
        let found = of_root(&document.root);
        if !found.formats.is_empty() {
            reading = found;
        }
    }
    reading
}

/// Reads values in code that are built as a service config is; nothing, where they are none.
#[must_use]
pub fn of_root(root: &Node) -> Reading {
    let mut reading = Reading::default();
    if is_config(root) {
        reading.formats = vec![FORMAT.id];
        read(root, &mut reading);
    }
    reading
}

fn read(root: &Node, reading: &mut Reading) {
    let methods = root.loose("methodConfig").map_or(&[][..], Node::items);
    let throttle = root.loose_entry("retryThrottling");
    let mut mistakes: Vec<(&Entry, &'static str)> = Vec::new();
    if let Some(entry) = throttle {
        let number = |key: &str| entry.value.loose(key).and_then(Node::number);
        let tokens = number("maxTokens").is_some_and(|max| max > 0.0 && max <= 1000.0);
        if !tokens || number("tokenRatio").is_none_or(|ratio| ratio <= 0.0) {
            mistakes.push((entry, "maxTokens must be over 0 and at most 1000, tokenRatio over 0"));
        }
    }
    let mut seen = HashSet::new();
    for name in methods.iter().filter_map(|method| method.loose_entry("name")) {
        let twice = |one: &Node| {
            let text = |key: &str| one.text_at(key).unwrap_or_default().to_owned();
            !seen.insert((text("service"), text("method")))
        };
        if name.value.items().iter().any(twice) {
            mistakes.push((name, "a method may be named once"));
        }
    }
    for method in methods {
        let (retry, hedge) =
            (method.loose_entry("retryPolicy"), method.loose_entry("hedgingPolicy"));
        if let (Some(entry), Some(_)) = (retry, hedge) {
            mistakes.push((entry, "retryPolicy and hedgingPolicy exclude each other"));
        }
        mistakes.extend(retry.and_then(|entry| Some((entry, mistake(&entry.value)?))));
        let few = hedge.filter(|entry| attempts(&entry.value).is_none());
        mistakes.extend(few.map(|entry| (entry, "maxAttempts must be a whole number from 2")));
    }
    if !mistakes.is_empty() {
        for (entry, why) in mistakes {
            let why = format!("{why}: gRPC rejects the whole service config");
            inert(reading, span(entry), None, why);
        }
        return;
    }
    let budget = throttle.map(|entry| {
        let number = |key: &str| entry.value.loose(key).and_then(Node::number).unwrap_or(0.0);
        let tokens = Budget::Tokens { max: number("maxTokens"), ratio: number("tokenRatio") };
        Sourced::written(tokens, entry.line)
    });
    for method in methods {
        let retry = method.loose_entry("retryPolicy");
        let Some(entry) = retry.or(method.loose_entry("hedgingPolicy")) else {
            timeout(method, reading);
            continue;
        };
        let mut layer = of_policy(entry, retry.is_none());
        layer.budget.clone_from(&budget);
        layer.timeout_ms = ms_at(method, "timeout", 0.0);
        names(method, &mut layer);
        reading.layers.push(layer);
    }
}

/// The timeout of a method that nothing retries.
fn timeout(method: &Node, reading: &mut Reading) {
    let time = ms_at(method, "timeout", 0.0).filter(|ms| ms.value > 0.0);
    if let (Some(ms), Some(entry)) = (time, method.loose_entry("timeout")) {
        let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms.value) };
        fact(reading, span(entry), None, what);
    }
}

fn attempts(policy: &Node) -> Option<u32> {
    let number = policy.loose("maxAttempts")?.number()?;
    (number.fract() == 0.0 && number >= 2.0).then(|| super::envoy::cluster::whole(number))
}

fn mistake(policy: &Node) -> Option<&'static str> {
    let over_zero = |key: &str| {
        policy.loose(key).and_then(|node| duration_of(node, 0.0)).is_some_and(|ms| ms > 0.0)
    };
    let multiplier = policy.loose("backoffMultiplier").and_then(Node::number);
    let codes = policy.loose("retryableStatusCodes").map_or(&[][..], Node::items);
    if attempts(policy).is_none() {
        Some("maxAttempts must be a whole number from 2")
    } else if !over_zero("initialBackoff") || !over_zero("maxBackoff") {
        Some("initialBackoff and maxBackoff must be over 0")
    } else if multiplier.is_none_or(|multiplier| multiplier <= 0.0) {
        Some("backoffMultiplier must be over 0")
    } else if codes.is_empty() {
        Some("retryableStatusCodes must name a code")
    } else if codes.iter().any(|code| code.text().and_then(Failure::of_grpc).is_none()) {
        Some("retryableStatusCodes names no such code")
    } else {
        None
    }
}

fn of_policy(entry: &Entry, hedging: bool) -> Layer {
    let policy = &entry.value;
    let mut layer = Layer::at(FORMAT.id, Seat::Client, span(entry));
    let said = attempts(policy).unwrap_or(1);
    if said > CAP {
        layer.notes.push(format!("maxAttempts {said} is taken for {CAP}"));
    }
    let line = policy.loose_entry("maxAttempts").map_or(entry.line, |entry| entry.line);
    layer.attempts = Sourced::written(Attempts::Count(said.min(CAP)), line);
    let key = if hedging { "nonFatalStatusCodes" } else { "retryableStatusCodes" };
    let codes = policy.loose_entry(key);
    let words = codes.map_or(&[][..], |entry| entry.value.items());
    layer.words = words.iter().filter_map(Node::text).map(str::to_owned).collect();
    let on: Failures = layer.words.iter().filter_map(|word| Failure::of_grpc(word)).collect();
    let mut on = on.seen_by_grpc();
    if hedging {
        // The next attempt starts because the last one is slow.
        on.insert(Failure::AttemptTimeout);
    }
    layer.on = Sourced::written(on, codes.map_or(entry.line, |entry| entry.line));
    layer.hedges = hedging;
    layer.pushback = true;
    layer.delay = if hedging {
        let base = ms_at(policy, "hedgingDelay", 0.0).filter(|ms| ms.value > 0.0);
        let growth = if base.is_some() { Growth::Constant } else { Growth::None };
        Delay { growth, base_ms: base, factor: None, cap_ms: None, jitter: false }
    } else {
        Delay {
            growth: Growth::Exponential,
            base_ms: ms_at(policy, "initialBackoff", 0.0),
            factor: policy.loose("backoffMultiplier").and_then(Node::number),
            cap_ms: ms_at(policy, "maxBackoff", 0.0),
            jitter: true,
        }
    };
    layer
}

/// For which methods: all of the channel, those of a service, one.
fn names(method: &Node, layer: &mut Layer) {
    let names = method.loose("name").map_or(&[][..], Node::items);
    let name = |one: &Node| {
        let service = one.text_at("service").filter(|service| !service.is_empty())?;
        let method = one.text_at("method").filter(|method| !method.is_empty());
        Some(method.map_or_else(|| service.to_owned(), |method| format!("{service}/{method}")))
    };
    let all: Option<Vec<_>> = names.iter().map(name).collect();
    match all.filter(|all| !all.is_empty()) {
        Some(all) => {
            let one = all.iter().all(|name| name.contains('/'));
            layer.reach = if one { Reach::Route } else { Reach::Service };
            layer.route = Some(all.join(", "));
        }
        None => layer.reach = Reach::Everything,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = r#"{"methodConfig": [
  {"name": [{}], "timeout": "2s"},
  {"name": [{"service": "shop.Orders", "method": "Get"}],
   "timeout": "1s",
   "retryPolicy": {"maxAttempts": 9, "initialBackoff": "0.05s", "maxBackoff": "0.5s",
     "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", 8]}}],
 "retryThrottling": {"maxTokens": 50, "tokenRatio": 0.1}}"#;

    #[test]
    fn a_config_that_says_everything() {
        let reading = of_text(EVERYTHING, 11);
        assert_eq!(reading.layers.len(), 1);
        let layer = &reading.layers[0];
        assert_eq!(layer.lines, [15, 16]);
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(5), 15));
        assert!(layer.notes[0].contains('9'));
        assert_eq!(layer.timeout_ms, Some(Sourced::written(1000.0, 14)));
        assert_eq!(layer.delay.base_ms, Some(Sourced::written(50.0, 15)));
        assert_eq!(layer.route.as_deref(), Some("shop.Orders/Get"));
        assert_eq!(
            layer.on.value,
            Failures::of(&[Failure::GrpcUnavailable, Failure::GrpcExhausted]).seen_by_grpc()
        );
        let tokens = Budget::Tokens { max: 50.0, ratio: 0.1 };
        assert_eq!(layer.budget, Some(Sourced::written(tokens, 17)));
    }

    #[test]
    fn one_mistake_rejects_all() {
        let reading = of_text(&EVERYTHING.replace("\"maxBackoff\": \"0.5s\",", ""), 1);
        assert!(reading.layers.is_empty());
        assert!(matches!(&reading.facts[0].what, What::Inert { why } if why.contains("rejects")));
        let one = of_text(&EVERYTHING.replace("\"maxAttempts\": 9", "\"maxAttempts\": 1"), 1);
        assert!(one.layers.is_empty());
        let twice =
            EVERYTHING.replace(r#"[{}]"#, r#"[{"service": "shop.Orders", "method": "Get"}]"#);
        assert!(of_text(&twice, 1).layers.is_empty());
        let tokens = of_text(&EVERYTHING.replace("\"maxTokens\": 50", "\"maxTokens\": 5000"), 1);
        assert!(tokens.layers.is_empty());
    }

    #[test]
    fn a_hedge_starts_beside_what_is_slow() {
        let reading = of_text(
            r#"{"methodConfig": [{"name": [{"service": "shop.Search"}],
              "hedgingPolicy": {"maxAttempts": 2, "hedgingDelay": "0.15s"}}]}"#,
            1,
        );
        let layer = &reading.layers[0];
        assert!(layer.hedges && layer.retries());
        assert_eq!(layer.delay.base_ms, Some(Sourced::written(150.0, 2)));
        assert_eq!(layer.reach, Reach::Service);
    }

    #[test]
    fn a_config_without_policies_retries_nothing() {
        let reading = of_text(r#"{"methodConfig": [{"name": [{}], "timeout": "2s"}]}"#, 7);
        assert!(reading.layers.is_empty());
        let what = What::Timeout { attempt_ms: None, overall_ms: Some(2000.0) };
        assert_eq!((reading.facts[0].lines, &reading.facts[0].what), ([7, 7], &what));
        let none = of_text(r#"{"methodConfig": [{"name": [{}], "timeout": "0s"}]}"#, 1);
        assert!(none.facts.is_empty());
        assert!(of_text("{\"a\": 1}", 1).formats.is_empty());
        assert!(of_text("no json", 1).formats.is_empty());
    }
}
