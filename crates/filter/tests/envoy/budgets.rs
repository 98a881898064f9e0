//! Budgets that say no, as Envoy's own stats tell.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::attempts::backoff;
use crate::envoy::pause;
use crate::{Answer, Client, Envoy, Listener, Protocol, Setup, Upstream, envoy, run};

fn plugin(budget: &str) -> String {
    format!(
        r#"{{"damper": 1, "position": "outbound",
            "retry": {{"limit": 3, "on": ["rejected"], "budget": {budget}}}}}"#
    )
}

/// Everything fails: each budget stops retries, and its counter of denials moves. What it lets
/// through at most is its own bound, once for each of the two threads, and one request more.
#[test]
#[ignore = "slow: needs Envoy"]
fn each_budget_says_no_in_an_outage() {
    const REQUESTS: u64 = 120;
    run(async {
        for (budget, most) in [
            (r#"{"kind": "token-bucket", "max_tokens": 10}"#, 2 * (5 + 3)),
            (r#"{"kind": "ratio", "percent": 10, "min_per_s": 0}"#, 12 + 3),
            (r#"{"kind": "arb"}"#, 24 + 2 * 3),
        ] {
            for protocol in [Protocol::Http1, Protocol::Grpc] {
                let upstream = Upstream::failing(protocol).await;
                let listener = Listener::new("out", "up", &plugin(budget))
                    .retry(json!({"retry_back_off": backoff()}));
                let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
                // A connection for each few requests, so that both threads have some.
                for _ in 0..REQUESTS / 6 {
                    let mut client = Client::connect(envoy.port("out"), protocol.is_http2()).await;
                    for _ in 0..6 {
                        client.ask(protocol, "/x", &[]).await;
                    }
                }
                let retries = upstream.seen().len() as u64 - REQUESTS;
                let denied = envoy.counter("outbound.class.default.retries_denied_budget").await;
                let granted = envoy.counter("outbound.class.default.retries_granted").await;
                let case = format!("{budget} {protocol:?}: {retries} retries, {denied} denied");
                println!("{case}");
                assert!(denied > 0 && granted + denied == 3 * REQUESTS, "{case}");
                assert_eq!(retries, granted, "{case}");
                assert!(retries <= most, "{case}");
            }
        }
    });
}

/// When nothing fails any more, a budget allows retries again.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_budget_recovers() {
    run(async {
        let upstream = Upstream::start(Protocol::Http1, |seen| match seen.path.as_str() {
            "/ok" => Answer::Status(200, vec![]),
            _ => Answer::Status(503, vec![]),
        })
        .await;
        let budget = plugin(r#"{"kind": "token-bucket", "max_tokens": 10, "token_ratio": 1}"#);
        let listener =
            Listener::new("out", "up", &budget).retry(json!({"retry_back_off": backoff()}));
        let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
        // One connection: one thread, one account.
        let mut client = Client::connect(envoy.port("out"), false).await;
        let mut attempts = async |path: &str| {
            let got = client.get(path, &[]).await;
            got.header("x-envoy-attempt-count").to_owned()
        };
        for _ in 0..5 {
            attempts("/fail").await;
        }
        assert_eq!(attempts("/fail").await, "1");
        for _ in 0..10 {
            attempts("/ok").await;
        }
        assert_eq!(attempts("/fail").await, "4");
    });
}

/// Sends `rate` requests per second for so long, each on its own, and says how many were in flight at
/// most.
async fn steadily(envoy: &Envoy, rate: u32, seconds: u32) -> usize {
    let port = envoy.port("out");
    let mut tick = interval(Duration::from_secs(1) / rate);
    let (mut all, mut most) = (JoinSet::new(), 0);
    for _ in 0..rate * seconds {
        tick.tick().await;
        all.spawn(async move {
            Client::connect(port, false).await.get("/x", &[]).await;
        });
        while all.try_join_next().is_some() {}
        most = most.max(all.len());
    }
    all.join_all().await;
    most
}

/// Envoy issue 30205: a retry that waits counts among the retries and its request does not count
/// among the requests. With delays that are long against the time of a request, Envoy's own budget
/// of 20 % allows a fraction of that; ours allows 20 %, and at most the requests in flight more.
#[test]
#[ignore = "slow: needs Envoy"]
fn waiting_retries_use_up_envoys_own_budget_and_not_ours() {
    const RATE: u32 = 100;
    const SECONDS: u32 = 10;
    run(async {
        let mut shares = Vec::new();
        for ours in [false, true] {
            let upstream = Upstream::failing(Protocol::Http1).await;
            let wait = json!({"base_interval": "1s", "max_interval": "1s"});
            let (plugin, retry, budget): (_, _, Option<Value>) = if ours {
                let plugin = r#"{"damper": 1, "position": "outbound", "retry": {"limit": 1,
                    "on": ["rejected"], "budget": {"kind": "ratio", "percent": 20, "min_per_s": 0}}}"#;
                (plugin, json!({"retry_back_off": wait}), None)
            } else {
                let retry = json!({"retry_on": "5xx", "num_retries": 1, "retry_back_off": wait});
                ("", retry, Some(json!({"budget_percent": {"value": 20}})))
            };
            let setup = Setup::default()
                .cluster("up", upstream.port, false, budget)
                .listener(Listener::new("out", "up", plugin).retry(retry));
            let Some(envoy) = envoy(&setup).await else { return };
            let most = steadily(&envoy, RATE, SECONDS).await;
            let retries = envoy.upstream_counter("upstream_rq_retry").await;
            let overflow = envoy.upstream_counter("upstream_rq_retry_overflow").await;
            let denied = if ours {
                envoy.counter("outbound.class.default.retries_denied_budget").await
            } else {
                overflow
            };
            let share = retries as f64 / f64::from(RATE * SECONDS);
            println!(
                "{}: {:.1} % of the requests retried, {denied} denied",
                if ours { "Damper's ratio, 20 %" } else { "Envoy's retry_budget, 20 %" },
                share * 100.0
            );
            assert!(denied > 0);
            assert!(!ours || overflow == 0);
            shares.push((share, most as f64 / f64::from(RATE * SECONDS)));
        }
        let [(envoys, _), (ours, in_flight)] = shares[..] else { unreachable!() };
        assert!(envoys < 0.6 * ours, "Envoy: {envoys}, ours: {ours}");
        assert!((0.15..=0.2 + in_flight).contains(&ours), "{ours}, in flight {in_flight}");
    });
}

/// A server that asks for time gets no retries for that long.
#[test]
#[ignore = "slow: needs Envoy"]
fn pushback_is_minded() {
    run(async {
        for (protocol, header, value) in [
            (Protocol::Http1, "retry-after", "30"),
            (Protocol::Grpc, "grpc-retry-pushback-ms", "30000"),
        ] {
            let upstream = Upstream::start(protocol, move |_| match protocol {
                Protocol::Grpc => Answer::Grpc(14, vec![(header, value)]),
                _ => Answer::Status(503, vec![(header, value)]),
            })
            .await;
            let plugin = r#"{"damper": 1, "position": "outbound",
                "retry": {"limit": 2, "on": ["rejected"], "pushback": true}}"#;
            let listener =
                Listener::new("out", "up", plugin).retry(json!({"retry_back_off": backoff()}));
            let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
            let mut client = Client::connect(envoy.port("out"), protocol.is_http2()).await;
            for _ in 0..5 {
                client.ask(protocol, "/x", &[]).await;
            }
            assert_eq!(upstream.seen().len(), 3 + 4, "{protocol:?}: only the first was retried");
            let denied = envoy.counter("outbound.class.default.retries_denied_pushback").await;
            assert_eq!(denied, 4 * 2, "{protocol:?}");
        }
    });
}

/// A server that hangs, and a caller that gives up: no answer ever comes by, and the budget still
/// pays for what Envoy tried, until it refuses.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_caller_that_gives_up_does_not_get_its_retries_for_nothing() {
    run(async {
        let hangs = Duration::from_secs(600);
        let upstream = Upstream::start(Protocol::Http2, move |_| Answer::Late(hangs)).await;
        // The last attempt has no end of its own but that of the request.
        let plugin = r#"{"damper": 1, "position": "outbound",
            "retry": {"limit": 2, "on": ["timeout"], "per_try_timeout_ms": 1000,
                      "budget": {"kind": "token-bucket", "max_tokens": 10}}}"#;
        let mut listener =
            Listener::new("out", "up", plugin).retry(json!({"retry_back_off": backoff()}));
        listener.timeout = "600s";
        let Some(envoy) = envoy(&Setup::new(&upstream, listener)).await else { return };
        // One connection, so one thread and one account.
        let mut client = Client::connect(envoy.port("out"), true).await;
        // 10 tokens, 3 attempts each, and retries stop at half.
        let mut gave_up = 0;
        for attempts in [3, 6, 7] {
            let arrived = async {
                while upstream.seen().len() < attempts {
                    pause(5).await;
                }
            };
            tokio::select! {
                got = client.get("/x", &[]) => {
                    panic!("an answer before attempt {attempts}: {}", got.status)
                }
                () = arrived => {}
            }
            gave_up += 1;
            // The next one must not come before Envoy knows that this one's caller left.
            while envoy.counter("outbound.class.default.unanswered").await < gave_up {
                pause(20).await;
            }
        }
        for (name, count) in [
            ("unanswered", 3),
            ("attempts", 7),
            ("retries_granted", 4),
            ("retries_denied_budget", 2),
        ] {
            let full = format!("outbound.class.default.{name}");
            assert_eq!(envoy.counter(&full).await, count, "{name}");
        }
        assert_eq!(envoy.counter("outbound.attempts_unknown").await, 0);
    });
}
