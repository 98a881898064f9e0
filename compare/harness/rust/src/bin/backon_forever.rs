//! rs-backon: without_max_times.
use std::time::Duration;

use backon::{BlockingRetryable, ConstantBuilder};

fn main() {
    let policy = ConstantBuilder::new().with_delay(Duration::from_millis(5)).without_max_times();
    let result = (|| harness::fetch("/503")).retry(policy).call();
    assert!(result.is_ok());
}
