//! hand-rolled: let and else.
use std::thread;
use std::time::Duration;

fn load(path: &str) -> anyhow::Result<String> {
    let mut remaining = 3_usize;
    loop {
        let Err(error) = harness::fetch(path).map(|reply| println!("{reply}")) else {
            return Ok(path.to_owned());
        };
        remaining -= 1;
        if remaining == 0 {
            anyhow::bail!("{error}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn main() {
    assert!(load("/503").is_ok());
}
