//! rs-reqwest-builtin: max_retries_per_request counts the retries.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let policy = reqwest::retry::for_host("127.0.0.1")
        .max_retries_per_request(3)
        .no_budget()
        .classify_fn(|reply| match reply.status() {
            Some(reqwest::StatusCode::SERVICE_UNAVAILABLE) => reply.retryable(),
            _ => reply.success(),
        });
    let client = reqwest::Client::builder().retry(policy).build().unwrap();
    let reply = client.get(harness::url("/503")).send().await;
    assert!(reply.is_ok_and(|reply| reply.status().is_success()));
}
