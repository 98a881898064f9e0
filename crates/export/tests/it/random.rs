//! Random policies as system files.

use damper_system::{System, SystemFile};
use proptest::collection::vec;
use proptest::prelude::*;

/// A policy as it is written in a system file.
fn policy() -> impl Strategy<Value = String> {
    let limit = prop_oneof![
        4 => (0_u32..8).prop_map(|limit| limit.to_string()),
        // So many that a budget is to bound alone.
        1 => Just("100".to_owned()),
        4 => (0_u32..5, 0_u32..5, 0_u32..5)
            .prop_map(|(a, b, c)| format!("{{high: {a}, normal: {b}, low: {c}}}")),
    ];
    let ends = ["rejected", "timeout", "failed", "downstream", "shed"];
    let on = prop_oneof![
        Just(ends.join(", ")),
        proptest::sample::subsequence(ends.to_vec(), 1..5).prop_map(|all| all.join(", ")),
    ];
    let time = prop_oneof![
        Just("none".to_owned()),
        (1_u64..5_000).prop_map(|ms| format!("{ms}ms")),
        (1_u64..5_000_000).prop_map(|us| format!("{us}us")),
    ];
    let backoff = prop_oneof![
        Just("none".to_owned()),
        (1_u64..500, 1_u64..10, prop_oneof!["none", "full", "equal"]).prop_map(
            |(base, cap, jitter)| {
                format!(
                    "{{kind: exponential, base: {base}ms, max: {}ms, jitter: {jitter}}}",
                    base * cap
                )
            }
        ),
        (1_u64..500).prop_map(|base| format!("{{kind: constant, base: {base}ms}}")),
        (1_u64..500).prop_map(|base| format!("{{kind: grpc-backoff, base: {base}ms, max: 1s}}")),
        Just("envoy-backoff".to_owned()),
        Just("linkerd-backoff".to_owned()),
    ];
    let budget = prop_oneof![
        Just("none".to_owned()),
        (1_u32..100, 0_u32..10).prop_map(|(p, n)| format!(
            "{{kind: envoy, percent: {p}%, min_retry_concurrency: {n}}}"
        )),
        (1_u32..100, 0_u32..20)
            .prop_map(|(p, n)| format!("{{kind: deposit, percent: {p}%, min_per_second: {n}}}")),
        (1_u32..100, 1_u32..=60).prop_map(|(p, ttl)| format!(
            "{{kind: deposit, percent: {p}%, min_per_second: 1, ttl: {ttl}s}}"
        )),
        (1_u32..1000).prop_map(|max| format!("{{kind: token-bucket, max_tokens: {max}}}")),
        Just("arb".to_owned()),
        Just("google".to_owned()),
        Just("per-minute".to_owned()),
        Just("aws-standard".to_owned()),
    ];
    let breaker = prop_oneof![Just("none"), Just("breaker-consecutive"), Just("breaker")];
    (limit, on, (time.clone(), time), backoff, budget, breaker, any::<bool>()).prop_map(
        |(limit, on, (timeout, deadline), backoff, budget, breaker, idempotent)| {
            format!(
                "{{timeout: {timeout}, deadline: {deadline}, idempotent: {idempotent}, \
                 breaker: {breaker}, retry: {{limit: {limit}, on: [{on}], backoff: {backoff}, \
                 budget: {budget}}}}}"
            )
        },
    )
}

/// The requests of a system, and its calls.
struct Shape {
    requests: &'static str,
    calls: &'static [&'static str],
}

/// A service has one caller, two, or several of which one is outside.
const SHAPES: [Shape; 3] = [
    Shape {
        requests: "buy: {calls: [{web: [{orders: [stock, mail]}, stock]}]}",
        calls: &[
            "client -> web",
            "web -> orders",
            "orders -> stock",
            "web -> stock",
            "orders -> mail",
        ],
    },
    Shape {
        requests: "buy: {share: 50%, calls: [{web: [orders]}]}, look: {calls: [orders]}",
        calls: &["client -> web", "web -> orders", "client -> orders"],
    },
    Shape {
        requests: "buy: {share: 50%, calls: [{web: [{orders: [stock]}, stock, mail]}]}, \
                   look: {calls: [{mail: [stock, orders]}, stock, orders]}",
        calls: &[
            "client -> web",
            "web -> orders",
            "mail -> orders",
            "client -> orders",
            "orders -> stock",
            "web -> stock",
            "mail -> stock",
            "client -> stock",
            "web -> mail",
            "client -> mail",
        ],
    },
];

/// A system with a policy for each of its calls.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let pushback = prop_oneof![Just("none"), Just("2s"), Just("stop")];
    let shape = (0..SHAPES.len()).prop_flat_map(|at| {
        let policies = SHAPES.get(at).map_or(0, |shape| shape.calls.len());
        (Just(at), vec(policy(), policies))
    });
    (shape, pushback, any::<bool>()).prop_map(|((shape, policies), pushback, classes)| {
        let Shape { requests, calls } = &SHAPES[shape];
        let classes = if classes || policies.iter().any(|one| one.contains("normal")) {
            "classes: [high, normal, low]\nload: {high: 3/s, normal: 3/s, low: 3/s}\n"
        } else {
            "load: 9/s\n"
        };
        let mut text = format!(
            "damper: 1\nname: random\n{classes}services:\n  web: {{}}\n  orders: {{workers: 9, \
             service_time: 5ms, pushback: {pushback}}}\n  stock: {{workers: 9, service_time: 5ms}}\n  \
             mail: {{}}\nrequests: {{{requests}}}\npolicies:\n"
        );
        for (call, policy) in calls.iter().zip(policies) {
            text.push_str(&format!("  \"{call}\": {policy}\n"));
        }
        text
    })
}

/// The text as a system.
pub(crate) fn system(text: &str) -> System {
    SystemFile::parse("random.yaml", text)
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
        .lower()
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}
