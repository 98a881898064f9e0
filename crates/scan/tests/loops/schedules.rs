const WAITS: &[Duration] = &[Duration::from_millis(10), Duration::from_millis(20), Duration::from_millis(40)];

// expect next-of: retry attempts=4 delay=exponential base=10
async fn next_of(&self) -> Result<Bytes, Error> {
    let mut waits = WAITS.iter().copied();
    loop {
        match self.client.send(1).await {
            Ok(it) => return Ok(it),
            Err(e) => match waits.next() {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(e),
            },
        }
    }
}

// expect left: retry attempts=dynamic delay=dynamic base=none expression=conf.retry_schedule+1
async fn left(&self, conf: &Conf) -> Result<Bytes, Error> {
    let mut retries = conf.retry_schedule.iter();
    loop {
        let res = conf.client.send(1).await;
        let next_wait = retries.next().copied();
        match res {
            Ok(it) => return Ok(it),
            Err(e) => {
                if next_wait.is_none() {
                    return Err(e);
                }
            }
        }
        tokio::time::sleep(next_wait.expect("there is one")).await;
    }
}

// An object retries by itself, and the loop only asks whether it is done.
// expect object: retry attempts=dynamic usual=4 delay=exponential base=10
async fn object(&self) -> Result<(), Error> {
    let mut retry = Retry::new(should_retry, WAITS);
    loop {
        if let Some(result) = retry.run(|| self.client.send(1)).await {
            return result;
        }
    }
}

// expect select: retry attempts=5 delay=constant base=200
async fn select(&self) {
    for attempt in 0..5 {
        if self.client.send(attempt).await.is_ok() {
            return;
        }
        tokio::select! {
            _ = sleep(Duration::from_millis(200)) => (),
            _ = self.token.cancelled() => return,
        }
    }
}

// The next event is another one.
async fn events(&mut self) {
    loop {
        tokio::select! {
            Some(event) = self.events.recv() => {
                if let Err(e) = self.handle(event).await {
                    warn!("failed: {e}");
                }
            }
            _ = self.token.cancelled() => return,
        }
    }
}

impl Lock {
    const ATTEMPTS: u32 = 5;

    async fn acquire(path: &Path) -> Result<Self> {
        Self::acquire_with(path, Self::ATTEMPTS, Duration::from_millis(100)).await
    }

    // expect lock: retry attempts=dynamic usual=6 delay=constant base=100
    async fn acquire_with(path: &Path, attempts: u32, retry: Duration) -> Result<Self> {
        let file = open(path)?;
        let mut remaining = attempts;
        while !file.try_lock_exclusive()? {
            if remaining == 0 {
                return Err(Error::Busy);
            }
            remaining -= 1;
            tokio::time::sleep(retry).await;
        }
        Ok(Self { file })
    }
}

async fn save(&mut self, conn: &Conn) -> Result<()> {
    with_db! { conn:
        fast {
            // expect in-a-macro: retry attempts=4 delay=constant base=2000
            for i in 0..4 {
                match conn.execute(query) {
                    Ok(it) => return Ok(it),
                    Err(e) => thread::sleep(Duration::from_secs(2)),
                }
            }
        }
    }
}

// A future that waits is made before, and waited for later.
// expect made-before: retry attempts=3 delay=constant base=250
async fn made_before(&self) {
    for attempt in 0..3 {
        if self.client.send(attempt).await.is_ok() {
            return;
        }
        let pause = tokio::time::sleep(Duration::from_millis(250));
        tokio::pin!(pause);
        tokio::select! {
            _ = &mut pause => {}
            _ = self.token.cancelled() => return,
        }
    }
}
