use super::*;
use damper_tower::{ByHeader, Http, clock, headers};
use http::{HeaderValue, Request as HttpRequest, Response, StatusCode};
use std::convert::Infallible;
use std::time::Duration;
use tower_layer::Layer as _;
use tower_service::Service as _;

const MS: Nanos = Nanos::from_millis(1);

#[test]
fn a_request_is_under_way_until_it_ends_or_its_caller_leaves() {
    let meters = Meters::new(2);
    let early = meters.request(MS, 0, false);
    let late = meters.request(MS, 0, true);
    let left = meters.request(MS, 1, false);
    let failed = meters.request(MS, 1, false);
    assert_eq!(meters.snapshot().total(ClassSeen::in_flight), 4);
    early.end(MS + MS, Outcome::Success, Some(MS + MS));
    late.end(MS + MS, Outcome::Success, Some(MS));
    failed.end(MS + MS, Outcome::Failed, None);
    drop(left);
    let seen = meters.snapshot();
    let [high, low] = &seen.classes[..] else { panic!("two classes") };
    assert_eq!((high.came, high.retries, high.succeeded(), high.in_time), (2, 1, 2, 1));
    assert_eq!((low.came, low.of(Outcome::Failed), low.abandoned(), low.in_time), (2, 1, 1, 0));
    assert_eq!((high.in_flight(), low.in_flight()), (0, 0));
    assert_eq!((high.duration.count(), low.duration.count()), (2, 1));
}

#[test]
fn a_class_beyond_the_last_is_the_last_and_there_is_always_one() {
    let meters = Meters::new(0);
    meters.request(MS, 9, false).end(MS, Outcome::Shed, None);
    meters.count(Overall::Distrusted);
    let seen = meters.snapshot();
    assert_eq!((seen.classes.len(), seen.classes[0].of(Outcome::Shed)), (1, 1));
    assert_eq!(OVERALL[Overall::Distrusted as usize].0, "distrusted_requests");
    assert_eq!(seen.overall[Overall::Distrusted as usize], 1);
    assert_eq!(Meters::new(99).snapshot().classes.len(), CLASSES);
}

#[test]
fn threads_lose_nothing() {
    let meters = Meters::new(1);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for i in 0..1000 {
                    let request = meters.request(MS, 0, i % 2 == 0);
                    request.end(MS + MS, Outcome::ALL[i % 6], None);
                }
            });
        }
    });
    let seen = &meters.snapshot().classes[0];
    assert_eq!((seen.came, seen.ends(), seen.retries), (6000, 6000, 3000));
    assert_eq!((seen.duration.count(), seen.duration.sum_s()), (6000, 6.0));
}

#[tokio::test(start_paused = true)]
async fn layers_measure_the_whole_the_wait_and_the_attempt() {
    let meters = Meters::new(2);
    let outer = MeterLayer::new(meters.clone(), Http::default(), ByHeader::default());
    let inner = WaitLayer::new(meters.clone(), ByHeader::default());
    let works = tower::service_fn(|request: HttpRequest<()>| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let mut response = Response::new(());
        if request.uri().path() == "/bad" {
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        }
        Ok::<_, Infallible>(response)
    });
    let mut inner = inner.layer(works);
    let mut service = outer.layer(tower::service_fn(move |request: HttpRequest<()>| {
        let (mut now, clone) = (inner.clone(), inner.clone());
        inner = clone;
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            now.call(request).await
        }
    }));
    for (path, deadline, attempt) in [("/", "100", "1"), ("/", "25", "2"), ("/bad", "100", "3")] {
        let mut request = HttpRequest::builder().uri(path).body(()).unwrap();
        request.headers_mut().insert(headers::CLASS, HeaderValue::from_static("1"));
        request.headers_mut().insert(headers::DEADLINE, HeaderValue::from_static(deadline));
        request.headers_mut().insert(headers::ATTEMPT_COUNT, HeaderValue::from_static(attempt));
        service.call(request).await.unwrap();
    }
    drop(service.call(HttpRequest::new(())));
    let seen = meters.snapshot();
    let low = &seen.classes[1];
    assert_eq!((low.came, low.retries, low.succeeded(), low.in_time), (3, 2, 2, 1));
    assert_eq!(seen.classes[0].abandoned(), 1);
    for (distribution, ms) in [(&low.duration, 30.0), (&low.wait, 10.0), (&low.attempt, 20.0)] {
        assert_eq!(distribution.count(), 3);
        assert!((distribution.sum_s() * 1e3 / 3.0 - ms).abs() < 0.01, "{ms}");
    }
    assert!(clock::now() > Nanos::ZERO);
}
