//! What is sent to callers: the bodies of replies, from wherever they come, and our own replies.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use damper_control::conditions::GrpcStatus;
use damper_tower::{Error, Refusal, headers, respond};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

use crate::body::{BodyError, Inflow};
use crate::stack::Counted;
use crate::upstream::{Fault, Reply};

/// The body of a reply.
#[derive(Debug)]
pub enum Outflow {
    /// None: one of our own.
    Empty,
    /// Of the service beside it.
    Inbound(Reply<Inflow>),
    /// Of a callee.
    Outbound(Box<Counted>),
}

impl Body for Outflow {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Inbound(body) => Pin::new(body).poll_frame(cx),
            Self::Outbound(body) => Pin::new(&mut **body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Inbound(body) => body.is_end_stream(),
            Self::Outbound(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Inbound(body) => body.size_hint(),
            Self::Outbound(body) => body.size_hint(),
        }
    }
}

/// A reply of our own: this status, for gRPC that one.
#[must_use]
pub fn own(status: StatusCode, grpc: Option<GrpcStatus>) -> Response<Outflow> {
    let mut response = Response::new(Outflow::Empty);
    match grpc {
        None => *response.status_mut() = status,
        Some(code) => {
            let map = response.headers_mut();
            map.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
            map.insert(headers::GRPC_STATUS, HeaderValue::from(u16::from(code.code())));
        }
    }
    response
}

/// The reply for a refusal.
#[must_use]
pub fn refused(refusal: &Refusal, grpc: bool) -> Response<Outflow> {
    respond::reply::<Reply<Inflow>>(refusal, grpc).map(|_| Outflow::Empty)
}

/// The reply for a call that has none.
#[must_use]
pub fn failed(error: &Error<Fault>, grpc: bool) -> Response<Outflow> {
    let as_grpc = |code| grpc.then_some(code);
    match error {
        Error::Refused(refusal) => refused(refusal, grpc),
        Error::TimedOut(_) => {
            own(StatusCode::GATEWAY_TIMEOUT, as_grpc(GrpcStatus::DeadlineExceeded))
        }
        Error::Inner(fault) => match fault {
            Fault::Body(BodyError::TooLarge) => {
                own(StatusCode::PAYLOAD_TOO_LARGE, as_grpc(GrpcStatus::ResourceExhausted))
            }
            Fault::Body(_) => own(StatusCode::REQUEST_TIMEOUT, as_grpc(GrpcStatus::Cancelled)),
            Fault::Closed { .. } => own(StatusCode::BAD_GATEWAY, as_grpc(GrpcStatus::Unavailable)),
            _ => own(StatusCode::SERVICE_UNAVAILABLE, as_grpc(GrpcStatus::Unavailable)),
        },
    }
}
