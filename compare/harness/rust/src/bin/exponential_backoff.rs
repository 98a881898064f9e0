//! rs-exponential-backoff: an iterator of waits; the attempt after the last wait is the last.
use std::time::Duration;

use exponential_backoff::Backoff;

fn load() -> Result<String, std::io::Error> {
    let backoff = Backoff::new(3, Duration::from_millis(5), Duration::from_millis(20));
    let mut last = None;
    for wait in &backoff {
        match harness::fetch("/503") {
            Ok(reply) => return Ok(reply),
            Err(error) => {
                last = Some(error);
                if let Some(wait) = wait {
                    std::thread::sleep(wait);
                }
            }
        }
    }
    Err(last.unwrap())
}

fn main() {
    assert!(load().is_ok());
}
