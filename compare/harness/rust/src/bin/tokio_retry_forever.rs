//! rs-tokio-retry: without take there is no end.
use tokio_retry::Retry;
use tokio_retry::strategy::FixedInterval;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let result =
        Retry::start(FixedInterval::from_millis(5), || async { harness::fetch("/503") }).await;
    assert!(result.is_ok());
}
