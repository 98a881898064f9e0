impl Steps {
    fn delay(&self, attempt: u32) -> Duration {
        let whole = 200u64.saturating_mul(2u64.saturating_pow(attempt - 1));
        let half = whole.div_ceil(2);
        let span = half..whole + 1;
        Duration::from_millis(rand::rng().random_range(span))
    }
}

// expect W41: retry attempts=5 delay=exponential jitter=additive pushback
async fn w41(client: &Client, steps: &Steps) -> Result<V, E> {
    let mut attempt = 0;
    loop {
        let error = match client.fetch().await {
            Ok(v) => return Ok(v),
            Err(error) => error,
        };
        attempt += 1;
        if attempt >= 5 {
            return Err(error);
        }
        let pause = match error.retry_after() {
            Some(told) => told,
            None => steps.delay(attempt),
        };
        tokio::time::sleep(pause).await;
    }
}

// expect W42: retry attempts=4 delay=exponential base=100 jitter=none pushback
async fn w42(client: &Client) -> Result<V, E> {
    for attempt in 0..4 {
        match client.fetch().await {
            Ok(v) => return Ok(v),
            Err(Failure::Limited { retry_after }) if attempt < 3 => {
                let pause = retry_after.unwrap_or_else(|| Duration::from_millis(100 << attempt));
                tokio::time::sleep(pause).await;
            }
            Err(e) => return Err(e),
        }
    }
    unreachable!()
}
