//! rs-retry around a loop: their attempts multiply.
use std::thread;
use std::time::Duration;

use retry::delay::Fixed;

fn load(path: &str) -> Result<String, std::io::Error> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        match harness::fetch(path) {
            Ok(reply) => return Ok(reply),
            Err(error) if attempt == 2 => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn main() {
    let result = retry::retry(Fixed::from_millis(5).take(2), || load("/503"));
    assert!(result.is_ok());
}
