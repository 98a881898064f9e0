//! hand-rolled: a list of waits, and one attempt more than there are waits.
use std::thread;
use std::time::Duration;

const DELAYS_MS: [u64; 3] = [2, 5, 10];

fn load(path: &str) -> Result<String, std::io::Error> {
    for delay in DELAYS_MS {
        if let Ok(reply) = harness::fetch(path) {
            return Ok(reply);
        }
        thread::sleep(Duration::from_millis(delay));
    }
    harness::fetch(path)
}

fn main() {
    assert!(load("/503").is_ok());
}
