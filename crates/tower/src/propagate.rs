//! Class and deadline from hop to hop.
//!
//! [`ReceiveLayer`] stands before a service: it reads what the caller sent and keeps it as
//! extensions of the request and as the context of its task. [`SendLayer`] stands before a
//! client: it writes class and what is left of the deadline into the request, in the form of its
//! protocol, and does not send a request whose time is over. The class is written by name where
//! names are known, as proxies match it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll};

use damper_control::{Nanos, Reason};
use http::Request;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::clock;
use crate::error::{Error, Refusal};
use crate::headers;
use crate::identify::{ByHeader, Class, Deadline, Identify};
use crate::stats::{Counters, Event};

/// What calls that serve a request inherit from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Its priority class.
    pub class: Option<u8>,
    /// When nobody waits for its reply any more.
    pub deadline: Option<Nanos>,
}

tokio::task_local! {
    static CONTEXT: Context;
}

/// The context of the request that this task serves. A task that it spawns has none:
/// [`with_context`] hands it on.
#[must_use]
pub fn context() -> Option<Context> {
    CONTEXT.try_with(|context| *context).ok()
}

/// Runs a future in a context.
pub fn with_context<F: Future>(context: Context, future: F) -> InContext<F> {
    InContext { inner: CONTEXT.scope(context, future) }
}

pin_project! {
    /// A future that runs in a [`Context`].
    #[derive(Debug)]
    pub struct InContext<F> {
        #[pin]
        inner: tokio::task::futures::TaskLocalFuture<Context, F>,
    }
}

impl<F: Future> Future for InContext<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<F::Output> {
        self.project().inner.poll(cx)
    }
}

/// Reads what callers say; see the [module](self).
#[derive(Clone, Debug)]
pub struct ReceiveLayer<I = ByHeader> {
    identify: I,
}

impl Default for ReceiveLayer {
    fn default() -> Self {
        Self::new(ByHeader::default())
    }
}

impl<I> ReceiveLayer<I> {
    /// Reads requests like this.
    pub fn new(identify: I) -> Self {
        Self { identify }
    }
}

impl<S, I: Clone> Layer<S> for ReceiveLayer<I> {
    type Service = ReceiveService<S, I>;

    fn layer(&self, inner: S) -> Self::Service {
        ReceiveService { inner, identify: self.identify.clone() }
    }
}

/// The service of [`ReceiveLayer`].
#[derive(Clone, Debug)]
pub struct ReceiveService<S, I = ByHeader> {
    inner: S,
    identify: I,
}

impl<S, B, I> Service<Request<B>> for ReceiveService<S, I>
where
    S: Service<Request<B>>,
    I: Identify<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = InContext<S::Future>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let class = self.identify.who(&request).class;
        let deadline = self.identify.deadline(&request);
        request.extensions_mut().insert(Class(class));
        if let Some(deadline) = deadline {
            request.extensions_mut().insert(Deadline(clock::instant(deadline)));
        }
        let context = Context { class: Some(class), deadline };
        // What the inner service does within `call` belongs to the request, too.
        let inner = &mut self.inner;
        let future = CONTEXT.sync_scope(context, || inner.call(request));
        with_context(context, future)
    }
}

/// What a callee said about whom it lets in (DAGOR's level). Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Told(Arc<Heard>);

#[derive(Debug, Default)]
struct Heard {
    level: AtomicU32,
    until: AtomicU64,
}

impl Told {
    /// How long it is believed: a callee that lets in nobody of a caller could otherwise never say
    /// anything else.
    pub const BELIEVES: Nanos = Nanos::from_secs(1);

    /// The callee lets in this rank and those before it.
    pub fn hear(&self, now: Nanos, level: u32) {
        self.0.level.store(level, Ordering::Relaxed);
        self.0.until.store((now + Self::BELIEVES).0, Ordering::Relaxed);
    }

    /// Whether the callee would turn away this rank, as far as is known.
    #[must_use]
    pub fn refuses(&self, now: Nanos, rank: u32) -> bool {
        now.0 < self.0.until.load(Ordering::Relaxed) && rank > self.0.level.load(Ordering::Relaxed)
    }
}

/// Writes what callees should know; see the [module](self).
#[derive(Clone, Debug)]
pub struct SendLayer<I = ByHeader> {
    identify: I,
    allowance: Nanos,
    silent: bool,
    told: Told,
    counters: Counters,
}

impl Default for SendLayer {
    fn default() -> Self {
        Self::new(ByHeader::default())
    }
}

impl<I> SendLayer<I> {
    /// Reads requests like this.
    pub fn new(identify: I) -> Self {
        Self {
            identify,
            allowance: Nanos::ZERO,
            silent: false,
            told: Told::default(),
            counters: Counters::default(),
        }
    }

    /// Keeps so much of the time that is left for the way there and back.
    #[must_use]
    pub fn with_allowance(self, allowance: Nanos) -> Self {
        Self { allowance, ..self }
    }

    /// Whether it writes what is left of the deadline. If not, what the caller wrote is taken out:
    /// the callee is not to know. What has no time left is refused anyway.
    #[must_use]
    pub fn with_deadline(self, told: bool) -> Self {
        Self { silent: !told, ..self }
    }

    /// Does not send what the callee would turn away, by what it said last. Whoever reads its replies
    /// hears it.
    #[must_use]
    pub fn with_told(self, told: Told) -> Self {
        Self { told, ..self }
    }

    /// What it counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl<S, I: Clone> Layer<S> for SendLayer<I> {
    type Service = SendService<S, I>;

    fn layer(&self, inner: S) -> Self::Service {
        SendService { inner, layer: self.clone() }
    }
}

/// The service of [`SendLayer`].
#[derive(Clone, Debug)]
pub struct SendService<S, I = ByHeader> {
    inner: S,
    layer: SendLayer<I>,
}

impl<S, B, I> Service<Request<B>> for SendService<S, I>
where
    S: Service<Request<B>>,
    I: Identify<Request<B>>,
{
    type Response = S::Response;
    type Error = Error<S::Error>;
    type Future = OrRefused<S::Future>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let SendLayer { identify, allowance, silent, told, counters } = &self.layer;
        let (who, now) = (identify.who(&request), clock::now());
        let class = who.class;
        counters.count(class, Event::Request);
        if told.refuses(now, who.rank_at(now)) {
            counters.count(class, Event::Refused(Reason::Shed));
            return OrRefused::refused(Refusal::new(Reason::Shed, class));
        }
        if let Some(deadline) = identify.deadline(&request) {
            match damper_control::deadline::left(now, deadline, *allowance) {
                // What the caller wrote would be longer than what is left, more so with each retry.
                Some(_) if *silent => headers::remove_time_left(request.headers_mut()),
                Some(left) => headers::write_time_left(request.headers_mut(), left),
                None => {
                    counters.count(class, Event::Refused(Reason::DeadlineTooClose));
                    return OrRefused::refused(Refusal::new(Reason::DeadlineTooClose, class));
                }
            }
        }
        request.headers_mut().insert(headers::CLASS, identify.class_value(class));
        OrRefused::inner(self.inner.call(request))
    }
}

pin_project! {
    /// The inner future, or a refusal that is there at once.
    #[derive(Debug)]
    pub struct OrRefused<F> {
        #[pin]
        inner: Option<F>,
        refusal: Option<Refusal>,
    }
}

impl<F> OrRefused<F> {
    pub(crate) fn inner(future: F) -> Self {
        Self { inner: Some(future), refusal: None }
    }

    pub(crate) fn refused(refusal: Refusal) -> Self {
        Self { inner: None, refusal: Some(refusal) }
    }
}

impl<F: Future<Output = Result<T, E>>, T, E> Future for OrRefused<F> {
    type Output = Result<T, Error<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match (this.inner.as_pin_mut(), *this.refusal) {
            (Some(future), _) => future.poll(cx).map_err(Error::Inner),
            (None, Some(refusal)) => Poll::Ready(Err(Error::Refused(refusal))),
            // One of the two is always there.
            (None, None) => Poll::Pending,
        }
    }
}
