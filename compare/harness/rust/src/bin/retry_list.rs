//! rs-retry: waits from an array.
use std::time::Duration;

fn main() {
    let waits = [1_u64, 2, 5].into_iter().map(Duration::from_millis);
    let result = retry::retry(waits, || harness::fetch("/503"));
    assert!(result.is_ok());
}
