//! Callers that retry, on a small server of the test's own: attempts are counted apart from requests,
//! and the bounds of the load hold for both.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use damper_control::budget::GrpcTokenBucket;
use damper_control::{Backoff, Budget, Jitter, Nanos, Retry};
use damper_drill::load::{
    AttemptEnd, Bounds, Caller, End, Job, Pattern, Protocol, Request, Row, Schedule, Stream, Tally,
    Target, Text, start,
};
use damper_system::model::Load;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
const SHED: &str = "HTTP/1.1 429 No\r\nx-damper-end: shed\r\ncontent-length: 0\r\n\r\n";

/// Answers the nth request as it is told; nothing said is no answer. Counts them.
async fn server(reply: fn(u64) -> &'static str) -> (Target, Arc<AtomicU64>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::new(listener.local_addr().unwrap(), Protocol::Http1).unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let count = seen.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let count = count.clone();
            tokio::spawn(async move {
                let (mut buffer, mut filled) = ([0; 4096], 0);
                while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]).await {
                    filled += read;
                    if buffer[..filled].ends_with(b"\r\n\r\n") {
                        filled = 0;
                        let text = reply(count.fetch_add(1, Ordering::Relaxed));
                        if stream.write_all(text.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    (target, seen)
}

fn job(target: Target, caller: Caller, requests: u64) -> Job {
    let stream = Stream { load: Load::Constant(1000.0), kinds: vec![1.0] };
    Job {
        schedule: Schedule::new(vec![stream], Pattern::Uniform, 1),
        target,
        tls: None,
        authority: None,
        requests: vec![vec![Request::get("/")]],
        classes: vec!["default".into()],
        caller,
        bounds: Bounds { total: requests, ..Bounds::default() },
        good_within: None,
        warmup: Duration::ZERO,
        parts: 1,
        seed: 1,
        tunings: None,
        stop: None,
    }
}

/// The bound on the total counts attempts, so that a test of retries has to raise it: the schedule
/// ends by time.
fn with_room(target: Target, caller: Caller, requests: u64) -> Job {
    let time = Duration::from_millis(requests) + Duration::from_micros(500);
    let bounds = Bounds { time, ..Bounds::default() };
    Job { bounds, ..job(target, caller, requests) }
}

async fn run(job: Job) -> Tally {
    start(job).unwrap().1.await.unwrap()
}

fn attempts(row: &Row, end: AttemptEnd) -> u64 {
    row.attempts[end as usize]
}

#[tokio::test]
async fn naive_callers_multiply_what_is_refused() {
    let (target, seen) = server(|_| BUSY).await;
    let tally = run(with_room(target, Caller::naive(3), 50)).await;
    let row = tally.class(0);
    assert_eq!((row.total(), row.count(End::Rejected)), (50, 50));
    assert_eq!(attempts(&row, AttemptEnd::Rejected), 200);
    assert_eq!((row.retries, row.in_time, row.replies()), (150, 0, 200));
    assert_eq!(seen.load(Ordering::Relaxed), 200, "what is counted is what was sent");
}

#[tokio::test]
async fn a_retry_that_goes_well_is_a_request_that_does() {
    let (target, _) = server(|n| if n % 2 == 0 { SHED } else { OK }).await;
    // One connection, so that the server's numbers follow each other.
    let mut job = with_room(target, Caller::naive(1), 40);
    job.bounds.connections = 1;
    let row = run(job).await.class(0);
    assert_eq!(row.count(End::Ok) + row.count(End::Rejected), 40);
    assert_eq!(attempts(&row, AttemptEnd::Ok) + attempts(&row, AttemptEnd::Shed), 40 + row.retries);
    assert_eq!(row.count(End::Ok), attempts(&row, AttemptEnd::Ok));
    assert!(row.retries > 0 && attempts(&row, AttemptEnd::Shed) > 0, "{row:?}");
}

#[tokio::test(start_paused = true)]
async fn backoff_is_waited_for() {
    let (target, _) = server(|_| BUSY).await;
    let backoff = Backoff::exponential(Nanos::from_secs(1), 2.0, Nanos::from_secs(9), Jitter::None);
    let naive = Caller::naive(2);
    let caller = Caller { retry: Retry { backoff, ..naive.retry.clone() }, ..naive };
    let row = run(with_room(target, caller, 5)).await.class(0);
    assert_eq!((row.count(End::Rejected), row.retries), (5, 10));
    // One second and then two, whatever the machine adds.
    assert!(row.all_us.min() >= 2_997_000, "{}", row.all_us.min());
}

#[tokio::test]
async fn a_budget_bounds_them() {
    let (target, seen) = server(|_| BUSY).await;
    // Half of ten tokens may be used up, one for each failure.
    let budget = Budget::from(GrpcTokenBucket::try_new(10, 0.1).unwrap());
    let caller = Caller { budget, ..Caller::naive(5) };
    let row = run(with_room(target, caller, 50)).await.class(0);
    assert_eq!(row.count(End::Rejected), 50);
    assert!((1..=5).contains(&row.retries), "{}", row.retries);
    assert_eq!(seen.load(Ordering::Relaxed), 50 + row.retries);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_has_its_time_and_a_call_has_its_own() {
    let (target, seen) = server(|_| "").await;
    let timeout = Some(Nanos::from_millis(100));
    let caller = Caller { deadline: Some(Nanos::from_millis(350)), ..Caller::naive(9) };
    let row = run(with_room(target, caller.waiting(timeout), 3)).await.class(0);
    assert_eq!(row.count(End::TimedOut), 3);
    // Three whole attempts, and a fourth that the end of the call cuts short.
    assert_eq!(attempts(&row, AttemptEnd::TimedOut), 9);
    assert_eq!(attempts(&row, AttemptEnd::Abandoned), 3);
    assert_eq!(seen.load(Ordering::Relaxed), 12);
}

#[tokio::test]
async fn the_bound_on_the_total_is_one_on_attempts() {
    let (target, seen) = server(|_| BUSY).await;
    let tally = run(job(target, Caller::naive(100), 20)).await;
    // Whatever they were, first ones or retries.
    assert_eq!(seen.load(Ordering::Relaxed), 20);
    assert!(tally.class(0).total() < 20 && tally.withheld > 0, "{:?}", tally.class(0));
}

#[tokio::test(start_paused = true)]
async fn retries_that_were_to_come_later_are_within_the_bound_as_well() {
    let (target, seen) = server(|_| BUSY).await;
    let backoff = Backoff::constant(Nanos::from_secs(1), Jitter::None);
    let naive = Caller::naive(1);
    let caller = Caller { retry: Retry { backoff, ..naive.retry.clone() }, ..naive };
    let tally = run(job(target, caller, 20)).await;
    assert_eq!(seen.load(Ordering::Relaxed), 20);
    assert_eq!((tally.class(0).total(), tally.class(0).retries), (20, 0));
    assert!(tally.withheld > 0, "those that were promised are counted");
}

#[tokio::test]
async fn the_bound_on_the_rate_is_one_on_attempts() {
    let (target, _) = server(|_| BUSY).await;
    let mut job = with_room(target, Caller::naive(1000), 200);
    job.bounds.rate = 1000.0;
    let tally = run(job).await;
    let row = tally.class(0);
    // A tenth of a second's at once, and the schedule itself takes all of the rate.
    assert!(row.retries <= 110, "{}", row.retries);
    assert!(tally.withheld > 0 && row.total() == 200);
}

#[tokio::test]
async fn pushback_is_heeded_only_by_those_who_do() {
    const STOP: &str =
        "HTTP/1.1 503 Busy\r\ngrpc-retry-pushback-ms: -1\r\ncontent-length: 0\r\n\r\n";
    let (target, _) = server(|_| STOP).await;
    assert_eq!(run(with_room(target, Caller::standard(2), 10)).await.class(0).retries, 0);
    assert_eq!(run(with_room(target, Caller::naive(2), 10)).await.class(0).retries, 20);
}

#[tokio::test]
async fn whoever_stops_it_waits_for_no_backoff() {
    let (target, _) = server(|_| BUSY).await;
    let backoff = Backoff::constant(Nanos::from_secs(20), Jitter::None);
    let naive = Caller::naive(5);
    let caller = Caller { retry: Retry { backoff, ..naive.retry.clone() }, ..naive };
    let mut job = with_room(target, caller, 60_000);
    let (stop, stopped) = oneshot::channel();
    job.stop = Some(stopped);
    let (live, sent) = start(job).unwrap();
    let sent = tokio::spawn(sent);
    while live.now().attempts < 20 {
        tokio::task::yield_now().await;
    }
    stop.send(()).unwrap();
    let row = sent.await.unwrap().unwrap().class(0);
    assert!(row.total() >= 20 && row.retries == 0, "{row:?}");
    assert_eq!(row.count(End::Rejected), row.total(), "as their last attempt ended");
}

#[tokio::test]
async fn bodies_and_live_numbers() {
    let (target, _) = server(|_| OK).await;
    let mut job = job(target, Caller::without_retries(), 30);
    let path = Text::parse("/{{counter}}?{{random 1..9}}", |_| None).unwrap();
    job.requests = vec![vec![Request { path, ..Request::get("/") }]];
    let (live, sent) = start(job).unwrap();
    let tally = sent.await.unwrap();
    let now = live.now();
    assert_eq!(now.ends, [tally.class(0).ends]);
    assert_eq!((now.in_time[0], now.attempts, now.under_way), (30, 30, 0));
}
