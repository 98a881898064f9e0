//! rs-again: five retries if nobody says another number.
use std::time::Duration;

use again::RetryPolicy;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let result = RetryPolicy::exponential(Duration::from_millis(5))
        .with_jitter(true)
        .retry(|| async { harness::fetch("/503") })
        .await;
    assert!(result.is_ok());
}
