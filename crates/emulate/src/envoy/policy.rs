//! A policy of the system file as Envoy's retry policy, and what gets lost on the way.

use damper_control::backoff::{Growth, Jitter};
use damper_control::{Backoff, Nanos, Outcome, RetryOn};
use damper_system::System;
use damper_system::model::Policy;
use serde_json::{Map, Value, json};

use crate::wire::{self, Protocol};

/// Envoy knows no shorter delay.
const SHORTEST: Nanos = Nanos::from_millis(1);

/// Envoy's conditions for the ends that a policy retries.
struct Conditions {
    words: Vec<&'static str>,
    codes: Vec<u16>,
    /// Statuses of gRPC that Envoy has no word for.
    grpc_codes: Vec<&'static str>,
}

/// The ends that a policy retries, in the order in which the system file lists them.
fn retried(on: RetryOn) -> impl Iterator<Item = Outcome> {
    let all = [
        Outcome::Rejected,
        Outcome::TimedOut,
        Outcome::Failed,
        Outcome::FailedBelow,
        Outcome::Shed,
    ];
    all.into_iter().filter(move |outcome| on.contains(*outcome))
}

/// The same, narrowed for calls that may not be made twice.
pub(super) fn on(policy: &Policy) -> RetryOn {
    if policy.idempotent { policy.retry.on } else { policy.retry.on.for_unsafe_calls() }
}

fn conditions(on: RetryOn, protocol: Protocol) -> Conditions {
    let mut conditions =
        Conditions { words: Vec::new(), codes: Vec::new(), grpc_codes: Vec::new() };
    for outcome in retried(on) {
        match (outcome, protocol) {
            // A timeout of one attempt is a reset to Envoy.
            (Outcome::TimedOut, _) => conditions.words.push("reset"),
            (Outcome::Rejected, Protocol::Grpc) => conditions.words.push("unavailable"),
            (Outcome::Failed, Protocol::Grpc) => conditions.words.push("internal"),
            (Outcome::Shed, Protocol::Grpc) => conditions.words.push("resource-exhausted"),
            (outcome, Protocol::Grpc) => {
                conditions.grpc_codes.push(wire::grpc_status(outcome));
            }
            (outcome, _) => conditions.codes.push(wire::status(outcome).as_u16()),
        }
    }
    if !conditions.codes.is_empty() {
        conditions.words.push("retriable-status-codes");
    }
    if !conditions.grpc_codes.is_empty() {
        conditions.words.push("retriable-headers");
    }
    conditions
}

/// Envoy's retry policy with this limit. `on`: which ends are retried.
pub(super) fn retry_policy(policy: &Policy, limit: u32, on: RetryOn, protocol: Protocol) -> Value {
    let conditions = conditions(on, protocol);
    let mut value = Map::new();
    if !conditions.words.is_empty() {
        value.insert("retry_on".into(), json!(conditions.words.join(",")));
    }
    if !conditions.codes.is_empty() {
        value.insert("retriable_status_codes".into(), json!(conditions.codes));
    }
    if !conditions.grpc_codes.is_empty() {
        let header = |code: &&str| json!({"name": "grpc-status", "string_match": {"exact": code}});
        let headers: Vec<Value> = conditions.grpc_codes.iter().map(header).collect();
        value.insert("retriable_headers".into(), json!(headers));
    }
    value.insert("num_retries".into(), json!(limit));
    let (base, max) = back_off(&policy.retry.backoff, policy.retry.limits.max());
    let delays = json!({"base_interval": seconds(base), "max_interval": seconds(max)});
    value.insert("retry_back_off".into(), delays);
    if let Some(timeout) = policy.timeout {
        value.insert("per_try_timeout".into(), json!(seconds(timeout)));
    }
    Value::Object(value)
}

/// The timeout of a route: none, unless the policy has a deadline. Envoy's own default is 15 s.
pub(super) fn route_timeout(policy: &Policy) -> String {
    policy.deadline.map_or_else(|| "0s".to_owned(), seconds)
}

/// Base and bound of Envoy's delays, which are even between 0 and an interval that doubles. For
/// other kinds of jitter they have the same mean.
pub(super) fn back_off(backoff: &Backoff, limit: u32) -> (Nanos, Nanos) {
    let stretch = match backoff.jitter {
        Jitter::None | Jitter::Exponential => 2.0,
        Jitter::Equal => 1.5,
        _ => 1.0,
    };
    let stretched = |t: Nanos| t.scale(stretch).max(SHORTEST);
    match backoff.growth {
        Growth::None => (SHORTEST, SHORTEST),
        Growth::Constant => (stretched(backoff.base), stretched(backoff.base)),
        _ => {
            let base = stretched(backoff.base);
            let last = base.scale(2f64.powi(limit.clamp(1, 20) as i32 - 1));
            let max = if backoff.cap == Nanos::MAX { last } else { stretched(backoff.cap) };
            (base, max.max(base))
        }
    }
}

/// A duration as protobuf writes it.
pub(super) fn seconds(t: Nanos) -> String {
    let text = format!("{}.{:09}", t.0 / 1_000_000_000, t.0 % 1_000_000_000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// What Envoy does otherwise than a policy says.
pub(crate) fn remarks(system: &System) -> Vec<String> {
    let mut all = Vec::new();
    for edge in &system.policies.edges {
        let policy = &edge.policy;
        let (caller, callee) = (system.caller_name(edge.caller), system.target_name(edge.target));
        let mut say = |what: &str| all.push(format!("{caller} -> {callee}: {what}"));
        if policy.throttle.is_some() || policy.breaker.is_some() {
            say("throttle and breaker of the caller are left out: Envoy has no such filter");
        }
        if policy.deadline_travels {
            say(
                "the deadline stays with the caller: Envoy hands it on in a header that the servers do not read",
            );
        }
        if policy.retry.limits.max() == 0 || on(policy).is_empty() {
            continue;
        }
        if policy.budget.kind != "none" {
            say(&format!(
                "the budget `{}` is left out: what Envoy has counts differently",
                policy.budget.kind
            ));
        }
        if policy.needs > Nanos::ZERO {
            say("`needs` is left out: Envoy does not look at the time that is left");
        }
        let backoff = &policy.retry.backoff;
        match (backoff.growth, backoff.jitter) {
            (Growth::None, _) => {
                say("retries at once, as Envoy does with a base of 1 ms (a draw below 1 ms is 0)");
            }
            (Growth::Exponential(factor), Jitter::Full) if (factor - 2.0).abs() < 1e-9 => {}
            (Growth::MillisDoubling, Jitter::WholeMillis) => {}
            _ => {
                let (base, max) = back_off(backoff, policy.retry.limits.max());
                say(&format!(
                    "the backoff becomes Envoy's: even between 0 and {}, doubled up to {}",
                    seconds(base),
                    seconds(max)
                ));
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    fn policy(words: &str) -> Policy {
        let text = format!(
            "
damper: 1
classes: [high, low]
services: {{a: {{}}}}
load: {{high: 1/s, low: 1/s}}
requests: {{r: {{calls: [a]}}}}
policies: {{a: {words}}}
"
        );
        SystemFile::parse("t", &text).unwrap().lower().unwrap().policies.edges[0].policy.clone()
    }

    #[test]
    fn ends_become_conditions() {
        let p = policy(
            "{timeout: 1s, retry: {limit: {high: 5, low: 1}, on: [rejected, downstream, timeout]}}",
        );
        let http = retry_policy(&p, 5, on(&p), Protocol::Http1);
        assert_eq!(http["retry_on"], "reset,retriable-status-codes");
        assert_eq!(http["retriable_status_codes"], json!([503, 502]));
        assert_eq!((&http["num_retries"], &http["per_try_timeout"]), (&json!(5), &json!("1s")));
        let grpc = retry_policy(&p, 5, on(&p), Protocol::Grpc);
        assert_eq!(grpc["retry_on"], "unavailable,reset,retriable-headers");
        assert_eq!(grpc["retriable_headers"][0]["string_match"]["exact"], "10");
    }

    #[test]
    fn what_may_not_be_done_twice_is_retried_before_work_only() {
        let p = policy("{idempotent: false, retry: {limit: 2}}");
        let value = retry_policy(&p, 2, on(&p), Protocol::Http2);
        assert_eq!(value["retriable_status_codes"], json!([503, 429]));
        assert_eq!(value["retry_on"], "retriable-status-codes");
    }

    #[test]
    fn delays_have_the_same_mean() {
        let of = |words: &str| {
            let p = policy(&format!("{{retry: {{limit: 3, backoff: {words}}}}}"));
            let (base, max) = back_off(&p.retry.backoff, 3);
            (seconds(base), seconds(max))
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of("none"), pair("0.001s", "0.001s"));
        assert_eq!(
            of("{kind: exponential, base: 25ms, max: 250ms, jitter: full}"),
            pair("0.025s", "0.25s")
        );
        assert_eq!(of("{kind: constant, base: 100ms}"), pair("0.2s", "0.2s"));
        assert_eq!(of("{kind: exponential, base: 10ms, jitter: full}"), pair("0.01s", "0.04s"));
    }

    #[test]
    fn durations_as_protobuf_writes_them() {
        assert_eq!(seconds(Nanos::from_millis(1500)), "1.5s");
        assert_eq!(seconds(Nanos(25)), "0.000000025s");
        assert_eq!(seconds(Nanos::from_secs(60)), "60s");
    }
}
