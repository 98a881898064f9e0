//! A service with so many workers, first in, first out, which does not notice that callers have gone.
//!
//! When a worker is free is reckoned by the service times, not by a timer, whose tick would cost
//! capacity.

use std::collections::{BinaryHeap, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::time::Instant;

/// Its capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    pub(crate) workers: usize,
    pub(crate) service_time: Duration,
    /// Attempts that may wait; `None`: all that come.
    pub(crate) queue: Option<usize>,
}

impl Capacity {
    /// Requests per second.
    pub(crate) fn per_second(&self) -> f64 {
        self.workers as f64 / self.service_time.as_secs_f64()
    }
}

struct State {
    /// When each worker is free, the earliest first.
    free: BinaryHeap<std::cmp::Reverse<Instant>>,
    /// When work on what has come begins, as far as it is still to begin.
    begins: VecDeque<Instant>,
    /// Nothing is begun from here to there.
    outage: Option<(Instant, Instant)>,
}

/// A service that runs.
pub(crate) struct Backend {
    pub(crate) port: u16,
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    capacity: Capacity,
    attempts: AtomicU64,
}

impl Backend {
    /// Starts one on this runtime.
    pub(crate) async fn start(capacity: Capacity) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let now = Instant::now();
        let inner = Arc::new(Inner {
            state: Mutex::new(State {
                free: (0..capacity.workers).map(|_| std::cmp::Reverse(now)).collect(),
                begins: VecDeque::new(),
                outage: None,
            }),
            capacity,
            attempts: AtomicU64::new(0),
        });
        let own = inner.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let inner = own.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| serve(inner.clone(), request));
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { port, inner }
    }

    /// Nothing is begun from `from` on for so long; what comes meanwhile waits.
    pub(crate) fn outage(&self, from: Instant, time: Duration) {
        self.inner.state.lock().unwrap().outage = Some((from, from + time));
    }

    /// Attempts that have arrived.
    pub(crate) fn attempts(&self) -> u64 {
        self.inner.attempts.load(Ordering::Relaxed)
    }
}

async fn serve(
    inner: Arc<Inner>,
    _: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    inner.attempts.fetch_add(1, Ordering::Relaxed);
    let Some(done) = inner.take_up(Instant::now()) else {
        let mut refused = Response::new(Full::default());
        *refused.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return Ok(refused);
    };
    tokio::time::sleep_until(done).await;
    Ok(Response::new(Full::new(Bytes::from_static(b"ok"))))
}

impl Inner {
    /// When the work on an attempt that comes now is done; `None`: there is no room for it.
    fn take_up(&self, now: Instant) -> Option<Instant> {
        let mut state = self.state.lock().unwrap();
        while state.begins.front().is_some_and(|begins| *begins <= now) {
            state.begins.pop_front();
        }
        if self.capacity.queue.is_some_and(|queue| state.begins.len() >= queue)
            && state.free.peek().is_some_and(|free| free.0 > now)
        {
            return None;
        }
        let free = state.free.pop().map_or(now, |free| free.0);
        let mut begins = free.max(now);
        if let Some((from, until)) = state.outage
            && (from..until).contains(&begins)
        {
            begins = until;
        }
        if begins > now {
            state.begins.push_back(begins);
        }
        let done = begins + self.capacity.service_time;
        state.free.push(std::cmp::Reverse(done));
        Some(done)
    }
}
