//! rs-backoff: a literal with a deadline.
//! unknowable: how many attempts fit into the time depends on how long each takes, and on chance
use std::time::Duration;

use backoff::{Error, ExponentialBackoff, retry};

fn main() {
    let policy = ExponentialBackoff {
        initial_interval: Duration::from_millis(50),
        max_elapsed_time: Some(Duration::from_millis(500)),
        ..ExponentialBackoff::default()
    };
    let result = retry(policy, || {
        let reply = harness::fetch("/503");
        reply.map_err(Error::transient)
    });
    assert!(result.is_ok());
}
