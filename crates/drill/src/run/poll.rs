//! Metrics, asked again and again while a drill goes on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use damper_system::model::System;
use damper_system::{Drill, Metric, MetricKind, Place};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::metric;
use crate::places::Places;

/// When it was asked, and what it was.
type Sample = (Duration, Option<f64>);

/// What was seen of each metric.
pub(crate) struct Poll {
    /// Those of the plan, and one more if attempts can be counted.
    pub(crate) metrics: Vec<Metric>,
    seen: Vec<Arc<Mutex<Vec<Sample>>>>,
    tasks: Vec<JoinHandle<()>>,
    every: Duration,
}

/// What attempts are called, where they are counted without being asked for.
const ATTEMPTS: &str = "attempts at services";

/// Services with a capacity.
pub(crate) fn limited(system: Option<&System>) -> Vec<String> {
    let all = system.into_iter().flat_map(|system| &system.services);
    all.filter(|s| s.capacity().is_some()).map(|s| s.name.clone()).collect()
}

impl Poll {
    /// Asks for all metrics of a plan once in each interval, from now on.
    pub(crate) fn start(drill: &Drill, system: Option<&System>, places: &Places) -> Self {
        let mut metrics = drill.metrics.clone();
        if drill.parts.iter().any(|part| part.target == Place::Emulation) {
            let kind = MetricKind::Emulate { at: Place::Emulation, count: "attempts", of: None };
            metrics.push(Metric { name: ATTEMPTS.to_owned(), kind });
        }
        let (begun, every) = (Instant::now(), Duration::from_nanos(drill.interval.0));
        let limited = limited(system);
        let seen: Vec<Arc<Mutex<Vec<Sample>>>> = metrics.iter().map(|_| Arc::default()).collect();
        let tasks = metrics.iter().zip(&seen).map(|(one, seen)| {
            let (one, seen) = (one.clone(), seen.clone());
            let (places, limited) = (places.clone(), limited.clone());
            tokio::spawn(async move {
                let mut ticks = tokio::time::interval(every);
                ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
                loop {
                    ticks.tick().await;
                    let at = begun.elapsed();
                    let value = metric::ask(&one, &places, &limited).await.ok();
                    seen.lock().unwrap_or_else(PoisonError::into_inner).push((at, value));
                }
            })
        });
        let tasks = tasks.collect();
        Self { metrics, seen, tasks, every }
    }

    /// What was seen of a metric.
    pub(crate) fn seen(&self, metric: usize) -> Vec<Sample> {
        let seen = self.seen.get(metric);
        seen.map_or_else(Vec::new, |s| s.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// The index of the count of attempts at servers.
    pub(crate) fn attempts(&self) -> Option<usize> {
        let counted = |metric: &Metric| {
            matches!(&metric.kind, MetricKind::Emulate { count: "attempts", of: None, .. })
        };
        self.metrics.iter().position(counted)
    }

    /// What a metric was at an instant: what was asked for last before it, or first after it.
    /// `None`: that had no answer, or is too long ago to say anything.
    pub(crate) fn at(&self, metric: usize, at: Duration) -> Option<f64> {
        at_of(&self.seen(metric), at, self.every * OLDEST)
    }
}

/// So many intervals ago a sample may have been asked for.
const OLDEST: u32 = 3;

fn at_of(seen: &[Sample], at: Duration, oldest: Duration) -> Option<f64> {
    let before = seen.iter().take_while(|(t, _)| *t <= at).last();
    let (asked, value) = before.or_else(|| seen.first())?;
    if at.abs_diff(*asked) > oldest { None } else { *value }
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_is_lost_is_not_what_it_was() {
        let s = Duration::from_secs;
        let seen = [(s(1), Some(1.0)), (s(2), Some(2.0)), (s(3), None), (s(4), None)];
        let at = |t| at_of(&seen, t, s(3));
        assert_eq!(at(s(2)), Some(2.0));
        assert_eq!(at(Duration::from_millis(2500)), Some(2.0));
        assert_eq!(at(s(3)), None, "who has no answer has none");
        assert_eq!(at_of(&seen[..2], s(5), s(3)), Some(2.0));
        assert_eq!(at_of(&seen[..2], s(6), s(3)), None, "it is too long ago");
        assert_eq!(at(Duration::ZERO), Some(1.0), "it was not asked for before");
    }
}
