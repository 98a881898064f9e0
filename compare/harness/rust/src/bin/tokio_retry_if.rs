//! rs-tokio-retry: with a condition.
#![allow(deprecated, reason = "the name that most code has")]
use tokio_retry::RetryIf;
use tokio_retry::strategy::FibonacciBackoff;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let waits = FibonacciBackoff::from_millis(1).take(5);
    let load = || async { harness::fetch("/503") };
    let result =
        RetryIf::spawn(waits, load, |error: &std::io::Error| error.to_string().contains("503"));
    assert!(result.await.is_ok());
}
