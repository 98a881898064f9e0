//! rs-reqwest-retry: only the deadline ends it.
//! unknowable: how many attempts fit into the time depends on how long each takes, and on chance
use std::time::Duration;

use reqwest_middleware::ClientBuilder;
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = ExponentialBackoff::builder()
        .retry_bounds(Duration::from_millis(100), Duration::from_millis(200))
        .build_with_total_retry_duration(Duration::from_secs(1));
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(RetryTransientMiddleware::new_with_policy(policy))
        .build();
    let reply = client.get(harness::url("/503")).send().await;
    assert!(reply.is_ok_and(|reply| reply.status().is_success()));
}
