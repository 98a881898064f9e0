//! hand-rolled: what went well is looked at first.
//! unknowable: the number is a field that whoever makes the client sets
use std::time::Duration;

struct Client {
    max_retries: u32,
}

impl Client {
    async fn load(&self, path: &str) -> Result<String, std::io::Error> {
        let mut delay = Duration::from_millis(2);
        for _ in 0..self.max_retries {
            if let Ok(reply) = harness::fetch(path) {
                return Ok(reply);
            }
            tokio::time::sleep(delay).await;
            delay *= 2;
        }
        harness::fetch(path)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    assert!(Client { max_retries: 3 }.load("/503").await.is_ok());
}
