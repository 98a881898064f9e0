//! hand-rolled: the caller says how often.
//! unknowable: the number is a parameter
use std::thread;
use std::time::Duration;

fn load(path: &str, max_retries: u32) -> Result<String, std::io::Error> {
    let mut attempt = 0;
    loop {
        match harness::fetch(path) {
            Ok(reply) => return Ok(reply),
            Err(error) if attempt >= max_retries => return Err(error),
            Err(_) => {
                attempt += 1;
                thread::sleep(Duration::from_millis(5 << attempt));
            }
        }
    }
}

fn main() {
    assert!(load("/503", 2).is_ok());
}
