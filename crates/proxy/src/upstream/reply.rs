//! The body of a reply, which gives its connection back when it is over.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use damper_control::Nanos;
use damper_tower::clock;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1;

use super::cluster::Ticket;

/// What an attempt holds until its reply is over.
#[derive(Debug)]
pub(super) struct Lease<B> {
    ticket: Ticket<B>,
    /// The connection, if it carries one request at a time.
    one: Option<(http1::SendRequest<B>, Nanos)>,
}

/// How long a connection may take to be ready for the next request after the end of a reply: for
/// instance because the rest of the request's body is still to be sent.
const SOON: Duration = Duration::from_secs(1);

impl<B: Send + 'static> Lease<B> {
    pub(super) fn new(ticket: Ticket<B>, one: Option<(http1::SendRequest<B>, Nanos)>) -> Self {
        Self { ticket, one }
    }

    /// The reply is over: its connection goes back.
    fn end(self) {
        let Self { ticket, one } = self;
        let Some((mut sender, born)) = one else { return };
        let (cluster, at, id) = (ticket.cluster.clone(), ticket.at, ticket.id);
        drop(ticket);
        if sender.is_ready() {
            cluster.put(at, id, sender, born, clock::now());
        } else if !sender.is_closed() {
            tokio::spawn(async move {
                if let Ok(Ok(())) = tokio::time::timeout(SOON, sender.ready()).await {
                    cluster.put(at, id, sender, born, clock::now());
                }
            });
        }
    }
}

/// The body of a reply. Dropped before its end, its connection is closed.
#[derive(Debug)]
pub struct Reply<B> {
    inner: Incoming,
    lease: Option<Lease<B>>,
}

impl<B: Send + 'static> Reply<B> {
    pub(super) fn new(inner: Incoming, lease: Lease<B>) -> Self {
        let mut reply = Self { inner, lease: Some(lease) };
        reply.end_if_over();
        reply
    }

    fn end_if_over(&mut self) {
        if self.inner.is_end_stream()
            && let Some(lease) = self.lease.take()
        {
            lease.end();
        }
    }
}

impl<B: Send + 'static> Body for Reply<B> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let frame = std::task::ready!(Pin::new(&mut this.inner).poll_frame(cx));
        match &frame {
            None => {
                if let Some(lease) = this.lease.take() {
                    lease.end();
                }
            }
            Some(Err(_)) => this.lease = None,
            Some(Ok(_)) => this.end_if_over(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
