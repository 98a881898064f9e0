//! Time per request on one thread or on several at the same time.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How much of a round a thread may have waited for a processor.
const WAITED: f64 = 0.02;
/// Requests between two looks at whether the round is over.
const BATCH: u32 = 128;

/// What one round gave: nanoseconds per request, and whether nothing else got in between.
#[derive(Clone, Copy)]
pub struct Round {
    pub ns: f64,
    pub undisturbed: bool,
}

/// What one thread did.
struct Span {
    requests: f64,
    seconds: f64,
    /// For how long it could have run, and did not.
    waited: Duration,
}

/// Lets `threads` make requests for so long, all at once. `worker` makes what a thread calls
/// again and again; it may keep state of its own, as an adapter would.
pub fn round<F: FnMut()>(
    threads: usize,
    length: Duration,
    worker: &(impl Fn(usize) -> F + Sync),
) -> Round {
    let (arrived, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = |index: usize| {
        let mut request = worker(index);
        // What the first ones cost is not what the next million cost.
        for _ in 0..10 * BATCH {
            request();
        }
        let before = waited();
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < threads {
            spin_loop();
        }
        let mut requests = 0.0;
        let start = Instant::now();
        while !over.load(Ordering::Relaxed) {
            for _ in 0..BATCH {
                request();
                black_box(&mut request);
            }
            requests += f64::from(BATCH);
            if index == 0 && start.elapsed() >= length {
                over.store(true, Ordering::Relaxed);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        Span { requests, seconds, waited: waited().saturating_sub(before) }
    };
    let spans: Vec<Span> = std::thread::scope(|scope| {
        let run = &run;
        let others: Vec<_> = (1..threads).map(|index| scope.spawn(move || run(index))).collect();
        let own = run(0);
        let others = others.into_iter().map(|other| other.join().expect("a worker panicked"));
        std::iter::once(own).chain(others).collect()
    });
    let seconds: f64 = spans.iter().map(|span| span.seconds).sum();
    let requests: f64 = spans.iter().map(|span| span.requests).sum();
    let undisturbed = spans.iter().all(|s| s.waited.as_secs_f64() <= WAITED * s.seconds);
    Round { ns: seconds * 1e9 / requests, undisturbed }
}

/// For how long this thread has waited for a processor since it was started, if this system says
/// so (Linux does).
fn waited() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = stat.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    Duration::from_nanos(waited.unwrap_or_default())
}
