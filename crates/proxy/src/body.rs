//! Bodies on their way through: of requests, bounded in size and in how long they may stand
//! still; and of replies.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use damper_control::{Nanos, Who};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

/// Why the body of a request broke off.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is longer than the listener allows.
    #[error("the body of the request is too large")]
    TooLarge,
    /// Nothing, or next to nothing, came for longer than the listener allows.
    #[error("the body of the request stands still")]
    Stalled,
    /// Its caller broke it off.
    #[error("the body of the request broke off")]
    Broken(#[source] hyper::Error),
}

/// The body of a request, with whose it is.
#[derive(Debug)]
pub struct Inflow {
    /// `None`: there is none, or its end is over.
    inner: Option<Incoming>,
    /// Bytes that may still come.
    left: u64,
    /// In each such time, `least` bytes have to come.
    still: Duration,
    least: u64,
    timer: Option<Pin<Box<Sleep>>>,
    /// Bytes that came in this time, and whether the last look found nothing.
    moved: u64,
    waits: bool,
    /// Its class and flow, read once for all controls.
    pub(crate) who: Who,
    /// When nobody waits for the reply any more.
    pub(crate) deadline: Option<Nanos>,
    /// When it came.
    pub(crate) came: Nanos,
}

impl Default for Inflow {
    /// No body, of nobody.
    fn default() -> Self {
        Self {
            inner: None,
            left: 0,
            still: Duration::MAX,
            least: 0,
            timer: None,
            moved: 0,
            waits: false,
            who: Who::of(0),
            deadline: None,
            came: Nanos::ZERO,
        }
    }
}

impl Inflow {
    /// Bytes that have to come in the time in which a body may not stand still: whoever sends one
    /// now and then stands still as well, and holds a place at the door.
    pub(crate) const LEAST: u64 = 1024;

    /// At most `most` bytes, and at least `least` of them in each time of `still`.
    pub(crate) fn new(inner: Incoming, most: Option<u64>, still: Duration, least: u64) -> Self {
        let left = most.unwrap_or(u64::MAX);
        let inner = (!inner.is_end_stream()).then_some(inner);
        Self { inner, left, still, least, ..Self::default() }
    }

    /// Ready when less came than should have.
    fn poll_still(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let still = self.still;
        let fresh = !std::mem::replace(&mut self.waits, true);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(still)));
        // While nobody asked, it was not its sender who stood still.
        if fresh && timer.is_elapsed() {
            timer.as_mut().reset(Instant::now() + still);
        }
        while timer.as_mut().poll(cx).is_ready() {
            if self.moved < self.least {
                return Poll::Ready(());
            }
            self.moved = 0;
            timer.as_mut().reset(Instant::now() + still);
        }
        Poll::Pending
    }

    /// Whether it is known from its head that it is too large.
    pub(crate) fn is_too_large(&self) -> bool {
        self.size_hint().lower() > self.left
    }
}

impl Body for Inflow {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        match Pin::new(inner).poll_frame(cx) {
            Poll::Ready(frame) => {
                this.waits = false;
                Poll::Ready(match frame {
                    None => None,
                    Some(Err(error)) => Some(Err(BodyError::Broken(error))),
                    Some(Ok(frame)) => {
                        let size = frame.data_ref().map_or(0, |data| data.len() as u64);
                        match this.left.checked_sub(size) {
                            Some(left) => {
                                this.left = left;
                                this.moved = this.moved.saturating_add(size);
                                Some(Ok(frame))
                            }
                            None => Some(Err(BodyError::TooLarge)),
                        }
                    }
                })
            }
            Poll::Pending => {
                std::task::ready!(this.poll_still(cx));
                Poll::Ready(Some(Err(BodyError::Stalled)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
