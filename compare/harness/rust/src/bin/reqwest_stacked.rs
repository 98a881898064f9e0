//! rs-reqwest-retry with a loop around it: their attempts multiply.
use std::time::Duration;

use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;

async fn load(client: &ClientWithMiddleware) -> anyhow::Result<String> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let reply = client.get(harness::url("/503")).send().await?;
        if reply.status().is_success() {
            return Ok(reply.text().await?);
        }
        if attempt >= 2 {
            anyhow::bail!("status {}", reply.status());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = ExponentialBackoff::builder()
        .retry_bounds(Duration::from_millis(2), Duration::from_millis(5))
        .build_with_max_retries(2);
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(RetryTransientMiddleware::new_with_policy(policy))
        .build();
    assert!(load(&client).await.is_ok());
}
