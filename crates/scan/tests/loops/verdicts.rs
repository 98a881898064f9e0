// expect Handed: retry attempts=dynamic expression=retry.attempt delay=dynamic
pub fn with_retry<T>(limits: &Limits, mut callback: impl FnMut() -> Result<T>) -> Result<T> {
    let mut retry = Retry::new(limits)?;
    loop {
        match retry.attempt(&mut callback) {
            Verdict::Success(value) => return Ok(value),
            Verdict::Err(error) => return Err(error),
            Verdict::Retry(wait) => std::thread::sleep(Duration::from_millis(wait)),
        }
    }
}

// expect Answered: retry attempts=dynamic expression=r.attempt delay=dynamic
async fn load(&self, path: &str) -> Result<Answer> {
    let mut r = Retry::new(self.limits)?;
    loop {
        let response = self.client.fetch(path).await;
        match r.attempt(|| response) {
            Verdict::Success(answer) => break Ok(answer),
            Verdict::Err(error) => break Err(error),
            Verdict::Retry(wait) => tokio::time::sleep(wait).await,
        }
    }
}

// What is wrong is raised, and nothing is done twice.
fn read_all(input: &mut Input) -> Result<Vec<Token>> {
    let mut all = Vec::new();
    loop {
        match input.token() {
            Step::Token(token) => all.push(token),
            Step::Err(error) => return Err(error),
            Step::End => return Ok(all),
        }
    }
}
