//! Refusals as replies.

use damper_control::concurrency::{Fixed, Limit, Limiter};
use damper_control::overload::Detector;
use damper_control::{Nanos, Pushback, Reason};
use damper_tower::{Door, DoorLayer, Error, Refusal, RespondLayer, headers};
use http::HeaderValue;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http_body_util::BodyExt as _;
use tower::{Layer, Service as _, ServiceExt};

use crate::Row;
use crate::probe::{self, Answer, Boom, Probe, get, ms, ready, send};

pub(crate) struct Respond;

/// Replies above a door, as a server has it.
#[derive(Clone)]
struct Server(DoorLayer);

impl<S> Layer<S> for Server {
    type Service = damper_tower::respond::RespondService<damper_tower::door::DoorService<S>>;

    fn layer(&self, inner: S) -> Self::Service {
        RespondLayer::default().saying(self.0.word()).layer(self.0.layer(inner))
    }
}

fn server() -> Server {
    let limit = Limit::from(Fixed::try_new(2).unwrap());
    let limiter = Limiter::try_new(limit, None).unwrap();
    let detector = Detector::try_new(10.0, 100.0, Nanos::ZERO).unwrap();
    let door = Door::new().with_workers(1).with_queue(8).with_limit(limiter);
    Server(DoorLayer::new(door.with_detector(detector)))
}

fn refusing(
    refusal: Refusal,
) -> impl tower::Service<
    http::Request<http_body_util::Full<bytes::Bytes>>,
    Response = http::Response<damper_tower::respond::OrEmpty<http_body_util::Full<bytes::Bytes>>>,
    Error = Boom,
> {
    let inner = tower::service_fn(move |_| async move {
        Err::<http::Response<http_body_util::Full<bytes::Bytes>>, _>(Error::<Boom>::Refused(
            refusal,
        ))
    });
    RespondLayer::default().layer(inner)
}

fn grpc() -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = get(0);
    let kind = HeaderValue::from_static("application/grpc+proto");
    request.headers_mut().insert(CONTENT_TYPE, kind);
    request
}

async fn says_stop() {
    let stop = Refusal { pushback: Some(Pushback::Stop), ..Refusal::new(Reason::Shed, 0) };
    for request in [get(0), grpc()] {
        let reply = send(&mut refusing(stop), request).await.unwrap();
        assert_eq!(reply.headers()[headers::GRPC_PUSHBACK], "-1", "in either protocol");
        assert!(!reply.headers().contains_key(RETRY_AFTER));
    }
}

impl Row for Respond {
    async fn readied() {
        probe::readied(&server()).await;
    }

    async fn attempts() {
        // What is refused never reaches the service, and is answered at once.
        let probe = Probe::new(vec![Answer::status(200).after(ms(10)); 2]);
        let server = server();
        let mut service = server.layer(probe.clone());
        let mut calls = Vec::new();
        for _ in 0..2 {
            ready(&mut service).await;
            calls.push(tokio::spawn(service.call(get(0))));
        }
        let started = tokio::time::Instant::now();
        let reply = send(&mut service, get(0)).await.unwrap();
        assert_eq!((reply.status().as_u16(), started.elapsed()), (503, ms(0)));
        assert_eq!(reply.headers()[headers::REFUSED], "concurrency-limited");
        assert_eq!(reply.headers()[headers::OVERLOADED], "1");
        assert!(reply.headers().contains_key(RETRY_AFTER));
        assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
        let reply = send(&mut service, grpc()).await.unwrap();
        assert_eq!(
            (reply.status().as_u16(), &reply.headers()[headers::GRPC_STATUS]),
            (200, &HeaderValue::from(14))
        );
        let pushback: u64 =
            reply.headers()[headers::GRPC_PUSHBACK].to_str().unwrap().parse().unwrap();
        assert!((1000..=1500).contains(&pushback), "{pushback}");
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap().status(), 200);
        }
        assert_eq!(probe.attempts(), 2);
    }

    async fn cancel() {
        probe::cancel(&server()).await;
    }

    async fn wakes() {
        probe::wakes(&server()).await;
    }

    async fn errors() {
        let mut service = server().layer(Probe::new([Answer::error(9)]));
        assert_eq!(send(&mut service, get(0)).await.unwrap_err(), Boom(9), "its own type");
    }

    async fn edges() {
        for (reason, http, code) in [
            (Reason::RateLimited, 429, "8"),
            (Reason::Shed, 503, "14"),
            (Reason::DeadlineTooClose, 504, "4"),
        ] {
            let mut service = refusing(Refusal::new(reason, 0));
            let plain = send(&mut service, get(0)).await.unwrap();
            assert_eq!(plain.status().as_u16(), http);
            assert!(!plain.headers().contains_key(RETRY_AFTER), "nothing to tell");
            let trailers_only = send(&mut service, grpc()).await.unwrap();
            assert_eq!(trailers_only.headers()[headers::GRPC_STATUS], code);
            assert_eq!(trailers_only.headers()[CONTENT_TYPE], "application/grpc");
        }
        let forever = Refusal {
            pushback: Some(Pushback::After(Nanos::MAX)),
            ..Refusal::new(Reason::Shed, 0)
        };
        let reply = send(&mut refusing(forever), grpc()).await.unwrap();
        assert_eq!(reply.headers()[headers::GRPC_PUSHBACK], i32::MAX.to_string().as_str());
        let reply = send(&mut refusing(forever), get(0)).await.unwrap();
        assert!(reply.headers().contains_key(RETRY_AFTER));
        says_stop().await;
    }

    async fn beside_tower() {
        // tower's load shed erases its error: all that is left is to look for its type. Both
        // replies are the same.
        let (ours, theirs) = (Probe::new([Answer::never()]), Probe::new([Answer::never()]));
        let limit = Limit::from(Fixed::try_new(1).unwrap());
        let limiter = Limiter::try_new(limit, None).unwrap();
        let mut damper = Server(DoorLayer::new(Door::new().with_limit(limiter))).layer(ours);
        let tower = tower::load_shed::LoadShed::new(tower::limit::ConcurrencyLimit::new(theirs, 1));
        let tower = ServiceExt::<http::Request<http_body_util::Full<bytes::Bytes>>>::map_result(
            tower,
            |result: Result<http::Response<_>, tower::BoxError>| match result {
                Err(error) if error.is::<tower::load_shed::error::Overloaded>() => {
                    Ok::<_, tower::BoxError>(503)
                }
                Err(error) => Err(error),
                Ok(response) => Ok(response.status().as_u16()),
            },
        );
        let (mut a, mut b) = (tower.clone(), tower);
        ready(&mut damper).await;
        let first = damper.call(get(0));
        ready(&mut a).await;
        let first_of_tower = a.call(get(0));
        let ours = send(&mut damper, get(0)).await.unwrap().status().as_u16();
        let theirs = send(&mut b, get(0)).await.unwrap();
        assert_eq!(ours, theirs);
        drop((first, first_of_tower));
    }
}
