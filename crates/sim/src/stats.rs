//! What a run counts. Memory is bounded: totals, histograms of fixed size, and a time series
//! that halves its resolution when it is full.

use damper_control::Outcome;
use hdrhistogram::Histogram;

use crate::mechanisms::MechanismCounts;

/// How the requests of one class ended.
#[derive(Clone, Debug)]
pub struct ClassStats {
    /// Arrived after the warm-up.
    pub offered: u64,
    /// Ended, by cause: [`Outcome::index`].
    pub ended: [u64; 6],
    /// Successful, but too late to be good (`good_within`). Included in `ended[TimedOut]`.
    pub late: u64,
    /// Latency of good requests in microseconds.
    pub latency_us: Histogram<u64>,
}

/// What one service saw.
#[derive(Clone, Debug)]
pub struct ServiceStats {
    /// Attempts received, by class.
    pub attempts: Vec<u64>,
    /// Refused at once for want of room.
    pub rejected: u64,
    /// Turned away or dropped by a control that prefers others, by class.
    pub shed: Vec<u64>,
    /// Turned away by the admission rule. Included in `shed`.
    pub refused_admission: u64,
    /// Turned away by the concurrency limit. Included in `rejected`.
    pub refused_concurrency: u64,
    /// Turned away by the lever. Included in `shed`.
    pub refused_lever: u64,
    /// Dropped from the queue by a drop rule. Included in `shed`.
    pub dropped_waiting: u64,
    /// Replied well to a caller that waited.
    pub served: u64,
    /// Replied (well or not) to nobody.
    pub abandoned: u64,
    /// Dropped or cancelled before the work was done.
    pub dropped: u64,
    /// Failed by itself, to a caller that waited.
    pub failed: u64,
    /// Failed further down, to a caller that waited.
    pub failed_below: u64,
    /// Work done, in worker-nanoseconds (accepted attempts where work takes no time).
    pub work: f64,
    /// The part of it whose caller had gone.
    pub wasted: f64,
    /// Time integral of busy workers, in worker-nanoseconds.
    pub busy: f64,
    /// Time integral of the instances that were there, in instance-nanoseconds; 0: all were, all
    /// the time.
    pub there: f64,
    /// Time in the queue, in microseconds, of what left it.
    pub queue_delay_us: Histogram<u64>,
    /// Longest queue, over all instances.
    pub queue_max: u32,
    /// What mechanisms of its instances did.
    pub mechanisms: MechanismCounts,
}

/// What went over one edge.
#[derive(Clone, Debug, Default)]
pub struct EdgeStats {
    /// Attempts sent (cache hits are not attempts).
    pub attempts: u64,
    /// Of these: retries.
    pub retries: u64,
    /// Of the retries: those that a class limit refused.
    pub refused_limit: u64,
    /// Those that the budget refused.
    pub refused_budget: u64,
    /// Attempts and retries not sent because the deadline was too close.
    pub refused_deadline: u64,
    /// Attempts that the throttle refused.
    pub refused_throttle: u64,
    /// Attempts that the breaker refused.
    pub refused_breaker: u64,
    /// Attempts not sent because the callee had said that it would not let them in.
    pub refused_word: u64,
    /// Retries given up because the callee said not to come back.
    pub refused_pushback: u64,
    /// Cache misses on hot keys (calls through a cache).
    pub hot_misses: u64,
}

/// One point of a time series, summed over its interval.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Requests that arrived.
    pub offered: u64,
    /// Attempts at services with a capacity.
    pub attempts: u64,
    /// Good replies to the client.
    pub good: u64,
    /// Replies of services with a capacity that finish requests, wanted or not.
    pub replies: u64,
    /// By class: (ended, good).
    pub classes: Vec<(u64, u64)>,
    /// By service with a capacity (in the order of the file).
    pub services: Vec<ServicePoint>,
}

/// One service in one point.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServicePoint {
    /// Attempts received.
    pub attempts: u64,
    /// Rejections.
    pub rejected: u64,
    /// Sum of queue delays in nanoseconds of what left the queue.
    pub delay: f64,
    /// How many left it.
    pub left: u64,
    /// Work and wasted work, in nanoseconds.
    pub work: f64,
    /// The part whose caller had gone.
    pub wasted: f64,
    /// Attempts waiting at the end.
    pub queue: u64,
}

/// A time series whose interval doubles when it is full.
#[derive(Clone, Debug)]
pub struct Series {
    /// Width of a point in nanoseconds.
    pub interval: u64,
    /// The points, from time zero.
    pub points: Vec<Point>,
    most: usize,
    shape: (usize, usize),
}

impl Series {
    /// For `classes` classes and `services` services with a capacity.
    #[must_use]
    pub fn new(interval: u64, classes: usize, services: usize) -> Self {
        // About 100 MB at the most: fewer points where a point is large.
        let most = (2_000_000 / (services + 1)).clamp(64, 2048) & !1;
        Self { interval: interval.max(1), points: Vec::new(), most, shape: (classes, services) }
    }

    /// The point of an instant.
    #[inline]
    pub fn at(&mut self, now: u64) -> &mut Point {
        let mut i = (now / self.interval) as usize;
        while i >= self.most {
            self.halve();
            i = (now / self.interval) as usize;
        }
        if i >= self.points.len() {
            self.grow(i);
        }
        &mut self.points[i]
    }

    #[cold]
    fn grow(&mut self, i: usize) {
        let (classes, services) = self.shape;
        let empty = Point {
            classes: vec![(0, 0); classes],
            services: vec![ServicePoint::default(); services],
            ..Point::default()
        };
        self.points.resize(i + 1, empty);
    }

    #[cold]
    fn halve(&mut self) {
        let old = std::mem::take(&mut self.points);
        let mut pairs = old.into_iter();
        while let Some(mut a) = pairs.next() {
            if let Some(b) = pairs.next() {
                a.absorb(&b);
            }
            self.points.push(a);
        }
        self.interval *= 2;
    }
}

impl Point {
    pub(crate) fn clear(&mut self) {
        (self.offered, self.attempts, self.good, self.replies) = (0, 0, 0, 0);
        self.classes.fill((0, 0));
        self.services.fill(ServicePoint::default());
    }

    pub(crate) fn absorb(&mut self, later: &Self) {
        self.offered += later.offered;
        self.attempts += later.attempts;
        self.good += later.good;
        self.replies += later.replies;
        for (a, b) in self.classes.iter_mut().zip(&later.classes) {
            *a = (a.0 + b.0, a.1 + b.1);
        }
        for (a, b) in self.services.iter_mut().zip(&later.services) {
            a.attempts += b.attempts;
            a.rejected += b.rejected;
            a.delay += b.delay;
            a.left += b.left;
            a.work += b.work;
            a.wasted += b.wasted;
            a.queue = b.queue;
        }
    }
}

impl ClassStats {
    pub(crate) fn new() -> Self {
        Self { offered: 0, ended: [0; 6], late: 0, latency_us: histogram() }
    }

    /// For worlds that count nothing and are copied often.
    pub(crate) fn lean() -> Self {
        Self { offered: 0, ended: [0; 6], late: 0, latency_us: no_histogram() }
    }

    /// Good requests.
    #[must_use]
    pub fn good(&self) -> u64 {
        self.ended[Outcome::Success.index()]
    }

    /// Requests that ended, however.
    #[must_use]
    pub fn ended_all(&self) -> u64 {
        self.ended.iter().sum()
    }

    /// Adds another replication.
    pub fn absorb(&mut self, other: &Self) {
        self.offered += other.offered;
        self.late += other.late;
        self.ended.iter_mut().zip(other.ended).for_each(|(a, b)| *a += b);
        // Both have the same bounds, so adding cannot fail.
        let _ = self.latency_us.add(&other.latency_us);
    }
}

impl ServiceStats {
    /// For worlds that count nothing and are copied often.
    pub(crate) fn lean(classes: usize) -> Self {
        Self::over(classes, no_histogram())
    }

    pub(crate) fn new(classes: usize) -> Self {
        Self::over(classes, histogram())
    }

    fn over(classes: usize, queue_delay_us: Histogram<u64>) -> Self {
        Self {
            attempts: vec![0; classes],
            rejected: 0,
            shed: vec![0; classes],
            refused_admission: 0,
            refused_concurrency: 0,
            refused_lever: 0,
            dropped_waiting: 0,
            served: 0,
            abandoned: 0,
            dropped: 0,
            failed: 0,
            failed_below: 0,
            work: 0.0,
            wasted: 0.0,
            busy: 0.0,
            there: 0.0,
            queue_delay_us,
            queue_max: 0,
            mechanisms: MechanismCounts::default(),
        }
    }

    /// Adds another replication.
    pub fn absorb(&mut self, other: &Self) {
        self.attempts.iter_mut().zip(&other.attempts).for_each(|(a, b)| *a += b);
        self.rejected += other.rejected;
        self.shed.iter_mut().zip(&other.shed).for_each(|(a, b)| *a += b);
        self.refused_admission += other.refused_admission;
        self.refused_concurrency += other.refused_concurrency;
        self.refused_lever += other.refused_lever;
        self.dropped_waiting += other.dropped_waiting;
        self.served += other.served;
        self.abandoned += other.abandoned;
        self.dropped += other.dropped;
        self.failed += other.failed;
        self.failed_below += other.failed_below;
        self.work += other.work;
        self.wasted += other.wasted;
        self.busy += other.busy;
        self.there += other.there;
        self.queue_max = self.queue_max.max(other.queue_max);
        self.mechanisms.absorb(&other.mechanisms);
        let _ = self.queue_delay_us.add(&other.queue_delay_us);
    }
}

impl EdgeStats {
    /// Adds another replication.
    pub fn absorb(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.retries += other.retries;
        self.refused_limit += other.refused_limit;
        self.refused_budget += other.refused_budget;
        self.refused_deadline += other.refused_deadline;
        self.refused_throttle += other.refused_throttle;
        self.refused_breaker += other.refused_breaker;
        self.refused_word += other.refused_word;
        self.refused_pushback += other.refused_pushback;
        self.hot_misses += other.hot_misses;
    }
}

/// The longest time a histogram tells apart: three days, in microseconds.
const LONGEST_US: u64 = 3 * 86_400 * 1_000_000;

fn histogram() -> Histogram<u64> {
    // Two significant digits: a few tens of kilobytes each. The bounds are valid constants.
    Histogram::new_with_bounds(1, LONGEST_US, 2).unwrap_or_else(|_| unreachable!())
}

/// The smallest that there is; what is longer is put at its end.
fn no_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 2, 0).unwrap_or_else(|_| unreachable!())
}

/// Records a span of nanoseconds.
#[inline]
pub(crate) fn record(histogram: &mut Histogram<u64>, ns: u64) {
    histogram.saturating_record(ns / 1000);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_series_doubles_its_interval_and_loses_nothing() {
        let mut s = Series::new(10, 1, 1);
        let n = 3 * s.most as u64;
        for i in 0..n {
            s.at(i * 10).offered += 1;
            s.at(i * 10).services[0].queue = i;
        }
        assert!(s.points.len() <= s.most);
        assert_eq!(s.interval, 40);
        assert_eq!(s.points.iter().map(|p| p.offered).sum::<u64>(), n);
        assert_eq!(s.points.last().unwrap().services[0].queue, n - 1);
    }
}
