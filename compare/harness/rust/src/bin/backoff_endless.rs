//! rs-backoff: no deadline.
use std::time::Duration;

use backoff::{Error, ExponentialBackoffBuilder, retry_notify};

fn main() {
    let policy = ExponentialBackoffBuilder::default()
        .with_initial_interval(Duration::from_millis(2))
        .with_max_interval(Duration::from_millis(5))
        .with_max_elapsed_time(None)
        .build();
    let load = || harness::fetch("/503").map_err(Error::transient);
    let result = retry_notify(policy, load, |error, wait| eprintln!("{error} {wait:?}"));
    assert!(result.is_ok());
}
