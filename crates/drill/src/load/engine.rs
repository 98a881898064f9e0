//! The state of a load while it is sent: what is under way, what waits, what is tried again.
//!
//! A request of the schedule is a [`Call`]. It lives through all of its attempts, is in one place at
//! a time (on a connection, in the line for one, among those to be tried again), and is counted once
//! when it is over. Everything that happens to it is one step under one lock, which nobody holds
//! across a wait.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use damper_control::{Budget, Failure, Nanos, RetryBudget as _, RetryState, deadline};
use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::caller::Caller;
use super::client::Clients;
use super::end::{AttemptEnd, Ended};
use super::http1::{self, Seat};
use super::request::Prepared;
use super::schedule::Arrival;
use super::send::{Bounds, Observe};
use super::tally::{End, Tally};
use super::target::Target;
use super::tls::Tls;

/// A request of the schedule, with all of its attempts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) arrival: Arrival,
    pub(super) number: u64,
    state: RetryState,
    /// When the call is given up.
    until: Nanos,
    /// When the attempt is.
    gives_up: Nanos,
    /// When the sender took it up.
    begun: Option<Nanos>,
}

impl Call {
    pub(super) fn begin(&mut self, now: Nanos) {
        self.begun.get_or_insert(now);
    }

    /// How an attempt ends whose time is over.
    fn over(&self) -> AttemptEnd {
        if self.gives_up < self.until { AttemptEnd::TimedOut } else { AttemptEnd::Abandoned }
    }
}

/// How requests get to the target.
pub(super) enum Transport {
    /// Our own connections.
    Http1 { most: usize },
    /// Hyper's.
    Hyper(Clients),
}

pub(super) struct Engine {
    pub(super) start: Instant,
    pub(super) target: Target,
    pub(super) tls: Option<Tls>,
    pub(super) transport: Transport,
    pub(super) requests: Vec<Vec<Prepared>>,
    pub(super) caller: Caller,
    pub(super) bounds: Bounds,
    pub(super) warmup: Nanos,
    /// The length of a part.
    pub(super) part: Nanos,
    pub(super) good_within: Option<Nanos>,
    core: Mutex<Core>,
    /// Hears of each request.
    pub(super) observer: Option<Arc<dyn Observe>>,
    /// Something is due sooner than it was.
    pub(super) sooner: Notify,
    /// Nothing is under way any more.
    pub(super) quiet: Notify,
}

pub(super) struct Core {
    pub(super) tally: Tally,
    budget: Budget,
    chance: Xoshiro256PlusPlus,
    /// Calls with a connection, in the line for one, or waiting to be tried again.
    pub(super) under_way: usize,
    pub(super) later: BinaryHeap<Reverse<Later>>,
    pub(super) line: VecDeque<Call>,
    idle: VecDeque<Arc<Seat>>,
    open: usize,
    /// Nothing is tried again any more.
    stopping: bool,
    /// Somebody waits for the last of what is under way.
    pub(super) ending: bool,
    /// Attempts so far.
    attempts: u64,
    /// What the bound on the rate leaves for retries, in attempts.
    allowance: f64,
    refilled: Nanos,
}

/// A call that is tried again.
pub(super) struct Later {
    pub(super) at: Nanos,
    pub(super) call: Call,
    /// How its last attempt ended.
    end: AttemptEnd,
}

impl Ord for Later {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.call.number).cmp(&(other.at, other.call.number))
    }
}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Later {}

impl Core {
    pub(super) fn new(tally: Tally, budget: Budget, rate: f64, seed: u64) -> Self {
        Self {
            tally,
            budget,
            chance: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x0072_6574_7269_6573),
            under_way: 0,
            later: BinaryHeap::new(),
            line: VecDeque::new(),
            idle: VecDeque::new(),
            open: 0,
            stopping: false,
            ending: false,
            attempts: 0,
            allowance: burst(rate),
            refilled: Nanos::ZERO,
        }
    }

    pub(super) fn attempts(&self) -> u64 {
        self.attempts
    }
}

/// Attempts that may come at once: a tenth of a second's.
fn burst(rate: f64) -> f64 {
    (rate * 0.1).max(1.0)
}

impl Engine {
    #[allow(clippy::too_many_arguments)] // what a load is made of
    pub(super) fn new(
        target: Target,
        transport: Transport,
        requests: Vec<Vec<Prepared>>,
        caller: Caller,
        bounds: Bounds,
        warmup: Nanos,
        parts: u32,
        good_within: Option<Nanos>,
        seed: u64,
    ) -> Self {
        let kinds = requests.iter().map(Vec::len).max().unwrap_or(0);
        let tally = Tally::new(requests.len(), kinds, parts as usize);
        let measured = bounds.time.saturating_sub(Duration::from_nanos(warmup.0));
        Self {
            start: Instant::now(),
            target,
            tls: None,
            transport,
            requests,
            core: Mutex::new(Core::new(tally, caller.budget.clone(), bounds.rate, seed)),
            caller,
            bounds,
            warmup,
            part: nanos(measured / parts.max(1)),
            good_within,
            observer: None,
            sooner: Notify::new(),
            quiet: Notify::new(),
        }
    }

    /// Poisoned or not: a count is a count.
    pub(super) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether first attempts and retries together are as many as may be.
    pub(super) fn is_spent(&self) -> bool {
        self.core().attempts >= self.bounds.total
    }

    pub(super) fn now(&self) -> Nanos {
        nanos(self.start.elapsed())
    }

    pub(super) fn instant(&self, at: Nanos) -> Instant {
        self.start + Duration::from_nanos(at.0)
    }

    pub(super) fn prepared(&self, call: &Call) -> Option<&Prepared> {
        self.requests.get(call.arrival.class)?.get(call.arrival.kind)
    }

    /// As the policy of the callers sees it.
    fn class(&self, call: &Call) -> u8 {
        self.caller.class(call.arrival.class)
    }

    /// A request is due.
    pub(super) fn arrive(self: &Arc<Self>, arrival: Arrival, number: u64, now: Nanos) {
        let mut core = self.core();
        if let Some(observer) = &self.observer {
            observer.due(&arrival);
        }
        if core.under_way >= self.bounds.in_flight {
            if let Some(observer) = &self.observer {
                observer.ended(&arrival, End::NotSent, 0);
            }
            let part = self.part_of(&arrival);
            if arrival.at >= self.warmup {
                core.tally.record(&arrival, part, End::NotSent, 0);
            }
            return;
        }
        core.under_way += 1;
        let patience = nanos(self.bounds.patience);
        let deadline = self.caller.deadline.map_or(patience, |deadline| deadline.min(patience));
        let until = arrival.at + deadline;
        let state = RetryState::default();
        let call = Call { arrival, number, state, until, gives_up: until, begun: None };
        self.go(core, call, now);
    }

    /// Sends an attempt of a call: the first, or one more.
    pub(super) fn go(self: &Arc<Self>, mut core: MutexGuard<'_, Core>, call: Call, now: Nanos) {
        let mut call = self.start_attempt(&mut core, call, now);
        match &self.transport {
            Transport::Hyper(_) => {
                drop(core);
                let engine = self.clone();
                tokio::spawn(async move { engine.by_hyper(call).await });
            }
            Transport::Http1 { most } => {
                while let Some(seat) = core.idle.pop_front() {
                    match seat.give(call) {
                        Ok(()) => return,
                        Err(back) => call = back,
                    }
                }
                if core.open < *most {
                    core.open += 1;
                    drop(core);
                    tokio::spawn(http1::serve(self.clone(), call));
                } else {
                    call.begin(now);
                    core.line.push_back(call);
                }
            }
        }
    }

    fn start_attempt(&self, core: &mut Core, mut call: Call, now: Nanos) -> Call {
        core.attempts += 1;
        if let Some(observer) = &self.observer {
            observer.attempted(&call.arrival, now);
        }
        if now > core.refilled {
            let more = self.bounds.rate * now.since(core.refilled).as_secs_f64();
            core.allowance = (core.allowance + more).min(burst(self.bounds.rate));
            core.refilled = now;
        }
        core.allowance -= 1.0;
        if self.caller.is_active() {
            core.budget.start(now, call.state.attempt(self.class(&call)));
        }
        let until = Some(call.until);
        call.gives_up =
            deadline::gives_up_at(now, self.caller.timeout, until).unwrap_or(call.until);
        call
    }

    /// One attempt by hyper, and what follows from it.
    async fn by_hyper(self: Arc<Self>, mut call: Call) {
        let Transport::Hyper(clients) = &self.transport else { return };
        call.begin(self.now());
        let ended = match self.prepared(&call) {
            None => AttemptEnd::Failed.into(),
            Some(prepared) => {
                let sent = clients.send(prepared, call.number);
                let at = self.instant(call.gives_up);
                tokio::time::timeout_at(at, sent).await.unwrap_or_else(|_| call.over().into())
            }
        };
        let now = self.now();
        let mut core = self.core();
        if let Some(again) = self.settle(&mut core, call, ended, now) {
            self.go(core, again, now);
        }
    }

    /// An attempt on one of our connections has ended. `seat`: the connection can be used again, and
    /// is among the idle ones if there is nothing to do for it; otherwise this is what to do.
    pub(super) fn ended(
        self: &Arc<Self>,
        call: Call,
        ended: Ended,
        seat: Option<&Arc<Seat>>,
    ) -> Option<Call> {
        let now = self.now();
        let mut core = self.core();
        if let Some(again) = self.settle(&mut core, call, ended, now) {
            let mut again = self.start_attempt(&mut core, again, now);
            again.begin(now);
            core.line.push_back(again);
        }
        let next = self.next(&mut core, now);
        match (seat, next) {
            (Some(_), Some(next)) => return Some(next),
            (Some(seat), None) => core.idle.push_back(seat.clone()),
            (None, next) => {
                core.open = core.open.saturating_sub(1);
                if let Some(next) = next {
                    core.open += 1;
                    drop(core);
                    tokio::spawn(http1::serve(self.clone(), next));
                }
            }
        }
        None
    }

    /// Whether an attempt may be sent once more, since the server closed the connection under it.
    /// It may have seen it: this is an attempt like others, and within the bound on all of them.
    pub(super) fn sends_again(&self, call: &Call) -> bool {
        let now = self.now();
        let mut core = self.core();
        if core.attempts >= self.bounds.total || core.stopping {
            return false;
        }
        core.attempts += 1;
        core.allowance -= 1.0;
        if let Some(observer) = &self.observer {
            observer.attempted(&call.arrival, now);
        }
        if call.arrival.at >= self.warmup {
            let retry = call.state.retries > 0;
            core.tally.record_attempt(&call.arrival, AttemptEnd::Connection, retry);
        }
        true
    }

    /// The time of an attempt on a connection is over.
    pub(super) fn late(call: &Call) -> Ended {
        call.over().into()
    }

    pub(super) fn gives_up(&self, call: &Call) -> Instant {
        self.instant(call.gives_up)
    }

    /// The next of the line. Those whose time was over before they had a connection are counted.
    fn next(&self, core: &mut Core, now: Nanos) -> Option<Call> {
        while let Some(call) = core.line.pop_front() {
            if call.gives_up > now {
                return Some(call);
            }
            let ended = call.over().into();
            if let Some(again) = self.settle(core, call, ended, now) {
                let again = self.start_attempt(core, again, now);
                core.line.push_back(again);
            }
        }
        None
    }

    /// Counts those at the head of the line whose time is over: when the next one is.
    pub(super) fn sweep(&self, core: &mut Core, now: Nanos) -> Option<Nanos> {
        while let Some(first) = core.line.front() {
            if first.gives_up > now {
                return Some(first.gives_up);
            }
            if let Some(call) = self.next(core, now) {
                core.line.push_front(call);
            }
        }
        None
    }

    /// An idle connection is closed: what it was given in that moment, if anything.
    pub(super) fn leave(&self, seat: &Arc<Seat>) -> Option<Call> {
        let mut core = self.core();
        let given = seat.leave();
        if given.is_none() {
            core.open = core.open.saturating_sub(1);
            core.idle.retain(|other| !Arc::ptr_eq(other, seat));
        }
        given
    }

    /// Counts an attempt that ended, and decides what follows: the call to try again at once, or
    /// nothing, since it is over or waits.
    fn settle(&self, core: &mut Core, mut call: Call, ended: Ended, now: Nanos) -> Option<Call> {
        let counts = call.arrival.at >= self.warmup;
        if counts {
            core.tally.record_attempt(&call.arrival, ended, call.state.retries > 0);
        }
        if self.caller.is_active() {
            match self.decide(core, &mut call, ended, now) {
                Some(Nanos(0)) => return Some(call),
                Some(delay) => {
                    let at = now + delay;
                    let first = core.later.peek().is_none_or(|Reverse(next)| at < next.at);
                    core.later.push(Reverse(Later { at, call, end: ended.end }));
                    if first {
                        self.sooner.notify_one();
                    }
                    return None;
                }
                None => {}
            }
        }
        self.over(core, &call, ended.end, now);
        None
    }

    /// The delay until the next attempt; `None`: there is none.
    fn decide(&self, core: &mut Core, call: &mut Call, ended: Ended, now: Nanos) -> Option<Nanos> {
        let retry = &self.caller.retry;
        let outcome = ended.end.outcome();
        let pushback = ended.pushback.filter(|_| self.caller.heeds_pushback);
        let failure = Failure::new(self.class(call), outcome).pushed_back(pushback);
        let failure = failure.needing(self.caller.needs);
        let Core { budget, chance, .. } = core;
        let attempt = call.state.attempt(failure.class);
        // Nobody saw how one ended that was given up.
        let retryable = ended.end != AttemptEnd::Abandoned && failure.counts(retry.on);
        budget.settle(now, attempt, outcome, retryable, chance);
        if ended.end == AttemptEnd::Ok || ended.end == AttemptEnd::Abandoned {
            return None;
        }
        let until = Some(call.until);
        let mut state = call.state;
        let delay = retry.decide_with(&mut state, budget, failure, now, until, chance).ok()?;
        // The policy would, but what was promised of the load as a whole goes before.
        let within = core.attempts < self.bounds.total && core.allowance >= 1.0;
        if core.stopping || !within {
            core.budget.cancel(now, state.paid);
            core.tally.withheld += u64::from(!within);
            return None;
        }
        call.state = state;
        Some(delay)
    }

    /// Counts a call that is over.
    fn over(&self, core: &mut Core, call: &Call, end: AttemptEnd, now: Nanos) {
        core.under_way = core.under_way.saturating_sub(1);
        if core.under_way == 0 && core.ending {
            self.quiet.notify_one();
        }
        let arrival = &call.arrival;
        let latency = now.since(arrival.at);
        if let Some(observer) = &self.observer {
            observer.ended(arrival, end.of_request(), latency.0 / 1000);
        }
        if arrival.at < self.warmup {
            return;
        }
        let late = call.begun.unwrap_or(now).since(arrival.at);
        core.tally.record_late(late.0 / 1000);
        core.tally.record(arrival, self.part_of(arrival), end.of_request(), latency.0 / 1000);
        if end == AttemptEnd::Ok && self.good_within.is_none_or(|within| latency <= within) {
            core.tally.record_in_time(arrival);
        }
    }

    /// Ends what waits to be tried again: it is not, any more.
    pub(super) fn stop_retries(&self, core: &mut Core, now: Nanos) {
        core.stopping = true;
        while let Some(Reverse(Later { call, end, .. })) = core.later.pop() {
            core.budget.cancel(now, call.state.paid);
            self.over(core, &call, end, now);
        }
    }

    fn part_of(&self, arrival: &Arrival) -> usize {
        let part = arrival.at.since(self.warmup).0 / self.part.0.max(1);
        usize::try_from(part).unwrap_or(usize::MAX)
    }
}

pub(super) fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
