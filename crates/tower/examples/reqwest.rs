//! A reqwest client behind a breaker and a retry layer.
//!
//! reqwest's own service takes its own requests, so a function hands them over.
//!
//! `cargo run -p damper-tower --example reqwest`

use std::net::Ipv4Addr;
use std::time::Duration;

use damper_control::gate::{Breaker, BreakerRule, Hung, Spread, Trip};
use damper_control::{Backoff, Budget, Jitter, Nanos, Retry, RetryOn};
use damper_tower::body::Replay;
use damper_tower::{Error, Event, GateLayer, Policy, RetryLayer};
use http_body_util::{BodyExt as _, Empty};
use tower::{Layer as _, ServiceExt as _};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Sent = http::Request<Replay<Empty<bytes::Bytes>>>;

/// Opens after three failures in a row.
const RULE: BreakerRule = BreakerRule {
    trip: Trip::InARow(3),
    failure_rate: 50.0,
    slow_rate: 100.0,
    slow: Nanos::from_secs(60),
    min_calls: 1,
    judges_successes: false,
    probes: 1,
    hung: Hung::Blocks,
    wait: Nanos::from_secs(600),
    factor: 1.0,
    max_wait: Nanos::ZERO,
    jitter: 0.0,
    spread: Spread::Around,
    rejections: true,
    late: false,
};

/// What happens, line by line.
///
/// # Errors
/// The network of this machine does not work.
pub(crate) async fn run() -> Result<Vec<String>, Failure> {
    // A port on which nobody listens.
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let uri = format!("http://{}/", listener.local_addr()?);
    drop(listener);

    let client = reqwest::Client::builder().no_proxy().build()?;
    let inner = tower::service_fn(move |request: Sent| {
        let client = client.clone();
        async move {
            let (head, body) = request.into_parts();
            // An error of a body that cannot fail.
            let body =
                body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let request = reqwest::Request::try_from(http::Request::from_parts(head, body))?;
            client.execute(request).await.map(http::Response::<reqwest::Body>::from)
        }
    });
    let retry = Retry {
        limits: [1].into(),
        on: RetryOn::ALL,
        backoff: Backoff::constant(Nanos::from_millis(1), Jitter::Full),
    };
    let retry = RetryLayer::new(Policy::new(retry), Budget::NONE);
    let gate = Breaker::try_new(RULE).ok_or("the rule is not possible")?;
    let breaker = GateLayer::new(gate);
    let client = retry.layer(breaker.layer(inner));

    let mut lines = Vec::new();
    for call in 1..=3 {
        let request = http::Request::get(&uri).body(Empty::new())?;
        let said = match client.clone().oneshot(request).await.map_err(Error::flatten) {
            Ok(response) => response.status().to_string(),
            Err(Error::Refused(refusal)) => format!("refused: {}", refusal.word()),
            Err(Error::TimedOut(timed_out)) => timed_out.to_string(),
            Err(Error::Inner(error)) => format!("not connected: {}", error.is_connect()),
        };
        lines.push(format!("call {call}: {said}"));
    }
    let seen = breaker.counters().snapshot();
    lines.push(format!("sent {}, refused {}", seen.total(Event::Attempt), seen.refused()));
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
