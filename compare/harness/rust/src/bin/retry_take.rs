//! rs-retry: take counts the waits, so the retries.
use retry::delay::Fixed;
use retry::retry;

fn main() {
    let result = retry(Fixed::from_millis(5).take(2), || harness::fetch("/503"));
    assert!(result.is_ok());
}
