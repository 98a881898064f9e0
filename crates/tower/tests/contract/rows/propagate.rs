//! Class and deadline, on the way out and on the way in.

use damper_control::{Nanos, Reason};
use damper_tower::propagate::{Context, context, with_context};
use damper_tower::{ByHeader, Class, Deadline, Error, Event, ReceiveLayer, SendLayer, headers};
use http::HeaderValue;
use tower::{Layer as _, Service as _};

use crate::Row;
use crate::probe::{self, Answer, Boom, Probe, get, ms, ready, send};

pub(crate) struct Send;

fn sender() -> SendLayer {
    SendLayer::new(ByHeader::default())
}

fn within(class: u8, left: u64) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = get(class);
    request.extensions_mut().insert(Deadline(tokio::time::Instant::now() + ms(left)));
    request
}

impl Row for Send {
    async fn readied() {
        probe::readied(&sender()).await;
    }

    async fn attempts() {
        let probe = Probe::default();
        let layer = sender().with_allowance(Nanos::from_millis(5));
        let mut service = layer.layer(probe.clone());
        send(&mut service, within(2, 100)).await.unwrap();
        let sent = &probe.calls()[0].headers;
        assert_eq!(
            (&sent[headers::CLASS], &sent[headers::DEADLINE]),
            (&HeaderValue::from(2), &HeaderValue::from(95))
        );
        let mut grpc = within(0, 100);
        let kind = HeaderValue::from_static("application/grpc");
        grpc.headers_mut().insert(http::header::CONTENT_TYPE, kind);
        send(&mut service, grpc).await.unwrap();
        let sent = &probe.calls()[1].headers;
        assert_eq!(sent[headers::GRPC_TIMEOUT], "95m");
        assert!(!sent.contains_key(headers::DEADLINE));
        // A class is written by name where names are known, however it was said.
        let named = SendLayer::new(ByHeader::default().with_names(["high", "low"]));
        let mut service_with_names = named.layer(probe.clone());
        let said = |class| {
            let mut request = http::Request::new(http_body_util::Full::default());
            request.headers_mut().insert(headers::CLASS, HeaderValue::from_static(class));
            request
        };
        for (request, written) in
            [(get(0), "high"), (said("1"), "low"), (said("low"), "low"), (get(7), "7")]
        {
            send(&mut service_with_names, request).await.unwrap();
            assert_eq!(probe.calls().last().unwrap().headers[headers::CLASS], written);
        }
        // What has no time left is not sent, and counted.
        let error = send(&mut service, within(1, 5)).await.unwrap_err();
        assert_eq!(error.refusal().unwrap().reason, Reason::DeadlineTooClose);
        assert_eq!(probe.attempts(), 6);
        let seen = layer.counters().snapshot();
        assert_eq!(seen.of(1, Event::Refused(Reason::DeadlineTooClose)), 1);
    }

    async fn cancel() {
        probe::cancel(&sender()).await;
    }

    async fn wakes() {
        probe::wakes(&sender()).await;
    }

    async fn errors() {
        let mut service = sender().layer(Probe::new([Answer::error(6)]));
        assert_eq!(send(&mut service, get(0)).await.unwrap_err(), Error::Inner(Boom(6)));
    }

    async fn edges() {
        // A day and longer, nothing, and the smallest part of a millisecond.
        let probe = Probe::default();
        let mut service = sender().layer(probe.clone());
        send(&mut service, within(255, 200_000_000_000)).await.unwrap();
        let mut short = get(0);
        let at = tokio::time::Instant::now() + std::time::Duration::from_micros(999);
        short.extensions_mut().insert(Deadline(at));
        send(&mut service, short).await.unwrap();
        send(&mut service, get(0)).await.unwrap();
        let left: Vec<_> =
            probe.calls().iter().map(|c| c.headers.get(headers::DEADLINE).cloned()).collect();
        assert_eq!(left[1], Some(HeaderValue::from(0)), "never more than there is");
        assert_eq!((left[0].is_some(), left[2].is_none()), (true, true));
        let passed = send(&mut service, within(0, 0)).await.unwrap_err();
        assert_eq!(passed.refusal().unwrap().reason, Reason::DeadlineTooClose);
    }

    async fn beside_tower() {
        // The same as a map over requests that writes the header.
        let (ours, theirs) = (Probe::default(), Probe::default());
        send(&mut sender().layer(ours.clone()), get(3)).await.unwrap();
        let map = |mut request: http::Request<http_body_util::Full<bytes::Bytes>>| {
            request.headers_mut().insert(headers::CLASS, HeaderValue::from(3));
            request
        };
        let mut tower = tower::util::MapRequest::new(theirs.clone(), map);
        send(&mut tower, get(0)).await.unwrap();
        assert_eq!(ours.calls()[0].headers, theirs.calls()[0].headers);
    }
}

pub(crate) struct Receive;

fn receiver() -> ReceiveLayer {
    ReceiveLayer::default()
}

/// A request as it comes from the network.
fn from_network(
    class: &'static str,
    left: &'static str,
) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = http::Request::new(http_body_util::Full::default());
    request.headers_mut().insert(headers::CLASS, HeaderValue::from_static(class));
    request.headers_mut().insert(headers::DEADLINE, HeaderValue::from_static(left));
    request
}

impl Row for Receive {
    async fn readied() {
        probe::readied(&receiver()).await;
    }

    async fn attempts() {
        // What came in goes out again, with what is left: a handler that calls on.
        let probe = Probe::default();
        let client = sender().layer(probe.clone());
        let handler = tower::service_fn(move |request: http::Request<_>| {
            let mut client = client.clone();
            async move {
                let _: &http_body_util::Full<bytes::Bytes> = request.body();
                let class = request.extensions().get::<Class>().copied();
                tokio::time::sleep(ms(40)).await;
                let plain = http::Request::new(http_body_util::Full::default());
                send(&mut client, plain).await.map(|_| class)
            }
        });
        let mut service = receiver().layer(handler);
        let class = send(&mut service, from_network("1", "100")).await.unwrap();
        assert_eq!(class, Some(Class(1)));
        let sent = &probe.calls()[0].headers;
        assert_eq!(
            (&sent[headers::CLASS], &sent[headers::DEADLINE]),
            (&HeaderValue::from(1), &HeaderValue::from(60))
        );
        assert_eq!(context(), None, "the context ends with its request");
    }

    async fn cancel() {
        probe::cancel(&receiver()).await;
    }

    async fn wakes() {
        probe::wakes(&receiver()).await;
    }

    async fn errors() {
        let mut service = receiver().layer(Probe::new([Answer::error(8)]));
        assert_eq!(send(&mut service, get(0)).await.unwrap_err(), Boom(8), "its own type");
    }

    async fn edges() {
        let see = tower::service_fn(|_| async { Ok::<_, Boom>(context()) });
        for (class, left, known) in
            [("0", "0", Some(0)), ("x", "-1", Some(0)), ("300", "1e9", Some(0))]
        {
            let context =
                send(&mut receiver().layer(see), from_network(class, left)).await.unwrap();
            assert_eq!(context.unwrap().class, known, "{class}");
        }
        // Strangers do not choose their class.
        let strict = ReceiveLayer::new(ByHeader::default().untrusted().with_default(4));
        let seen = send(&mut strict.layer(see), from_network("0", "10")).await.unwrap();
        assert_eq!(seen.unwrap().class, Some(4));
        // A spawned task has no context unless it is handed on.
        let given = Context { class: Some(2), deadline: None };
        let inside = with_context(given, async { tokio::spawn(async { context() }).await });
        assert_eq!(inside.await.unwrap(), None);
        let handed = tokio::spawn(with_context(given, async { context() }));
        assert_eq!(handed.await.unwrap(), Some(given));
    }

    async fn beside_tower() {
        // The inner service sees the same request as behind nothing, but for extensions.
        let (ours, theirs) = (Probe::default(), Probe::default());
        send(&mut receiver().layer(ours.clone()), from_network("1", "9")).await.unwrap();
        let mut identity = tower::layer::util::Identity::new().layer(theirs.clone());
        ready(&mut identity).await;
        identity.call(from_network("1", "9")).await.unwrap();
        assert_eq!(ours.calls()[0].headers, theirs.calls()[0].headers);
    }
}
