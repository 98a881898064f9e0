//! A class on its way through an application that knows nothing of it.

use crate::setup::free_port;
use crate::{Answer, Client, Listener, Protocol, Setup, Upstream, envoy, run};

/// In comes a class, the application forwards `traceparent` alone, and the call it makes has the
/// class. One Envoy, two listeners, two worker threads, as beside a service in a mesh.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_trace_carries_the_class_through_an_application() {
    run(async {
        let callee = Upstream::start(Protocol::Http1, |_| Answer::Status(200, vec![])).await;
        let outbound_port = free_port();
        let application =
            Upstream::start(Protocol::Http1, move |_| Answer::Call(outbound_port)).await;
        let plugin = |position: &str| {
            format!(
                r#"{{"damper": 1, "position": "{position}", "classes": ["high", "low"],
                    "class": {{"remember": {{"by": "traceparent"}}}}, "retry": {{"limit": {{"high": 2}}}}}}"#
            )
        };
        let inbound = Listener::new("in", "up", &plugin("inbound"));
        let outbound = Listener::new("out", "callee", &plugin("outbound"));
        let setup = Setup::new(&application, Listener { internal: true, ..inbound })
            .cluster("callee", callee.port, false, None)
            .listener(Listener { port: outbound_port, internal: true, ..outbound });
        let Some(envoy) = envoy(&setup).await else { return };
        for n in 0..40_u32 {
            let class = if n % 2 == 0 { "high" } else { "low" };
            let trace = format!("00-4bf92f3577b34da6a3ce929d0e0e{n:04x}-00f067aa0ba902b7-01");
            let mut client = Client::connect(envoy.port("in"), false).await;
            let headers = [("x-damper-class", class), ("traceparent", trace.as_str())];
            assert_eq!(client.get("/", &headers).await.status, 200);
        }
        assert!(application.seen().iter().all(|seen| seen.path == "/"));
        let seen = callee.seen();
        assert!(seen.iter().all(|seen| seen.path == "/from-the-application"));
        assert_eq!(callee.by_class(), [("high".to_owned(), 20), ("low".to_owned(), 20)].into());
        assert_eq!(envoy.counter("outbound.remembered").await, 20);
        assert_eq!(envoy.counter("outbound.class.high.retries_granted").await, 40);
    });
}

/// Deadlines get shorter, and Envoy gives up when they are over.
#[test]
#[ignore = "slow: needs Envoy"]
fn deadlines_travel() {
    run(async {
        // Never, as far as the deadline goes; and that is long enough to arrive on a slow machine.
        let late = std::time::Duration::from_secs(600);
        let upstream = Upstream::start(Protocol::Http1, move |_| Answer::Late(late)).await;
        let plugin = r#"{"damper": 1, "position": "outbound",
            "deadline": {"header": "x-damper-deadline-ms", "margin_ms": 5}}"#;
        let listener = Listener { timeout: "600s", ..Listener::new("out", "up", plugin) };
        let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
        let mut client = Client::connect(envoy.port("out"), false).await;
        let got = client.get("/", &[("x-damper-deadline-ms", "3000")]).await;
        assert_eq!(got.status, 504);
        assert_eq!(upstream.seen()[0].header("x-damper-deadline-ms"), "2995");
        assert_eq!(envoy.upstream_counter("upstream_rq_timeout").await, 1);
        let got = client.get("/", &[("x-damper-deadline-ms", "5")]).await;
        assert_eq!((got.status, got.header("x-damper-refused")), (504, "deadline"));
        assert_eq!(upstream.seen().len(), 1);
        assert_eq!(envoy.counter("outbound.class.default.refused_deadline").await, 1);
    });
}
