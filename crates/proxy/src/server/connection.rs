//! One connection of a caller: HTTP/1.1 or HTTP/2 by its first bytes.
//!
//! What a stranger may do with a connection without a request is watched from outside, by one
//! sweep a second over all connections of a worker. A request costs no timer for that, only a few
//! marks.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::Service;
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto;
use tokio::time::Instant;

use super::listener::{Place, RouteCell};
use super::serve::{no_room, serve};
use super::served::{Served, Streams};

/// A connection as the sweep sees it, and its place among those that a listener may have.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Requests that are under way on it.
    open: AtomicU32,
    /// Bytes have come since the last request began.
    heard: AtomicBool,
    /// It has had a request over HTTP/2, where bytes need not be a request.
    http2: AtomicBool,
    /// Requests that it has had.
    requests: AtomicU32,
    /// Its caller does not read what is sent to it.
    stuck: AtomicBool,
    stop: AtomicBool,
    /// A reply is under way over HTTP/1.1, and something of it went.
    replying: AtomicBool,
    moved: AtomicBool,
    /// Replies that are under way over HTTP/2.
    pub(super) streams: Streams,
    waker: Mutex<Option<Waker>>,
    place: Place,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr, place: Place) -> Self {
        Self {
            address,
            open: AtomicU32::new(0),
            heard: AtomicBool::new(false),
            http2: AtomicBool::new(false),
            requests: AtomicU32::new(0),
            stuck: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            replying: AtomicBool::new(false),
            moved: AtomicBool::new(false),
            streams: Streams::default(),
            waker: Mutex::new(None),
            place,
        }
    }

    /// Ends it when what is under way is over.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether a request is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Whether a request has begun to come, and not all of its head is there.
    pub(crate) fn is_in_head(&self) -> bool {
        self.heard.load(Ordering::Relaxed) && !self.http2.load(Ordering::Relaxed)
    }

    /// Whether bytes wait for its caller to read those before.
    pub(crate) fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Something of a reply went.
    pub(super) fn moved(&self) {
        self.moved.store(true, Ordering::Relaxed);
    }

    /// Whether a reply is under way over HTTP/1.1 of which nothing came since this was asked.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.moved.swap(false, Ordering::Relaxed) && self.replying.load(Ordering::Relaxed)
    }

    /// How many requests it has had.
    pub(crate) fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Whether there is room for it.
    fn begin(&self, version: Version) -> bool {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        if version == Version::HTTP_2 {
            self.http2.store(true, Ordering::Relaxed);
        }
        self.place.begin()
    }

    fn end(&self, counted: bool) {
        if counted {
            self.place.end();
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.replying.store(false, Ordering::Relaxed);
        self.heard.store(false, Ordering::Relaxed);
    }
}

/// Marks when bytes come, and when none can go.
struct Heard<I> {
    inner: I,
    peer: Arc<Peer>,
}

impl<I: Read + Unpin> Read for Heard<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        if polled.is_ready() {
            self.peer.heard.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl<I> Heard<I> {
    fn written<T>(&self, polled: Poll<T>) -> Poll<T> {
        let pending = polled.is_pending();
        if pending || self.peer.is_stuck() {
            self.peer.stuck.store(pending, Ordering::Relaxed);
        }
        polled
    }
}

impl<I: Write + Unpin> Write for Heard<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.written(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.written(polled)
    }
}

/// What serves the requests of one connection.
#[derive(Debug)]
struct Caller {
    peer: Arc<Peer>,
    route: Arc<RouteCell>,
}

/// A request that is under way; dropped, it is not any more.
#[derive(Debug)]
pub(crate) struct Open {
    peer: Arc<Peer>,
    /// Whether it is among those that a listener may have.
    counted: bool,
}

impl Open {
    pub(crate) const fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.peer.end(self.counted);
    }
}

impl Service<Request<Incoming>> for Caller {
    type Response = Response<Served>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Served>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let counted = self.peer.begin(request.version());
        let open = Open { peer: self.peer.clone(), counted };
        let route = self.route.load();
        Box::pin(async move {
            let many = request.version() == Version::HTTP_2;
            let response = if counted {
                serve(route, &open.peer, request).await
            } else {
                no_room(&route, &request)
            };
            if !many && !response.body().is_end_stream() {
                open.peer.replying.store(true, Ordering::Relaxed);
            }
            Ok(response.map(|body| Served::new(body, open, many)))
        })
    }
}

/// How long a connection that is told to end may take for its first request, from when it was
/// accepted (and TLS was agreed on).
const FIRST: Duration = Duration::from_secs(1);

/// Serves a connection until its end.
pub(crate) async fn run<I>(
    io: I,
    peer: Arc<Peer>,
    route: Arc<RouteCell>,
    builder: &auto::Builder<TokioExecutor>,
) where
    I: Read + Write + Send + Unpin + 'static,
{
    let caller = Caller { peer: peer.clone(), route };
    let io = Heard { inner: io, peer: peer.clone() };
    let connection = builder.serve_connection_with_upgrades(io, caller);
    tokio::pin!(connection);
    let born = Instant::now();
    let mut first = None;
    let mut told = false;
    // How a connection ends is its caller's affair.
    let _ = std::future::poll_fn(|cx| {
        loop {
            if !told && peer.stop.load(Ordering::Acquire) {
                // The first request of a connection is on its way when that is accepted: told to
                // end before it is read, the connection would be reset with the request in it.
                told = peer.requests() > 0 || {
                    let wait = || Box::pin(tokio::time::sleep_until(born + FIRST));
                    first.get_or_insert_with(wait).as_mut().poll(cx).is_ready()
                };
                if told {
                    connection.as_mut().graceful_shutdown();
                }
            }
            let polled = connection.as_mut().poll(cx);
            if polled.is_ready() || told {
                return polled;
            }
            let mut waker = peer.waker.lock().unwrap_or_else(PoisonError::into_inner);
            if waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
                *waker = Some(cx.waker().clone());
            }
            drop(waker);
            // It was told meanwhile, or its first request is there.
            if !peer.stop.load(Ordering::Acquire) || peer.requests() == 0 {
                return polled;
            }
        }
    })
    .await;
}
