//! Gates before a client: circuit breakers and throttles.
//!
//! A gate is one state machine behind a mutex that is held for one step, twice for each attempt
//! (some 20 ns each where threads do not meet). A reply is judged by its head: a status that comes
//! in the trailers of a stream is not waited for.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use damper_control::gate::{Admit as _, Gate, Pass};
use damper_control::{Nanos, Reason};
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tower_layer::Layer;
use tower_service::Service;

use crate::budget::lock;
use crate::classify::{Classify, Http};
use crate::clock::{self, Chance};
use crate::error::{Error, Refusal};
use crate::identify::{ByHeader, Identify};
use crate::stats::{Counters, Event};

struct Shared<C, I> {
    gate: Mutex<(Gate, Chance)>,
    classify: C,
    identify: I,
    counters: Counters,
}

/// Asks a gate before every request. Place it below the retry layer: it then sees attempts.
pub struct GateLayer<C = Http, I = ByHeader> {
    shared: Arc<Shared<C, I>>,
}

impl<C, I> Clone for GateLayer<C, I> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<C, I> std::fmt::Debug for GateLayer<C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GateLayer").field(&lock(&self.shared.gate).0).finish()
    }
}

impl GateLayer {
    /// A gate before HTTP calls.
    #[must_use]
    pub fn new(gate: impl Into<Gate>) -> Self {
        Self::with(gate, Http::default(), ByHeader::default())
    }
}

impl<C, I> GateLayer<C, I> {
    /// The same with a classifier and with what tells whose request it is.
    #[must_use]
    pub fn with(gate: impl Into<Gate>, classify: C, identify: I) -> Self {
        let gate = Mutex::new((gate.into(), clock::chance()));
        let counters = Counters::default();
        Self { shared: Arc::new(Shared { gate, classify, identify, counters }) }
    }

    /// What it counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// What the gate shows, reading by reading.
    pub fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        use damper_control::observe::Observe as _;
        lock(&self.shared.gate).0.observe(see);
    }
}

impl<S, C, I> Layer<S> for GateLayer<C, I> {
    type Service = GateService<S, C, I>;

    fn layer(&self, inner: S) -> Self::Service {
        GateService { inner, shared: self.shared.clone() }
    }
}

/// The service of [`GateLayer`].
pub struct GateService<S, C = Http, I = ByHeader> {
    inner: S,
    shared: Arc<Shared<C, I>>,
}

impl<S: Clone, C, I> Clone for GateService<S, C, I> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: self.shared.clone() }
    }
}

impl<S: std::fmt::Debug, C, I> std::fmt::Debug for GateService<S, C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateService").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// A pass that was not settled yet; dropped, it goes back.
struct Held<C, I> {
    shared: Arc<Shared<C, I>>,
    pass: Option<Pass>,
    class: u8,
    sent: Nanos,
}

impl<C, I> Held<C, I> {
    fn settle(&mut self, seen: &crate::classify::Seen) {
        let Some(pass) = self.pass.take() else { return };
        let now = clock::now();
        self.shared.counters.count(self.class, Event::Ended(seen.outcome));
        let (gate, chance) = &mut *lock(&self.shared.gate);
        gate.settle(now, pass, seen.health, now.since(self.sent), chance);
    }
}

impl<C, I> Drop for Held<C, I> {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.shared.counters.count(self.class, Event::Abandoned);
            lock(&self.shared.gate).0.cancel(clock::now(), pass);
        }
    }
}

impl<S, Req, C, I> Service<Req> for GateService<S, C, I>
where
    S: Service<Req> + Clone,
    C: Classify<S::Response, S::Error>,
    I: Identify<Req>,
{
    type Response = S::Response;
    type Error = Error<S::Error>;
    type Future = GateFuture<S, Req, C, I>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let shared = &self.shared;
        let now = clock::now();
        let class = shared.identify.who(&request).class;
        shared.counters.count(class, Event::Request);
        let admitted = {
            let (gate, chance) = &mut *lock(&shared.gate);
            gate.admit(now, class, chance)
        };
        let pass = match admitted {
            Ok(pass) => pass,
            Err(refusal) => {
                shared.counters.count(class, Event::Refused(refusal.reason));
                let refusal = Refusal::from_control(refusal);
                return GateFuture { state: State::Refused { refusal }, held: None };
            }
        };
        let mut held = Held { shared: shared.clone(), pass: Some(pass), class, sent: now };
        if pass.wait == Nanos::ZERO {
            shared.counters.count(class, Event::Attempt);
            let future = self.inner.call(request);
            return GateFuture { state: State::Sent { future }, held: Some(held) };
        }
        let at = now + pass.wait;
        if shared.identify.deadline(&request).is_some_and(|deadline| deadline <= at) {
            shared.counters.count(class, Event::Refused(Reason::DeadlineTooClose));
            lock(&shared.gate).0.cancel(now, pass);
            held.pass = None;
            let refusal = Refusal::new(Reason::DeadlineTooClose, class);
            return GateFuture { state: State::Refused { refusal }, held: None };
        }
        shared.counters.count(class, Event::Queued);
        let clone = self.inner.clone();
        // The one that was made ready waits with its request; the clone is not ready yet.
        let ready = std::mem::replace(&mut self.inner, clone);
        let timer = tokio::time::sleep_until(clock::instant(at));
        let waiting = Some((ready, request));
        GateFuture { state: State::Waiting { timer, waiting }, held: Some(held) }
    }
}

pin_project! {
    #[project = At]
    enum State<F, S, Req> {
        Refused { refusal: Refusal },
        Waiting { #[pin] timer: Sleep, waiting: Option<(S, Req)> },
        Sent { #[pin] future: F },
    }
}

pin_project! {
    /// The future of [`GateService`].
    pub struct GateFuture<S, Req, C, I>
    where
        S: Service<Req>,
    {
        #[pin]
        state: State<S::Future, S, Req>,
        held: Option<Held<C, I>>,
    }
}

impl<S: Service<Req>, Req, C, I> std::fmt::Debug for GateFuture<S, Req, C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateFuture").finish_non_exhaustive()
    }
}

impl<S, Req, C, I> Future for GateFuture<S, Req, C, I>
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
                At::Waiting { timer, waiting } => {
                    std::task::ready!(timer.poll(cx));
                    let Some((mut ready, request)) = waiting.take() else {
                        return Poll::Pending;
                    };
                    if let Some(held) = this.held.as_mut() {
                        held.sent = clock::now();
                        held.shared.counters.count(held.class, Event::Attempt);
                    }
                    let future = ready.call(request);
                    this.state.set(State::Sent { future });
                }
                At::Sent { future } => {
                    let result = std::task::ready!(future.poll(cx));
                    if let Some(mut held) = this.held.take() {
                        let seen = held.shared.classify.classify(result.as_ref());
                        held.settle(&seen);
                    }
                    return Poll::Ready(result.map_err(Error::Inner));
                }
            }
        }
    }
}
