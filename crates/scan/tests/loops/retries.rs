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

// expect by-its-arm-of-an-enum: retry attempts=5 delay=constant base=1000
async fn by_its_arm(client: &Client, mail: Mail) -> Result<()> {
    for _ in 0..5 {
        match client.deliver(&mail).await {
            Outcome::Done => return Ok(()),
            Outcome::Retry => tokio::time::sleep(Duration::from_secs(1)).await,
            Outcome::Refused(e) => return Err(e),
        }
    }
    Err(Error::GaveUp)
}

// expect on-another-node: retry attempts=2 delay=none
async fn on_another_node(&self, request: Request, mut client: Client) -> Result<Docs> {
    let mut docs = client.fetch_docs(request.clone()).await;
    if let Some(retry_request) = self.policy.retry_request(request, &docs) {
        client = self.other(&retry_request).await?;
        docs = client.fetch_docs(retry_request).await;
    }
    docs
}

// expect unless-it-went-well: retry attempts=2 delay=none
async fn unless_it_went_well(&self, request: Request, mut client: Client) -> Result<Docs> {
    let docs = client.search(request.clone()).await;
    let Some(retry_request) = self.policy.retry_request(request, &docs) else {
        return docs;
    };
    client = self.other(&retry_request).await?;
    let more = client.search(retry_request).await;
    merge(docs, more)
}

// expect limits-of-time: retry attempts=dynamic delay=none
async fn limits_of_time(&self, path: &Path) -> Result<Bytes> {
    for (attempt, limit) in self.policy.timeouts_for(path).enumerate() {
        let slice = self.inner.get_slice(path);
        match tokio::time::timeout(limit, slice).await {
            Ok(slice) => return slice,
            Err(_) => continue,
        }
    }
    Err(Error::Timeout)
}

// expect or-else: retry attempts=2 delay=none
fn or_else(conn: &Connection, sql: &str) -> Result<usize> {
    conn.execute(sql).or_else(|_| conn.execute(sql))
}

// expect in-its-arm: retry attempts=2 delay=none
async fn in_its_arm(client: &Client, url: &str) -> Result<Response> {
    match client.fetch(url).await {
        Ok(response) => Ok(response),
        Err(e) if e.is_timeout() => client.fetch(url).await,
        Err(e) => Err(e),
    }
}

// expect counts-itself-up: retry attempts=4 delay=none
async fn counts_itself_up(client: Client, request: Request, attempt: u32) -> Result<Response> {
    match client.send(request.clone()).await {
        Ok(response) => Ok(response),
        Err(e) if attempt < 3 => {
            Box::pin(counts_itself_up(client, request, attempt + 1)).await
        }
        Err(e) => Err(e),
    }
}

// expect opened-again: retry attempts=6 delay=constant base=1000
async fn opened_again(client: &Client, from: u64) -> Result<()> {
    let mut retries = 0;
    let mut stream = client.open(from).await?;
    loop {
        match stream.next().await {
            Some(Ok(event)) => {
                retries = 0;
                handle(event);
            }
            Some(Err(e)) => {
                retries += 1;
                if retries > 5 {
                    return Err(e);
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
                stream = client.open(from).await?;
            }
            None => return Ok(()),
        }
    }
}

// expect what-it-was-lent: retry attempts=dynamic
async fn what_it_was_lent(client: &Client, mut position: Position, max_attempts: usize) {
    for attempt in 1..=max_attempts {
        stream_once(client, &mut position).await;
        if position.is_eof() {
            break;
        }
        tokio::time::sleep(pause_before(attempt)).await;
    }
}

// expect policy-that-counts-up: retry attempts=dynamic expression=self.max_attempts
impl<R, T, E> Policy<R, T, E> for CountsUp
where
    R: Clone,
{
    type Future = Sleep;

    fn retry(&mut self, _: &mut R, result: &mut Result<T, E>) -> Option<Self::Future> {
        match result {
            Ok(_) => None,
            Err(_) => {
                self.attempts += 1;
                if self.attempts >= self.max_attempts {
                    None
                } else {
                    Some(tokio::time::sleep(self.pause))
                }
            }
        }
    }

    fn clone_request(&mut self, request: &R) -> Option<R> {
        Some(request.clone())
    }
}
