//! An axum router behind a lever and a door. Low-priority requests are shed first.
//!
//! `cargo run -p damper-tower --example axum`

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use damper_control::lever::{Action, Change, ClassSet};
use damper_control::queue::Priority;
use damper_tower::{
    Door, DoorLayer, Event, LeverLayer, ReceiveLayer, RespondLayer, SharedLever, headers,
};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::sync::Semaphore;
use tower::ServiceBuilder;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What happens, line by line.
///
/// # Errors
/// The network of this machine does not work.
pub(crate) async fn run() -> Result<Vec<String>, Failure> {
    let door =
        DoorLayer::new(Door::new().with_workers(1).with_queue(2).with_order(Priority::default()));
    let lever = SharedLever::default();
    // The handler works until it is told that it may end, so that the example needs no sleep.
    let may_end = Arc::new(Semaphore::new(0));
    let gate = may_end.clone();
    let handler = get(move || {
        let gate = gate.clone();
        async move {
            if let Ok(permit) = gate.acquire().await {
                permit.forget();
            }
            "done"
        }
    });
    let router = Router::new().route("/", handler).layer(
        ServiceBuilder::new()
            .layer(RespondLayer::default())
            .layer(LeverLayer::new(lever.clone()))
            .layer(RespondLayer::default().saying(door.word()))
            .layer(ReceiveLayer::default())
            .layer(door.clone()),
    );
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let uri = format!("http://{}/", listener.local_addr()?);
    let server = tokio::spawn(async move { axum::serve(listener, router).await });

    let client = Client::builder(TokioExecutor::new()).build_http();
    let call = |class: u8| {
        let request = http::Request::get(&uri)
            .header(headers::CLASS, u16::from(class))
            .body(Empty::<bytes::Bytes>::new());
        let client = client.clone();
        tokio::spawn(async move {
            let response = client.request(request?).await?;
            let refused = response.headers().get(headers::REFUSED).cloned();
            Ok::<_, Failure>((response.status().as_u16(), refused))
        })
    };
    let came = async |n| {
        while door.counters().snapshot().total(Event::Request) < n {
            tokio::task::yield_now().await;
        }
    };
    let mut lines = Vec::new();
    // One works, two wait, the fourth is refused at once.
    let mut calls = Vec::new();
    for n in 1..=3 {
        calls.push(call(1));
        came(n).await;
    }
    let (status, refused) = call(1).await??;
    lines.push(format!(
        "the fourth: {status} {}",
        refused.unwrap_or(http::HeaderValue::from_static("-")).to_str()?
    ));
    may_end.add_permits(3);
    for call in calls {
        lines.push(format!("served: {}", call.await??.0));
    }
    // The operator pauses everything but the highest class.
    let change = Change {
        action: Action::Pause,
        classes: ClassSet::from_class(1),
        who: "ops",
        why: "an example",
    };
    let pulled = lever.pull(change);
    lines.push(format!("lever: {pulled:?}"));
    may_end.add_permits(1);
    let (high, low) = (call(0).await??, call(1).await??);
    lines.push(format!("high {}, low {}", high.0, low.0));
    server.abort();
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
