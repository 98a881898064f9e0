//! rs-retry: with chance, and the number of the attempt.
use retry::delay::{Exponential, jitter};
use retry::{OperationResult, retry_with_index};

fn main() {
    let waits = Exponential::from_millis_with_factor(2, 2.0).map(jitter).take(4);
    let result = retry_with_index(waits, |attempt| match harness::fetch("/503") {
        Ok(reply) => OperationResult::Ok(reply),
        Err(error) => OperationResult::Retry(format!("{attempt}: {error}")),
    });
    assert!(result.is_ok());
}
