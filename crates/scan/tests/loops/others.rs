// N08
fn n08(x: &AtomicU32) {
    let mut cur = x.load(Ordering::Relaxed);
    while let Err(now) = x.compare_exchange_weak(cur, cur + 1, Ordering::AcqRel, Ordering::Relaxed) {
        cur = now;
    }
}

// N16
fn n16(mut f: File) -> io::Result<usize> {
    let n = loop {
        match f.read(&mut b) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            r => break r?,
        }
    };
    Ok(n)
}

// Written down where it failed.
async fn written_down(&self, item: Item) {
    match self.client.send(&item).await {
        Ok(_) => {}
        Err(e) => self.failed_items.push((item, e)),
    }
}

// Each round asks another one.
async fn first_that_answers(ids: &[Id], context: &Context) -> Result<Group> {
    let mut all = ids.iter();
    loop {
        if let Some(id) = all.next() {
            let id = Id::from(id.clone());
            if let Ok(group) = id.dereference(context).await {
                break group;
            }
        } else {
            return Err(Error::NotFound);
        }
    }
}

// What is asked for may be done with otherwise where it fails.
async fn from_the_other(&self, url: &str) -> Result<Response> {
    match self.client.fetch(url).await {
        Ok(response) => Ok(response),
        Err(_) => self.mirror.fetch(url).await,
    }
}

// It is made first, and then asked for.
async fn made_first(&self, name: &str) -> Result<Topic> {
    match self.client.fetch(name).await {
        Ok(topic) => Ok(topic),
        Err(_) => {
            self.client.create_topic(name).await?;
            self.client.fetch(name).await
        }
    }
}

// A policy that never says yes.
impl<R, T, E> Policy<R, T, E> for Never {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut R, _: &mut Result<T, E>) -> Option<Self::Future> {
        None
    }

    fn clone_request(&mut self, _: &R) -> Option<R> {
        None
    }
}

// Read until there is nothing left.
fn read_all(source: &mut Source, buffer: &mut Vec<u8>) {
    loop {
        source.fill(&mut buffer);
        if buffer.is_empty() {
            break;
        }
        handle(&buffer);
    }
}

// Another service in each round, as a counter goes round.
async fn another_service() -> Result<IpAddr> {
    let mut errors = Vec::new();
    for _ in 0..SERVICES.len() {
        let at = NEXT.fetch_add(1, Ordering::SeqCst) % SERVICES.len();
        let service = SERVICES[at];
        match client.get(service).send().await {
            Ok(answer) => return Ok(answer.ip()),
            Err(error) => errors.push(error),
        }
    }
    Err(all_failed(errors))
}

// The next batch, whatever came of this one.
async fn batch_by_batch(&self, limit: i64) -> Result<()> {
    let mut offset = 0;
    let mut failed = 0;
    loop {
        let names = self.db.query(build().offset(offset).limit(limit)).await?;
        if names.is_empty() {
            break;
        }
        match self.db.insert(&names).await {
            Ok(_) => {}
            Err(_) => failed += 1,
        }
        offset += limit;
    }
    Ok(())
}

// Another one in each round, as the name of it says.
async fn one_of_them() -> Result<IpAddr> {
    for _ in 0..SERVICES.len() {
        let at = NEXT.fetch_add(1, Ordering::SeqCst) % SERVICES.len();
        let name = SERVICES[at];
        let answer = match name {
            "one" => one::request().await,
            "other" => other::request().await,
            _ => unreachable!(),
        };
        if let Ok(ip) = answer {
            return Ok(ip);
        }
    }
    Err(Error::Nobody)
}

// It is not ready, and waits until it is.
fn when_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
    while !self.left.is_empty() {
        match self.socket.try_write(self.left) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                ready!(self.socket.poll_write_ready(cx))?;
            }
            other => return Poll::Ready(other),
        }
    }
    Poll::Ready(Ok(0))
}
