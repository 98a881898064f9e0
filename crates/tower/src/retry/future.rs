//! One call through the retry layer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use damper_control::deadline::gives_up_at;
use damper_control::retry::{Failure, Transparent, Verdict};
use damper_control::{Nanos, Outcome, Refusal as Denied, RetryState};
use http::{Request, Response, request::Parts};
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tower_service::Service;

use super::account::{Account, Open, chance};
use super::{Shared, keep};
use crate::body::{Kept, Replay, Watched};
use crate::classify::{Classify, Seen};
use crate::clock;
use crate::error::{Error, TimedOut};
use crate::headers;
use crate::stats::Event;

pin_project! {
    /// The future of [`RetryService`](super::RetryService).
    pub struct RetryFuture<S, B, R, C, I>
    where
        S: Service<Request<Replay<B>>>,
    {
        #[pin]
        state: State<S::Future>,
        // Made when something has to be waited for: a reply that is there at once needs none.
        #[pin]
        timer: Option<Sleep>,
        call: Call<S, B, C, I, Response<R>, S::Error>,
    }
}

pin_project! {
    #[project = At]
    enum State<F> {
        // An attempt is on its way.
        Sent { #[pin] future: F },
        // The next one waits.
        Waiting,
        // The inner service is being made ready for it.
        Readying,
        Over,
    }
}

impl<S: Service<Request<Replay<B>>>, B, R, C, I> std::fmt::Debug for RetryFuture<S, B, R, C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let attempts = self.call.attempts;
        f.debug_struct("RetryFuture").field("attempts", &attempts).finish_non_exhaustive()
    }
}

/// All but what is pinned.
struct Call<S, B, C, I, Res, E> {
    service: S,
    /// `None` after it went away with a body whose end is awaited.
    account: Option<Account<C, I, Res, E>>,
    /// What is sent again; `None`: nothing ever is.
    again: Option<Again<B>>,
    class: u8,
    deadline: Option<Nanos>,
    /// Until when the present state may last.
    until: Option<Nanos>,
    state: RetryState,
    transparent: Transparent,
    attempts: u32,
}

/// A request that can be sent again.
struct Again<B> {
    head: Parts,
    body: Kept<B>,
    /// Also after work was done.
    may_repeat: bool,
}

/// What a call begins with.
pub(super) struct Start<S, B, C, I> {
    pub(super) ready: S,
    pub(super) shared: Arc<Shared<C, I>>,
    pub(super) class: u8,
    pub(super) deadline: Option<Nanos>,
    pub(super) now: Nanos,
    pub(super) head: Parts,
    pub(super) body: B,
    /// The head to send again, and whether that may be done after work.
    pub(super) kept: Option<(Parts, bool)>,
}

/// What follows the end of an attempt.
enum Next {
    Deliver,
    Again(Nanos),
}

impl<S, B, R, C, I> RetryFuture<S, B, R, C, I>
where
    S: Service<Request<Replay<B>>, Response = Response<R>>,
    B: Body<Data = Bytes>,
{
    pub(super) fn first(start: Start<S, B, C, I>) -> Self {
        let Start { ready, shared, class, deadline, now, head, body, kept } = start;
        let limit = shared.policy.body_limit;
        let (kept_body, body) = keep(body, limit, kept.is_some());
        let again = match (kept, kept_body) {
            (Some((head, may_repeat)), Some(body)) => Some(Again { head, body, may_repeat }),
            _ => None,
        };
        let mut call = Call {
            service: ready,
            account: Some(Account::new(shared, class)),
            again,
            class,
            deadline,
            until: None,
            state: RetryState::default(),
            transparent: Transparent::default(),
            attempts: 0,
        };
        let future = call.send(Request::from_parts(head, body), now);
        Self { state: State::Sent { future }, timer: None, call }
    }
}

impl<S, B, R, C, I> Call<S, B, C, I, Response<R>, S::Error>
where
    S: Service<Request<Replay<B>>, Response = Response<R>>,
    B: Body<Data = Bytes>,
{
    fn send(&mut self, mut request: Request<Replay<B>>, now: Nanos) -> S::Future {
        self.attempts = self.attempts.saturating_add(1);
        if let Some(account) = &mut self.account {
            let policy = &account.shared.policy;
            self.until = gives_up_at(now, policy.attempt_timeout, self.deadline);
            if let Some(until) = self.until.filter(|_| policy.tells_deadline) {
                headers::write_time_left(request.headers_mut(), until.since(now));
            }
            if policy.tells_attempt {
                headers::write_attempt(request.headers_mut(), self.attempts);
            }
            account.start(self.state.attempt(self.class));
        }
        self.service.call(request)
    }

    /// The same request again.
    fn resend(&mut self, now: Nanos) -> Option<S::Future> {
        let again = self.again.as_ref()?;
        let (head, body) = (again.head.clone(), again.body.send());
        if let Some(account) = &self.account
            && matches!(account.open, Open::Granted(_))
        {
            account.count(Event::Retry);
        }
        Some(self.send(Request::from_parts(head, body), now))
    }

    fn timed_out<T>(&self, now: Nanos) -> Result<T, Error<S::Error>> {
        let deadline = self.deadline.is_some_and(|deadline| deadline <= now);
        if deadline && let Some(account) = &self.account {
            account.count(Event::DeadlineOver);
        }
        Err(Error::TimedOut(TimedOut { class: self.class, attempts: self.attempts, deadline }))
    }
}

impl<S, B, R, C, I> Call<S, B, C, I, Response<R>, S::Error>
where
    S: Service<Request<Replay<B>>, Response = Response<R>>,
    B: Body<Data = Bytes>,
    C: Classify<Response<R>, S::Error>,
{
    /// An attempt has ended: settles it and decides what follows.
    fn ended(&mut self, seen: Seen, now: Nanos) -> Next {
        let Some(account) = &mut self.account else { return Next::Deliver };
        if seen.overloaded {
            account.overloaded();
        }
        if seen.pending {
            return Next::Deliver;
        }
        let policy = &account.shared.policy;
        let may_repeat = self.again.as_ref().is_some_and(|again| again.may_repeat);
        let failure = Failure {
            class: self.class,
            outcome: seen.outcome,
            pushback: seen.pushback,
            needs: policy.needs,
            eligible: seen.eligible && (may_repeat || seen.before_work),
        };
        if seen.outcome == Outcome::Success {
            account.settle(Outcome::Success, false);
            return Next::Deliver;
        }
        let whole = self.again.as_ref().is_some_and(|again| again.body.is_whole());
        let in_time = self.deadline.is_none_or(|deadline| now < deadline);
        if whole && in_time {
            match self.transparent.after(seen.reached) {
                Verdict::Again => {
                    // No policy counts it, and neither does the budget.
                    account.settle(seen.outcome, false);
                    account.count(Event::Transparent);
                    return Next::Again(Nanos::ZERO);
                }
                Verdict::Fail => {
                    account.settle(seen.outcome, false);
                    return Next::Deliver;
                }
                Verdict::Policy => {}
            }
        }
        // Whether a failure counts is the policy's word about its kind, whoever sent the request.
        let counted = Failure { eligible: seen.eligible, ..failure };
        account.settle(seen.outcome, counted.counts(policy_on(account)));
        if self.again.is_none() {
            return Next::Deliver;
        }
        let failure = Failure { eligible: failure.eligible && whole, ..failure };
        let shared = account.shared.clone();
        let decided = shared.policy.retry.decide_with(
            &mut self.state,
            &mut shared.budget.handle(),
            failure,
            now,
            self.deadline,
            &mut chance(),
        );
        match decided {
            Ok(delay) => {
                account.open = Open::Granted(self.state.paid);
                Next::Again(delay)
            }
            Err(Denied { reason, .. }) => {
                account.count(Event::Refused(reason));
                Next::Deliver
            }
        }
    }
}

fn policy_on<C, I, Res, E>(account: &Account<C, I, Res, E>) -> damper_control::RetryOn {
    account.shared.policy.retry.on
}

impl<S, B, R, C, I> Future for RetryFuture<S, B, R, C, I>
where
    S: Service<Request<Replay<B>>, Response = Response<R>>,
    B: Body<Data = Bytes>,
    C: Classify<Response<R>, S::Error>,
{
    #[allow(clippy::type_complexity)] // it is what the service says
    type Output =
        Result<Response<Watched<R, Account<C, I, Response<R>, S::Error>>>, Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                At::Sent { future } => match future.poll(cx) {
                    Poll::Ready(result) => {
                        let Some(account) = &this.call.account else { return Poll::Pending };
                        let seen = account.shared.classify.classify(result.as_ref());
                        // Whatever the attempt still has of the body comes back.
                        this.state.set(State::Waiting);
                        match this.call.ended(seen, clock::now()) {
                            Next::Again(delay) => Some(delay),
                            Next::Deliver => {
                                this.state.set(State::Over);
                                let account = this.call.account.take();
                                return Poll::Ready(match result {
                                    Ok(response) => {
                                        let tail = account.filter(|_| seen.pending);
                                        Ok(response.map(|body| Watched::new(body, tail)))
                                    }
                                    Err(error) => Err(Error::Inner(error)),
                                });
                            }
                        }
                    }
                    Poll::Pending => {
                        std::task::ready!(due(this.timer.as_mut(), this.call.until, cx));
                        let now = clock::now();
                        let over = this.call.deadline.is_some_and(|deadline| deadline <= now);
                        let Some(account) = &this.call.account else { return Poll::Pending };
                        let seen = match over {
                            true => Seen::timed_out(None, true),
                            false => account.shared.classify.timed_out(),
                        };
                        // The attempt goes away before its body is sent again.
                        this.state.set(State::Waiting);
                        match this.call.ended(seen, now) {
                            Next::Again(delay) => Some(delay),
                            Next::Deliver => {
                                this.state.set(State::Over);
                                let result = this.call.timed_out(now);
                                this.call.account = None;
                                return Poll::Ready(result);
                            }
                        }
                    }
                },
                At::Waiting => {
                    std::task::ready!(due(this.timer.as_mut(), this.call.until, cx));
                    Some(Nanos::ZERO)
                }
                At::Readying => None,
                // Polled again after its end: no answer is better than a panic.
                At::Over => return Poll::Pending,
            };
            match next {
                Some(Nanos::ZERO) => {
                    this.state.set(State::Readying);
                    this.timer.set(None);
                    this.call.until = this.call.deadline;
                }
                Some(delay) => {
                    this.state.set(State::Waiting);
                    this.timer.set(None);
                    this.call.until = Some(clock::now() + delay);
                    continue;
                }
                None => {}
            }
            match this.call.service.poll_ready(cx) {
                Poll::Ready(Ok(())) => {
                    this.timer.set(None);
                    let Some(future) = this.call.resend(clock::now()) else {
                        return Poll::Pending;
                    };
                    this.state.set(State::Sent { future });
                }
                Poll::Ready(Err(error)) => {
                    this.state.set(State::Over);
                    this.call.account = None;
                    return Poll::Ready(Err(Error::Inner(error)));
                }
                Poll::Pending => {
                    std::task::ready!(due(this.timer.as_mut(), this.call.until, cx));
                    this.state.set(State::Over);
                    let result = this.call.timed_out(clock::now());
                    this.call.account = None;
                    return Poll::Ready(result);
                }
            }
        }
    }
}

/// Ready when this instant has come; `None`: it never comes.
pub(super) fn due(
    mut timer: Pin<&mut Option<Sleep>>,
    until: Option<Nanos>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    let Some(until) = until else { return Poll::Pending };
    if timer.is_none() {
        timer.set(Some(tokio::time::sleep_until(clock::instant(until))));
    }
    match timer.as_pin_mut() {
        Some(timer) => timer.poll(cx),
        None => Poll::Pending,
    }
}
