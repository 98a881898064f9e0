//! rs-backon: three retries if nobody says another number.
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};

async fn load() -> Result<String, std::io::Error> {
    harness::fetch("/503")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = ExponentialBuilder::default().with_min_delay(Duration::from_millis(5));
    assert!(load.retry(policy).await.is_ok());
}
