//! Attempts by class, as the server counts them.

use std::time::Duration;

use serde_json::json;

use crate::{Answer, Client, Envoy, Listener, Protocol, Setup, Upstream, envoy, run};

const CLASSES: &str = r#"{"damper": 1, "position": "outbound", "classes": ["high", "low", "none"],
    "retry": {"limit": {"high": 5, "low": 1, "none": 0}, "on": ["rejected", "failed", "timeout"]}}"#;
/// Waits that a test can afford.
pub(crate) fn backoff() -> serde_json::Value {
    json!({"base_interval": "0.001s", "max_interval": "0.002s"})
}

async fn send(envoy: &Envoy, protocol: Protocol, class: &str, requests: usize) {
    let mut client = Client::connect(envoy.port("out"), protocol.is_http2()).await;
    for _ in 0..requests {
        client.ask(protocol, "/x", &[("x-damper-class", class)]).await;
    }
}

/// The limit counts retries: attempts are one more, by any protocol. The route says nothing about
/// retries but how long to wait.
#[test]
#[ignore = "slow: needs Envoy"]
fn attempts_are_the_limit_and_one() {
    run(async {
        for protocol in Protocol::ALL {
            let upstream = Upstream::failing(protocol).await;
            let listener =
                Listener::new("out", "up", CLASSES).retry(json!({"retry_back_off": backoff()}));
            let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
            for (class, attempts) in [("high", 6), ("low", 2), ("none", 1)] {
                send(&envoy, protocol, class, 20).await;
                assert_eq!(upstream.by_class()[class], 20 * attempts, "{protocol:?} {class}");
                let counter = |name| format!("outbound.class.{class}.{name}");
                assert_eq!(envoy.counter(&counter("requests")).await, 20);
                assert_eq!(envoy.counter(&counter("attempts")).await, 20 * attempts as u64);
                let granted = envoy.counter(&counter("retries_granted")).await;
                assert_eq!(granted, 20 * (attempts as u64 - 1));
            }
            // Retries of Envoy's own are none beside those.
            assert_eq!(envoy.upstream_counter("upstream_rq_retry").await, 20 * 5 + 20);
        }
    });
}

/// What Envoy does with a limit of 0: where the route itself retries, the header alone switches it
/// off, and Envoy counts a limit that was exceeded; where it does not, nothing happens.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_limit_of_nothing_switches_retries_off() {
    run(async {
        for (route, exceeded) in
            [(json!({"retry_on": "5xx", "num_retries": 2}), 10), (json!(null), 0)]
        {
            let upstream = Upstream::failing(Protocol::Http1).await;
            let mut listener = Listener::new("out", "up", CLASSES);
            listener.retry = (!route.is_null()).then_some(route);
            let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
            send(&envoy, Protocol::Http1, "none", 10).await;
            assert_eq!(upstream.by_class()["none"], 10);
            assert_eq!(envoy.upstream_counter("upstream_rq_retry").await, 0);
            let found = envoy.upstream_counter("upstream_rq_retry_limit_exceeded").await;
            assert_eq!(found, exceeded);
        }
    });
}

/// A filter that says a limit and no conditions goes with the conditions of the route.
#[test]
#[ignore = "slow: needs Envoy"]
fn conditions_of_the_route_stay() {
    run(async {
        let upstream = Upstream::failing(Protocol::Http1).await;
        let plugin = r#"{"damper": 1, "position": "outbound", "retry": {"limit": 3}}"#;
        for (on, attempts) in [("retriable-4xx", 1), ("5xx", 4)] {
            upstream.forget();
            let retry = json!({"retry_on": on, "num_retries": 9, "retry_back_off": backoff()});
            let listener = Listener::new("out", "up", plugin).retry(retry);
            let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
            send(&envoy, Protocol::Http1, "default", 5).await;
            assert_eq!(upstream.seen().len(), 5 * attempts, "{on}");
        }
    });
}

/// Connections that are cut, streams that are reset, and attempts that time out.
#[test]
#[ignore = "slow: needs Envoy"]
fn resets_and_timeouts_are_retried_if_they_are_named() {
    run(async {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            for (on, answer, attempts) in [
                ("failed", Answer::Reset, 3),
                ("rejected", Answer::Reset, 1),
                ("timeout", Answer::Late(Duration::from_secs(600)), 3),
            ] {
                let given = answer.clone();
                let upstream = Upstream::start(protocol, move |_| given.clone()).await;
                // An attempt has to arrive within its time, on a slow machine, too.
                let timeout = if on == "timeout" { r#", "per_try_timeout_ms": 1000"# } else { "" };
                let plugin = format!(
                    r#"{{"damper": 1, "position": "outbound", "retry": {{"limit": 2, "on": ["{on}"]{timeout}}}}}"#
                );
                let mut listener =
                    Listener::new("out", "up", &plugin).retry(json!({"retry_back_off": backoff()}));
                listener.timeout = "600s";
                let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
                send(&envoy, protocol, "default", 2).await;
                assert_eq!(upstream.seen().len(), 2 * attempts, "{protocol:?} {on} {answer:?}");
                let counted = envoy.counter("outbound.class.default.attempts").await;
                assert_eq!(counted, 2 * attempts as u64);
            }
        }
    });
}

/// Destinations have limits of their own.
#[test]
#[ignore = "slow: needs Envoy"]
fn edges_have_their_own_limit() {
    run(async {
        let upstream = Upstream::failing(Protocol::Http1).await;
        let plugin = r#"{"damper": 1, "position": "outbound",
            "retry": {"limit": 3, "on": ["rejected"]},
            "edges": [{"host": "search", "retry": {"limit": 0}}, {"host": "*.far", "retry": {"limit": 1}}]}"#;
        let listener =
            Listener::new("out", "up", plugin).retry(json!({"retry_back_off": backoff()}));
        let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
        for (host, attempts) in [("search:8080", 1), ("a.far", 2), ("other", 4)] {
            upstream.forget();
            Client::connect(envoy.port("out"), false).await.get("/", &[("host", host)]).await;
            assert_eq!(upstream.seen().len(), attempts, "{host}");
        }
    });
}
