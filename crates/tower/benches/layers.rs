//! What a layer itself costs for one request, before a service that is ready and answers at once.
//! tower's own layers stand beside ours in the same run.
//!
//! `cargo bench -p damper-tower`

#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use damper_control::budget::{DepositBudget, GrpcTokenBucket};
use damper_control::concurrency::{Fixed, Limit, Limiter};
use damper_control::gate::{Breaker, BreakerRule, Hung, Spread, Trip};
use damper_control::{Backoff, Budget, Nanos, Retry, RetryOn};
use damper_tower::{
    Door, DoorLayer, GateLayer, LeverLayer, Policy, ReceiveLayer, RespondLayer, RetryLayer,
    SendLayer, SharedLever,
};
use divan::Bencher;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use tower::{Layer, Service};

fn main() {
    divan::main();
}

type Body = Full<Bytes>;

/// Answers at once, whatever the body.
#[derive(Clone, Copy)]
struct AtOnce;

impl<B> Service<Request<B>> for AtOnce {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Response::new(Full::default())))
    }
}

/// A request with the headers that a small call has.
fn request() -> Request<Body> {
    let mut request = Request::new(Full::default());
    for (name, value) in [("host", "example"), ("accept", "*/*"), ("x-damper-class", "1")] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    request
}

/// Makes ready, calls, polls once: the way of a request through a layer.
fn run<S: Service<Request<Body>>>(bencher: Bencher<'_, '_>, mut service: S) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let mut cx = Context::from_waker(Waker::noop());
    bencher.with_inputs(request).bench_local_values(|request| {
        let _ = divan::black_box(service.poll_ready(&mut cx).is_ready());
        let future = pin!(service.call(request));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(divan::black_box(future.poll(&mut cx)).is_ready());
    });
}

fn policy(limit: u32) -> Policy {
    Policy::new(Retry { limits: [limit].into(), on: RetryOn::ALL, backoff: Backoff::NONE })
}

fn limiter() -> Limiter {
    Limiter::try_new(Limit::from(Fixed::try_new(100).unwrap()), None).unwrap()
}

#[divan::bench(sample_size = 500)]
fn a_nothing(bencher: Bencher<'_, '_>) {
    run(bencher, AtOnce);
}

#[divan::bench(sample_size = 500)]
fn b_retry_token_bucket(bencher: Bencher<'_, '_>) {
    let bucket = GrpcTokenBucket::try_new(100, 0.1).map(Budget::from).unwrap();
    run(bencher, RetryLayer::new(policy(2), bucket).layer(AtOnce));
}

#[divan::bench(sample_size = 500)]
fn b_retry_deposits_and_timeouts(bencher: Bencher<'_, '_>) {
    let budget = DepositBudget::try_new(20.0, 10, Nanos::from_secs(10)).map(Budget::from).unwrap();
    let policy = Policy {
        timeout: Some(Nanos::from_secs(1)),
        attempt_timeout: Some(Nanos::from_millis(100)),
        ..policy(2)
    };
    run(bencher, RetryLayer::new(policy, budget).layer(AtOnce));
}

#[divan::bench(sample_size = 500)]
fn b_retry_of_tower(bencher: Bencher<'_, '_>) {
    #[derive(Clone)]
    struct Once(std::sync::Arc<tower::retry::budget::TpsBudget>);
    impl tower::retry::Policy<Request<Body>, Response<Body>, Infallible> for Once {
        type Future = Ready<()>;
        fn retry(
            &mut self,
            _: &mut Request<Body>,
            result: &mut Result<Response<Body>, Infallible>,
        ) -> Option<Ready<()>> {
            use tower::retry::budget::Budget as _;
            match result {
                Ok(response) if response.status().is_success() => {
                    self.0.deposit();
                    None
                }
                _ => self.0.withdraw().then(|| ready(())),
            }
        }
        fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
            Some(request.clone())
        }
    }
    let policy = Once(std::sync::Arc::default());
    run(bencher, tower::retry::RetryLayer::new(policy).layer(AtOnce));
}

#[divan::bench(sample_size = 500)]
fn c_breaker(bencher: Bencher<'_, '_>) {
    let rule = BreakerRule {
        trip: Trip::Calls(100),
        failure_rate: 50.0,
        slow_rate: 100.0,
        slow: Nanos::from_secs(60),
        min_calls: 100,
        judges_successes: false,
        probes: 10,
        hung: Hung::Blocks,
        wait: Nanos::from_secs(60),
        factor: 1.0,
        max_wait: Nanos::ZERO,
        jitter: 0.0,
        spread: Spread::Around,
        rejections: false,
        late: false,
    };
    run(bencher, GateLayer::new(Breaker::try_new(rule).unwrap()).layer(AtOnce));
}

#[divan::bench(sample_size = 500)]
fn d_limit(bencher: Bencher<'_, '_>) {
    run(bencher, DoorLayer::new(Door::new().with_waiting_limit(limiter())).layer(AtOnce));
}

#[divan::bench(sample_size = 500)]
fn d_limit_of_tower(bencher: Bencher<'_, '_>) {
    run(bencher, tower::limit::ConcurrencyLimit::new(AtOnce, 100));
}

#[divan::bench(sample_size = 500)]
fn e_server_door(bencher: Bencher<'_, '_>) {
    let door = Door::new().with_workers(100).with_limit(limiter());
    let layer = DoorLayer::new(door);
    let respond = RespondLayer::default().saying(layer.word());
    run(bencher, respond.layer(layer.layer(AtOnce)));
}

#[divan::bench(sample_size = 500)]
fn e_load_shed_of_tower(bencher: Bencher<'_, '_>) {
    run(bencher, tower::load_shed::LoadShed::new(tower::limit::ConcurrencyLimit::new(AtOnce, 100)));
}

#[divan::bench(sample_size = 500)]
fn f_lever(bencher: Bencher<'_, '_>) {
    run(bencher, LeverLayer::new(SharedLever::default()).layer(AtOnce));
}

#[divan::bench(sample_size = 500)]
fn g_receive(bencher: Bencher<'_, '_>) {
    run(bencher, ReceiveLayer::default().layer(AtOnce));
}

#[divan::bench(sample_size = 500)]
fn g_send(bencher: Bencher<'_, '_>) {
    run(bencher, SendLayer::default().layer(AtOnce));
}
