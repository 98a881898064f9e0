//! What watching costs: a request in the meters, a success through the layers of a hop, and a
//! failure in the log (seeds G18: an error must cost less than a success).
//!
//! `cargo bench -p damper-proxy --bench meters`

#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use damper_control::{Nanos, Outcome};
use damper_proxy::meters::{MeterLayer, Meters, WaitLayer};
use damper_proxy::observe::{Format, Kind, Line, Log};
use damper_tower::{ByHeader, Door, DoorLayer, Http, LeverLayer, RespondLayer, SharedLever, clock};
use divan::Bencher;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use tower_layer::Layer;
use tower_service::Service;

fn main() {
    divan::main();
}

/// Answers at once.
#[derive(Clone, Copy)]
struct AtOnce;

impl Service<Request<Full<Bytes>>> for AtOnce {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Full<Bytes>>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Full<Bytes>>) -> Self::Future {
        ready(Ok(Response::new(Full::default())))
    }
}

fn request() -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::default());
    for (name, value) in [("host", "example"), ("accept", "*/*"), ("x-damper-class", "1")] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    request
}

fn run<S: Service<Request<Full<Bytes>>>>(bencher: Bencher<'_, '_>, mut service: S) {
    let mut context = Context::from_waker(Waker::noop());
    bencher.bench_local(|| {
        assert!(service.poll_ready(&mut context).is_ready());
        let future = pin!(service.call(request()));
        assert!(future.poll(&mut context).is_ready());
    });
}

/// The request and its reply alone, to be taken off.
#[divan::bench]
fn nothing(bencher: Bencher<'_, '_>) {
    run(bencher, AtOnce);
}

/// The layers of an inbound hop without its meters.
#[divan::bench]
fn success_without_meters(bencher: Bencher<'_, '_>) {
    let door = DoorLayer::new(Door::new().with_workers(64));
    let lever = LeverLayer::new(SharedLever::default());
    let service = RespondLayer::default().layer(door.layer(AtOnce));
    run(bencher, RespondLayer::default().layer(lever.layer(service)));
}

/// The same with them.
#[divan::bench]
fn success(bencher: Bencher<'_, '_>) {
    let meters = Meters::new(2);
    let wait = WaitLayer::new(meters.clone(), ByHeader::default());
    let door = DoorLayer::new(Door::new().with_workers(64));
    let lever = LeverLayer::new(SharedLever::default());
    let service = RespondLayer::default().layer(door.layer(wait.layer(AtOnce)));
    let service = RespondLayer::default().layer(lever.layer(service));
    run(bencher, MeterLayer::new(meters, Http::default(), ByHeader::default()).layer(service));
}

/// The meters alone, without asking the clock.
#[divan::bench]
fn meters_of_one_request(bencher: Bencher<'_, '_>) {
    let meters = Meters::new(2);
    let mut now = Nanos(1);
    bencher.bench_local(|| {
        now = now + Nanos(1000);
        let request = meters.request(now, 1, false);
        meters.waited(1, Nanos(5000));
        meters.attempt(1, Nanos(1_000_000));
        request.end(now + Nanos(1_000_000), Outcome::Success, None);
    });
}

/// Failures at full speed: nearly all lines are left out.
#[divan::bench(args = [Format::Text, Format::Json])]
fn failure_in_the_log(bencher: Bencher<'_, '_>, format: Format) {
    let log = Log::to(format, std::io::sink()).unwrap();
    let error = std::io::Error::from_raw_os_error(104);
    bencher.bench_local(|| {
        log.write(Kind::Upstream, || Line {
            hop: Some("front -> db"),
            class: Some("high"),
            path: Some("/v1/orders?token=x"),
            message: "no reply",
            error: Some(&error),
        });
    });
}

/// A line that is written every time, for comparison: what the limit saves.
#[divan::bench]
fn every_failure_written(bencher: Bencher<'_, '_>) {
    let log = Log::to(Format::Json, std::io::sink()).unwrap();
    let error = std::io::Error::from_raw_os_error(104);
    let mut second = clock::now();
    bencher.bench_local(|| {
        second = second + Nanos::from_secs(1);
        log.write_at(second, Kind::Upstream, || Line {
            hop: Some("front -> db"),
            class: Some("high"),
            path: Some("/v1/orders?token=x"),
            message: "no reply",
            error: Some(&error),
        });
    });
}
