//! The lever.

use serde_json::json;

use crate::attempts::backoff;
use crate::envoy::pause;
use crate::setup::free_port;
use crate::{Client, Envoy, Listener, Protocol, Setup, Upstream, envoy, run};

const LEVER: &str =
    r#"{"damper": 1, "position": "lever", "classes": ["high", "low"], "trust": ["127.0.0.0/8"]}"#;
/// A lever for others.
const LOCKED: &str =
    r#"{"damper": 1, "position": "lever", "classes": ["high", "low"], "trust": ["192.0.2.0/24"]}"#;

/// A caller whose Envoy retries every 5xx does not retry what the lever of its callee refuses; and
/// what the lever refuses never reaches the service.
#[test]
#[ignore = "slow: needs Envoy"]
fn what_the_lever_refuses_is_not_retried() {
    run(async {
        for protocol in Protocol::ALL {
            let upstream = Upstream::failing(protocol).await;
            let caller = Listener::new("caller", "callee", "").retry(json!(
                {"retry_on": "5xx,unavailable", "num_retries": 4, "retry_back_off": backoff()}));
            let plugin = r#"{"damper": 1, "position": "inbound", "classes": ["high", "low"],
                "lever": {"low": {"pause": true}}}"#;
            let mut callee = Listener::new("callee", "up", plugin);
            (callee.port, callee.internal) = (free_port(), true);
            let setup = Setup::new(&upstream, callee.clone())
                .cluster("callee", callee.port, protocol.is_http2(), None)
                .listener(Listener { plain: true, ..caller });
            let Some(envoy) = envoy(&setup).await else { return };
            let mut client = Client::connect(envoy.port("caller"), protocol.is_http2()).await;
            for _ in 0..10 {
                let got = client.ask(protocol, "/x", &[("x-damper-class", "low")]).await;
                assert_eq!(got.header("x-damper-refused"), "lever", "{protocol:?}");
                assert_eq!(got.header("retry-after"), "5", "{protocol:?}");
                let (status, grpc) =
                    if protocol == Protocol::Grpc { (200, "14") } else { (503, "-") };
                assert_eq!((got.status, got.header("grpc-status")), (status, grpc));
            }
            assert_eq!(upstream.seen().len(), 0);
            assert_eq!(envoy.counter("inbound.class.low.refused_lever").await, 10, "{protocol:?}");
            // What the service itself refuses is retried.
            client.ask(protocol, "/x", &[("x-damper-class", "high")]).await;
            assert_eq!(upstream.seen().len(), 5, "{protocol:?}");
        }
    });
}

/// How many of 40 requests are let in, on several connections, for all threads.
async fn let_in(envoy: &Envoy) -> u32 {
    let mut passed = 0;
    for _ in 0..10 {
        let mut client = Client::connect(envoy.port("out"), false).await;
        for _ in 0..4 {
            let got = client.get("/", &[("x-damper-class", "low")]).await;
            passed += u32::from(got.status == 200);
        }
    }
    passed
}

/// The lever is pulled at run time at a listener of its own, and all worker threads follow.
#[test]
#[ignore = "slow: needs Envoy"]
fn the_lever_is_pulled_at_run_time() {
    run(async {
        let upstream =
            Upstream::start(Protocol::Http1, |_| crate::Answer::Status(200, vec![])).await;
        let plugin = r#"{"damper": 1, "position": "outbound", "classes": ["high", "low"]}"#;
        let setup = Setup::new(&upstream, Listener::new("out", "up", plugin))
            .listener(Listener::new("lever", "up", LEVER))
            .listener(Listener::new("locked", "up", LOCKED));
        let Some(envoy) = envoy(&setup).await else { return };
        let mut locked = Client::connect(envoy.port("locked"), false).await;
        assert_eq!(locked.get("/", &[("x-damper-lever", "{}")]).await.status, 403);
        let mut desk = Client::connect(envoy.port("lever"), false).await;
        // Each thread lets in its own share, and is less than one request away from it.
        for (pull, least, most) in [
            (r#"{"low": {"pause": true}}"#, 0, 0),
            (r#"{"low": {"throttle": 0.25}}"#, 9, 11),
            ("", 40, 40),
        ] {
            let got = desk.get("/", &[("x-damper-lever", pull)]).await;
            assert_eq!(got.status, 200, "{}", got.body);
            // However long it takes, in the end all threads follow and go on to do so.
            let (mut follows, mut last) = (0, 0);
            for _ in 0..300 {
                last = let_in(&envoy).await;
                follows = if (least..=most).contains(&last) { follows + 1 } else { 0 };
                if follows == 4 {
                    break;
                }
                pause(50).await;
            }
            assert_eq!(follows, 4, "{pull}: {last} of 40");
        }
        let got = desk.get("/", &[("x-damper-lever", r#"{"lwo": {"pause": true}}"#)]).await;
        assert_eq!(got.status, 400);
        assert!(got.body.contains("did you mean `low`?"), "{}", got.body);
    });
}
