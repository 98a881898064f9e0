//! A hyper server behind a door, and a hyper client that retries.
//!
//! `cargo run -p damper-tower --example hyper`

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use damper_control::budget::GrpcTokenBucket;
use damper_control::{Backoff, Budget, Jitter, Nanos, Retry, RetryOn};
use damper_tower::{Class, Door, DoorLayer, Event, Policy, RespondLayer, RetryLayer};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tower::{Layer as _, ServiceExt as _};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Starts a server whose handler fails the first two requests; at most one works and none waits.
async fn serve(door: &DoorLayer) -> Result<SocketAddr, Failure> {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let seen = Arc::new(AtomicU32::new(0));
    let handler = tower::service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let seen = seen.clone();
        async move {
            let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
            let mut response = http::Response::new(Full::new(body.unwrap_or_default()));
            if seen.fetch_add(1, Ordering::Relaxed) < 2 {
                *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
            }
            Ok::<_, Infallible>(response)
        }
    });
    let service = RespondLayer::default().saying(door.word()).layer(door.layer(handler));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
        }
    });
    Ok(address)
}

/// What happens, line by line.
///
/// # Errors
/// The network of this machine does not work.
pub(crate) async fn run() -> Result<Vec<String>, Failure> {
    let door = DoorLayer::new(Door::new().with_workers(1).with_queue(16));
    let address = serve(&door).await?;

    let retry = Retry {
        limits: [3, 1].into(),
        on: RetryOn::ALL,
        backoff: Backoff::exponential(
            Nanos::from_millis(5),
            2.0,
            Nanos::from_millis(50),
            Jitter::Full,
        ),
    };
    let budget = GrpcTokenBucket::try_new(10, 0.1).map_or(Budget::NONE, Budget::from);
    let layer = RetryLayer::new(
        Policy { timeout: Some(Nanos::from_secs(30)), ..Policy::new(retry) },
        budget,
    );
    let client = Client::builder(TokioExecutor::new()).build_http();
    let client = layer.layer(client);

    let mut lines = Vec::new();
    let mut request = http::Request::put(format!("http://{address}/"))
        .body(Full::new(Bytes::from_static(b"kept and sent again")))?;
    request.extensions_mut().insert(Class(0));
    let response = client.clone().oneshot(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    lines.push(format!("{status}: {}", String::from_utf8_lossy(&body)));
    let seen = layer.counters().snapshot();
    lines.push(format!("attempts {}", seen.total(Event::Attempt)));
    lines.push(format!("retries {}", seen.total(Event::Retry)));
    lines.push(format!("the server saw {}", door.counters().snapshot().total(Event::Request)));
    Ok(lines)
}

#[tokio::main]
#[allow(clippy::print_stdout, dead_code)] // an example prints; a test runs it without this
async fn main() -> Result<(), Failure> {
    for line in tokio::time::timeout(Duration::from_secs(60), run()).await?? {
        println!("{line}");
    }
    Ok(())
}
