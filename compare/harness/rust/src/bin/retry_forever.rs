//! rs-retry: without take there is no end.
fn main() {
    let result = retry::retry(retry::delay::Fixed::from_millis(5), || harness::fetch("/503"));
    assert!(result.is_ok());
}
