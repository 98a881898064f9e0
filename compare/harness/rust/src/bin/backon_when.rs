//! rs-backon: with a condition and a note of each failure.
use std::io;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};

const RETRIES: usize = 2;

async fn load(path: &str) -> Result<String, io::Error> {
    harness::fetch(path)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(5))
        .with_factor(1.5)
        .with_max_times(RETRIES)
        .with_jitter();
    let result = (|| load("/503"))
        .retry(policy)
        .sleep(tokio::time::sleep)
        .when(|error| error.kind() == io::ErrorKind::Other)
        .notify(|error, wait| eprintln!("{error}, again in {wait:?}"))
        .await;
    assert!(result.is_ok());
}
