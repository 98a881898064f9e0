//! rs-tokio-retry: waits from a list.
use std::time::Duration;

use tokio_retry::Retry;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let waits = vec![Duration::from_millis(1), Duration::from_millis(5)];
    let result = Retry::start(waits, || async { harness::fetch("/503") }).await;
    assert!(result.is_ok());
}
