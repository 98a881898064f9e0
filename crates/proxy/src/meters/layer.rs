//! Meters as tower layers: the outermost of a hop measures requests, the innermost attempts.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use damper_control::Nanos;
use damper_tower::{ByHeader, Classify, Http, Identify, clock, headers};
use http::Request as HttpRequest;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::{Attempt, Meters, Request};

/// When a request came to the hop, as an extension: [`WaitLayer`] reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came(pub Nanos);

/// Measures requests from their arrival to the head of their reply. The outermost layer of a hop.
#[derive(Clone, Debug)]
pub struct MeterLayer<C = Http, I = ByHeader> {
    meters: Meters,
    classify: C,
    identify: I,
}

impl<C, I> MeterLayer<C, I> {
    /// Measures by these meters.
    pub const fn new(meters: Meters, classify: C, identify: I) -> Self {
        Self { meters, classify, identify }
    }
}

impl<S, C: Clone, I: Clone> Layer<S> for MeterLayer<C, I> {
    type Service = MeterService<S, C, I>;

    fn layer(&self, inner: S) -> Self::Service {
        MeterService { inner, layer: self.clone() }
    }
}

/// The service of [`MeterLayer`].
#[derive(Clone, Debug)]
pub struct MeterService<S, C = Http, I = ByHeader> {
    inner: S,
    layer: MeterLayer<C, I>,
}

/// Whether a request says that it is not the first attempt of its call.
pub(crate) fn is_retry(map: &http::HeaderMap) -> bool {
    let number =
        |name| map.get(name).and_then(|v: &http::HeaderValue| v.to_str().ok()?.parse().ok());
    number(headers::ATTEMPT_COUNT).is_some_and(|n: u32| n > 1)
        || number(headers::GRPC_PREVIOUS_ATTEMPTS).is_some_and(|n: u32| n > 0)
}

impl<S, B, C, I> Service<HttpRequest<B>> for MeterService<S, C, I>
where
    S: Service<HttpRequest<B>>,
    C: Classify<S::Response, S::Error> + Clone,
    I: Identify<HttpRequest<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = MeterFuture<S::Future, C>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: HttpRequest<B>) -> Self::Future {
        let MeterLayer { meters, classify, identify } = &self.layer;
        let now = clock::now();
        let class = identify.who(&request).class;
        let deadline = identify.deadline(&request);
        let retry = is_retry(request.headers());
        let metered = meters.traced(now, class, retry, request.headers_mut());
        request.extensions_mut().insert(Came(now));
        let inner = self.inner.call(request);
        MeterFuture { inner, metered: Some(metered), deadline, classify: classify.clone() }
    }
}

pin_project! {
    /// The future of [`MeterService`].
    #[derive(Debug)]
    pub struct MeterFuture<F, C> {
        #[pin]
        inner: F,
        metered: Option<Request>,
        deadline: Option<Nanos>,
        classify: C,
    }
}

impl<F, C, R, E> Future for MeterFuture<F, C>
where
    F: Future<Output = Result<R, E>>,
    C: Classify<R, E>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let result = ready!(this.inner.poll(cx));
        if let Some(metered) = this.metered.take() {
            let outcome = this.classify.classify(result.as_ref()).outcome;
            metered.end(clock::now(), outcome, *this.deadline);
        }
        Poll::Ready(result)
    }
}

/// Measures how long a request waited in the layers above, and how long what is below takes. The
/// innermost layer of a hop.
#[derive(Clone, Debug)]
pub struct WaitLayer<I = ByHeader> {
    meters: Meters,
    identify: I,
}

impl<I> WaitLayer<I> {
    /// Measures by these meters.
    pub const fn new(meters: Meters, identify: I) -> Self {
        Self { meters, identify }
    }
}

impl<S, I: Clone> Layer<S> for WaitLayer<I> {
    type Service = WaitService<S, I>;

    fn layer(&self, inner: S) -> Self::Service {
        WaitService { inner, layer: self.clone() }
    }
}

/// The service of [`WaitLayer`].
#[derive(Clone, Debug)]
pub struct WaitService<S, I = ByHeader> {
    inner: S,
    layer: WaitLayer<I>,
}

impl<S, B, I> Service<HttpRequest<B>> for WaitService<S, I>
where
    S: Service<HttpRequest<B>>,
    I: Identify<HttpRequest<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = WaitFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: HttpRequest<B>) -> Self::Future {
        let WaitLayer { meters, identify } = &self.layer;
        let (now, class) = (clock::now(), identify.who(&request).class);
        // Taken out, so that a retry of the same request is no second wait.
        if let Some(Came(came)) = request.extensions_mut().remove() {
            meters.waited(class, now.since(came));
        }
        let inner = self.inner.call(request);
        WaitFuture::new(inner, meters.attempts(class, now))
    }
}

pin_project! {
    /// The future of [`WaitService`]. One that is dropped before its end counts as well: the
    /// attempts that take the longest end like this.
    #[derive(Debug)]
    pub struct WaitFuture<F> {
        #[pin]
        inner: F,
        attempt: Option<Attempt>,
    }
}

impl<F> WaitFuture<F> {
    pub(crate) const fn new(inner: F, attempt: Attempt) -> Self {
        Self { inner, attempt: Some(attempt) }
    }
}

impl<F: Future> Future for WaitFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let output = ready!(this.inner.poll(cx));
        drop(this.attempt.take());
        Poll::Ready(output)
    }
}
