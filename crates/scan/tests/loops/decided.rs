// expect Told: retry attempts=dynamic
async fn told(mut retry_state: RetryState) -> Result<Payload, Error> {
    loop {
        match client.request(&url).await {
            Ok(found) => return Ok(found),
            Err(err) if let Some(wait) = retry_state.should_retry(&err) => {
                tokio::time::sleep(wait).await;
            }
            Err(err) => return Err(err),
        }
    }
}

fn walks(err: &Error) -> Option<Retryable> {
    let mut current = Some(err);
    while let Some(source) = current {
        if let Some(found) = source.downcast_ref::<Wrapped>().and_then(|err| err.inner()) {
            if is_retryable(found) {
                return Some(Retryable::Transient);
            }
        }
        current = source.source();
    }
    None
}

async fn ticks_loop() {
    let mut interval = tokio::time::interval(PERIOD);
    loop {
        interval.tick().await;
        if let Err(error) = client.read_stats().await {
            warn!(%error, "failed to read");
            continue;
        }
    }
}

async fn pages(retry_params: &RetryParams) -> Result<Vec<Shard>> {
    let mut shards = Vec::new();
    let mut token = None;
    loop {
        let response = aws_retry(retry_params, || async { client.list(token.clone()).send().await }).await?;
        shards.extend(response.shards);
        if response.next_token.is_none() {
            return Ok(shards);
        }
        token = response.next_token;
    }
}

// Messages, as they come: none of them is asked for.
async fn reads(mut stream: Stream) -> Result<Start> {
    loop {
        match time::timeout(PERIOD, stream.next()).await {
            Ok(Some(message)) => return Ok(read(message)?),
            Ok(None) => return Err(closed()),
            Err(_) => {}
        }
    }
}
