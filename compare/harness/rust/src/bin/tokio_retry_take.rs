//! rs-tokio-retry: take counts the waits, so the retries.
use tokio_retry::Retry;
use tokio_retry::strategy::{ExponentialBackoff, jitter};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let waits = ExponentialBackoff::from_millis(5).map(jitter).take(3);
    let result = Retry::start(waits, || async { harness::fetch("/503") }).await;
    assert!(result.is_ok());
}
