//! hand-rolled: the condition of the loop counts down.
use std::thread;
use std::time::Duration;

fn load(path: &str) -> Option<String> {
    let mut attempts_left = 5;
    while attempts_left > 0 {
        if let Ok(reply) = harness::fetch(path) {
            return Some(reply);
        }
        attempts_left -= 1;
        thread::sleep(Duration::from_millis(5));
    }
    None
}

fn main() {
    assert!(load("/503").is_some());
}
