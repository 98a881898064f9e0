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
