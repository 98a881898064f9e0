//! A retry policy of Envoy: on a route, on a virtual host, or in a patch.

use super::{WHO, vocabulary};
use crate::document::Node;
use crate::failure::Failure;
use crate::format::parts::{envoy_delay, from_retries, inert, ms_at, span};
use crate::layer::{Attempts, Layer, Methods, Sourced};
use crate::reading::Reading;
use crate::units::words;

/// Fills in what a policy says. `hedge` is the hedge policy that stands beside it.
pub(crate) fn fill(layer: &mut Layer, policy: &Node, hedge: Option<&Node>, reading: &mut Reading) {
    let listed = policy.loose_entry("retry_on");
    layer.words = listed.map(|entry| words(&entry.value)).unwrap_or_default();
    let codes = codes(policy, "retriable_status_codes");
    let found = vocabulary::conditions(&layer.words, &codes, false);
    let line = listed.map_or(layer.lines[0], |entry| entry.line);
    for word in &found.unknown {
        let why = format!("`{word}` in retry_on: Envoy knows no such word and ignores it");
        inert(reading, [line, line], layer.callee.clone(), why);
    }
    if !codes.is_empty() && !found.takes_codes {
        let why = "retriable_status_codes without `retriable-status-codes` in retry_on".to_owned();
        inert(reading, layer.lines, layer.callee.clone(), why);
    }
    if found.takes_codes {
        layer.words.extend(codes.iter().map(ToString::to_string));
    }
    if found.by_headers {
        layer.notes.push("response headers decide what else is retried".to_owned());
    }
    layer.on = Sourced::written(found.on, line);
    layer.attempts = match policy.loose_entry("num_retries") {
        Some(entry) => from_retries(entry),
        None => Sourced::default_of(Attempts::Count(2), WHO),
    };
    if found.on.is_empty() && !found.by_headers {
        let why = "a retry policy whose retry_on names nothing: nothing is retried unless a \
                   request header asks for it";
        inert(reading, layer.lines, layer.callee.clone(), why.to_owned());
        layer.attempts = Sourced::derived(Attempts::Count(1));
    }
    if policy.loose("retry_policy_typed_config").is_some() {
        let why = "retry_policy_typed_config is not implemented by Envoy".to_owned();
        inert(reading, layer.lines, layer.callee.clone(), why);
    }
    layer.attempt_timeout_ms = ms_at(policy, "per_try_timeout", 0.0).filter(|ms| ms.value > 0.0);
    let idle = ms_at(policy, "per_try_idle_timeout", 0.0).filter(|ms| ms.value > 0.0);
    if layer.attempt_timeout_ms.is_none() && idle.is_some() {
        layer.notes.push("an attempt ends when nothing moves for per_try_idle_timeout".to_owned());
    }
    if layer.attempt_timeout_ms.is_none() && idle.is_none() && layer.attempts.value.low() > 1 {
        let note = "no timeout of one attempt: a slow answer is never retried";
        layer.notes.push(note.to_owned());
    }
    layer.delay = envoy_delay(
        ms_at(policy, "retry_back_off.base_interval", 0.0),
        ms_at(policy, "retry_back_off.max_interval", 0.0),
        WHO,
    );
    layer.pushback = policy
        .below("rate_limited_retry_back_off.reset_headers")
        .is_some_and(|headers| !headers.items().is_empty());
    layer.methods = methods(policy);
    hedging(layer, hedge, reading);
}

/// The status codes of a list.
pub(crate) fn codes(policy: &Node, key: &str) -> Vec<u32> {
    let numbers = policy.loose(key).map_or(&[][..], Node::one_or_more);
    numbers.iter().filter_map(|code| u32::try_from(code.integer()?).ok()).collect()
}

/// The methods that pass `retriable_request_headers`. Any one of them suffices, so that a matcher
/// of another header lets all methods through.
fn methods(policy: &Node) -> Methods {
    let matchers = policy.loose("retriable_request_headers").map_or(&[][..], Node::items);
    let mut listed = Vec::new();
    for matcher in matchers {
        let name = matcher.text_at("name").unwrap_or_default();
        let exact = ["string_match.exact", "exact_match", "string_match.prefix", "prefix_match"];
        let regex = ["string_match.safe_regex.regex", "safe_regex_match.regex"];
        let first = |paths: &[&str]| paths.iter().find_map(|path| matcher.text_at(path));
        if name != ":method" {
            return Methods::All;
        }
        if let Some(method) = first(&exact) {
            listed.push(method.to_owned());
        } else if let Some(pattern) = first(&regex) {
            let pattern = pattern.trim_matches(['^', '$', '(', ')']);
            listed.extend(pattern.trim_start_matches("?:").split('|').map(str::to_owned));
        } else {
            return Methods::All;
        }
    }
    if listed.is_empty() { Methods::All } else { Methods::Listed(listed) }
}

fn hedging(layer: &mut Layer, hedge: Option<&Node>, reading: &mut Reading) {
    let Some(hedge) = hedge else { return };
    for key in ["initial_requests", "additional_request_chance"] {
        if let Some(entry) = hedge.loose_entry(key) {
            let why = format!("hedge_policy.{key} is not implemented by Envoy");
            inert(reading, span(entry), layer.callee.clone(), why);
        }
    }
    let on = hedge.loose("hedge_on_per_try_timeout").and_then(Node::truth) == Some(true);
    if !on || layer.on.value.is_empty() {
        return;
    }
    if layer.attempt_timeout_ms.is_none() {
        let why = "hedge_on_per_try_timeout without per_try_timeout never acts".to_owned();
        inert(reading, hedge.lines, layer.callee.clone(), why);
        return;
    }
    layer.hedges = true;
    layer.on.value.insert(Failure::AttemptTimeout);
}
