//! Load on a small server of the test's own: ends are counted by kind, and bounds hold.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use damper_drill::load::{
    Ask, Bounds, End, Error, Pattern, Protocol, Schedule, Sending, Stream, Summary, Target, Tuning,
    send,
};
use damper_system::model::Load;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::watch;

/// Answers with the status that the path names, and to `/never` not at all.
async fn server(protocol: Protocol) -> Target {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::new(listener.local_addr().unwrap(), protocol).unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service_fn(|request: Request<Incoming>| async move {
                let path = request.uri().path().trim_start_matches('/').to_owned();
                if path == "never" {
                    std::future::pending::<()>().await;
                }
                let mut response = Response::new(Full::new(Bytes::from_static(b"x")));
                *response.status_mut() = StatusCode::from_bytes(path.as_bytes()).unwrap();
                Ok::<_, Infallible>(response)
            });
            tokio::spawn(async move {
                let io = TokioIo::new(stream);
                let _ = match protocol {
                    Protocol::Http1 => {
                        hyper::server::conn::http1::Builder::new()
                            .serve_connection(io, service)
                            .await
                    }
                    _ => {
                        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(io, service)
                            .await
                    }
                };
            });
        }
    });
    target
}

fn sending(target: Target, rate: f64, paths: &[&str], bounds: Bounds) -> Sending {
    let share = 1.0 / paths.len() as f64;
    let stream = Stream { load: Load::Constant(rate), kinds: vec![share; paths.len()] };
    let ask = |path: &&str| Ask { path: format!("/{path}"), headers: Vec::new() };
    Sending {
        schedule: Schedule::new(vec![stream], Pattern::Uniform, 1),
        target,
        asks: vec![paths.iter().map(ask).collect()],
        bounds,
        warmup: Duration::ZERO,
        parts: 1,
        tunings: None,
        stop: None,
    }
}

#[tokio::test]
async fn every_request_is_counted_by_its_end() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let target = server(protocol).await;
        let bounds = Bounds { total: 300, ..Bounds::default() };
        let paths = ["200", "503", "500", "504"];
        let tally = send(sending(target, 2000.0, &paths, bounds)).await.unwrap();
        let ends = [End::Ok, End::Rejected, End::Failed, End::TimedOut];
        for (kind, end) in ends.into_iter().enumerate() {
            let row = &tally.rows[0][kind];
            assert!(
                row.total() > 0 && row.count(end) == row.total(),
                "{protocol:?} {end:?}: {row:?}"
            );
        }
        assert_eq!(tally.class(0).total(), 300);
        assert_eq!(tally.late_us.len(), 300);
        assert!(Summary::of(&tally.class(0).all_us).max_ms > 0.0);
    }
}

// A clock that goes on only when nothing else can be done: the fiftieth request is due long before
// patience with the first ends, however busy the machine is.
#[tokio::test(start_paused = true)]
async fn what_exceeds_the_bound_on_what_is_under_way_is_not_sent() {
    let target = server(Protocol::Http1).await;
    let bounds =
        Bounds { in_flight: 3, total: 50, patience: Duration::from_secs(4), ..Bounds::default() };
    let tally = send(sending(target, 1000.0, &["never"], bounds)).await.unwrap();
    let row = tally.class(0);
    assert_eq!((row.count(End::TimedOut), row.count(End::NotSent)), (3, 47));
    // Latencies are those of requests that were sent, and count from their intended start.
    assert_eq!(row.all_us.len(), 3);
    assert!(row.all_us.min() >= 3_990_000);
}

#[tokio::test]
async fn nobody_there_is_a_connection_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::new(listener.local_addr().unwrap(), Protocol::Http1).unwrap();
    drop(listener);
    let bounds = Bounds { total: 5, ..Bounds::default() };
    let tally = send(sending(target, 1000.0, &["200"], bounds)).await.unwrap();
    assert_eq!(tally.class(0).count(End::Connection), 5);
}

#[tokio::test]
async fn a_load_beyond_the_bound_on_the_rate_is_not_begun() {
    let target = server(Protocol::Http1).await;
    let bounds = Bounds { rate: 100.0, ..Bounds::default() };
    let refused = send(sending(target, 101.0, &["200"], bounds)).await;
    assert_eq!(refused.unwrap_err(), Error::TooFast { peak: 101.0, bound: 100.0 });
}

#[tokio::test]
async fn a_spike_does_not_pass_the_bound_on_the_rate() {
    let target = server(Protocol::Http1).await;
    let bounds = Bounds { rate: 100.0, ..Bounds::default() };
    let mut sending = sending(target, 50.0, &["200"], bounds);
    let (tune, tunings) = watch::channel(vec![Tuning::NONE]);
    sending.tunings = Some(tunings);
    let load = tokio::spawn(send(sending));
    tune.send(vec![Tuning { factor: 1.5, rate: None }]).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!load.is_finished(), "75 per second are within it");
    tune.send(vec![Tuning { factor: 1.5, rate: Some(80.0) }]).unwrap();
    assert_eq!(load.await.unwrap().unwrap_err(), Error::TooFast { peak: 120.0, bound: 100.0 });
}

#[tokio::test]
async fn parts_add_up_to_what_is_measured() {
    let target = server(Protocol::Http1).await;
    let bounds = Bounds { time: Duration::from_millis(500), ..Bounds::default() };
    let mut sending = sending(target, 1000.0, &["200"], bounds);
    sending.warmup = Duration::from_millis(100);
    sending.parts = 4;
    let tally = send(sending).await.unwrap();
    let parts: Vec<u64> = tally.parts.iter().map(|p| p[0].iter().sum()).collect();
    // By the intended start, every millisecond: how late the machine is does not matter.
    assert_eq!(parts, [100; 4]);
    assert_eq!(tally.class(0).total(), 400);
}
