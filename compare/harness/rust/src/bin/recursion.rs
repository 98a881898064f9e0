//! hand-rolled: a function that calls itself, up to a constant.
//! unknowable: where it starts counting is a parameter
use std::thread;
use std::time::Duration;

const MAX_ATTEMPTS: u32 = 3;

fn load(path: &str, attempt: u32) -> Result<String, std::io::Error> {
    match harness::fetch(path) {
        Ok(reply) => Ok(reply),
        Err(error) if attempt >= MAX_ATTEMPTS => Err(error),
        Err(_) => {
            thread::sleep(Duration::from_millis(5));
            load(path, attempt + 1)
        }
    }
}

fn main() {
    assert!(load("/503", 1).is_ok());
}
