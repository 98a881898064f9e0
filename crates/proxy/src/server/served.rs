//! The body of a reply on its way to a caller, who need not want it.
//!
//! Over HTTP/1.1 a caller that does not read is seen at its socket. Over HTTP/2 it gives no window,
//! its body is never asked for again, and what stands behind it (a connection to the upstream, a
//! part of one's window) would be held for good. So the sweep looks at the bodies, and ends those
//! that stand still.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::connection::{Open, Peer};
use crate::outflow::Outflow;

/// Why the body of a reply broke off.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// It came like this.
    #[error("the reply broke off")]
    Upstream(#[from] hyper::Error),
    /// It stood still for too long.
    #[error("the reply stands still")]
    Still,
}

/// The body of a reply: while there is more of it, its request is under way.
#[derive(Debug)]
pub(crate) enum Served {
    /// The only one of its connection, or one that is over.
    One { body: Outflow, open: Open },
    /// One of many.
    Many { stream: Arc<Stream>, at: usize, peer: Arc<Peer> },
}

/// A body that the sweep can end.
#[derive(Debug)]
pub(crate) struct Stream {
    held: Mutex<Option<(Outflow, Open)>>,
    /// Whether it is its upstream that has nothing; otherwise its caller has asked for no more.
    upstream: AtomicBool,
    /// Sweeps since it moved.
    still: AtomicU32,
}

impl Stream {
    fn held(&self) -> MutexGuard<'_, Option<(Outflow, Open)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moved(&self, pending: bool) {
        if !pending || !self.upstream.swap(true, Ordering::Relaxed) {
            self.still.store(0, Ordering::Relaxed);
        }
        if !pending {
            self.upstream.store(false, Ordering::Relaxed);
        }
    }
}

/// The bodies under way on an HTTP/2 connection; there are as many places as there were bodies at
/// the same time.
#[derive(Debug, Default)]
pub(crate) struct Streams(Mutex<Vec<Option<Arc<Stream>>>>);

impl Streams {
    fn places(&self) -> MutexGuard<'_, Vec<Option<Arc<Stream>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, stream: Arc<Stream>) -> usize {
        let mut places = self.places();
        let free = places.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            places.push(None);
            places.len() - 1
        });
        if let Some(place) = places.get_mut(at) {
            *place = Some(stream);
        }
        at
    }

    fn remove(&self, at: usize) -> Option<Arc<Stream>> {
        self.places().get_mut(at)?.take()
    }

    /// Ends those whose caller took nothing for more than `caller` sweeps, or whose upstream gave
    /// nothing for more than `upstream`.
    pub(crate) fn sweep(&self, caller: u32, upstream: u32) {
        let mut over = Vec::new();
        for stream in self.places().iter().flatten() {
            let most = if stream.upstream.load(Ordering::Relaxed) { upstream } else { caller };
            if stream.still.fetch_add(1, Ordering::Relaxed) >= most {
                over.extend(stream.held().take());
            }
        }
        // Without the lock: it lets go of a good deal.
        drop(over);
    }
}

impl Served {
    pub(crate) fn new(body: Outflow, open: Open, many: bool) -> Self {
        if !many || body.is_end_stream() {
            return Self::One { body, open };
        }
        let peer = open.peer().clone();
        let stream = Arc::new(Stream {
            held: Mutex::new(Some((body, open))),
            upstream: AtomicBool::new(false),
            still: AtomicU32::new(0),
        });
        let at = peer.streams.add(stream.clone());
        Self::Many { stream, at, peer }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Self::Many { at, peer, .. } = self {
            peer.streams.remove(*at);
        }
    }
}

impl Body for Served {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let polled = match &mut *self {
            Self::One { body, open } => {
                let polled = Pin::new(body).poll_frame(cx);
                if polled.is_ready() {
                    open.peer().moved();
                }
                polled
            }
            Self::Many { stream, .. } => {
                let mut held = stream.held();
                let Some((body, _)) = &mut *held else {
                    return Poll::Ready(Some(Err(Broken::Still)));
                };
                let polled = Pin::new(body).poll_frame(cx);
                stream.moved(polled.is_pending());
                polled
            }
        };
        polled.map_err(Broken::Upstream)
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::One { body, .. } => body.is_end_stream(),
            // What was ended by the sweep is not over: it has an error to tell.
            Self::Many { stream, .. } => {
                stream.held().as_ref().is_some_and(|(body, _)| body.is_end_stream())
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::One { body, .. } => body.size_hint(),
            Self::Many { stream, .. } => {
                stream.held().as_ref().map_or_else(SizeHint::new, |(body, _)| body.size_hint())
            }
        }
    }
}
