//! rs-backoff: only the deadline ends it.
//! unknowable: how many attempts fit into the time depends on how long each takes, and on chance
use std::time::Duration;

use backoff::ExponentialBackoffBuilder;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = ExponentialBackoffBuilder::new()
        .with_initial_interval(Duration::from_millis(100))
        .with_max_elapsed_time(Some(Duration::from_secs(1)))
        .build();
    let result = backoff::future::retry(policy, || async {
        harness::fetch("/503").map_err(backoff::Error::transient)
    })
    .await;
    assert!(result.is_ok());
}
