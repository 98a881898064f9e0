//! hand-rolled: the clock ends it.
//! unknowable: how many attempts fit into the time depends on how long each takes
use std::thread;
use std::time::{Duration, Instant};

fn load(path: &str) -> Result<String, std::io::Error> {
    let start = Instant::now();
    loop {
        match harness::fetch(path) {
            Ok(reply) => return Ok(reply),
            Err(error) => {
                if start.elapsed() > Duration::from_secs(1) {
                    return Err(error);
                }
                thread::sleep(Duration::from_millis(200));
            }
        }
    }
}

fn main() {
    assert!(load("/503").is_ok());
}
