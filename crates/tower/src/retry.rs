//! Retries: the layer, its policy, its parts.

mod account;
mod future;
pub mod hedge;

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use damper_control::{Nanos, Retry};
use http::{Method, Request, Response, request::Parts};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

pub use account::Account;
pub use future::RetryFuture;

use crate::body::{Kept, Replay, Watched};
use crate::budget::SharedBudget;
use crate::classify::{Classify, Http};
use crate::clock;
use crate::error::Error;
use crate::identify::{ByHeader, Idempotent, Identify};
use crate::stats::{Counters, Event};

/// What a call may do, in time and in attempts.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Class limits, outcomes that are retried, backoff.
    pub retry: Retry,
    /// How long one attempt may take.
    pub attempt_timeout: Option<Nanos>,
    /// How long the whole call may take. A deadline that the request brings is kept as well.
    pub timeout: Option<Nanos>,
    /// How long an attempt needs at least: a retry that could not end in time is not made.
    pub needs: Nanos,
    /// Which calls may be made twice. The others are retried only where it is certain that no work
    /// was done. An [`Idempotent`] extension of a request wins over it, but not over
    /// [`Repeat::Always`].
    pub repeat: Repeat,
    /// Most bytes of a request body that are kept for a retry. A longer body is streamed once,
    /// and its call is not retried.
    pub body_limit: usize,
    /// Writes what is left of the time into each attempt.
    pub tells_deadline: bool,
    /// Writes the number of each attempt into it.
    pub tells_attempt: bool,
}

/// Which calls may be made twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Those whose method is idempotent (RFC 9110).
    ByMethod,
    /// All: whoever named what is retried knows. gRPC has it so.
    Always,
    /// None.
    Never,
}

impl Policy {
    /// gRPC's bound of a body in Go and C++.
    pub const BODY_LIMIT: usize = 256 * 1024;

    /// A policy without timeouts, for idempotent calls.
    #[must_use]
    pub const fn new(retry: Retry) -> Self {
        Self {
            retry,
            attempt_timeout: None,
            timeout: None,
            needs: Nanos::ZERO,
            repeat: Repeat::ByMethod,
            body_limit: Self::BODY_LIMIT,
            tells_deadline: true,
            tells_attempt: true,
        }
    }

    /// Whether a call may be retried after work was done.
    fn may_repeat(&self, head: &Parts) -> bool {
        let told = || head.extensions.get::<Idempotent>().map(|told| told.0);
        match self.repeat {
            Repeat::Always => true,
            Repeat::Never => told().unwrap_or(false),
            Repeat::ByMethod => told().unwrap_or_else(|| is_idempotent(&head.method)),
        }
    }
}

fn is_idempotent(method: &Method) -> bool {
    damper_control::conditions::is_idempotent(method.as_str())
}

/// What all clones of a layer share.
#[derive(Debug)]
pub(crate) struct Shared<C, I> {
    pub(crate) policy: Policy,
    pub(crate) classify: C,
    pub(crate) identify: I,
    pub(crate) budget: SharedBudget,
    pub(crate) counters: Counters,
}

/// Retries the calls of a client.
///
/// The inner service gets requests with a [`Replay`] body and must be `Clone`: the one that was
/// made ready is called, and serves all attempts of its call one after the other, each after it
/// was made ready again.
#[derive(Debug)]
pub struct RetryLayer<C = Http, I = ByHeader> {
    shared: Arc<Shared<C, I>>,
}

impl<C, I> Clone for RetryLayer<C, I> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl RetryLayer {
    /// Retries HTTP calls by this policy under this budget.
    #[must_use]
    pub fn new(policy: Policy, budget: impl Into<SharedBudget>) -> Self {
        Self::with(policy, budget, Http::default(), ByHeader::default())
    }
}

impl<C, I> RetryLayer<C, I> {
    /// The same with a classifier and with what tells whose request it is.
    #[must_use]
    pub fn with(policy: Policy, budget: impl Into<SharedBudget>, classify: C, identify: I) -> Self {
        let (budget, counters) = (budget.into(), Counters::default());
        Self { shared: Arc::new(Shared { policy, classify, identify, budget, counters }) }
    }

    /// What it counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Its budget.
    #[must_use]
    pub fn budget(&self) -> &SharedBudget {
        &self.shared.budget
    }
}

impl<S, C, I> Layer<S> for RetryLayer<C, I> {
    type Service = RetryService<S, C, I>;

    fn layer(&self, inner: S) -> Self::Service {
        RetryService { inner, shared: self.shared.clone() }
    }
}

/// The service of [`RetryLayer`].
#[derive(Debug)]
pub struct RetryService<S, C = Http, I = ByHeader> {
    inner: S,
    shared: Arc<Shared<C, I>>,
}

impl<S: Clone, C, I> Clone for RetryService<S, C, I> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: self.shared.clone() }
    }
}

impl<S, B, R, C, I> Service<Request<B>> for RetryService<S, C, I>
where
    S: Service<Request<Replay<B>>, Response = Response<R>> + Clone,
    B: Body<Data = Bytes>,
    C: Classify<Response<R>, S::Error>,
    I: Identify<Request<B>>,
{
    type Response = Response<Watched<R, Account<C, I, Response<R>, S::Error>>>;
    type Error = Error<S::Error>;
    type Future = RetryFuture<S, B, R, C, I>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let clone = self.inner.clone();
        // The one that was made ready is called; the clone is not ready yet.
        let ready = std::mem::replace(&mut self.inner, clone);
        let shared = self.shared.clone();
        let now = clock::now();
        let class = shared.identify.who(&request).class;
        let inherited = shared.identify.deadline(&request);
        let deadline = damper_control::deadline::gives_up_at(now, shared.policy.timeout, inherited);
        shared.counters.count(class, Event::Request);
        let (head, body) = request.into_parts();
        let limit = shared.policy.retry.limits.limit(class);
        // A call that is never retried copies nothing. (One more attempt may still be made where
        // no policy counts it, but for that a copy of every request would be a high price.)
        let kept = (limit > 0 && shared.policy.retry.is_active())
            .then(|| (head.clone(), shared.policy.may_repeat(&head)));
        RetryFuture::first(future::Start { ready, shared, class, deadline, now, head, body, kept })
    }
}

/// The body of a call that may be sent again, or not.
pub(crate) fn keep<B: Body<Data = Bytes>>(
    body: B,
    limit: usize,
    again: bool,
) -> (Option<Kept<B>>, Replay<B>) {
    if !again {
        return (None, Replay::once(body));
    }
    let kept = Kept::new(body, limit);
    let first = kept.send();
    (Some(kept), first)
}
