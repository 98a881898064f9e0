//! The door: as a limit on outbound concurrency, and as the admission of a server.

use damper_control::admission::RateLimit;
use damper_control::concurrency::{
    Aimd, Fixed, Limit as Algorithm, Limiter, QueueDelay, QueueDelayConfig,
};
use damper_control::overload::Detector;
use damper_control::queue::{AdaptiveLifo, CodelTimeout, Priority};
use damper_control::{Nanos, Outcome, Pushback, Reason};
use damper_tower::door::Load;
use damper_tower::{Door, DoorLayer, Error, Event};
use tower::{Layer as _, Service as _};

use crate::Row;
use crate::probe::{self, Answer, Boom, Probe, get, ms, poll_once, ready, send};

fn fixed(limit: u32) -> Limiter {
    Limiter::try_new(Algorithm::from(Fixed::try_new(limit).unwrap()), None).unwrap()
}

fn slow(n: usize, after: u64) -> Vec<Answer> {
    vec![Answer::status(200).after(ms(after)); n]
}

/// Sends so many at once; how each ended, in the order in which they were sent.
async fn burst<L>(layer: &L, probe: &Probe, classes: &[u8]) -> Vec<Result<u16, Reason>>
where
    L: tower::Layer<Probe>,
    L::Service: tower::Service<
            http::Request<http_body_util::Full<bytes::Bytes>>,
            Response = http::Response<http_body_util::Full<bytes::Bytes>>,
            Error = Error<Boom>,
            Future: std::marker::Send + 'static,
        > + std::marker::Send
        + 'static,
{
    let mut tasks = Vec::new();
    for class in classes {
        let mut service = layer.layer(probe.clone());
        ready(&mut service).await;
        tasks.push(tokio::spawn(service.call(get(*class))));
    }
    let mut ends = Vec::new();
    for task in tasks {
        ends.push(match task.await.unwrap() {
            Ok(reply) => Ok(reply.status().as_u16()),
            Err(error) => Err(error.refusal().unwrap().reason),
        });
    }
    ends
}

/// A limit on outbound concurrency, for which calls wait.
pub(crate) struct Limit;

fn limit(limit: u32, queue: u32) -> DoorLayer {
    DoorLayer::new(Door::new().with_waiting_limit(fixed(limit)).with_queue(queue))
}

impl Row for Limit {
    async fn readied() {
        probe::readied(&limit(1, 8)).await;
        // Those that waited call the service that was made ready for them.
        let probe = Probe::new(slow(4, 10));
        let ends = burst(&limit(1, 8), &probe, &[0; 4]).await;
        assert_eq!((ends, probe.polls()), (vec![Ok(200); 4], 4));
    }

    async fn attempts() {
        let probe = Probe::new(slow(9, 10));
        let layer = limit(2, 4);
        let ends = burst(&layer, &probe, &[0; 9]).await;
        assert_eq!(ends.iter().filter(|e| **e == Err(Reason::QueueFull)).count(), 3);
        assert_eq!((probe.attempts(), probe.most_open()), (6, 2));
        // An adaptive limit goes down when calls fail, and all who waited come through.
        let aimd = Aimd::try_new(8, 1, 8, 0.5, Nanos::from_secs(5)).unwrap();
        let limiter = Limiter::try_new(Algorithm::from(aimd), None).unwrap();
        let layer = DoorLayer::new(Door::new().with_waiting_limit(limiter));
        let probe = Probe::new(vec![Answer::status(429).after(ms(5)); 30]);
        let ends = burst(&layer, &probe, &[0; 30]).await;
        assert_eq!(ends, vec![Ok(429); 30]);
        assert_eq!(layer.load(), Load { working: 0, waiting: 0, limit: Some(1) });
    }

    async fn cancel() {
        probe::cancel(&limit(1, 8)).await;
        // Dropped while it waits, and dropped when it was woken and has not run yet.
        let layer = limit(1, 8);
        let probe = Probe::new(slow(3, 10));
        let mut service = layer.layer(probe.clone());
        let mut calls = Vec::new();
        for _ in 0..4 {
            ready(&mut service).await;
            calls.push(Box::pin(service.call(get(0))));
        }
        for call in &mut calls {
            assert!(poll_once(call.as_mut()).is_pending());
        }
        assert_eq!((layer.load().working, layer.load().waiting), (1, 3));
        drop(calls.remove(2));
        assert_eq!(layer.load().waiting, 2);
        drop(calls.remove(0));
        assert_eq!((layer.load().working, layer.load().waiting), (1, 1), "the next has its place");
        drop(calls.remove(0));
        assert_eq!((layer.load().working, layer.load().waiting), (1, 0), "it never ran");
        assert!(calls.remove(0).await.is_ok());
        assert_eq!(layer.load().working, 0);
        assert_eq!(layer.counters().snapshot().total(Event::Abandoned), 3);
    }

    async fn wakes() {
        probe::wakes(&limit(1, 8)).await;
        // One place for ten in a row: each is woken once, in its turn, at the right time.
        let probe = Probe::new(slow(10, 10));
        let started = tokio::time::Instant::now();
        burst(&limit(1, 16), &probe, &[0; 10]).await;
        let at: Vec<_> = probe.calls().iter().map(|c| (c.at - started).as_millis()).collect();
        assert_eq!(at, (0..10).map(|n| n * 10).collect::<Vec<_>>());
    }

    async fn errors() {
        let probe = Probe::new([Answer::error(1).after(ms(5)), Answer::error(2)]);
        let layer = limit(1, 1);
        let mut service = layer.layer(probe);
        ready(&mut service).await;
        let first = service.call(get(0));
        ready(&mut service).await;
        let second = service.call(get(0));
        let full = send(&mut service, get(4)).await.unwrap_err();
        let refusal = full.refusal().unwrap();
        assert_eq!((refusal.reason, refusal.class), (Reason::QueueFull, 4));
        let after = refusal.retry_after().unwrap();
        assert!((ms(1000)..=ms(1500)).contains(&after), "spread over half of it: {after:?}");
        let (first, second) = tokio::join!(first, second);
        assert_eq!(
            (first.unwrap_err(), second.unwrap_err()),
            (Error::Inner(Boom(1)), Error::Inner(Boom(2)))
        );
    }

    async fn edges() {
        // No queue: what exceeds the limit is refused.
        let probe = Probe::new(slow(3, 10));
        let ends = burst(&limit(1, 0), &probe, &[0; 3]).await;
        assert_eq!(ends, [Ok(200), Err(Reason::QueueFull), Err(Reason::QueueFull)]);
        // No workers is one; the largest is no limit.
        for (workers, most) in [(0, 1), (1, 1), (u32::MAX, 20)] {
            let layer = DoorLayer::new(Door::new().with_workers(workers).with_queue(u32::MAX));
            let probe = Probe::new(slow(20, 10));
            assert_eq!(burst(&layer, &probe, &[0; 20]).await, vec![Ok(200); 20]);
            assert_eq!(probe.most_open(), most);
        }
    }

    async fn beside_tower() {
        // The same calls at the same time as with tower's limit.
        let (ours, theirs) = (Probe::new(slow(9, 10)), Probe::new(slow(9, 10)));
        let started = tokio::time::Instant::now();
        burst(&limit(3, 16), &ours, &[0; 9]).await;
        let between = tokio::time::Instant::now();
        let tower = tower::limit::ConcurrencyLimit::new(theirs.clone(), 3);
        let tasks: Vec<_> = (0..9)
            .map(|_| {
                let mut service = tower.clone();
                tokio::spawn(async move { send(&mut service, get(0)).await.map(|_| ()) })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!((ours.most_open(), ours.attempts()), (theirs.most_open(), theirs.attempts()));
        assert_eq!(between - started, between.elapsed());
    }
}

/// A server's door: workers, a queue by class, a limit on what is in, and a word to callers.
pub(crate) struct Admission;

fn server() -> Door {
    Door::new().with_workers(1).with_queue(3).with_order(Priority::default())
}

impl Row for Admission {
    async fn readied() {
        probe::readied(&DoorLayer::new(server())).await;
    }

    async fn attempts() {
        // The highest class first, however late it came.
        let layer = DoorLayer::new(server());
        let probe = Probe::new(slow(9, 10));
        let ends = burst(&layer, &probe, &[1, 1, 1, 0, 2]).await;
        assert_eq!(ends[..4], [Ok(200), Ok(200), Ok(200), Ok(200)]);
        assert_eq!(ends[4], Err(Reason::QueueFull));
        shedding().await;
        queue_delay().await;
        // The newest first while the queue is long; the old ones are dropped.
        let rule = CodelTimeout::try_new(Nanos::from_millis(20), Nanos::from_millis(5)).unwrap();
        let door = Door::new()
            .with_workers(1)
            .with_queue(40)
            .with_order(AdaptiveLifo::try_new(10.0, 0).unwrap())
            .with_drop_rule(rule);
        let layer = DoorLayer::new(door);
        let probe = Probe::new(slow(40, 10));
        let ends = burst(&layer, &probe, &[0; 20]).await;
        let dropped = ends.iter().filter(|e| **e == Err(Reason::WaitedTooLong)).count();
        assert!(dropped > 5 && ends[19] == Ok(200), "{ends:?}");
        let seen = layer.counters().snapshot();
        assert_eq!(seen.total(Event::Refused(Reason::WaitedTooLong)) as usize, dropped);
        assert_eq!(seen.total(Event::Ended(Outcome::Shed)) as usize, dropped);
    }

    async fn cancel() {
        probe::cancel(&DoorLayer::new(server())).await;
        // A place in the limit comes back from whatever place in the queue.
        let layer = DoorLayer::new(server().with_limit(fixed(2)));
        let probe = Probe::new([Answer::never()]);
        let mut service = layer.layer(probe.clone());
        for _ in 0..20 {
            ready(&mut service).await;
            let works = service.call(get(0));
            ready(&mut service).await;
            let waits = service.call(get(0));
            let full = send(&mut service, get(0)).await.unwrap_err();
            assert_eq!(full.refusal().unwrap().reason, Reason::ConcurrencyLimited);
            drop((works, waits));
        }
        assert_eq!((layer.load().working, layer.load().waiting), (0, 0));
    }

    async fn wakes() {
        probe::wakes(&DoorLayer::new(server())).await;
        // A deadline takes a request out of the queue when it is over, not when it is its turn.
        let layer = DoorLayer::new(server());
        let probe = Probe::new(slow(2, 1000));
        let mut service = layer.layer(probe.clone());
        ready(&mut service).await;
        let works = tokio::spawn(service.call(get(0)));
        let mut late = get(0);
        let started = tokio::time::Instant::now();
        late.extensions_mut().insert(damper_tower::Deadline(started + ms(30)));
        let error = send(&mut service, late).await.unwrap_err();
        assert_eq!(error.refusal().unwrap().reason, Reason::DeadlineTooClose);
        assert_eq!((started.elapsed(), layer.load().waiting), (ms(30), 0));
        assert!(works.await.unwrap().is_ok());
        assert_eq!(probe.attempts(), 1);
    }

    async fn errors() {
        let layer = DoorLayer::new(server());
        let mut service = layer.layer(Probe::new([Answer::error(4)]));
        assert_eq!(send(&mut service, get(0)).await.unwrap_err(), Error::Inner(Boom(4)));
        overloaded().await;
    }

    async fn edges() {
        // A request that needs more than its deadline leaves does not begin.
        let layer = DoorLayer::new(server().with_needs(Nanos::from_millis(50)));
        let probe = Probe::default();
        for (left, begins) in [(50, false), (51, true)] {
            let mut request = get(0);
            let at = tokio::time::Instant::now() + ms(left);
            request.extensions_mut().insert(damper_tower::Deadline(at));
            let result = send(&mut layer.layer(probe.clone()), request).await;
            assert_eq!(result.is_ok(), begins, "{left} ms left");
        }
        // Told nothing if it is to be told nothing.
        let silent = DoorLayer::new(server().with_limit(fixed(1)).with_retry_after(None));
        let mut service = silent.layer(Probe::new([Answer::never()]));
        ready(&mut service).await;
        let works = service.call(get(0));
        let error = send(&mut service, get(0)).await.unwrap_err();
        assert_eq!(error.refusal().unwrap().pushback, None);
        drop(works);
        // "Stop" is said whatever a control knows of the time, but not to who is too late.
        let rate = RateLimit::try_new(1.0, 1).unwrap();
        let stops = Door::new().with_rate_limit(rate).with_pushback(Some(Pushback::Stop));
        let mut service = DoorLayer::new(stops).layer(Probe::default());
        let _ = send(&mut service, get(0)).await.unwrap();
        let limited = send(&mut service, get(0)).await.unwrap_err();
        let mut late = get(0);
        late.extensions_mut().insert(damper_tower::Deadline(tokio::time::Instant::now()));
        let late = send(&mut service, late).await.unwrap_err();
        for (error, reason, pushback) in [
            (limited, Reason::RateLimited, Some(Pushback::Stop)),
            (late, Reason::DeadlineTooClose, None),
        ] {
            let refusal = error.refusal().unwrap();
            assert_eq!((refusal.reason, refusal.pushback), (reason, pushback));
        }
        // Every order of control serves all who come.
        for entry in damper_control::registry::of(damper_control::Kind::Order) {
            let damper_control::entry::Build::Order(build) = entry.build else { continue };
            let defaults: Vec<f64> = entry.defaults().collect();
            let order = build(&defaults).unwrap();
            let layer = DoorLayer::new(Door::new().with_workers(2).with_order(order));
            let probe = Probe::new(slow(12, 10));
            let ends = burst(&layer, &probe, &[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]).await;
            let served = ends.iter().filter(|e| e.is_ok()).count();
            assert_eq!(served, probe.attempts(), "{}", entry.name);
            assert!(served >= 2, "{}: {ends:?}", entry.name);
            assert_eq!((layer.load().working, layer.load().waiting), (0, 0), "{}", entry.name);
        }
    }

    async fn beside_tower() {
        // Without a queue it sheds what tower's limit and load shed do together.
        let (ours, theirs) = (Probe::new(slow(9, 10)), Probe::new(slow(9, 10)));
        let layer = DoorLayer::new(Door::new().with_limit(fixed(3)));
        let refused = burst(&layer, &ours, &[0; 9]).await.iter().filter(|e| e.is_err()).count();
        let tower =
            tower::load_shed::LoadShed::new(tower::limit::ConcurrencyLimit::new(theirs.clone(), 3));
        let mut calls = Vec::new();
        for _ in 0..9 {
            let mut service = tower.clone();
            ready(&mut service).await;
            calls.push(tokio::spawn(service.call(get(0))));
        }
        let mut shed = 0;
        for call in calls {
            shed += usize::from(call.await.unwrap().is_err());
        }
        assert_eq!((refused, ours.attempts()), (shed, theirs.attempts()));
    }
}

/// A rule with reserves for higher classes refuses the lower ones first.
async fn shedding() {
    let rule = RateLimit::by_class(1.0, 10, 2, 50.0).unwrap();
    let layer = DoorLayer::new(Door::new().with_admission(rule));
    let probe = Probe::default();
    let mut ends = [0u64; 2];
    for _ in 0..10 {
        for class in [1u8, 0] {
            let result = send(&mut layer.layer(probe.clone()), get(class)).await;
            ends[usize::from(class)] += u64::from(result.is_ok());
        }
    }
    assert!(ends[0] > ends[1] && ends[1] > 0, "{ends:?}");
    let seen = layer.counters().snapshot();
    assert_eq!(seen.refused(), 20 - ends[0] - ends[1]);
}

/// A limit that learns from the queue becomes shorter while the queue stands, and refuses the rest.
async fn queue_delay() {
    let config = QueueDelayConfig { initial: 64, min: 2, max: 64, ..QueueDelayConfig::default() };
    let limit = Algorithm::from(QueueDelay::try_new(config).unwrap());
    let limiter = Limiter::try_new(limit, None).unwrap();
    let layer = DoorLayer::new(Door::new().with_workers(2).with_limit(limiter));
    let probe = Probe::new(slow(10_000, 10));
    let mut refused = 0;
    for _ in 0..40 {
        let ends = burst(&layer, &probe, &[0; 64]).await;
        refused += ends.iter().filter(|e| **e == Err(Reason::ConcurrencyLimited)).count();
    }
    let limit = layer.load().limit.unwrap();
    // The queue is empty between two bursts, which lets it grow again.
    assert!(limit < 48 && refused > 1000, "limit {limit}, refused {refused}");
}

/// A door with a long queue says OVERLOADED, and takes it back.
async fn overloaded() {
    let detector = Detector::try_new(50.0, 100.0, Nanos::ZERO).unwrap();
    let layer = DoorLayer::new(server().with_detector(detector));
    let mut service = layer.layer(Probe::new(slow(9, 10)));
    let mut calls = Vec::new();
    for _ in 0..4 {
        ready(&mut service).await;
        calls.push(tokio::spawn(service.call(get(0))));
    }
    assert!(layer.word().is_overloaded());
    let error = send(&mut service, get(0)).await.unwrap_err();
    assert!(error.refusal().unwrap().overloaded);
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
    assert!(send(&mut service, get(0)).await.is_ok());
    assert!(!layer.word().is_overloaded());
}
