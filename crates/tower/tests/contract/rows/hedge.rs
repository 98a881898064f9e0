//! Hedging.

use std::time::Duration;

use damper_control::budget::{EnvoyRetryBudget, GrpcTokenBucket};
use damper_control::conditions::{GrpcSet, GrpcStatus};
use damper_control::{Backoff, Budget, Nanos, Reason, RetryOn};
use damper_tower::{ByHeader, Error, Event, Grpc, HedgeLayer, Policy, retry::Repeat};
use http_body_util::BodyExt as _;
use tower::{Layer as _, Service as _};

use crate::Row;
use crate::probe::{self, Answer, Boom, Probe, get, ms, post, ready, send};

pub(crate) struct Hedge;

fn with(limit: u32, delay: u64, budget: Budget) -> HedgeLayer {
    let retry =
        damper_control::Retry { limits: [limit].into(), on: RetryOn::ALL, backoff: Backoff::NONE };
    let policy = Policy { repeat: Repeat::Always, ..Policy::new(retry) };
    let codes = GrpcSet::EMPTY.with(GrpcStatus::Unavailable);
    let classify = Grpc::default().with_codes(codes);
    HedgeLayer::with(policy, Nanos::from_millis(delay), budget, classify, ByHeader::default())
}

/// When the attempts were sent, in milliseconds.
fn at(probe: &Probe) -> Vec<u128> {
    let calls = probe.calls();
    calls.iter().map(|c| (c.at - calls[0].at).as_millis()).collect()
}

fn slow(after: u64) -> Answer {
    Answer::grpc("0").after(ms(after))
}

/// Push-back at 30 ms, when a hedge has been due since 10 ms and its service is ready at 50 ms.
async fn pushback_while_a_hedge_waits() {
    for (told, sent, status, end) in [("-1", vec![0], "14", 30), ("100", vec![0, 130], "0", 131)] {
        // A budget of one: what the hedge took must be back.
        let budget = EnvoyRetryBudget::try_new(0.0, 1).map(Budget::from).unwrap();
        let layer = with(2, 10, budget);
        let first = Answer::grpc("14").with("grpc-retry-pushback-ms", told).after(ms(30));
        let probe = Probe::new([first, slow(1)]);
        let mut service = layer.layer(probe.clone());
        ready(&mut service).await;
        let (started, call) = (tokio::time::Instant::now(), service.call(get(0)));
        probe.close(true);
        let opener = probe.clone();
        let opens = tokio::spawn(async move {
            tokio::time::sleep(ms(50)).await;
            opener.close(false);
        });
        let reply = call.await.unwrap();
        assert_eq!((at(&probe), started.elapsed()), (sent, ms(end)), "{told}");
        assert_eq!(reply.headers()["grpc-status"], status);
        opens.await.unwrap();
        let again = Probe::new([Answer::grpc("14"), slow(1)]);
        let _ = send(&mut layer.layer(again.clone()), get(0)).await.unwrap();
        assert_eq!(again.attempts(), 2, "{told}");
    }
}

impl Row for Hedge {
    async fn readied() {
        probe::readied(&with(2, 10, Budget::NONE)).await;
        let probe = Probe::new([Answer::never(), Answer::never(), slow(1)]);
        let mut service = with(2, 10, Budget::NONE).layer(probe.clone());
        let _ = send(&mut service, get(0)).await.unwrap();
        assert_eq!((probe.attempts(), probe.polls()), (3, 3), "each is made ready on its own");
    }

    async fn attempts() {
        let run = async |answers: Vec<Answer>, limit, delay| {
            let probe = Probe::new(answers);
            let layer = with(limit, delay, Budget::NONE);
            let started = tokio::time::Instant::now();
            let result = send(&mut layer.layer(probe.clone()), get(0)).await.unwrap();
            let status = result.headers()["grpc-status"].to_str().unwrap().to_owned();
            (at(&probe), status, started.elapsed())
        };
        // Nothing in time: the next after the delay, up to the limit; the first good one wins.
        let slow_ones = vec![slow(500), slow(500), slow(15)];
        assert_eq!(run(slow_ones, 2, 10).await, (vec![0, 10, 20], "0".into(), ms(35)));
        // A delay of zero sends all at once.
        assert_eq!(run(vec![slow(50); 3], 2, 0).await.0, [0, 0, 0]);
        // Not fatal: the next at once, and later ones each delay from there.
        let answers = vec![Answer::grpc("14").after(ms(4)), slow(500), slow(3)];
        assert_eq!(run(answers, 2, 10).await, (vec![0, 4, 14], "0".into(), ms(17)));
        // Fatal: it is the answer, though another is on its way.
        let answers = vec![slow(500), Answer::grpc("3").after(ms(5))];
        assert_eq!(run(answers, 2, 10).await, (vec![0, 10], "3".into(), ms(15)));
        // Push-back names the time of the next; stop ends hedging.
        let told = |n| Answer::grpc("14").with("grpc-retry-pushback-ms", n);
        assert_eq!(run(vec![told("40"), slow(500), slow(1)], 2, 10).await.0, [0, 40, 50]);
        assert_eq!(run(vec![told("-1")], 2, 10).await, (vec![0], "14".into(), ms(0)));
        // All fail: the last failure.
        assert_eq!(run(vec![Answer::grpc("14"); 3], 2, 10).await.0.len(), 3);
        pushback_while_a_hedge_waits().await;
        // A success by a hedge is one when its trailers say so.
        for (answers, status, successes) in [
            (vec![Answer::never(), Answer::status(200)], "0", 1),
            (vec![Answer::never(), Answer::status(200)], "13", 0),
            (vec![Answer::status(200)], "0", 0),
            (vec![Answer::never(), slow(1)], "0", 1),
        ] {
            let layer = with(1, 10, Budget::NONE);
            let service = probe::streaming(Probe::new(answers), status);
            let reply = send(&mut layer.layer(service), get(0)).await.unwrap();
            let _ = reply.into_body().collect().await.unwrap();
            let seen = layer.counters().snapshot();
            assert_eq!(seen.total(Event::SuccessAfterRetry), successes, "{status}");
        }
    }

    async fn cancel() {
        probe::cancel(&with(0, 10, Budget::NONE)).await;
        let probe = Probe::new(vec![Answer::never(); 3]);
        let layer = with(2, 10, Budget::NONE);
        let mut service = layer.layer(probe.clone());
        ready(&mut service).await;
        let call = service.call(get(0));
        assert!(tokio::time::timeout(ms(50), call).await.is_err());
        assert_eq!((probe.attempts(), probe.open(), probe.dropped()), (3, 0, 3));
        // The losers of a race are cancelled, too.
        let probe = Probe::new([Answer::never(), slow(1)]);
        let _ = send(&mut layer.layer(probe.clone()), get(0)).await.unwrap();
        assert_eq!((probe.open(), probe.dropped()), (0, 1));
    }

    async fn wakes() {
        probe::wakes(&with(2, 10, Budget::NONE)).await;
        // A hedge whose service is not ready does not hold up the first attempt.
        let probe = Probe::new([slow(50)]);
        let mut service = with(2, 10, Budget::NONE).layer(probe.clone());
        ready(&mut service).await;
        let call = service.call(get(0));
        probe.close(true);
        let started = tokio::time::Instant::now();
        let _ = call.await.unwrap();
        assert_eq!((probe.attempts(), started.elapsed()), (1, ms(50)));
    }

    async fn errors() {
        // An error counts as UNAVAILABLE, which is not fatal here.
        let probe = Probe::new([Answer::error(1), Answer::error(2)]);
        let error = send(&mut with(1, 10, Budget::NONE).layer(probe), get(0)).await.unwrap_err();
        assert_eq!(error, Error::Inner(Boom(2)));
    }

    async fn edges() {
        for (limit, attempts) in [(0, 1), (1, 2), (u32::MAX, 5)] {
            let probe = Probe::new(vec![Answer::grpc("14"); 9]);
            let _ = send(&mut with(limit, 1, Budget::NONE).layer(probe.clone()), get(0)).await;
            assert_eq!(probe.attempts(), attempts, "gRPC makes at most five");
        }
        // The throttle denies: no more hedges, those on their way go on.
        let bucket = GrpcTokenBucket::try_new(2, 0.1).map(Budget::from).unwrap();
        let layer = with(4, 10, bucket);
        let probe = Probe::new([slow(30), Answer::grpc("14").after(ms(1)), slow(1)]);
        let reply = send(&mut layer.layer(probe.clone()), get(0)).await.unwrap();
        assert_eq!((reply.headers()["grpc-status"].as_bytes(), probe.attempts()), (&b"0"[..], 2));
        let seen = layer.counters().snapshot();
        assert_eq!(seen.total(Event::Refused(Reason::BudgetExhausted)), 1);
        // What must not be done twice is not hedged.
        let retry =
            damper_control::Retry { limits: [3].into(), on: RetryOn::ALL, backoff: Backoff::NONE };
        let layer = HedgeLayer::with(
            Policy::new(retry),
            Nanos::ZERO,
            Budget::NONE,
            Grpc::default(),
            ByHeader::default(),
        );
        let probe = Probe::new([slow(10)]);
        let _ = send(&mut layer.layer(probe.clone()), post("pay")).await.unwrap();
        assert_eq!(probe.attempts(), 1);
    }

    async fn beside_tower() {
        #[derive(Clone)]
        struct Always;
        type Req = http::Request<http_body_util::Full<bytes::Bytes>>;
        impl tower::hedge::Policy<Req> for Always {
            fn clone_request(&self, request: &Req) -> Option<Req> {
                Some(request.clone())
            }
            fn can_retry(&self, _: &Req) -> bool {
                true
            }
        }
        // tower hedges once, after a percentile of what it has seen: here about 10 ms.
        let script = || [slow(500), slow(5)];
        let (ours, theirs) = (Probe::new(script()), Probe::new(script()));
        let mut tower = tower::hedge::Hedge::new_with_mock_latencies(
            theirs.clone(),
            Always,
            10,
            0.9,
            Duration::from_secs(60),
            &[10; 20],
        );
        let _ = send(&mut tower, get(0)).await.unwrap();
        let _ = send(&mut with(1, 10, Budget::NONE).layer(ours.clone()), get(0)).await.unwrap();
        assert_eq!((ours.attempts(), theirs.attempts()), (2, 2));
        assert!(at(&theirs)[1].abs_diff(at(&ours)[1]) <= 1, "{:?}", at(&theirs));
    }
}
