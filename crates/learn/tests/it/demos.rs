//! Traces as demos of the field make them: proxies, work between, messages, stores that do not
//! report themselves, spans without kinds.

use std::fmt::Write;

use damper_learn::Learnt;

use crate::learn_text;

/// A span: id, parent, service, kind of OpenTelemetry, name, begin and end in ms, attributes.
type Span =
    (u64, u64, &'static str, u32, &'static str, u64, u64, &'static [(&'static str, &'static str)]);

fn otlp(traces: u64, spans: &[Span]) -> Vec<u8> {
    let mut text = String::new();
    for trace in 1..=traces {
        for (id, parent, service, kind, name, start, end, attributes) in spans {
            let at = |ms: u64| (1_700_000_000_000 + trace * 1_000 + ms) * 1_000_000;
            let (id, parent) =
                (id + trace * 1_000, if *parent == 0 { 0 } else { parent + trace * 1_000 });
            let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
            let attributes: Vec<String> = attributes
                .iter()
                .map(|(key, value)| {
                    format!("{{\"key\":\"{key}\",\"value\":{{\"stringValue\":\"{value}\"}}}}")
                })
                .collect();
            writeln!(
                text,
                "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"service.name\",\"value\":{{\"stringValue\":\"{service}\"}}}}]}},\"scopeSpans\":[{{\"spans\":[{{\"traceId\":\"{trace:032x}\",\"spanId\":\"{id:016x}\",\"parentSpanId\":\"{parent}\",\"name\":\"{name}\",\"kind\":{kind},\"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\",\"attributes\":[{}]}}]}}]}}]}}",
                at(*start),
                at(*end),
                attributes.join(",")
            )
            .unwrap();
        }
    }
    text.into_bytes()
}

/// Calls with their number and their attempts.
fn edges(found: &Learnt) -> Vec<String> {
    found
        .policies
        .iter()
        .map(|p| format!("{} -> {}: {} of {}", p.caller, p.callee, p.attempts, p.calls))
        .collect()
}

fn own_ms(found: &Learnt, name: &str) -> f64 {
    let service = found.services.iter().find(|s| s.name == name).unwrap();
    (service.time.as_ref().unwrap().mean_s.value * 1e6).round() / 1e3
}

#[test]
fn a_shop_with_proxies_stores_and_messages() {
    let spans: &[Span] = &[
        (1, 0, "load-generator", 3, "GET", 0, 100, &[("http.url", "http://frontend-proxy:8080/")]),
        (2, 1, "frontend-proxy", 2, "ingress", 1, 99, &[]),
        (
            3,
            2,
            "frontend-proxy",
            3,
            "router frontend egress",
            2,
            98,
            &[("upstream_cluster", "frontend")],
        ),
        (4, 3, "frontend", 2, "GET /api/checkout", 3, 97, &[]),
        (5, 4, "frontend", 1, "render", 5, 90, &[]),
        (
            6,
            5,
            "frontend",
            3,
            "oteldemo.Checkout/Place",
            10,
            60,
            &[("rpc.system", "grpc"), ("server.address", "checkout")],
        ),
        (7, 6, "checkout", 2, "oteldemo.Checkout/Place", 11, 59, &[]),
        (
            8,
            7,
            "checkout",
            3,
            "HGET",
            12,
            14,
            &[("db.system", "redis"), ("server.address", "valkey-cart"), ("server.port", "6379")],
        ),
        (
            9,
            7,
            "checkout",
            3,
            "POST",
            20,
            24,
            &[("server.address", "shipping"), ("http.response.status_code", "503")],
        ),
        (
            10,
            7,
            "checkout",
            3,
            "POST",
            30,
            40,
            &[("server.address", "shipping"), ("http.response.status_code", "200")],
        ),
        (11, 10, "shipping-service", 2, "POST /ship", 31, 39, &[]),
        (12, 7, "checkout", 4, "orders publish", 50, 52, &[("messaging.system", "kafka")]),
        (13, 12, "accounting", 5, "orders process", 70, 80, &[]),
        (14, 13, "accounting", 3, "INSERT", 71, 75, &[("db.system.name", "postgresql")]),
    ];
    let found = learn_text(&otlp(50, spans)).unwrap();
    assert_eq!(
        edges(&found),
        [
            "client -> accounting: 50 of 50",
            "client -> frontend-proxy: 50 of 50",
            "accounting -> postgresql: 50 of 50",
            "checkout -> shipping-service: 100 of 50",
            "checkout -> kafka: 50 of 50",
            "checkout -> valkey-cart: 50 of 50",
            "frontend -> checkout: 50 of 50",
            "frontend-proxy -> frontend: 50 of 50",
        ]
    );
    let shares: Vec<(&str, f64)> =
        found.requests.iter().map(|r| (r.original.as_str(), r.share.value)).collect();
    assert_eq!(shares.len(), 2, "{shares:?}");
    assert!(
        found.requests.iter().any(|r| r.message && r.original == "orders process at accounting")
    );
    // 94 ms of its own, less 50 in its call; what is between is its own.
    assert_eq!(own_ms(&found, "frontend"), 44.0);
    // The wait between two attempts is no work: 48 - 2 - 20 - 2.
    assert_eq!(own_ms(&found, "checkout"), 24.0);
    assert_eq!(own_ms(&found, "valkey-cart"), 2.0);
    let shipping = found.policies.iter().find(|p| p.callee == "shipping-service").unwrap();
    assert_eq!((shipping.limit, shipping.evidence), (Some(1), [0, 0, 50]));
    assert_eq!(shipping.on, ["rejected"]);
}

#[test]
fn retries_beneath_the_callers_span_and_attempts_of_grpc() {
    let spans: &[Span] = &[
        (1, 0, "web", 2, "GET /", 0, 100, &[]),
        // A sidecar retries: one CLIENT span, two SERVER spans.
        (2, 1, "web", 3, "GET", 5, 40, &[("server.address", "orders")]),
        (3, 2, "orders", 2, "GET /o", 6, 15, &[("http.response.status_code", "500")]),
        (4, 2, "orders", 2, "GET /o", 20, 39, &[]),
        // gRPC: one span for the call, one for each attempt.
        (5, 1, "web", 3, "Sent.shop.Rates/Get", 50, 90, &[]),
        (6, 5, "web", 3, "Attempt.shop.Rates/Get", 51, 60, &[("rpc.grpc.status_code", "14")]),
        (7, 5, "web", 3, "Attempt.shop.Rates/Get", 70, 89, &[("previous-rpc-attempts", "1")]),
        (8, 7, "rates", 2, "Recv.shop.Rates/Get", 71, 88, &[]),
    ];
    let found = learn_text(&otlp(30, spans)).unwrap();
    assert_eq!(
        edges(&found),
        ["client -> web: 30 of 30", "web -> orders: 60 of 30", "web -> rates: 60 of 30"]
    );
    let evidence: Vec<[u64; 3]> = found.policies.iter().map(|p| p.evidence).collect();
    assert_eq!(evidence, [[0, 0, 0], [0, 30, 0], [30, 0, 0]]);
    // 100 less 35 and 40.
    assert_eq!(own_ms(&found, "web"), 25.0);
    let rates = found.policies.iter().find(|p| p.callee == "rates").unwrap();
    assert!((rates.backoff.as_ref().unwrap().base_s - 0.01).abs() < 1e-9);
}

#[test]
fn spans_without_kinds_are_told_by_their_services() {
    let jaeger = |n: u64| {
        let start = 1_700_000_000_000_000_u64 + n * 1_000_000;
        let span = |id: u64,
                    parent: u64,
                    process: &str,
                    name: &str,
                    from: u64,
                    length: u64,
                    tags: &str| {
            let references = if parent == 0 {
                String::new()
            } else {
                format!(
                    "{{\"refType\":\"CHILD_OF\",\"traceID\":\"{n:x}\",\"spanID\":\"{parent:x}\"}}"
                )
            };
            format!(
                "{{\"traceID\":\"{n:x}\",\"spanID\":\"{id:x}\",\"operationName\":\"{name}\",\"references\":[{references}],\"startTime\":{},\"duration\":{length},\"tags\":[{tags}],\"processID\":\"{process}\"}}",
                start + from
            )
        };
        let client = "{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"client\"}";
        let spans = [
            span(1, 0, "p1", "/wrk2-api/home", 0, 10_000, ""),
            span(2, 1, "p1", "home_handler", 500, 9_000, ""),
            span(3, 2, "p2", "read_timeline", 1_000, 8_000, ""),
            span(4, 3, "p2", "redis_find", 1_500, 2_000, client),
            span(5, 3, "p3", "read_posts", 4_000, 4_000, ""),
        ];
        format!(
            "{{\"traceID\":\"{n:x}\",\"spans\":[{}],\"processes\":{{\"p1\":{{\"serviceName\":\"nginx\"}},\"p2\":{{\"serviceName\":\"timeline\"}},\"p3\":{{\"serviceName\":\"posts\"}}}}}}",
            spans.join(",")
        )
    };
    let traces: Vec<String> = (1..=40).map(jaeger).collect();
    let text = format!("{{\"data\":[{}],\"total\":0}}", traces.join(","));
    let found = learn_text(text.as_bytes()).unwrap();
    assert_eq!(
        edges(&found),
        [
            "client -> nginx: 40 of 40",
            "nginx -> timeline: 40 of 40",
            "timeline -> posts: 40 of 40",
            "timeline -> redis_find: 40 of 40",
        ]
    );
    assert_eq!(own_ms(&found, "timeline"), 2.0);
    assert!(found.services.iter().any(|s| s.name == "redis_find" && !s.remarks.is_empty()));
}
