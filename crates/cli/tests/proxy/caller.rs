//! What callers do by themselves: a client with a timeout and one more try, as it is written
//! everywhere; and the load that comes to them.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use damper_drill::load::{
    Ask, Bounds, End, Pattern, Protocol, Schedule, Sending, Stream, Tally, Target, send,
};
use damper_system::model::Load;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

type Http = Client<HttpConnector, Full<Bytes>>;

/// A caller that waits so long for each of so many attempts, and knows no budget. Its port.
pub(crate) async fn naive(callee: u16, timeout: Duration, attempts: u32) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client: Http = Client::builder(TokioExecutor::new()).build_http();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let client = client.clone();
            tokio::spawn(async move {
                let service = service_fn(move |_: Request<Incoming>| {
                    call(client.clone(), callee, timeout, attempts)
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    port
}

async fn call(
    client: Http,
    callee: u16,
    timeout: Duration,
    attempts: u32,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = StatusCode::GATEWAY_TIMEOUT;
    for _ in 0..attempts {
        let uri = format!("http://127.0.0.1:{callee}/query").parse().unwrap();
        let answer = tokio::time::timeout(timeout, async {
            let response = client.get(uri).await?;
            let good = response.status().is_success();
            let _ = response.into_body().collect().await;
            Ok::<_, hyper_util::client::legacy::Error>(good)
        });
        if let Ok(Ok(true)) = answer.await {
            *reply.status_mut() = StatusCode::OK;
            break;
        }
    }
    Ok(reply)
}

/// A load: requests per second of each class, by their names, for so long, counted in parts of a
/// second.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) port: u16,
    pub(crate) rates: Vec<(&'static str, f64)>,
    pub(crate) seconds: u32,
    /// How long one reply is waited for.
    pub(crate) patience: Duration,
    pub(crate) seed: u64,
}

/// Sends a load and waits for its end.
pub(crate) async fn load(wanted: Wanted) -> Tally {
    let time = Duration::from_secs(u64::from(wanted.seconds));
    let streams = wanted
        .rates
        .iter()
        .map(|(_, rate)| Stream { load: Load::Constant(*rate), kinds: vec![1.0] })
        .collect();
    let ask = |(class, _): &(&'static str, f64)| {
        let class = hyper::header::HeaderValue::from_static(class);
        let name = hyper::header::HeaderName::from_static("x-damper-class");
        vec![Ask { path: "/query".into(), headers: vec![(name, class)] }]
    };
    let address = ([127, 0, 0, 1], wanted.port).into();
    let sending = Sending {
        schedule: Schedule::new(streams, Pattern::Poisson, wanted.seed),
        target: Target::new(address, Protocol::Http1).unwrap(),
        asks: wanted.rates.iter().map(ask).collect(),
        bounds: Bounds { rate: 5000.0, time, patience: wanted.patience, ..Bounds::default() },
        warmup: Duration::ZERO,
        parts: wanted.seconds,
        tunings: None,
        stop: None,
    };
    send(sending).await.unwrap()
}

/// The share of good replies of a class among its requests that were due from second `from` to
/// before second `to`.
pub(crate) fn good(tally: &Tally, class: usize, from: usize, to: usize) -> f64 {
    let parts = &tally.parts[from..to];
    let of = |end: End| parts.iter().map(|part| part[class][end as usize]).sum::<u64>();
    let all: u64 = End::ALL.into_iter().map(of).sum();
    of(End::Ok) as f64 / all.max(1) as f64
}
