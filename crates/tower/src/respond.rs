//! A refusal as a reply, for servers whose services must not fail.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::door::Word;
use crate::error::{Error, Refusal};
use crate::headers;

/// Answers refused requests: 429, 503 or 504 with `Retry-After`, or for gRPC a reply that is only
/// trailers, with a status and push-back. Its error is the error of the innermost service.
#[derive(Clone, Debug, Default)]
pub struct RespondLayer {
    word: Option<Word>,
}

impl RespondLayer {
    /// Says OVERLOADED in every reply while this word says so, and whom the door lets in if its rule
    /// tells.
    #[must_use]
    pub fn saying(self, word: Word) -> Self {
        Self { word: Some(word) }
    }
}

impl<S> Layer<S> for RespondLayer {
    type Service = RespondService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RespondService { inner, word: self.word.clone(), unready: None }
    }
}

/// The service of [`RespondLayer`].
#[derive(Debug)]
pub struct RespondService<S> {
    inner: S,
    word: Option<Word>,
    /// The inner service refused to become ready: the next request is told so.
    unready: Option<Refusal>,
}

impl<S: Clone> Clone for RespondService<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), word: self.word.clone(), unready: None }
    }
}

impl<S, B, R, E> Service<Request<B>> for RespondService<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = Error<E>>,
{
    type Response = Response<OrEmpty<R>>;
    type Error = E;
    type Future = RespondFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.unready = None;
        match std::task::ready!(self.inner.poll_ready(cx)) {
            Ok(()) => {}
            Err(Error::Inner(error)) => return Poll::Ready(Err(error)),
            Err(Error::Refused(refusal)) => self.unready = Some(refusal),
            Err(Error::TimedOut(timed_out)) => self.unready = Some(late(timed_out.class)),
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let grpc = headers::is_grpc(request.headers());
        let (word, unready) = (self.word.clone(), self.unready.take());
        // A service that is not ready is not called.
        let inner = unready.is_none().then(|| self.inner.call(request));
        RespondFuture { inner, unready, grpc, word }
    }
}

fn late(class: u8) -> Refusal {
    Refusal::new(damper_control::Reason::DeadlineTooClose, class)
}

pin_project! {
    /// The future of [`RespondService`].
    #[derive(Debug)]
    pub struct RespondFuture<F> {
        #[pin]
        inner: Option<F>,
        unready: Option<Refusal>,
        grpc: bool,
        word: Option<Word>,
    }
}

impl<F, R, E> Future for RespondFuture<F>
where
    F: Future<Output = Result<Response<R>, Error<E>>>,
{
    type Output = Result<Response<OrEmpty<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = match (this.inner.as_pin_mut(), this.unready.take()) {
            (Some(inner), _) => std::task::ready!(inner.poll(cx)),
            (None, Some(refusal)) => Err(Error::Refused(refusal)),
            (None, None) => return Poll::Pending,
        };
        let mut response = match result {
            Ok(response) => response.map(|body| OrEmpty { inner: Some(body) }),
            Err(Error::Refused(refusal)) => reply(&refusal, *this.grpc),
            Err(Error::TimedOut(timed_out)) => {
                let mut response = reply(&late(timed_out.class), *this.grpc);
                // It is no refusal: there may have been work.
                response.headers_mut().remove(headers::REFUSED);
                response
            }
            Err(Error::Inner(error)) => return Poll::Ready(Err(error)),
        };
        if let Some(word) = this.word {
            word.write(response.headers_mut());
        }
        Poll::Ready(Ok(response))
    }
}

/// The reply for a refusal, without a body.
#[must_use]
pub fn reply<B>(refusal: &Refusal, grpc: bool) -> Response<OrEmpty<B>> {
    let mut response = Response::new(OrEmpty { inner: None });
    if grpc {
        let map = response.headers_mut();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        let status = headers::grpc_status(refusal).code();
        map.insert(headers::GRPC_STATUS, HeaderValue::from(u16::from(status)));
        map.insert(headers::GRPC_MESSAGE, HeaderValue::from_static(refusal.word()));
        *response.status_mut() = StatusCode::OK;
    } else {
        *response.status_mut() = refusal.status();
    }
    headers::write_refusal(response.headers_mut(), refusal, grpc);
    response
}

pin_project! {
    /// The body of the inner reply, or none.
    #[derive(Debug)]
    pub struct OrEmpty<B> {
        #[pin]
        inner: Option<B>,
    }
}

impl<B> Default for OrEmpty<B> {
    fn default() -> Self {
        Self { inner: None }
    }
}

impl<B: Body> Body for OrEmpty<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.project().inner.as_pin_mut() {
            Some(body) => body.poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
