//! One request at a door.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use damper_control::{Nanos, Outcome, Reason};
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tower_service::Service;

use super::core::{Heard, Work};
use super::{Shared, lesson};
use crate::budget::lock;
use crate::classify::Classify;
use crate::clock;
use crate::error::{Error, Refusal};
use crate::stats::Event;

/// Where a request is.
pub(super) enum Place {
    Waits(u32),
    Works(Work),
    Nowhere,
}

/// The place of a request; dropped, it goes to the next.
pub(super) struct Held<C, I> {
    shared: Arc<Shared<C, I>>,
    class: u8,
    deadline: Option<Nanos>,
    place: Place,
}

impl<C, I> Held<C, I> {
    pub(super) const fn new(
        shared: Arc<Shared<C, I>>,
        class: u8,
        deadline: Option<Nanos>,
        place: Place,
    ) -> Self {
        Self { shared, class, deadline, place }
    }

    fn leave(&mut self, outcome: Option<Outcome>) {
        let place = std::mem::replace(&mut self.place, Place::Nowhere);
        self.shared.step(|core, wakes| match place {
            Place::Works(work) => core.leave(clock::now(), work, outcome, wakes),
            Place::Waits(id) => core.give_up(clock::now(), id, outcome, wakes),
            Place::Nowhere => {}
        });
    }
}

impl<C, I> Drop for Held<C, I> {
    fn drop(&mut self) {
        if matches!(self.place, Place::Nowhere) {
            return;
        }
        // Whoever stops waiting at the deadline, a timeout around the door or the caller itself,
        // says that the service is too slow: a limit that learns must hear it.
        if self.deadline.is_some_and(|deadline| clock::now() >= deadline) {
            self.shared.counters.count(self.class, Event::Ended(Outcome::TimedOut));
            self.leave(Some(Outcome::TimedOut));
        } else {
            self.shared.counters.count(self.class, Event::Abandoned);
            self.leave(None);
        }
    }
}

pin_project! {
    #[project = At]
    enum State<F, S, Req> {
        Refused { refusal: Refusal },
        Waits { waiting: Option<(S, Req)>, deadline: Option<Nanos>, #[pin] timer: Option<Sleep> },
        Works { #[pin] future: F },
    }
}

pin_project! {
    /// The future of [`DoorService`](super::DoorService).
    pub struct DoorFuture<S, Req, C, I>
    where
        S: Service<Req>,
    {
        // Before its place, so that a request is gone when its place is given away.
        #[pin]
        state: State<S::Future, S, Req>,
        held: Option<Held<C, I>>,
    }
}

impl<S: Service<Req>, Req, C, I> std::fmt::Debug for DoorFuture<S, Req, C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DoorFuture").finish_non_exhaustive()
    }
}

impl<S: Service<Req>, Req, C, I> DoorFuture<S, Req, C, I> {
    pub(super) const fn refused(refusal: Refusal) -> Self {
        Self { state: State::Refused { refusal }, held: None }
    }

    pub(super) fn works(future: S::Future, held: Held<C, I>) -> Self {
        Self { state: State::Works { future }, held: Some(held) }
    }

    pub(super) fn waits(ready: S, request: Req, deadline: Option<Nanos>, held: Held<C, I>) -> Self {
        let waiting = Some((ready, request));
        Self { state: State::Waits { waiting, deadline, timer: None }, held: Some(held) }
    }
}

impl<S, Req, C, I> Future for DoorFuture<S, Req, C, I>
where
    S: Service<Req>,
    C: Classify<S::Response, S::Error>,
{
    type Output = Result<S::Response, Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                At::Refused { refusal } => return Poll::Ready(Err(Error::Refused(*refusal))),
                At::Waits { waiting, deadline, mut timer } => {
                    let Some(held) = this.held.as_mut() else { return Poll::Pending };
                    let Place::Waits(id) = held.place else { return Poll::Pending };
                    let heard = lock(&held.shared.core).hear(id, cx.waker());
                    match heard {
                        Heard::Works(work) => held.place = Place::Works(work),
                        Heard::Refused(refusal) => {
                            held.place = Place::Nowhere;
                            let outcome = match refusal.reason {
                                Reason::DeadlineTooClose => Outcome::TimedOut,
                                _ => Outcome::Shed,
                            };
                            held.shared.counters.count(held.class, Event::Ended(outcome));
                            let refusal = held.shared.refuse(refusal);
                            this.state.set(State::Refused { refusal });
                            continue;
                        }
                        Heard::Waits => {
                            let Some(deadline) = *deadline else { return Poll::Pending };
                            if timer.is_none() {
                                let at = clock::instant(deadline);
                                timer.set(Some(tokio::time::sleep_until(at)));
                            }
                            let Some(timer) = timer.as_pin_mut() else { return Poll::Pending };
                            std::task::ready!(timer.poll(cx));
                            held.leave(Some(Outcome::TimedOut));
                            held.shared.counters.count(held.class, Event::Ended(Outcome::TimedOut));
                            let late =
                                damper_control::Refusal::new(Reason::DeadlineTooClose, held.class);
                            let refusal = held.shared.refuse(late);
                            this.state.set(State::Refused { refusal });
                            continue;
                        }
                    }
                    let Some((mut ready, request)) = waiting.take() else { return Poll::Pending };
                    held.shared.counters.count(held.class, Event::Attempt);
                    let future = ready.call(request);
                    this.state.set(State::Works { future });
                }
                At::Works { future } => {
                    let result = std::task::ready!(future.poll(cx));
                    if let Some(mut held) = this.held.take() {
                        let seen = held.shared.classify.classify(result.as_ref());
                        held.shared.counters.count(held.class, Event::Ended(seen.outcome));
                        held.leave(lesson(&seen));
                    }
                    return Poll::Ready(result.map_err(Error::Inner));
                }
            }
        }
    }
}
