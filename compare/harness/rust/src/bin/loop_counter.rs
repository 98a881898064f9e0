//! hand-rolled: the counter is looked at before it is raised.
use std::thread;
use std::time::Duration;

const MAX_RETRIES: u32 = 4;

fn load(path: &str) -> Result<String, std::io::Error> {
    let mut retries = 0;
    loop {
        match harness::fetch(path) {
            Ok(reply) => return Ok(reply),
            Err(error) => {
                if retries >= MAX_RETRIES {
                    return Err(error);
                }
                retries += 1;
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn main() {
    assert!(load("/503").is_ok());
}
