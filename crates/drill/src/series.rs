//! What happened, interval by interval, while it happens.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use damper_control::Nanos;
use tokio::time::Instant;

use crate::load::{Arrival, End, Observe};

/// One class in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    /// Requests that were due.
    pub(crate) due: u64,
    /// Those of them that have ended, and well, and in time.
    pub(crate) good_of_due: u64,
    /// Those of them that have ended.
    pub(crate) ended_of_due: u64,
    /// Requests that ended in this interval, whenever they were due, by [`End::ALL`].
    pub(crate) ends: [u64; 6],
    /// Those of them that ended well and in time.
    pub(crate) good: u64,
    /// Attempts that began in this interval, first ones and retries.
    pub(crate) attempts: u64,
    /// Time from the intended start, summed over good ones.
    pub(crate) good_us: u64,
}

impl Cell {
    /// Adds another.
    pub(crate) fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.good_of_due += other.good_of_due;
        self.ended_of_due += other.ended_of_due;
        self.ends.iter_mut().zip(other.ends).for_each(|(a, b)| *a += b);
        self.good += other.good;
        self.attempts += other.attempts;
        self.good_us += other.good_us;
    }

    /// All that ended, but for those that were never sent.
    pub(crate) fn throughput(&self) -> u64 {
        self.ends.iter().sum::<u64>() - self.ends[End::NotSent as usize]
    }

    /// Those that were refused.
    pub(crate) fn rejected(&self) -> u64 {
        self.ends[End::Rejected as usize]
    }
}

/// One interval, by class.
pub(crate) type Tick = Vec<Cell>;

/// The sum of the classes of several intervals; of one class if it is named.
pub(crate) fn sum(ticks: &[Tick], class: Option<usize>) -> Cell {
    let mut all = Cell::default();
    for tick in ticks {
        for (i, cell) in tick.iter().enumerate() {
            if class.is_none_or(|only| only == i) {
                all.add(cell);
            }
        }
    }
    all
}

/// Intervals from the start of a load on. Their number is bounded: what comes later counts for the
/// last.
pub(crate) struct Series {
    width: Duration,
    classes: usize,
    good_within_us: u64,
    start: Instant,
    ticks: Mutex<Vec<Tick>>,
}

/// No run has more intervals.
const MOST: usize = 100_000;

impl Series {
    pub(crate) fn new(width: Duration, classes: usize, good_within: Nanos) -> Self {
        let width = width.max(Duration::from_millis(1));
        let good_within_us = good_within.0 / 1000;
        Self { width, classes, good_within_us, start: Instant::now(), ticks: Mutex::default() }
    }

    /// The width of an interval.
    pub(crate) fn width(&self) -> Duration {
        self.width
    }

    /// The time since its start.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// The interval of an instant.
    pub(crate) fn index(&self, at: Duration) -> usize {
        ((at.as_nanos() / self.width.as_nanos()) as usize).min(MOST - 1)
    }

    /// All intervals so far, the present one included.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let mut ticks = self.lock().clone();
        ticks.resize_with(self.index(self.now()) + 1, || vec![Cell::default(); self.classes]);
        ticks
    }

    /// Intervals that are over.
    pub(crate) fn complete(&self) -> Vec<Tick> {
        let mut ticks = self.ticks();
        ticks.pop();
        ticks
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Tick>> {
        self.ticks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, at: Duration, class: usize, change: impl FnOnce(&mut Cell)) {
        let index = self.index(at);
        let mut ticks = self.lock();
        if ticks.len() <= index {
            ticks.resize_with(index + 1, || vec![Cell::default(); self.classes]);
        }
        if let Some(cell) = ticks.get_mut(index).and_then(|tick| tick.get_mut(class)) {
            change(cell);
        }
    }
}

impl Observe for Series {
    fn due(&self, arrival: &Arrival) {
        self.with(Duration::from_nanos(arrival.at.0), arrival.class, |cell| cell.due += 1);
    }

    fn attempted(&self, arrival: &Arrival, at: Nanos) {
        self.with(Duration::from_nanos(at.0), arrival.class, |cell| cell.attempts += 1);
    }

    fn ended(&self, arrival: &Arrival, end: End, latency_us: u64) {
        let good = end == End::Ok && latency_us <= self.good_within_us;
        let due = Duration::from_nanos(arrival.at.0);
        self.with(due, arrival.class, |cell| {
            cell.ended_of_due += 1;
            cell.good_of_due += u64::from(good);
        });
        self.with(due + Duration::from_micros(latency_us), arrival.class, |cell| {
            cell.ends[end as usize] += 1;
            if good {
                cell.good += 1;
                cell.good_us = cell.good_us.saturating_add(latency_us);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_counts_where_it_was_due_and_where_it_ended() {
        let series = Series::new(Duration::from_secs(1), 2, Nanos::from_millis(1500));
        let arrival = |ms, class| Arrival { at: Nanos::from_millis(ms), class, kind: 0 };
        for (at, class, end, latency_ms) in [
            (500, 0, End::Ok, 100),
            (900, 0, End::Ok, 1200),
            (950, 1, End::Ok, 1600),
            (990, 1, End::Rejected, 5),
        ] {
            series.due(&arrival(at, class));
            series.ended(&arrival(at, class), end, latency_ms * 1000);
        }
        tokio::time::advance(Duration::from_millis(3500)).await;
        let ticks = series.ticks();
        assert_eq!(ticks.len(), 4, "the present one is there, though nothing happened in it");
        let first = sum(&ticks[..1], None);
        assert_eq!((first.due, first.good_of_due, first.ended_of_due), (4, 2, 4));
        assert_eq!((first.good, first.rejected()), (1, 1));
        let third = sum(&ticks[2..3], None);
        assert_eq!((third.good, third.throughput()), (1, 2), "one of the two was late");
        assert_eq!(sum(&ticks, Some(1)).due, 2);
    }
}
