//! rs-reqwest-retry: build_with_max_retries counts the retries.
use std::time::Duration;

use reqwest_middleware::ClientBuilder;
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = ExponentialBackoff::builder()
        .retry_bounds(Duration::from_millis(5), Duration::from_millis(20))
        .build_with_max_retries(3);
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(RetryTransientMiddleware::new_with_policy(policy))
        .build();
    let reply = client.get(harness::url("/503")).send().await;
    assert!(reply.is_ok_and(|reply| reply.status().is_success()));
}
