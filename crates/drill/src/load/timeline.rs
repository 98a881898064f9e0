//! What became of a load over time, for those who draw it.

use std::sync::Arc;
use std::time::Duration;

use damper_control::Nanos;

use super::send::Observe;
use super::tally::ENDS;
use crate::series::{Series, sum};

/// Counts a load by intervals while it is sent; several jobs that are begun together may share one.
#[derive(Clone)]
pub struct Timeline(Arc<Series>);

/// All classes in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Requests that were due.
    pub due: u64,
    /// Attempts that began.
    pub attempts: u64,
    /// Good replies in time that came.
    pub good: u64,
    /// What ended, by [`End::ALL`](super::End::ALL), whenever it was due.
    pub ends: [u64; ENDS],
}

impl Timeline {
    /// For so many classes, in intervals of this width, which is at least a millisecond.
    #[must_use]
    pub fn new(width: Duration, classes: usize, good_within: Option<Duration>) -> Self {
        let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        Self(Arc::new(Series::new(width, classes, good_within.map_or(Nanos::MAX, nanos))))
    }

    /// The width of an interval.
    #[must_use]
    pub fn width(&self) -> Duration {
        self.0.width()
    }

    /// What hears of the requests of a job.
    #[must_use]
    pub fn observer(&self) -> Arc<dyn Observe> {
        self.0.clone()
    }

    /// The intervals until now, from the start of the load on.
    #[must_use]
    pub fn intervals(&self) -> Vec<Interval> {
        let interval = |tick| {
            let cell = sum(std::slice::from_ref(tick), None);
            let crate::series::Cell { due, attempts, good, ends, .. } = cell;
            Interval { due, attempts, good, ends }
        };
        self.0.ticks().iter().map(interval).collect()
    }
}
