//! hand-rolled: a counted loop.
use std::thread::sleep;
use std::time::Duration;

fn load(path: &str) -> Result<String, std::io::Error> {
    let mut last = None;
    for attempt in 0..4 {
        match harness::fetch(path) {
            Ok(reply) => return Ok(reply),
            Err(error) => last = Some(error),
        }
        sleep(Duration::from_millis(5 * 2_u64.pow(attempt)));
    }
    Err(last.unwrap())
}

fn main() {
    assert!(load("/503").is_ok());
}
