//! hand-rolled: counted from one, up to and including.
use std::time::Duration;

const MAX_ATTEMPTS: u32 = 3;

async fn load(path: &str) -> anyhow::Result<String> {
    for attempt in 1..=MAX_ATTEMPTS {
        match harness::fetch(path) {
            Ok(reply) => return Ok(reply),
            Err(error) if attempt == MAX_ATTEMPTS => return Err(error.into()),
            Err(error) => eprintln!("attempt {attempt}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(5) * attempt).await;
    }
    unreachable!()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    assert!(load("/503").await.is_ok());
}
