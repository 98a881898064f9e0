//! rs-backon: with_max_times counts the retries.
use std::time::Duration;

use backon::{BlockingRetryable, ConstantBuilder};

fn main() {
    let load = || harness::fetch("/503");
    let policy = ConstantBuilder::default().with_delay(Duration::from_millis(5)).with_max_times(5);
    assert!(load.retry(policy).call().is_ok());
}
