//! What strangers send.

use serde_json::json;

use crate::attempts::backoff;
use crate::{Client, Listener, Protocol, Setup, Upstream, envoy, run};

const FORGED: [(&str, &str); 9] = [
    ("x-damper-class", "high"),
    ("x-envoy-max-retries", "100"),
    ("x-envoy-retry-on", "5xx"),
    ("x-envoy-retry-grpc-on", "unavailable"),
    ("x-envoy-upstream-rq-per-try-timeout-ms", "9000"),
    ("x-envoy-upstream-rq-timeout-ms", "9000"),
    ("x-envoy-upstream-stream-duration-ms", "9000"),
    ("x-envoy-attempt-count", "7"),
    ("baggage", "class=high,other=1"),
];

fn plugin(position: &str, trust: &str) -> String {
    format!(
        r#"{{"damper": 1, "position": "{position}", "classes": ["high", "low"]{trust},
            "class": {{"baggage": "class", "match": [{{"class": "high", "path_prefix": "/pay"}}]}},
            "retry": {{"limit": {{"high": 3, "low": 1}}, "on": ["rejected"]}}}}"#
    )
}

/// At the edge a stranger gets the class of the rules and its limit, whatever it sends; who is
/// trusted by its network, or is internal to Envoy, gets what it says.
#[test]
#[ignore = "slow: needs Envoy"]
fn only_who_is_trusted_has_a_say() {
    run(async {
        for (position, trust, internal, class) in [
            ("edge", "", false, "low"),
            ("edge", r#", "trust": ["10.0.0.0/8", "spiffe://mesh/"]"#, false, "low"),
            ("edge", r#", "trust": ["127.0.0.0/8"]"#, false, "high"),
            ("inbound", "", false, "low"),
            ("inbound", "", true, "high"),
            ("edge", "", true, "low"),
        ] {
            for protocol in [Protocol::Http1, Protocol::Http2] {
                let upstream = Upstream::failing(protocol).await;
                let mut listener = Listener::new("in", "up", &plugin(position, trust))
                    .retry(json!({"retry_back_off": backoff()}));
                listener.internal = internal;
                let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
                let mut client = Client::connect(envoy.port("in"), protocol.is_http2()).await;
                client.ask(protocol, "/x", &FORGED).await;
                let case = format!("{position}{trust} {internal} {protocol:?}");
                let seen = upstream.seen();
                let attempts = if class == "high" { 4 } else { 2 };
                assert_eq!(seen.len(), attempts, "{case}");
                assert_eq!(seen[0].header("x-damper-class"), class, "{case}");
                assert_eq!(seen[0].header("x-envoy-attempt-count"), "1", "{case}");
                assert_eq!(seen[1].header("x-envoy-attempt-count"), "2", "{case}");
                for name in &FORGED[1..7] {
                    assert_eq!(seen[0].header(name.0), "-", "{case}");
                }
                let distrusted = envoy.counter(&format!("{position}.distrusted_headers")).await;
                assert_eq!(distrusted > 0, class == "low", "{case}");
                let baggage = seen[0].header("baggage");
                assert!(
                    baggage.split(',').any(|member| member == format!("class={class}")),
                    "{case}: {baggage}"
                );
                // The rules are for strangers, too.
                upstream.forget();
                client.ask(protocol, "/pay/1", &FORGED).await;
                assert_eq!(upstream.seen().len(), 4, "{case}");
            }
        }
    });
}
