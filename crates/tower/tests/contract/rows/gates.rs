//! Breakers and throttles.

use damper_control::gate::{
    AwsAdaptive, Breaker as Machine, BreakerRule, Gate, GoogleAdaptive, Hung, Spread, Trip,
};
use damper_control::{Nanos, Outcome, Reason};
use damper_tower::{Error, Event, GateLayer};
use tower::{Layer as _, Service as _};

use crate::Row;
use crate::probe::{self, Answer, Boom, Probe, get, ms, ready, send};

/// A breaker that opens after so many failures in a row, for a second.
pub(crate) struct Breaker;

fn rule(in_a_row: u32) -> BreakerRule {
    BreakerRule {
        trip: Trip::InARow(in_a_row),
        failure_rate: 50.0,
        slow_rate: 100.0,
        slow: Nanos::from_secs(60),
        min_calls: 1,
        judges_successes: false,
        probes: 1,
        hung: Hung::Blocks,
        wait: Nanos::from_secs(1),
        factor: 1.0,
        max_wait: Nanos::ZERO,
        jitter: 0.0,
        spread: Spread::Around,
        rejections: false,
        late: false,
    }
}

fn breaker(in_a_row: u32) -> GateLayer {
    GateLayer::new(Machine::try_new(rule(in_a_row)).unwrap())
}

impl Row for Breaker {
    async fn readied() {
        probe::readied(&breaker(3)).await;
    }

    async fn attempts() {
        let layer = breaker(3);
        let probe = Probe::new(vec![Answer::status(500); 3]);
        let mut service = layer.layer(probe.clone());
        for _ in 0..10 {
            let _ = send(&mut service, get(1)).await;
        }
        assert_eq!(probe.attempts(), 3, "the rest is not sent");
        let seen = layer.counters().snapshot();
        assert_eq!(seen.of(1, Event::Refused(Reason::BreakerOpen)), 7);
        tokio::time::sleep(ms(1001)).await;
        assert!(send(&mut service, get(1)).await.is_ok(), "a probe closes it");
        assert!(send(&mut service.clone(), get(1)).await.is_ok(), "for all clones");
        // What the request is to blame for opens nothing.
        let probe = Probe::new(vec![Answer::status(404); 9]);
        let mut service = breaker(3).layer(probe.clone());
        for _ in 0..9 {
            assert!(send(&mut service, get(0)).await.is_ok());
        }
    }

    async fn cancel() {
        probe::cancel(&breaker(3)).await;
        // The one probe of a half-open breaker goes away: the next one may try.
        let layer = breaker(1);
        let probe = Probe::new([Answer::status(500), Answer::never()]);
        let mut service = layer.layer(probe.clone());
        let _ = send(&mut service, get(0)).await;
        tokio::time::sleep(ms(1001)).await;
        ready(&mut service).await;
        let hung = service.call(get(0));
        assert!(send(&mut service, get(0)).await.is_err(), "one probe at a time");
        drop(hung);
        assert!(send(&mut service, get(0)).await.is_ok());
        assert_eq!(layer.counters().snapshot().total(Event::Abandoned), 1);
    }

    async fn wakes() {
        probe::wakes(&breaker(3)).await;
    }

    async fn errors() {
        let layer = breaker(1);
        let probe = Probe::new([Answer::error(7)]);
        let mut service = layer.layer(probe);
        assert_eq!(send(&mut service, get(0)).await.unwrap_err(), Error::Inner(Boom(7)));
        let error = send(&mut service, get(2)).await.unwrap_err();
        let refusal = error.refusal().unwrap();
        assert_eq!((refusal.reason, refusal.class), (Reason::BreakerOpen, 2));
        assert_eq!(refusal.retry_after(), Some(ms(1000)));
    }

    async fn edges() {
        assert!(Machine::try_new(rule(0)).is_none(), "control says what is possible");
        for in_a_row in [1, 1_000_000] {
            let probe = Probe::new(vec![Answer::status(500); 50]);
            let mut service = breaker(in_a_row).layer(probe.clone());
            for _ in 0..50 {
                let _ = send(&mut service, get(0)).await;
            }
            assert_eq!(probe.attempts(), in_a_row.min(50) as usize);
        }
    }

    async fn beside_tower() {
        // tower has no breaker: a closed one must be as nothing.
        let script = || vec![Answer::status(500), Answer::error(1), Answer::status(200)];
        let mut ours = breaker(9).layer(Probe::new(script()));
        let mut theirs = tower::layer::util::Identity::new().layer(Probe::new(script()));
        for _ in 0..3 {
            let a = send(&mut ours, get(0)).await.map(|r| r.status()).map_err(Error::into_inner);
            let b = send(&mut theirs, get(0)).await.map(|r| r.status()).map_err(Some);
            assert_eq!(a, b);
        }
    }
}

/// Google's adaptive throttle, and the one of AWS, which lets attempts wait.
pub(crate) struct Throttle;

fn google() -> GateLayer {
    GateLayer::new(GoogleAdaptive::try_new(2.0, Nanos::from_secs(120), true).unwrap())
}

fn aws(max_wait: u64) -> GateLayer {
    GateLayer::new(AwsAdaptive::try_new(0.5, Nanos::from_secs(max_wait)).unwrap())
}

/// A throttle of AWS that a callee has switched on.
async fn slowed(max_wait: u64) -> (GateLayer, Probe) {
    let layer = aws(max_wait);
    let probe = Probe::new(vec![Answer::status(429); 2]);
    let mut service = layer.layer(probe.clone());
    for _ in 0..2 {
        let _ = send(&mut service, get(0)).await;
    }
    (layer, probe)
}

impl Row for Throttle {
    async fn readied() {
        probe::readied(&google()).await;
        // The service that was made ready waits with its request.
        let (layer, probe) = slowed(0).await;
        let mut service = layer.layer(probe.clone());
        for _ in 0..3 {
            assert!(send(&mut service, get(0)).await.is_ok());
        }
        assert!(layer.counters().snapshot().total(Event::Queued) > 0, "nobody waited");
    }

    async fn attempts() {
        let layer = google();
        let probe = Probe::new(vec![Answer::status(429); 1000]);
        let mut service = layer.layer(probe.clone());
        for _ in 0..1000 {
            let _ = send(&mut service, get(0)).await;
        }
        let seen = layer.counters().snapshot();
        let refused = seen.total(Event::Refused(Reason::Throttled));
        assert_eq!(probe.attempts() as u64 + refused, 1000);
        assert!(refused > 900, "{refused}");
        assert_eq!(seen.total(Event::Ended(Outcome::Rejected)), probe.attempts() as u64);
    }

    async fn cancel() {
        probe::cancel(&google()).await;
        let (layer, probe) = slowed(0).await;
        let mut service = layer.layer(probe.clone());
        let before = probe.attempts();
        for _ in 0..5 {
            ready(&mut service).await;
            let call = service.call(get(0));
            let _ = tokio::time::timeout(ms(1), call).await;
        }
        let seen = layer.counters().snapshot();
        assert_eq!(seen.total(Event::Attempt) as usize, probe.attempts());
        assert!(seen.total(Event::Abandoned) > 0 && probe.attempts() < before + 5);
    }

    async fn wakes() {
        probe::wakes(&google()).await;
        let (layer, probe) = slowed(0).await;
        let mut service = layer.layer(probe);
        let started = tokio::time::Instant::now();
        for _ in 0..4 {
            let _ = send(&mut service, get(0)).await;
        }
        assert!(started.elapsed() > ms(500), "{:?}", started.elapsed());
    }

    async fn errors() {
        let probe = Probe::new([Answer::error(3)]);
        let error = send(&mut google().layer(probe), get(0)).await.unwrap_err();
        assert_eq!(error, Error::Inner(Boom(3)));
        // One whose deadline comes before its turn is not sent, and not kept waiting.
        let (layer, probe) = slowed(0).await;
        let mut service = layer.layer(probe);
        let mut late = 0;
        for _ in 0..5 {
            let mut request = get(0);
            let soon = tokio::time::Instant::now() + ms(1);
            request.extensions_mut().insert(damper_tower::Deadline(soon));
            if let Err(error) = send(&mut service, request).await {
                assert_eq!(error.refusal().unwrap().reason, Reason::DeadlineTooClose);
                late += 1;
            }
        }
        assert!(late > 0);
    }

    async fn edges() {
        assert!(AwsAdaptive::try_new(0.0, Nanos::ZERO).is_none());
        // With the shortest bound on waiting it refuses where it would have let wait.
        let layer = GateLayer::new(AwsAdaptive::try_new(0.5, Nanos(1)).unwrap());
        let probe = Probe::new(vec![Answer::status(429); 2]);
        let mut service = layer.layer(probe.clone());
        for _ in 0..6 {
            let _ = send(&mut service, get(0)).await;
        }
        assert!(layer.counters().snapshot().refused() > 0);
        assert_eq!(layer.counters().snapshot().total(Event::Queued), 0);
    }

    async fn beside_tower() {
        // An open gate is as nothing.
        let mut ours = GateLayer::new(Gate::OPEN).layer(Probe::new([Answer::error(1)]));
        let mut theirs = Probe::new([Answer::error(1)]);
        for _ in 0..3 {
            let a = send(&mut ours, get(0)).await.map(|r| r.status()).map_err(Error::into_inner);
            let b = send(&mut theirs, get(0)).await.map(|r| r.status()).map_err(Some);
            assert_eq!(a, b);
        }
    }
}
