//! hand-rolled: a helper that is given the operation.
use std::thread;
use std::time::Duration;

fn retried<T, E>(attempts: u32, mut operation: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let mut attempt = 1;
    loop {
        match operation() {
            Err(_) if attempt < attempts => {
                attempt += 1;
                thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn main() {
    assert!(retried(4, || harness::fetch("/503")).is_ok());
}
