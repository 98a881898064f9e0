//! Hedging as gRPC describes it (gRFC A6): the next attempt is sent when the one before has not
//! answered in time, and the first good answer wins.
//!
//! - The next attempt follows `delay` after the last; a delay of zero sends all at once.
//! - A status that the classifier calls [eligible](crate::classify::Seen::eligible) is not fatal:
//!   the next attempt follows at once, later ones every `delay` from there. Any other status is
//!   the answer.
//! - Push-back of `n` lets the next attempt follow after `n`; one that says stop ends hedging. A
//!   hedge that was due before and still waits for its service is taken back.
//! - When the budget denies there are no more hedges; those on their way go on.
//!
//! A hedge runs beside the attempts before it, so its request body must have been read and kept
//! by then: a body that is still on its way is not hedged, and neither is a call whose work must
//! not be done twice.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use damper_control::budget::Attempt;
use damper_control::deadline::{can_finish, gives_up_at};
use damper_control::retry::Failure;
use damper_control::{Nanos, Outcome, Pushback, Reason, RetryBudget as _};
use http::{Request, Response, request::Parts};
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tower_layer::Layer;
use tower_service::Service;

use super::account::{Account, Open, chance};
use super::future::due;
use super::{Policy, Shared, keep};
use crate::body::{Kept, Replay, Watched};
use crate::budget::SharedBudget;
use crate::classify::{Classify, Grpc};
use crate::clock;
use crate::error::{Error, TimedOut};
use crate::headers;
use crate::identify::{ByHeader, Identify};
use crate::stats::{Counters, Event};

/// The most hedges of a call, whatever its policy says: gRPC makes at most five attempts.
pub const MOST_HEDGES: u32 = 4;

/// Hedges the calls of a client. A method has either this or [`RetryLayer`](super::RetryLayer).
#[derive(Debug)]
pub struct HedgeLayer<C = Grpc, I = ByHeader> {
    shared: Arc<Shared<C, I>>,
    delay: Nanos,
}

impl<C, I> Clone for HedgeLayer<C, I> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), delay: self.delay }
    }
}

impl<C, I> HedgeLayer<C, I> {
    /// Hedges after `delay`. Of the policy's retry, the limits (hedges by class, at most
    /// [`MOST_HEDGES`]) and the outcomes that count against the budget matter; a timeout of one
    /// attempt does not exist here.
    #[must_use]
    pub fn with(
        policy: Policy,
        delay: Nanos,
        budget: impl Into<SharedBudget>,
        classify: C,
        identify: I,
    ) -> Self {
        let (budget, counters) = (budget.into(), Counters::default());
        Self { shared: Arc::new(Shared { policy, classify, identify, budget, counters }), delay }
    }

    /// What it counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }
}

impl<S, C, I> Layer<S> for HedgeLayer<C, I> {
    type Service = HedgeService<S, C, I>;

    fn layer(&self, inner: S) -> Self::Service {
        HedgeService { inner, layer: self.clone() }
    }
}

/// The service of [`HedgeLayer`].
#[derive(Debug)]
pub struct HedgeService<S, C = Grpc, I = ByHeader> {
    inner: S,
    layer: HedgeLayer<C, I>,
}

impl<S: Clone, C, I> Clone for HedgeService<S, C, I> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S, B, R, C, I> Service<Request<B>> for HedgeService<S, C, I>
where
    S: Service<Request<Replay<B>>, Response = Response<R>> + Clone,
    B: Body<Data = Bytes>,
    C: Classify<Response<R>, S::Error>,
    I: Identify<Request<B>>,
{
    type Response = Response<Watched<R, Account<C, I, Response<R>, S::Error>>>;
    type Error = Error<S::Error>;
    type Future = HedgeFuture<S, B, R, C, I>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let clone = self.inner.clone();
        // The one that was made ready is called; hedges are made ready on their own.
        let mut ready = std::mem::replace(&mut self.inner, clone);
        let HedgeLayer { shared, delay } = &self.layer;
        let now = clock::now();
        let class = shared.identify.who(&request).class;
        let inherited = shared.identify.deadline(&request);
        let deadline = gives_up_at(now, shared.policy.timeout, inherited);
        shared.counters.count(class, Event::Request);
        let (head, body) = request.into_parts();
        let limit = match shared.policy.may_repeat(&head) {
            true => shared.policy.retry.limits.limit(class).min(MOST_HEDGES),
            false => 0,
        };
        let again = (limit > 0).then(|| head.clone());
        let (kept, body) = keep(body, shared.policy.body_limit, again.is_some());
        let call = Call {
            shared: shared.clone(),
            again: again.zip(kept),
            class,
            deadline,
            delay: *delay,
            limit,
            hedges: 0,
            outcome: Outcome::TimedOut,
            next: (limit > 0).then(|| now + *delay),
        };
        let first = call.send(&mut ready, Request::from_parts(head, body), 0, now);
        HedgeFuture {
            call,
            service: self.inner.clone(),
            flights: vec![first],
            readying: None,
            last: None,
            timer: None,
            timed: None,
        }
    }
}

/// An attempt on its way.
struct Flight<F, C, I, R, E> {
    future: Pin<Box<F>>,
    account: Account<C, I, Response<R>, E>,
}

struct Call<B, C, I> {
    shared: Arc<Shared<C, I>>,
    again: Option<(Parts, Kept<B>)>,
    class: u8,
    deadline: Option<Nanos>,
    delay: Nanos,
    limit: u32,
    hedges: u32,
    /// How the last attempt that ended did; none has: nothing came in time.
    outcome: Outcome,
    /// When the next hedge is due; `None`: there are no more.
    next: Option<Nanos>,
}

impl<B: Body<Data = Bytes>, C, I> Call<B, C, I> {
    fn send<S, R>(
        &self,
        ready: &mut S,
        mut request: Request<Replay<B>>,
        paid: u32,
        now: Nanos,
    ) -> Flight<S::Future, C, I, R, S::Error>
    where
        S: Service<Request<Replay<B>>, Response = Response<R>>,
    {
        let policy = &self.shared.policy;
        if let Some(deadline) = self.deadline.filter(|_| policy.tells_deadline) {
            headers::write_time_left(request.headers_mut(), deadline.since(now));
        }
        if policy.tells_attempt {
            headers::write_attempt(request.headers_mut(), self.hedges.saturating_add(1));
        }
        let mut account = Account::new(self.shared.clone(), self.class);
        account.start(Attempt { class: self.class, retries: self.hedges, paid });
        Flight { future: Box::pin(ready.call(request)), account }
    }

    fn stop(&mut self, reason: Reason) {
        self.next = None;
        self.shared.counters.count(self.class, Event::Refused(reason));
    }

    /// Asks for the hedge that is due: what it cost, if it may be sent. `alone`: nothing is on
    /// its way.
    fn ask(&mut self, now: Nanos, alone: bool) -> Option<u32> {
        let whole = self
            .again
            .as_ref()
            .is_some_and(|(_, body)| if alone { body.is_whole() } else { body.is_complete() });
        if self.hedges >= self.limit {
            self.next = None;
            return None;
        }
        if !whole {
            self.stop(Reason::NotRetryable);
            return None;
        }
        if !can_finish(now, self.shared.policy.needs, self.deadline) {
            self.stop(Reason::DeadlineTooClose);
            return None;
        }
        let attempt = Attempt { class: self.class, retries: self.hedges, paid: 0 };
        let mut budget = self.shared.budget.handle();
        let paid = budget.withdraw(now, attempt, self.outcome, &mut chance());
        if paid.is_none() {
            self.stop(Reason::BudgetExhausted);
        }
        paid
    }
}

pin_project! {
    /// The future of [`HedgeService`].
    pub struct HedgeFuture<S, B, R, C, I>
    where
        S: Service<Request<Replay<B>>>,
    {
        call: Call<B, C, I>,
        service: S,
        flights: Vec<Flight<S::Future, C, I, R, S::Error>>,
        readying: Option<(S, Account<C, I, Response<R>, S::Error>)>,
        last: Option<Result<Response<R>, S::Error>>,
        #[pin]
        timer: Option<Sleep>,
        timed: Option<Nanos>,
    }
}

impl<S: Service<Request<Replay<B>>>, B, R, C, I> std::fmt::Debug for HedgeFuture<S, B, R, C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HedgeFuture").field("hedges", &self.call.hedges).finish_non_exhaustive()
    }
}

#[allow(clippy::type_complexity)] // it is what the service says
impl<S, B, R, C, I> Future for HedgeFuture<S, B, R, C, I>
where
    S: Service<Request<Replay<B>>, Response = Response<R>> + Clone,
    B: Body<Data = Bytes>,
    C: Classify<Response<R>, S::Error>,
{
    type Output =
        Result<Response<Watched<R, Account<C, I, Response<R>, S::Error>>>, Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let deliver = |result: Result<Response<R>, S::Error>, tail| match result {
            Ok(response) => Ok(response.map(|body| Watched::new(body, tail))),
            Err(error) => Err(Error::Inner(error)),
        };
        loop {
            // At most five, so that asking all of them is cheaper than knowing which was woken.
            let mut at = 0;
            while at < this.flights.len() {
                let Poll::Ready(result) = this.flights[at].future.as_mut().poll(cx) else {
                    at += 1;
                    continue;
                };
                let now = clock::now();
                let Flight { mut account, future } = this.flights.swap_remove(at);
                drop(future);
                account.attempts = this.call.hedges.saturating_add(1);
                let seen = this.call.shared.classify.classify(result.as_ref());
                if seen.overloaded {
                    account.overloaded();
                }
                let good = seen.outcome == Outcome::Success;
                let fatal = !good && !seen.eligible;
                if seen.pending {
                    this.flights.clear();
                    return Poll::Ready(deliver(result, Some(account)));
                }
                let failure = Failure {
                    eligible: seen.eligible,
                    ..Failure::new(this.call.class, seen.outcome).pushed_back(seen.pushback)
                };
                account.settle(seen.outcome, failure.counts(this.call.shared.policy.retry.on));
                if good || fatal {
                    // The others are cancelled.
                    this.flights.clear();
                    *this.readying = None;
                    return Poll::Ready(deliver(result, None));
                }
                this.call.outcome = seen.outcome;
                if seen.pushback.is_some() {
                    // A hedge that still waits for its service is not sent against this word;
                    // the budget gets back what it took.
                    *this.readying = None;
                }
                match seen.pushback {
                    Some(Pushback::Stop) => this.call.stop(Reason::PushedBack),
                    told => {
                        let wait = told.and_then(Pushback::wait).unwrap_or(Nanos::ZERO);
                        this.call.next = this.call.next.map(|_| now + wait);
                    }
                }
                *this.last = Some(result);
            }
            let now = clock::now();
            if let Some((service, _)) = this.readying.as_mut() {
                match service.poll_ready(cx) {
                    Poll::Pending => {}
                    Poll::Ready(Err(error)) => {
                        *this.readying = None;
                        this.call.next = None;
                        if this.last.is_none() {
                            *this.last = Some(Err(error));
                        }
                        continue;
                    }
                    Poll::Ready(Ok(())) => {
                        let Some((mut service, mut account)) = this.readying.take() else {
                            continue;
                        };
                        let Open::Granted(paid) = account.open else { continue };
                        account.open = Open::Nothing;
                        account.count(Event::Hedge);
                        this.call.hedges += 1;
                        this.call.next = Some(now + this.call.delay);
                        let Some((head, body)) = &this.call.again else { continue };
                        let request = Request::from_parts(head.clone(), body.send());
                        let flight = this.call.send(&mut service, request, paid, now);
                        this.flights.push(flight);
                        continue;
                    }
                }
            } else if this.call.next.is_some_and(|next| next <= now) {
                if let Some(paid) = this.call.ask(now, this.flights.is_empty()) {
                    let mut account = Account::new(this.call.shared.clone(), this.call.class);
                    account.open = Open::Granted(paid);
                    *this.readying = Some((this.service.clone(), account));
                }
                continue;
            }
            let more = this.call.next.is_some() && this.call.hedges < this.call.limit;
            if this.flights.is_empty() && this.readying.is_none() && !more {
                return match this.last.take() {
                    Some(result) => Poll::Ready(deliver(result, None)),
                    None => Poll::Pending,
                };
            }
            let hedge = this.call.next.filter(|_| this.readying.is_none() && more);
            let until = [hedge, this.call.deadline].into_iter().flatten().min();
            if *this.timed != until {
                this.timer.set(None);
                *this.timed = until;
            }
            std::task::ready!(due(this.timer.as_mut(), until, cx));
            let now = clock::now();
            if this.call.deadline.is_some_and(|deadline| deadline <= now) {
                this.flights.clear();
                *this.readying = None;
                this.call.shared.counters.count(this.call.class, Event::DeadlineOver);
                let (class, attempts) = (this.call.class, this.call.hedges.saturating_add(1));
                return Poll::Ready(Err(Error::TimedOut(TimedOut {
                    class,
                    attempts,
                    deadline: true,
                })));
            }
            this.timer.set(None);
            *this.timed = None;
        }
    }
}
