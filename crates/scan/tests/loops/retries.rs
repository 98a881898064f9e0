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
