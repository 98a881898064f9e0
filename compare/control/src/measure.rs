//! Time per request on one thread or on several at the same time.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What one round gave: nanoseconds per request, and whether all threads really ran at once.
#[derive(Clone, Copy)]
pub struct Round {
    pub ns: f64,
    pub together: bool,
}

/// Lets `threads` do `requests` each, all at once. `worker` makes what a thread calls again and
/// again; it may keep state of its own, as an adapter would.
pub fn round<F: FnMut()>(
    threads: usize,
    requests: u32,
    worker: &(impl Fn(usize) -> F + Sync),
) -> Round {
    let arrived = AtomicUsize::new(0);
    let run = |index: usize| {
        let mut request = worker(index);
        // What the first ones cost is not what the next million cost.
        for _ in 0..requests / 10 {
            request();
        }
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < threads {
            spin_loop();
        }
        let start = Instant::now();
        for _ in 0..requests {
            request();
            black_box(&mut request);
        }
        (start, Instant::now())
    };
    let spans: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let run = &run;
        let others: Vec<_> = (1..threads).map(|index| scope.spawn(move || run(index))).collect();
        let own = run(0);
        let others = others.into_iter().map(|other| other.join().expect("a worker panicked"));
        std::iter::once(own).chain(others).collect()
    });
    let length = |(start, end): (Instant, Instant)| end.duration_since(start).as_secs_f64();
    let longest = spans.iter().map(|span| length(*span)).fold(0.0, f64::max);
    let start = spans.iter().map(|span| span.0).max().expect("at least one thread");
    let end = spans.iter().map(|span| span.1).min().expect("at least one thread");
    let overlap = end.saturating_duration_since(start).as_secs_f64();
    let mean = spans.iter().map(|span| length(*span)).sum::<f64>() / threads as f64;
    Round {
        ns: mean * 1e9 / f64::from(requests),
        together: threads == 1 || overlap >= 0.8 * longest,
    }
}
