//! A load as most callers need it: paths and headers, and no retries.

use std::sync::Arc;
use std::time::Duration;

use damper_control::Nanos;
use hyper::header::{HeaderName, HeaderValue};
use tokio::sync::{oneshot, watch};

use super::caller::Caller;
use super::run::{Job, start, start_observed};
use super::schedule::{Arrival, Schedule, Tuning};
use super::tally::{End, Tally};
use super::target::Target;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The path.
    pub path: String,
    /// Headers beside those of the protocol.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// Bounds of a load. Nothing is sent beyond them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Requests under way at the same time; what comes beyond them is not sent, and counted.
    pub in_flight: usize,
    /// Connections at the same time. With HTTP/1.1 a request for which there is none waits for one,
    /// and its latency counts that.
    pub connections: usize,
    /// Requests per second, at the peak of the schedule, with whatever tunes it. Retries beyond it
    /// are not sent, and counted.
    pub rate: f64,
    /// Requests in all; retries beyond it are not sent, and counted.
    pub total: u64,
    /// How long it is sent.
    pub time: Duration,
    /// How long one request is waited for, with all of its attempts.
    pub patience: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            in_flight: 4096,
            connections: 4096,
            rate: 50_000.0,
            total: 50_000_000,
            time: Duration::from_secs(3600),
            patience: Duration::from_secs(30),
        }
    }
}

/// A load that is to be sent, without retries.
pub struct Sending {
    /// When.
    pub schedule: Schedule,
    /// Where to.
    pub target: Target,
    /// What, by class and kind.
    pub asks: Vec<Vec<Ask>>,
    /// How far.
    pub bounds: Bounds,
    /// Requests that are due before this are sent, but not counted.
    pub warmup: Duration,
    /// The time after it is also counted in this many parts of equal length, for intervals.
    pub parts: u32,
    /// What changes the load while it is sent, by class.
    pub tunings: Option<watch::Receiver<Vec<Tuning>>>,
    /// Ends it early; what is under way is waited for.
    pub stop: Option<oneshot::Receiver<()>>,
}

impl From<Sending> for Job {
    fn from(sending: Sending) -> Self {
        let Sending { schedule, target, asks, bounds, warmup, parts, tunings, stop } = sending;
        let requests = asks.into_iter().map(|kinds| kinds.into_iter().map(Into::into).collect());
        Self {
            schedule,
            target,
            tls: None,
            authority: None,
            requests: requests.collect(),
            classes: Vec::new(),
            caller: Caller::without_retries(),
            bounds,
            good_within: None,
            warmup,
            parts,
            seed: 0,
            tunings,
            stop,
        }
    }
}

/// Why nothing was sent, or nothing more.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The schedule exceeds the bound on the rate.
    #[error("the load reaches {peak:.0} requests per second, and {bound:.0} is the bound")]
    TooFast {
        /// The highest rate of the schedule.
        peak: f64,
        /// The bound.
        bound: f64,
    },
    /// A bound is zero.
    #[error("no request may be under way, or on a connection")]
    NoRoom,
    /// What is asked for is no request.
    #[error("this cannot be sent: {0}")]
    BadRequest(String),
}

/// Sends a load, waits for all that was sent, and tells how it ended. [`start`] is the same with
/// retries, bodies and a view of it while it is sent.
///
/// # Errors
/// The schedule is not within the bounds, or something is no request; nothing has been sent then. Or
/// it is tuned beyond the bound on the rate; nothing has been sent from then on.
pub async fn send(sending: Sending) -> Result<Tally, Error> {
    let (_, sent) = start(sending.into())?;
    sent.await
}

/// Sends a load with retries, while somebody hears of each request, warm-up or not.
///
/// # Errors
/// As [`send`].
pub async fn send_observed(job: Job, observer: Arc<dyn Observe>) -> Result<Tally, Error> {
    let (_, sent) = start_observed(job, Some(observer))?;
    sent.await
}

/// Hears of a load while it is sent. What it does is done under the lock of the load: it must be
/// short.
pub trait Observe: Send + Sync {
    /// A request is due; whether it can be sent shows in its end.
    fn due(&self, arrival: &Arrival);
    /// An attempt of a request begins, the first or one more, so long after the start of the load.
    fn attempted(&self, _arrival: &Arrival, _at: Nanos) {}
    /// A request has ended, with all of its attempts, so long after its intended start.
    fn ended(&self, arrival: &Arrival, end: End, latency_us: u64);
}
