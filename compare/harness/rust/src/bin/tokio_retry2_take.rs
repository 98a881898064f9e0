//! rs-tokio-retry2: take counts the waits, so the retries.
use tokio_retry2::strategy::{ExponentialFactorBackoff, jitter};
use tokio_retry2::{Retry, RetryError};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let waits =
        ExponentialFactorBackoff::from_millis(5, 2.0).max_delay_millis(20).map(jitter).take(4);
    let result =
        Retry::spawn(waits, || async { harness::fetch("/503").map_err(RetryError::transient) })
            .await;
    assert!(result.is_ok());
}
