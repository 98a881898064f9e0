//! rs-backon: three retries here, too.
use std::time::Duration;

use backon::{FibonacciBuilder, Retryable};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let result = (|| async { harness::fetch("/503") })
        .retry(FibonacciBuilder::default().with_min_delay(Duration::from_millis(5)).with_jitter())
        .await;
    assert!(result.is_ok());
}
