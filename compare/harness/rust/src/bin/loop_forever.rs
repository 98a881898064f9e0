//! hand-rolled: without an end.
use std::thread;
use std::time::Duration;

fn load(path: &str) -> String {
    loop {
        match harness::fetch(path) {
            Ok(reply) => return reply,
            Err(error) => {
                eprintln!("{error}, retrying");
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn main() {
    load("/503");
}
