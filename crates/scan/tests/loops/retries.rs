// expect H41: retry attempts=5 delay=linear base=100 schedule=100,200,300,400 jitter=none
async fn h41() -> Result<V, E> {
    for attempt in 1..=5 {
        match op().await {
            Ok(v) => return Ok(v),
            Err(e) if attempt < 5 => tokio::time::sleep(Duration::from_millis(100 * attempt)).await,
            Err(e) => return Err(e),
        }
    }
    unreachable!()
}

// expect H42: retry attempts=4 delay=exponential base=2000 schedule=2000,4000,8000 jitter=none
fn h42() -> Result<V, E> {
    let mut n = 0u32;
    let v = loop {
        match op() {
            Ok(v) => break v,
            Err(e) if e.is_retryable() && n < 3 => {
                n += 1;
                thread::sleep(Duration::from_secs(2u64.pow(n)));
            }
            Err(e) => return Err(e),
        }
    };
    Ok(v)
}

// expect H43: retry attempts=3 delay=exponential jitter=none
fn h43(mut delay: Duration) -> Result<(), E> {
    let mut tries = 0;
    while let Err(e) = push(&msg) {
        tries += 1;
        if tries > 2 {
            return Err(e);
        }
        delay = (delay * 2).min(MAX);
        thread::sleep(delay);
    }
    Ok(())
}

// expect H44: retry attempts=3 delay=none jitter=none
fn h44() -> Option<V> {
    let v = (0..3).find_map(|_| op().ok());
    v
}

// expect R06: retry attempts=4 delay=server-directed pushback
async fn r06(client: &Client, url: &str) -> Result<Response, Error> {
    let mut attempt = 0;
    loop {
        let resp = client.get(url).send().await?;
        if resp.status().as_u16() != 429 || attempt >= 3 {
            return Ok(resp);
        }
        attempt += 1;
        let wait = resp
            .headers()
            .get("retry-after")
            .and_then(|v| v.to_str().ok())
            .and_then(|v| v.parse::<u64>().ok())
            .unwrap_or(5);
        tokio::time::sleep(Duration::from_secs(wait)).await;
    }
}

// What failed of a batch is sent again.
// expect R66: retry attempts=dynamic delay=constant base=1000
async fn r66(client: &Client, keys: Vec<String>, limit: u32) -> Result<(), Error> {
    let mut remaining = keys;
    for attempt in 1.. {
        let answer = client.delete_objects(&remaining).await?;
        let Some(errors) = answer.errors.filter(|all| !all.is_empty()) else {
            return Ok(());
        };
        if attempt > limit {
            bail!("not deleted");
        }
        let mut again = Vec::new();
        for error in errors {
            again.push(error.key);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        remaining = again;
    }
    Ok(())
}

// expect codes-in-a-range: retry attempts=4 delay=constant base=1000
async fn codes_in_a_range(client: &Client, url: &str) -> Result<Response> {
    for _ in 0..4 {
        let resp = client.get(url).send().await?;
        match resp.status().as_u16() {
            200..=299 => return Ok(resp),
            500..=599 => tokio::time::sleep(Duration::from_secs(1)).await,
            _ => return Err(Error::Refused),
        }
    }
    Err(Error::GaveUp)
}

// expect contains-code: retry attempts=3 delay=none
async fn contains_code(client: &Client, url: &str) -> Result<Response> {
    let mut attempt = 0;
    loop {
        let resp = client.get(url).send().await?;
        attempt += 1;
        if attempt >= 3 || !(500..600).contains(&resp.status().as_u16()) {
            return Ok(resp);
        }
    }
}

// expect a-status-that-is-kept: retry attempts=6 delay=constant base=1000
async fn kept_status(client: &Client, req: Req) -> Result<Response> {
    let mut attempts = 0;
    loop {
        let resp = client.execute(req.clone()).await?;
        let status = resp.status();
        if status == StatusCode::TOO_MANY_REQUESTS && attempts < 5 {
            attempts += 1;
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        }
        return Ok(resp);
    }
}

// expect limited-between-pages: retry attempts=infinite delay=server-directed
async fn limited_between_pages(client: &Client) -> Result<Vec<Item>> {
    let mut cursor = None;
    let mut all = vec![];
    loop {
        let page = match client.list(cursor.clone()).await {
            Ok(page) => page,
            Err(Error::RateLimited { retry_after }) => {
                tokio::time::sleep(retry_after).await;
                continue;
            }
            Err(e) => return Err(e),
        };
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

// expect put-back-by-its-arm: retry attempts=infinite delay=none
async fn put_back(&self, item: Item) {
    match self.client.send(&item).await {
        Ok(_) => self.done.push(item),
        Err(e) => {
            warn!("{e}");
            self.queue.push(item);
        }
    }
}
