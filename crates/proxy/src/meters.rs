//! What a hop measures that no layer counts: requests from end to end, what was in time, and how
//! long things took.
//!
//! The layers' own [`Counters`](damper_tower::Counters) have attempts, retries and refusals;
//! nothing is counted twice. A request costs seven additions to memory that its thread rarely
//! shares with another: no lock, no allocation. Memory is fixed when a hop is made.

mod histogram;
mod layer;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use damper_control::who::CLASSES;
use damper_control::{Nanos, Outcome};
use damper_tower::clock;
use http::HeaderMap;

use crate::observe::span::{Open, Spans};
use histogram::Histogram;
pub use histogram::{BOUNDS, Distribution};
pub(crate) use layer::is_retry;
pub use layer::{Came, MeterFuture, MeterLayer, MeterService, WaitFuture, WaitLayer, WaitService};

/// Ways a request can end: the outcomes of an attempt, and that its caller left.
pub const ENDS: [&str; 7] =
    ["success", "rejected", "timed_out", "failed", "failed_below", "shed", "abandoned"];

const ABANDONED: usize = ENDS.len() - 1;

/// What is counted for a hop as a whole, whatever the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Overall {
    /// Connections of callers that were accepted.
    Accepted,
    /// Connections of callers that were closed.
    Closed,
    /// Connections that were refused, since there were as many as may be.
    RefusedConnections,
    /// Connections to what is behind that were opened.
    Connected,
    /// Connections to what is behind that could not be opened.
    ConnectFailed,
    /// Requests that were sent on a connection that was there.
    Reused,
    /// Requests of strangers that carried what only a trusted peer may say.
    Distrusted,
    /// Requests that were refused as malformed, or as too large.
    Malformed,
    /// Requests that were sent again, since the connection had been closed meanwhile.
    Resent,
    /// Requests that were refused, since there were as many as may be.
    RefusedRequests,
}

/// Names and meanings of [`Overall`], in its order.
pub const OVERALL: [(&str, &str); 10] = [
    ("connections_accepted", "connections of callers that were accepted"),
    ("connections_closed", "connections of callers that were closed"),
    ("connections_refused", "connections of callers refused, since there were as many as may be"),
    ("upstream_connections", "connections to what is behind that were opened"),
    ("upstream_connect_failures", "connections to what is behind that could not be opened"),
    ("upstream_reused", "requests sent on a connection that was there"),
    ("distrusted_requests", "requests of strangers that carried what only a trusted peer may say"),
    ("malformed_requests", "requests refused as malformed or too large"),
    ("upstream_resent", "requests sent again, as the connection had been closed meanwhile"),
    ("requests_over_limit", "requests refused, since there were as many as may be"),
];

/// Enough for the threads of a sidecar; more threads share.
const SHARDS: usize = 4;

/// A number for this thread, so that threads do not meet.
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    OWN.try_with(|own| *own).unwrap_or(0)
}

/// One class as one shard sees it.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell {
    came: AtomicU64,
    retries: AtomicU64,
    ended: [AtomicU64; ENDS.len()],
    in_time: AtomicU64,
    duration: Histogram,
    wait: Histogram,
    attempt: Histogram,
}

#[derive(Debug)]
struct Inner {
    /// By shard, then by class.
    shards: Box<[Box<[Cell]>]>,
    overall: [AtomicU64; OVERALL.len()],
    tracing: OnceLock<Tracing>,
}

/// Where spans go, and what names they have.
#[derive(Debug)]
struct Tracing {
    spans: Spans,
    hop: Arc<str>,
    classes: Box<[Arc<str>]>,
}

impl Inner {
    fn cell(&self, class: u8) -> &Cell {
        let cells = &self.shards[shard()];
        &cells[usize::from(class).min(cells.len() - 1)]
    }
}

/// The meters of a hop. Clones are the same meters.
#[derive(Clone, Debug)]
pub struct Meters(Arc<Inner>);

impl Meters {
    /// Meters for so many classes; at least one, at most as many as a control tells apart.
    #[must_use]
    pub fn new(classes: usize) -> Self {
        let classes = classes.clamp(1, CLASSES);
        let cells = || (0..classes).map(|_| Cell::default()).collect();
        let shards = (0..SHARDS).map(|_| cells()).collect();
        let overall = std::array::from_fn(|_| AtomicU64::new(0));
        Self(Arc::new(Inner { shards, overall, tracing: OnceLock::new() }))
    }

    /// Makes spans of traced requests, in the name of this hop and these classes.
    pub(crate) fn trace(&self, spans: &Spans, hop: &str, classes: &[String]) {
        let classes = classes.iter().map(|name| Arc::from(name.as_str())).collect();
        // Meters that outlive a reload have it already.
        let _ = self.0.tracing.set(Tracing { spans: spans.clone(), hop: hop.into(), classes });
    }

    /// [`Meters::request`] for a request whose headers are known: if it is traced and spans are
    /// exported, it becomes a span, which is written into the headers that are passed on.
    #[must_use]
    pub fn traced(&self, now: Nanos, class: u8, retry: bool, headers: &mut HeaderMap) -> Request {
        let mut request = self.request(now, class, retry);
        if let Some(tracing) = self.0.tracing.get() {
            request.span = tracing.spans.begin(now, headers).map(Box::new);
        }
        request
    }

    /// A request of this class came. `retry`: its caller says that it is not the first attempt.
    ///
    /// What is returned stands for the request: dropped without [`Request::end`], its caller left.
    #[must_use]
    pub fn request(&self, now: Nanos, class: u8, retry: bool) -> Request {
        let cell = self.0.cell(class);
        cell.came.fetch_add(1, Ordering::Relaxed);
        if retry {
            cell.retries.fetch_add(1, Ordering::Relaxed);
        }
        Request { inner: Some(self.0.clone()), class, came: now, span: None }
    }

    /// A request waited so long before it was passed on.
    pub fn waited(&self, class: u8, wait: Nanos) {
        self.0.cell(class).wait.record(wait);
    }

    /// An attempt on what is behind took so long, however it ended.
    pub fn attempt(&self, class: u8, took: Nanos) {
        self.0.cell(class).attempt.record(took);
    }

    /// An attempt on what is behind begins; how long it took is recorded when it is dropped.
    pub(crate) fn attempts(&self, class: u8, now: Nanos) -> Attempt {
        Attempt { meters: self.clone(), class, sent: now }
    }

    /// Counts something that has no class.
    pub fn count(&self, what: Overall) {
        self.0.overall[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// All of it as it is now. Each number is exact; together they are not one instant.
    #[must_use]
    pub fn snapshot(&self) -> Seen {
        let classes = self.0.shards.first().map_or(0, |cells| cells.len());
        let mut seen = vec![ClassSeen::default(); classes];
        for cells in &self.0.shards {
            for (seen, cell) in seen.iter_mut().zip(cells) {
                seen.add(cell);
            }
        }
        let overall = std::array::from_fn(|i| self.0.overall[i].load(Ordering::Relaxed));
        Seen { classes: seen, overall }
    }
}

/// An attempt that is under way. Dropped, it is over, whoever ended it.
#[derive(Debug)]
pub(crate) struct Attempt {
    meters: Meters,
    class: u8,
    sent: Nanos,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.meters.attempt(self.class, clock::now().since(self.sent));
    }
}

/// A request that is under way.
#[derive(Debug)]
pub struct Request {
    inner: Option<Arc<Inner>>,
    class: u8,
    came: Nanos,
    span: Option<Box<Open>>,
}

impl Request {
    /// When it came.
    #[must_use]
    pub const fn came(&self) -> Nanos {
        self.came
    }

    /// It ended. A success is in time if no deadline was known, or if it is not over.
    pub fn end(mut self, now: Nanos, outcome: Outcome, deadline: Option<Nanos>) {
        let Some(inner) = self.inner.take() else { return };
        let cell = inner.cell(self.class);
        cell.ended[outcome.index()].fetch_add(1, Ordering::Relaxed);
        if outcome == Outcome::Success && deadline.is_none_or(|deadline| now <= deadline) {
            cell.in_time.fetch_add(1, Ordering::Relaxed);
        }
        cell.duration.record(now.since(self.came));
        self.end_span(&inner, now, ENDS[outcome.index()]);
    }

    fn end_span(&mut self, inner: &Inner, now: Nanos, outcome: &'static str) {
        let Some(span) = self.span.take() else { return };
        let Some(Tracing { hop, classes, .. }) = inner.tracing.get() else { return };
        let class = classes.get(usize::from(self.class)).or(classes.last());
        span.end(now, hop, class.unwrap_or(hop), outcome);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            inner.cell(self.class).ended[ABANDONED].fetch_add(1, Ordering::Relaxed);
            if self.span.is_some() {
                self.end_span(&inner, clock::now(), ENDS[ABANDONED]);
            }
        }
    }
}

/// What the meters of one class show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassSeen {
    /// Requests that came.
    pub came: u64,
    /// Of these, how many said that they are retries.
    pub retries: u64,
    /// How requests ended, in the order of [`ENDS`].
    pub ended: [u64; ENDS.len()],
    /// Successes before the deadline: goodput.
    pub in_time: u64,
    /// From the arrival of a request to the head of its reply. Abandoned ones are not in it.
    pub duration: Distribution,
    /// From the arrival of a request until it was passed on.
    pub wait: Distribution,
    /// Of attempts on what is behind.
    pub attempt: Distribution,
}

impl ClassSeen {
    fn add(&mut self, cell: &Cell) {
        // The ends first: a request that ends in between is then one that is still under way.
        for (sum, count) in self.ended.iter_mut().zip(&cell.ended) {
            *sum += count.load(Ordering::Acquire);
        }
        self.in_time += cell.in_time.load(Ordering::Relaxed);
        self.retries += cell.retries.load(Ordering::Relaxed);
        self.came += cell.came.load(Ordering::Relaxed);
        cell.duration.add_to(&mut self.duration);
        cell.wait.add_to(&mut self.wait);
        cell.attempt.add_to(&mut self.attempt);
    }

    /// Requests that ended, however.
    #[must_use]
    pub fn ends(&self) -> u64 {
        self.ended.iter().sum()
    }

    /// Requests that are under way.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.came.saturating_sub(self.ends())
    }

    /// Successes, in time or not: throughput.
    #[must_use]
    pub fn succeeded(&self) -> u64 {
        self.ended[Outcome::Success.index()]
    }

    /// How often requests ended like this.
    #[must_use]
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.ended[outcome.index()]
    }

    /// Requests whose caller left.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.ended[ABANDONED]
    }
}

/// What the meters of a hop show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// By class, the highest first.
    pub classes: Vec<ClassSeen>,
    /// In the order of [`OVERALL`].
    pub overall: [u64; OVERALL.len()],
}

impl Seen {
    /// A sum over the classes.
    pub fn total(&self, of: impl Fn(&ClassSeen) -> u64) -> u64 {
        self.classes.iter().map(of).sum()
    }
}
