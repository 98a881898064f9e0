//! rs-backoff: only the deadline of fifteen minutes ends it.
//! unknowable: how many attempts fit into the time depends on how long each takes, and on chance
use backoff::{ExponentialBackoff, retry};

fn main() {
    let result = retry(ExponentialBackoff::default(), || {
        harness::fetch("/503").map_err(backoff::Error::transient)
    });
    assert!(result.is_ok());
}
