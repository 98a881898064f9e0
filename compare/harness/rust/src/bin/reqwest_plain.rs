//! no retry: reqwest does not retry what was answered.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let reply = reqwest::get(harness::url("/503")).await;
    assert!(reply.is_ok_and(|reply| reply.status().is_success()));
}
