//! Retries.

use damper_control::budget::{EnvoyRetryBudget, GrpcTokenBucket};
use damper_control::{Backoff, Budget, Jitter, Nanos, Outcome, Reason, RetryLimits, RetryOn};
use damper_tower::{
    ByHeader, Error, Event, Grpc, Http, Idempotent, Policy, RetryLayer, headers, retry::Repeat,
};
use http_body_util::BodyExt as _;
use tower::{Layer as _, Service as _};

use crate::Row;
use crate::probe::{self, Answer, Boom, Probe, get, ms, poll_once, post, ready, send};

pub(crate) struct Retry;

fn policy(limits: impl Into<RetryLimits>) -> Policy {
    Policy::new(damper_control::Retry {
        limits: limits.into(),
        on: RetryOn::ALL,
        backoff: Backoff::constant(Nanos::from_millis(10), Jitter::None),
    })
}

fn layer() -> RetryLayer {
    RetryLayer::new(policy([2, 1]), Budget::NONE)
}

fn fails(n: usize) -> Vec<Answer> {
    vec![Answer::status(503); n]
}

fn number(headers: &http::HeaderMap, name: http::HeaderName) -> Option<&str> {
    headers.get(name).map(|v| v.to_str().unwrap())
}

/// Every budget of control, by its defaults.
fn budgets() -> Vec<(&'static str, Budget)> {
    let all = damper_control::registry::of(damper_control::Kind::Budget);
    let built = all.filter_map(|entry| match entry.build {
        damper_control::entry::Build::Budget(build) => {
            let defaults: Vec<f64> = entry.defaults().collect();
            build(&defaults).map(|budget| (entry.name, budget))
        }
        _ => None,
    });
    built.collect()
}

impl Row for Retry {
    async fn readied() {
        probe::readied(&layer()).await;
        // Each retry is made ready, too: the probe would notice.
        let probe = Probe::new(fails(2));
        let mut service = layer().layer(probe.clone());
        assert_eq!(send(&mut service, get(0)).await.unwrap().status(), 200);
        assert_eq!((probe.attempts(), probe.polls()), (3, 3));
    }

    async fn attempts() {
        for (class, attempts) in [(0, 3), (1, 2), (9, 2)] {
            let probe = Probe::new(fails(9));
            let layer = layer();
            let mut service = layer.layer(probe.clone());
            let started = tokio::time::Instant::now();
            assert_eq!(send(&mut service, get(class)).await.unwrap().status(), 503);
            assert_eq!(probe.attempts(), attempts, "class {class}");
            assert_eq!(started.elapsed(), ms(10) * (attempts as u32 - 1), "one backoff each");
            let seen = layer.counters().snapshot();
            assert_eq!(seen.of(class, Event::Attempt), attempts as u64);
            assert_eq!(seen.of(class, Event::Retry), attempts as u64 - 1);
            assert_eq!(seen.of(class, Event::Refused(Reason::LimitReached)), 1);
            let last = &probe.calls()[attempts - 1].headers;
            let before = (attempts - 1).to_string();
            assert_eq!(number(last, headers::GRPC_PREVIOUS_ATTEMPTS), Some(before.as_str()));
            assert_eq!(number(last, headers::ATTEMPT_COUNT).unwrap(), attempts.to_string());
        }
        unsafe_calls().await;
        bodies().await;
        pushback().await;
        successes_after_a_retry().await;
        // Every budget of control grants a retry while all is well but those that grant none at
        // first, and each denial is counted.
        let mut denied = 0;
        for (name, budget) in budgets() {
            let layer = RetryLayer::new(policy([3]), budget);
            let probe = Probe::new(fails(2000));
            let mut service = layer.layer(probe.clone());
            for _ in 0..200 {
                let _ = send(&mut service, get(0)).await.unwrap();
            }
            let seen = layer.counters().snapshot();
            assert_eq!(seen.total(Event::Attempt) as usize, probe.attempts(), "{name}");
            assert_eq!(seen.total(Event::Retry) as usize + 200, probe.attempts(), "{name}");
            let refused = seen.total(Event::Refused(Reason::BudgetExhausted));
            denied += u32::from(refused > 0);
            assert!(refused > 0 || name == "none" || probe.attempts() > 200, "{name}");
        }
        assert!(denied > 8, "only {denied} budgets ever denied");
    }

    async fn cancel() {
        probe::cancel(&layer()).await;
        // A ratio budget of one: what a dropped call held is there again.
        let budget = EnvoyRetryBudget::try_new(0.0, 1).map(Budget::from).unwrap();
        let layer = RetryLayer::new(policy([1]), budget);
        for drop_after in [0, 5, 15] {
            // 0: during the first attempt; 5: during the backoff; 15: during the retry.
            let first = if drop_after == 0 { Answer::never() } else { Answer::status(503) };
            let probe = Probe::new([first, Answer::never()]);
            let mut service = layer.layer(probe.clone());
            ready(&mut service).await;
            let call = service.call(get(0));
            let _ = tokio::time::timeout(ms(drop_after), call).await.unwrap_err();
            assert_eq!(probe.open(), 0, "the attempt went with its call");
            let again = Probe::new(fails(1));
            let mut service = layer.layer(again.clone());
            assert_eq!(send(&mut service, get(0)).await.unwrap().status(), 200);
            assert_eq!(again.attempts(), 2, "dropped after {drop_after} ms");
        }
        assert_eq!(layer.counters().snapshot().total(Event::Abandoned), 3);
    }

    async fn wakes() {
        probe::wakes(&layer()).await;
        // A retry whose service is not ready waits for it, and gives up with the deadline.
        let probe = Probe::new(fails(1));
        let layer = RetryLayer::new(
            Policy { timeout: Some(Nanos::from_secs(1)), ..policy([1]) },
            Budget::NONE,
        );
        let mut service = layer.layer(probe.clone());
        ready(&mut service).await;
        let mut call = Box::pin(service.call(get(0)));
        assert!(poll_once(call.as_mut()).is_pending(), "it backs off");
        probe.close(true);
        let task = tokio::spawn(call);
        tokio::time::sleep(ms(100)).await;
        assert_eq!((probe.polls(), probe.attempts()), (2, 1));
        probe.close(false);
        assert_eq!(task.await.unwrap().unwrap().status(), 200);
        let probe = Probe::new(fails(1));
        let mut service = layer.layer(probe.clone());
        ready(&mut service).await;
        let call = service.call(get(0));
        probe.close(true);
        let Err(Error::TimedOut(over)) = call.await else { panic!("it must end") };
        assert!(over.deadline && over.attempts == 1);
    }

    async fn errors() {
        let probe = Probe::new([Answer::error(1), Answer::error(2)]);
        let mut service = RetryLayer::new(policy([1]), Budget::NONE).layer(probe.clone());
        let error = send(&mut service, get(0)).await.unwrap_err();
        assert_eq!(error, Error::Inner(Boom(2)), "the last one, as it was");
        assert_eq!(probe.attempts(), 2);
        // A reply that is not retried any more is delivered with its body and head.
        let probe = Probe::new(vec![Answer::status(503).with("x-why", "busy"); 2]);
        let mut service = RetryLayer::new(policy([1]), Budget::NONE).layer(probe);
        let reply = send(&mut service, get(0)).await.unwrap();
        assert_eq!(reply.headers()["x-why"], "busy");
        assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
        timeouts().await;
    }

    async fn edges() {
        for (limit, attempts) in [(0, 1), (1, 2), (u32::MAX, 40)] {
            let probe = Probe::new(fails(39));
            let layer = RetryLayer::new(policy([limit]), Budget::NONE);
            let mut service = layer.layer(probe.clone());
            let _ = send(&mut service, get(0)).await.unwrap();
            assert_eq!(probe.attempts(), attempts);
        }
        // No limits at all, no body, a zero timeout.
        let probe = Probe::new(fails(1));
        let none: [u32; 0] = [];
        let mut service = RetryLayer::new(policy(none), Budget::NONE).layer(probe.clone());
        assert_eq!(send(&mut service, get(0)).await.unwrap().status(), 503);
        let zero = Policy { body_limit: 0, timeout: Some(Nanos::ZERO), ..policy([3]) };
        let probe = Probe::new([Answer::never()]);
        let mut service = RetryLayer::new(zero, Budget::NONE).layer(probe.clone());
        let Err(Error::TimedOut(over)) = send(&mut service, get(0)).await else { panic!() };
        assert_eq!((over.deadline, over.attempts), (true, 1));
        // A retry that could not end in time is not made.
        let tight = Policy {
            timeout: Some(Nanos::from_millis(100)),
            needs: Nanos::from_millis(90),
            ..policy([3])
        };
        let layer = RetryLayer::new(tight, Budget::NONE);
        let probe = Probe::new(fails(1));
        let mut service = layer.layer(probe.clone());
        assert_eq!(send(&mut service, get(0)).await.unwrap().status(), 503);
        let seen = layer.counters().snapshot();
        assert_eq!(seen.total(Event::Refused(Reason::DeadlineTooClose)), 1);
    }

    async fn beside_tower() {
        #[derive(Clone)]
        struct Attempts(u32);
        type Req = http::Request<http_body_util::Full<bytes::Bytes>>;
        impl<R> tower::retry::Policy<Req, http::Response<R>, Boom> for Attempts {
            type Future = tokio::time::Sleep;
            fn retry(
                &mut self,
                _: &mut Req,
                result: &mut Result<http::Response<R>, Boom>,
            ) -> Option<Self::Future> {
                let good = result.as_ref().is_ok_and(|r| r.status().is_success());
                (!good && self.0 > 0).then(|| {
                    self.0 -= 1;
                    tokio::time::sleep(ms(10))
                })
            }
            fn clone_request(&mut self, request: &Req) -> Option<Req> {
                Some(request.clone())
            }
        }
        for failures in 0..4 {
            let (ours, theirs) = (Probe::new(fails(failures)), Probe::new(fails(failures)));
            let mut damper = layer().layer(ours.clone());
            let mut tower = tower::retry::RetryLayer::new(Attempts(2)).layer(theirs.clone());
            let started = tokio::time::Instant::now();
            let a = send(&mut damper, get(0)).await.unwrap().status();
            let between = tokio::time::Instant::now();
            let b = send(&mut tower, get(0)).await.unwrap().status();
            assert_eq!((a, ours.attempts()), (b, theirs.attempts()), "{failures} failures");
            assert_eq!(between - started, between.elapsed(), "{failures} failures");
        }
    }
}

async fn unsafe_calls() {
    for (answer, told, attempts) in [
        (Answer::status(503), None, 1),
        (Answer::status(503), Some(Idempotent(true)), 2),
        (Answer::status(503).with("x-damper-refused", "shed"), None, 2),
        (Answer::status(429), None, 2),
    ] {
        let probe = Probe::new([answer]);
        let mut service = RetryLayer::new(policy([1]), Budget::NONE).layer(probe.clone());
        let mut request = post("pay");
        request.extensions_mut().extend(told.map_or_else(http::Extensions::new, |told| {
            let mut extensions = http::Extensions::new();
            extensions.insert(told);
            extensions
        }));
        let _ = send(&mut service, request).await.unwrap();
        assert_eq!(probe.attempts(), attempts);
    }
    let mut get_that_is_not = get(0);
    get_that_is_not.extensions_mut().insert(Idempotent(false));
    let probe = Probe::new(fails(1));
    let _ = send(&mut layer().layer(probe.clone()), get_that_is_not).await.unwrap();
    assert_eq!(probe.attempts(), 1);
}

async fn bodies() {
    for (bound, attempts) in [(4, 2), (3, 1)] {
        let probe = Probe::new(fails(1));
        let policy = Policy { body_limit: bound, repeat: Repeat::Always, ..policy([1]) };
        let mut service = RetryLayer::new(policy, Budget::NONE).layer(probe.clone());
        let _ = send(&mut service, post("four")).await.unwrap();
        let bodies: Vec<_> = probe.calls().into_iter().map(|call| call.body).collect();
        assert_eq!(bodies, vec!["four"; attempts], "each attempt has the whole body");
    }
}

/// Retries what gRPC calls UNAVAILABLE.
fn grpc() -> RetryLayer<Grpc> {
    RetryLayer::with(
        Policy { repeat: Repeat::Always, ..policy([3]) },
        GrpcTokenBucket::try_new(10, 0.1).map(Budget::from).unwrap(),
        Grpc::default().with_codes(
            damper_control::conditions::GrpcSet::EMPTY
                .with(damper_control::conditions::GrpcStatus::Unavailable),
        ),
        ByHeader::default(),
    )
}

async fn pushback() {
    let grpc = grpc();
    let told = |ms| Answer::grpc("14").with("grpc-retry-pushback-ms", ms);
    let probe = Probe::new([told("70"), told("-1"), Answer::grpc("0")]);
    let started = tokio::time::Instant::now();
    let _ = send(&mut grpc.layer(probe.clone()), post("")).await.unwrap();
    assert_eq!((probe.attempts(), started.elapsed()), (2, ms(70)));
    let seen = grpc.counters().snapshot();
    assert_eq!(seen.total(Event::Refused(Reason::PushedBack)), 1);
    // A code that is not named is the answer.
    let probe = Probe::new([Answer::grpc("13")]);
    let _ = send(&mut grpc.layer(probe.clone()), post("")).await.unwrap();
    assert_eq!(probe.attempts(), 1);
    // A head without a status commits the call; the budget waits for the trailers.
    let probe = Probe::new([Answer::status(200)]);
    let ended = || grpc.counters().snapshot().total(Event::Ended(Outcome::Failed));
    let before = ended();
    let reply = send(&mut grpc.layer(probe), post("")).await.unwrap();
    assert_eq!(ended(), before);
    let _ = reply.into_body().collect().await.unwrap();
    assert_eq!(ended(), before + 1, "a stream without a status has failed");
}

/// The status of a gRPC reply, which says whether it was a success, comes after its head.
async fn successes_after_a_retry() {
    let unavailable = || Answer::grpc("14");
    for (answers, status, at_head, at_end) in [
        (vec![unavailable(), Answer::status(200)], "0", 0, 1),
        (vec![unavailable(), Answer::status(200)], "13", 0, 0),
        (vec![Answer::status(200)], "0", 0, 0),
        (vec![unavailable(), Answer::grpc("0")], "0", 1, 1),
    ] {
        let layer = grpc();
        let seen = || layer.counters().snapshot().total(Event::SuccessAfterRetry);
        let service = probe::streaming(Probe::new(answers), status);
        let reply = send(&mut layer.layer(service), get(0)).await.unwrap();
        assert_eq!(seen(), at_head, "{status}");
        let _ = reply.into_body().collect().await.unwrap();
        assert_eq!(seen(), at_end, "{status}");
    }
}

async fn timeouts() {
    let policy = Policy {
        attempt_timeout: Some(Nanos::from_millis(30)),
        timeout: Some(Nanos::from_millis(100)),
        ..policy([9])
    };
    let layer = RetryLayer::with(policy, Budget::NONE, Http::default(), ByHeader::default());
    let probe = Probe::new(vec![Answer::never(); 9]);
    let started = tokio::time::Instant::now();
    let Err(Error::TimedOut(end)) = send(&mut layer.layer(probe.clone()), get(0)).await else {
        panic!("nothing answers")
    };
    // 30 + 10 + 30 + 10, and what is left for the third.
    assert_eq!((probe.attempts(), started.elapsed(), end.deadline), (3, ms(100), true));
    let left: Vec<_> = probe.calls().iter().map(|c| c.headers[headers::DEADLINE].clone()).collect();
    assert_eq!(left, ["30", "30", "20"], "each hop is told what is left");
    let at: Vec<_> = probe.calls().iter().map(|c| c.at - started).collect();
    assert_eq!(at, [ms(0), ms(40), ms(80)]);
}
