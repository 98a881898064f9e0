//! rs-backoff: what is permanent is not retried.
//! unknowable: only the deadline ends what is transient
use backoff::{Error, ExponentialBackoff, retry};

fn main() {
    let result = retry(ExponentialBackoff::default(), || {
        harness::fetch("/503").map_err(Error::<std::io::Error>::Permanent)
    });
    assert!(result.is_ok());
}
