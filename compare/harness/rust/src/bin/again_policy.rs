//! rs-again: with_max_retries counts the retries.
use std::time::Duration;

use again::RetryPolicy;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = RetryPolicy::fixed(Duration::from_millis(5)).with_max_retries(3);
    let result = policy.retry(|| async { harness::fetch("/503") }).await;
    assert!(result.is_ok());
}
