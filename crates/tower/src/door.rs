//! A door: whom a service lets in, how many of them work, who waits and who is next.
//!
//! The same door stands before a server (admission) and before a client (a limit on outbound
//! concurrency). A request passes, in this order: its deadline, the admission rule, the
//! concurrency limit over all that are in; then it works if there is room, or waits. Who waits
//! leaves the queue by its order, unless the drop rule, its deadline or its caller takes it out.
//!
//! It is one state machine behind a mutex, held for one step: when a request comes, when it is
//! woken, and when it is done. Who was woken runs after the mutex was released.

mod core;
mod future;
mod lists;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use damper_control::admission::{Admission, RateLimit};
use damper_control::concurrency::{ConcurrencyLimit as _, Limiter};
use damper_control::guard::Guard;
use damper_control::overload::Detector;
use damper_control::queue::{DropRule, Fifo, Order};
use damper_control::{Nanos, Outcome, Pushback, Reason};
use http::{HeaderMap, HeaderValue};
use tower_layer::Layer;
use tower_service::Service;

use self::core::{Came, Core, Wakes};
pub use self::future::DoorFuture;
use self::future::{Held, Place};
use crate::budget::{SharedBudget, lock};
use crate::classify::{Classify, Http};
use crate::clock;
use crate::error::{Error, Refusal};
use crate::headers;
use crate::identify::{ByHeader, Identify};
use crate::stats::{Counters, Event};

/// What a door is made of.
#[derive(Debug)]
pub struct Door {
    core: Core,
    pushback: Option<Pushback>,
    below: Vec<SharedBudget>,
}

impl Default for Door {
    fn default() -> Self {
        Self::new()
    }
}

impl Door {
    /// Requests that may wait, unless said otherwise.
    pub const QUEUE: u32 = 1024;
    /// The most that may wait, whatever is said: memory is bounded.
    pub const MOST_QUEUE: u32 = 1_000_000;
    /// After what time refused requests are told to come back, where no control knows better.
    pub const RETRY_AFTER: Duration = Duration::from_secs(1);

    /// A door that lets everything through at once.
    #[must_use]
    pub fn new() -> Self {
        let mut core = Core::new(Order::Fifo(Fifo::default()), clock::chance());
        core.queue = Self::QUEUE;
        let pushback = Some(Pushback::After(clock::span(Self::RETRY_AFTER)));
        Self { core, pushback, below: Vec::new() }
    }

    /// How many it lets in per second, before anything else is asked.
    #[must_use]
    pub fn with_rate_limit(mut self, limit: RateLimit) -> Self {
        self.core.rate = Some(limit);
        self
    }

    /// All three that decide at a door, as a system file has them.
    #[must_use]
    pub fn with_guard(mut self, guard: Guard) -> Self {
        self.core.guard = guard;
        self
    }

    /// Whom it lets in.
    #[must_use]
    pub fn with_admission(mut self, rule: impl Into<Admission>) -> Self {
        self.core.guard.admission = Some(rule.into());
        self
    }

    /// How many may be in at the same time, waiting or working; what exceeds it is refused. This
    /// is the place of a limit that learns from the time that requests wait.
    #[must_use]
    pub fn with_limit(mut self, limiter: Limiter) -> Self {
        self.core.guard.limiter = Some(limiter);
        self
    }

    /// How many may work at the same time, by a limit that learns from how long they work; what
    /// exceeds it waits. Shares by class do not matter here: who is next is the order's word.
    #[must_use]
    pub fn with_waiting_limit(mut self, limiter: Limiter) -> Self {
        self.core.room = Some(limiter);
        self
    }

    /// How many may work at the same time, at least one; what exceeds it waits.
    #[must_use]
    pub fn with_workers(mut self, workers: u32) -> Self {
        self.core.workers = workers.max(1);
        self
    }

    /// How many may wait; at most [`Door::MOST_QUEUE`]. What exceeds it is refused at once.
    #[must_use]
    pub fn with_queue(mut self, queue: u32) -> Self {
        self.core.queue = queue.min(Self::MOST_QUEUE);
        self
    }

    /// Who is next.
    #[must_use]
    pub fn with_order(mut self, order: impl Into<Order>) -> Self {
        let order = order.into();
        self.core.lists = lists::Lists::new(damper_control::queue::QueueOrder::lists(&order));
        self.core.order = order;
        self
    }

    /// Who waited too long.
    #[must_use]
    pub fn with_drop_rule(mut self, rule: impl Into<DropRule>) -> Self {
        self.core.rule = rule.into();
        self
    }

    /// When it says OVERLOADED.
    #[must_use]
    pub fn with_detector(mut self, detector: Detector) -> Self {
        self.core.guard.detector = Some(detector);
        self
    }

    /// How long a request needs at least: one whose deadline is closer does not begin.
    #[must_use]
    pub fn with_needs(mut self, needs: Nanos) -> Self {
        self.core.needs = needs;
        self
    }

    /// After what time refused requests are told to come back, where no control knows better;
    /// up to half of it is added by chance, so that they do not come back together. `None`: they
    /// are not told.
    #[must_use]
    pub fn with_retry_after(self, after: Option<Duration>) -> Self {
        self.with_pushback(after.map(|after| Pushback::After(clock::span(after))))
    }

    /// What refused requests are told: when to come back, as [`Door::with_retry_after`] has it, or
    /// not to. That they should not is said whatever a control knows, but to none whose own
    /// deadline was the reason.
    #[must_use]
    pub fn with_pushback(mut self, pushback: Option<Pushback>) -> Self {
        self.pushback = pushback;
        self
    }

    /// Passes on the word of these budgets: when what they guard is overloaded, so is this.
    #[must_use]
    pub fn with_below(mut self, budgets: impl IntoIterator<Item = SharedBudget>) -> Self {
        self.below.extend(budgets);
        self
    }
}

/// A level that is none.
const SILENT: u32 = u32::MAX;

/// Whether a door is overloaded, and whom it lets in, for whoever writes replies.
#[derive(Clone, Debug)]
pub struct Word {
    own: Arc<AtomicBool>,
    /// The highest rank that it lets in; beyond all ranks: it does not tell.
    level: Arc<AtomicU32>,
    below: Arc<[SharedBudget]>,
}

impl Word {
    /// Whether it, or something below it, is overloaded.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        self.own.load(Ordering::Relaxed) || self.below.iter().any(SharedBudget::passes_on)
    }

    /// The highest rank that the door lets in, if its admission rule tells callers (DAGOR).
    #[must_use]
    pub fn level(&self) -> Option<u32> {
        let level = self.level.load(Ordering::Relaxed);
        (level != SILENT).then_some(level)
    }

    /// Writes both into the headers of a reply. What the service says for another door is not its own.
    pub fn write(&self, map: &mut HeaderMap) {
        if self.is_overloaded() {
            map.insert(headers::OVERLOADED, HeaderValue::from_static("1"));
        }
        match self.level() {
            Some(level) => drop(map.insert(headers::LEVEL, HeaderValue::from(level))),
            None => drop(map.remove(headers::LEVEL)),
        }
    }

    fn set(&self, guard: &Guard) {
        self.own.store(guard.is_overloaded(), Ordering::Relaxed);
        self.level.store(guard.threshold().unwrap_or(SILENT), Ordering::Relaxed);
    }
}

/// What a door is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Requests that work.
    pub working: u32,
    /// Requests that wait.
    pub waiting: u32,
    /// What its concurrency limit allows now; `None`: it has none.
    pub limit: Option<u32>,
}

pub(crate) struct Shared<C, I> {
    core: Mutex<Core>,
    classify: C,
    identify: I,
    counters: Counters,
    pushback: Option<Pushback>,
    word: Word,
}

impl<C, I> Shared<C, I> {
    /// One step of the door. Who has to be woken is woken after it.
    fn step<T>(&self, step: impl FnOnce(&mut Core, &mut Wakes) -> T) -> T {
        let mut wakes = Wakes::default();
        let result = {
            let mut core = lock(&self.core);
            let result = step(&mut core, &mut wakes);
            self.word.set(&core.guard);
            result
        };
        wakes.wake();
        result
    }

    /// A refusal as callers see it.
    fn refuse(&self, refusal: damper_control::Refusal) -> Refusal {
        self.counters.count(refusal.class, Event::Refused(refusal.reason));
        let mut told = Refusal::from_control(refusal);
        told.overloaded = self.word.is_overloaded();
        let says = told.pushback.is_none() || self.pushback == Some(Pushback::Stop);
        if says && refusal.reason != Reason::DeadlineTooClose {
            told.pushback = self.pushback.map(|word| word.spread(&mut lock(&self.core).chance));
        }
        told
    }
}

/// Puts a door before a service.
pub struct DoorLayer<C = Http, I = ByHeader> {
    shared: Arc<Shared<C, I>>,
}

impl<C, I> Clone for DoorLayer<C, I> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<C, I> std::fmt::Debug for DoorLayer<C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DoorLayer").field("load", &self.load()).finish_non_exhaustive()
    }
}

impl DoorLayer {
    /// This door before HTTP requests.
    #[must_use]
    pub fn new(door: Door) -> Self {
        Self::with(door, Http::default(), ByHeader::default())
    }
}

impl<C, I> DoorLayer<C, I> {
    /// The same with a classifier and with what tells whose request it is.
    #[must_use]
    pub fn with(door: Door, classify: C, identify: I) -> Self {
        let word = Word { own: Arc::default(), level: Arc::default(), below: door.below.into() };
        word.set(&door.core.guard);
        let shared = Shared {
            core: Mutex::new(door.core),
            classify,
            identify,
            counters: Counters::default(),
            pushback: door.pushback,
            word,
        };
        Self { shared: Arc::new(shared) }
    }

    /// What it counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Whether it is overloaded, for [`RespondLayer`](crate::RespondLayer).
    #[must_use]
    pub fn word(&self) -> Word {
        self.shared.word.clone()
    }

    /// What it is doing now.
    #[must_use]
    pub fn load(&self) -> Load {
        let core = lock(&self.shared.core);
        let limiter = core.guard.limiter.as_ref().or(core.room.as_ref());
        Load {
            working: core.working,
            waiting: core.waiting(),
            limit: limiter.map(|limiter| limiter.limit().limit()),
        }
    }
}

impl<S, C, I> Layer<S> for DoorLayer<C, I> {
    type Service = DoorService<S, C, I>;

    fn layer(&self, inner: S) -> Self::Service {
        DoorService { inner, shared: self.shared.clone() }
    }
}

/// The service of [`DoorLayer`].
pub struct DoorService<S, C = Http, I = ByHeader> {
    inner: S,
    shared: Arc<Shared<C, I>>,
}

impl<S: Clone, C, I> Clone for DoorService<S, C, I> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: self.shared.clone() }
    }
}

impl<S: std::fmt::Debug, C, I> std::fmt::Debug for DoorService<S, C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DoorService").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S, Req, C, I> Service<Req> for DoorService<S, C, I>
where
    S: Service<Req> + Clone,
    C: Classify<S::Response, S::Error>,
    I: Identify<Req>,
{
    type Response = S::Response;
    type Error = Error<S::Error>;
    type Future = DoorFuture<S, Req, C, I>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let shared = &self.shared;
        let (who, deadline) = (shared.identify.who(&request), shared.identify.deadline(&request));
        shared.counters.count(who.class, Event::Request);
        let came = shared.step(|core, wakes| core.come(clock::now(), who, deadline, wakes));
        match came {
            Err((refusal, outcome)) => {
                shared.counters.count(who.class, Event::Ended(outcome));
                DoorFuture::refused(shared.refuse(refusal))
            }
            Ok(Came::Works(work)) => {
                shared.counters.count(who.class, Event::Attempt);
                let held = Held::new(shared.clone(), who.class, deadline, Place::Works(work));
                DoorFuture::works(self.inner.call(request), held)
            }
            Ok(Came::Waits(id)) => {
                shared.counters.count(who.class, Event::Queued);
                let held = Held::new(shared.clone(), who.class, deadline, Place::Waits(id));
                let clone = self.inner.clone();
                // The one that was made ready waits with its request; the clone is not ready yet.
                let ready = std::mem::replace(&mut self.inner, clone);
                DoorFuture::waits(ready, request, deadline, held)
            }
        }
    }
}

/// What the guard learns of an end: nothing of one that the request is to blame for.
fn lesson(seen: &crate::classify::Seen) -> Option<Outcome> {
    Some(seen.health)
}
