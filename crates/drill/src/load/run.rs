//! A load from its first request to its last.

use std::cmp::Reverse;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use damper_control::Nanos;
use tokio::sync::{oneshot, watch};

use super::caller::Caller;
use super::client::Clients;
use super::clock::Alarm;
use super::engine::{Engine, Later, Transport, nanos};
use super::request::{Prepared, Request};
use super::schedule::{Schedule, Tuning};
use super::send::{Bounds, Error, Observe};
use super::tally::{ENDS, Tally};
use super::target::{Protocol, Target};
use super::tls::Tls;

/// A load that is to be sent.
pub struct Job {
    /// When.
    pub schedule: Schedule,
    /// Where to.
    pub target: Target,
    /// With TLS, and how; `None`: without.
    pub tls: Option<Tls>,
    /// The `host` of requests that do not name one; `None`: the address of the target.
    pub authority: Option<String>,
    /// What, by class and kind.
    pub requests: Vec<Vec<Request>>,
    /// The names of the classes, for what is filled into requests.
    pub classes: Vec<String>,
    /// What callers do after an attempt that did not end well.
    pub caller: Caller,
    /// How far.
    pub bounds: Bounds,
    /// A good reply later than this, from the intended start on, is not in time; `None`: all are.
    pub good_within: Option<Duration>,
    /// Requests that are due before this are sent, but not counted.
    pub warmup: Duration,
    /// The time after it is also counted in this many parts of equal length, for intervals.
    pub parts: u32,
    /// Seed of what is filled into requests, and of backoffs.
    pub seed: u64,
    /// What changes the load while it is sent, by class.
    pub tunings: Option<watch::Receiver<Vec<Tuning>>>,
    /// Ends it early; what is under way is waited for, and nothing is tried again.
    pub stop: Option<oneshot::Receiver<()>>,
}

/// What has become of a load so far; it may be asked at any time, from anywhere.
#[derive(Clone)]
pub struct Live(Arc<Engine>);

/// A load at an instant. Only what was due after the warm-up is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Since its start.
    pub at: Duration,
    /// By class: how requests ended, in the order of [`End::ALL`](super::End::ALL).
    pub ends: Vec<[u64; ENDS]>,
    /// By class: good replies in time.
    pub in_time: Vec<u64>,
    /// Attempts that were begun, of all classes, with the warm-up.
    pub attempts: u64,
    /// Requests that are under way.
    pub under_way: usize,
}

impl Live {
    /// What has become of it so far.
    #[must_use]
    pub fn now(&self) -> Snapshot {
        let at = self.0.start.elapsed();
        let core = self.0.core();
        let (ends, in_time) = core.tally.by_class();
        Snapshot { at, ends, in_time, attempts: core.attempts(), under_way: core.under_way }
    }
}

/// Arrivals that are taken up before others have their turn.
const TOGETHER: u32 = 256;

/// Checks a load, and begins it: what tells of it while it is sent, and what sends it. Its clock runs
/// from now on.
///
/// # Errors
/// It is not within its bounds, or a request cannot be one. Nothing is sent then.
pub fn start(
    job: Job,
) -> Result<(Live, impl Future<Output = Result<Tally, Error>> + Send + use<>), Error> {
    start_observed(job, None)
}

/// The same, while somebody hears of each request.
///
/// # Errors
/// As [`start`].
pub fn start_observed(
    job: Job,
    observer: Option<Arc<dyn Observe>>,
) -> Result<(Live, impl Future<Output = Result<Tally, Error>> + Send + use<>), Error> {
    let (target, bounds) = (job.target, job.bounds);
    within(&job.schedule, &bounds)?;
    if bounds.in_flight == 0 || bounds.connections == 0 {
        return Err(Error::NoRoom);
    }
    let authority = job.authority.clone().unwrap_or_else(|| target.address().to_string());
    let mut requests = Vec::with_capacity(job.requests.len());
    for (number, kinds) in job.requests.into_iter().enumerate() {
        let class = job.classes.get(number).map_or("", String::as_str);
        let prepared = kinds.into_iter();
        let prepared = prepared.map(|kind| Prepared::new(kind, &authority, class, job.seed));
        requests.push(prepared.collect::<Result<Vec<_>, _>>()?);
    }
    let tls = job.tls.map(|tls| tls.offering(&[target.protocol()]));
    let transport = match target.protocol() {
        Protocol::Http1 => Transport::Http1 { most: bounds.connections },
        _ => Transport::Hyper(Clients::new(target, tls.as_ref(), bounds.connections.min(64))),
    };
    let mut engine = Engine::new(
        target,
        transport,
        requests,
        job.caller,
        bounds,
        nanos(job.warmup),
        job.parts,
        job.good_within.map(nanos),
        job.seed,
    );
    (engine.observer, engine.tls) = (observer, tls);
    let engine = Arc::new(engine);
    let live = Live(engine.clone());
    Ok((live, send_all(engine, job.schedule, job.tunings, job.stop)))
}

/// What woke the sender.
enum Woken {
    Stopped,
    Tuned(Vec<Tuning>),
    Due,
}

async fn send_all(
    engine: Arc<Engine>,
    mut schedule: Schedule,
    mut tunings: Option<watch::Receiver<Vec<Tuning>>>,
    mut stop: Option<oneshot::Receiver<()>>,
) -> Result<Tally, Error> {
    let bounds = engine.bounds;
    let end = nanos(bounds.time);
    let alarm = Alarm::new();
    let (mut sent, mut stopped) = (0, false);
    let mut broken = None;
    loop {
        let over = stopped || sent >= bounds.total || engine.is_spent() || engine.now() >= end;
        if over {
            let mut core = engine.core();
            core.ending = true;
            if core.under_way == 0 {
                break;
            }
        }
        let due = (!over).then(|| schedule.peek().map_or(end, |at| at.min(end)));
        let next = until(&engine, due).unwrap_or(Nanos::MAX);
        match wait(&engine, &alarm, next, &mut tunings, &mut stop).await {
            Woken::Stopped => {
                stopped = true;
                halt(&engine);
            }
            Woken::Tuned(all) => {
                // What is under way is waited for, even if nothing more may be sent.
                if let Err(error) = tune(&engine, &mut schedule, all) {
                    broken = Some(error);
                    stopped = true;
                    halt(&engine);
                }
            }
            Woken::Due if over => again(&engine),
            Woken::Due => {
                again(&engine);
                let now = engine.now();
                let due = |at: Nanos| at <= now && at < end;
                let mut taken = 0;
                while taken < TOGETHER
                    && sent < bounds.total
                    && !engine.is_spent()
                    && schedule.peek().is_some_and(due)
                {
                    let Some(arrival) = schedule.pop() else { break };
                    engine.arrive(arrival, sent, now);
                    sent += 1;
                    taken += 1;
                }
                if taken == TOGETHER {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
    match broken {
        Some(error) => Err(error),
        None => Ok(engine.core().tally.clone()),
    }
}

/// When the sender has something to do next: a request that is due, one to be tried again, one in the
/// line whose time is over.
fn until(engine: &Engine, due: Option<Nanos>) -> Option<Nanos> {
    let mut core = engine.core();
    let again = core.later.peek().map(|Reverse(later)| later.at);
    let now = if core.line.is_empty() { Nanos::ZERO } else { engine.now() };
    let late = engine.sweep(&mut core, now);
    [due, again, late].into_iter().flatten().min()
}

async fn wait(
    engine: &Engine,
    alarm: &Alarm,
    at: Nanos,
    tunings: &mut Option<watch::Receiver<Vec<Tuning>>>,
    stop: &mut Option<oneshot::Receiver<()>>,
) -> Woken {
    let due = async {
        match at {
            Nanos::MAX => std::future::pending().await,
            at => alarm.at(engine.instant(at)).await,
        }
    };
    tokio::select! {
        biased;
        () = stopped(stop) => Woken::Stopped,
        all = changed(tunings) => Woken::Tuned(all),
        () = engine.sooner.notified() => Woken::Due,
        () = engine.quiet.notified() => Woken::Due,
        () = due => Woken::Due,
    }
}

/// Nothing new from now on; what is under way may end.
fn halt(engine: &Engine) {
    let now = engine.now();
    engine.stop_retries(&mut engine.core(), now);
}

fn tune(engine: &Engine, schedule: &mut Schedule, tunings: Vec<Tuning>) -> Result<(), Error> {
    let now = engine.now();
    for (class, tuning) in tunings.into_iter().enumerate() {
        schedule.tune(class, tuning, now);
    }
    within(schedule, &engine.bounds)
}

/// Sends what is to be tried again by now.
fn again(engine: &Arc<Engine>) {
    loop {
        let mut core = engine.core();
        if core.later.is_empty() {
            return;
        }
        let now = engine.now();
        if core.later.peek().is_none_or(|Reverse(later)| later.at > now) {
            return;
        }
        if core.attempts() >= engine.bounds.total {
            // They were promised while there was room; first attempts have taken it.
            core.tally.withheld += core.later.len() as u64;
            engine.stop_retries(&mut core, now);
            return;
        }
        let Some(Reverse(Later { call, .. })) = core.later.pop() else { return };
        engine.go(core, call, now);
    }
}

/// Whether the schedule is within the bound on the rate, as it is tuned now.
fn within(schedule: &Schedule, bounds: &Bounds) -> Result<(), Error> {
    let peak = schedule.peak();
    if peak > bounds.rate {
        return Err(Error::TooFast { peak, bound: bounds.rate });
    }
    Ok(())
}

/// What changes next; never ready if nothing can.
async fn changed(tunings: &mut Option<watch::Receiver<Vec<Tuning>>>) -> Vec<Tuning> {
    if let Some(receiver) = tunings
        && receiver.changed().await.is_ok()
    {
        return receiver.borrow_and_update().clone();
    }
    *tunings = None;
    std::future::pending().await
}

/// Ready when it is to end early; never, if whoever could say so has gone without a word.
async fn stopped(stop: &mut Option<oneshot::Receiver<()>>) {
    if let Some(said) = stop {
        let word = said.await;
        *stop = None;
        if word.is_ok() {
            return;
        }
    }
    std::future::pending::<()>().await;
}
