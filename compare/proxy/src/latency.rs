//! An open loop: requests are due at even distances, and a late reply makes no later one wait.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::Failure;

/// Connections of HTTP/1.1 at the same time.
const MOST: usize = 512;
/// Connections of HTTP/2, which take turns.
const SHARED: usize = 4;
/// How long a reply is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is sent.
pub(crate) struct Load {
    pub(crate) port: u16,
    pub(crate) http2: bool,
    /// Requests per second.
    pub(crate) rate: f64,
    pub(crate) milliseconds: u64,
}

type Ask = Request<Empty<Bytes>>;

/// Connections of one protocol.
enum Pool {
    Http1 { free: RefCell<Vec<http1::SendRequest<Empty<Bytes>>>>, open: Cell<usize>, port: u16 },
    Http2 { shared: Vec<http2::SendRequest<Empty<Bytes>>>, next: Cell<usize> },
}

/// What came of it.
struct Seen {
    ok: Cell<u64>,
    failed: Cell<u64>,
    us: RefCell<Histogram<u64>>,
    late_us: RefCell<Histogram<u64>>,
}

impl Load {
    /// Sends it and waits for all that was sent.
    pub(crate) async fn run(&self) -> Result<Value, Failure> {
        let pool = Rc::new(Pool::open(self.port, self.http2).await?);
        let histogram = || Histogram::new_with_max(60_000_000, 3);
        let seen = Rc::new(Seen {
            ok: Cell::new(0),
            failed: Cell::new(0),
            us: RefCell::new(histogram()?),
            late_us: RefCell::new(histogram()?),
        });
        let distance = Duration::from_secs_f64(1.0 / self.rate);
        let count = (self.rate * self.milliseconds as f64 / 1e3) as u32;
        let start = Instant::now() + distance;
        let mut under_way = Vec::with_capacity(count as usize);
        for number in 0..count {
            let due = start + distance * number;
            // A timer is a thousand times as coarse as what is measured; this looks at the clock
            // between any two things that there are to do.
            while Instant::now() < due {
                tokio::task::yield_now().await;
            }
            let (pool, seen) = (pool.clone(), seen.clone());
            under_way.push(tokio::task::spawn_local(async move {
                let late = us(due.elapsed());
                seen.late_us.borrow_mut().saturating_record(late);
                let done = tokio::time::timeout(PATIENCE, pool.send()).await;
                if matches!(done, Ok(Ok(true))) {
                    seen.ok.set(seen.ok.get() + 1);
                    seen.us.borrow_mut().saturating_record(us(due.elapsed()));
                } else {
                    seen.failed.set(seen.failed.get() + 1);
                }
            }));
        }
        for one in under_way {
            one.await?;
        }
        let at = |histogram: &RefCell<Histogram<u64>>, q| histogram.borrow().value_at_quantile(q);
        Ok(json!({
            "ok": seen.ok.get(),
            "failed": seen.failed.get(),
            "p50_us": at(&seen.us, 0.5),
            "p99_us": at(&seen.us, 0.99),
            "late_p99_us": at(&seen.late_us, 0.99),
        }))
    }
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1)
}

impl Pool {
    async fn open(port: u16, http2: bool) -> Result<Self, Failure> {
        if !http2 {
            return Ok(Self::Http1 { free: RefCell::default(), open: Cell::new(0), port });
        }
        let mut shared = Vec::new();
        for _ in 0..SHARED {
            let stream = TcpStream::connect(("127.0.0.1", port)).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) =
                http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
            tokio::task::spawn_local(connection);
            shared.push(sender);
        }
        Ok(Self::Http2 { shared, next: Cell::new(0) })
    }

    /// Sends one and reads the whole reply; whether it is good.
    async fn send(&self) -> Result<bool, Failure> {
        match self {
            Self::Http1 { free, open, port } => {
                let known = free.borrow_mut().pop();
                let mut sender = match known {
                    Some(sender) => sender,
                    None if open.get() >= MOST => return Err("too many connections".into()),
                    None => {
                        let stream = TcpStream::connect(("127.0.0.1", *port)).await?;
                        stream.set_nodelay(true)?;
                        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
                        tokio::task::spawn_local(connection);
                        open.set(open.get() + 1);
                        sender
                    }
                };
                sender.ready().await?;
                let ask = Request::builder().uri("/search").header("host", "callee");
                let reply = sender.send_request(ask.body(Empty::new())?).await;
                let good = whole(reply?).await?;
                free.borrow_mut().push(sender);
                Ok(good)
            }
            Self::Http2 { shared, next } => {
                next.set(next.get().wrapping_add(1));
                let sender = shared.get(next.get() % shared.len().max(1)).ok_or("no connection")?;
                let mut sender = sender.clone();
                sender.ready().await?;
                let ask: Ask = Request::builder().uri("http://callee/search").body(Empty::new())?;
                whole(sender.send_request(ask).await?).await
            }
        }
    }
}

async fn whole(response: Response<Incoming>) -> Result<bool, Failure> {
    let good = response.status().is_success();
    response.into_body().collect().await?;
    Ok(good)
}
