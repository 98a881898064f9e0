//! Counters as Envoy's stats (`wasmcustom.damper.…`).

use damper_mesh::filter::Worker;
use damper_mesh::filter::counters::{Counters, PerClass};
use proxy_wasm::hostcalls;
use proxy_wasm::types::MetricType;

/// Ticks over which the amplification is measured.
const SPAN: usize = 50;

/// Ids that Envoy has given, in the order of the counters; and one gauge for each class.
#[derive(Default)]
pub(crate) struct Stats {
    counters: Vec<Option<u32>>,
    classes: Vec<Class>,
    ticks: usize,
}

struct Class {
    gauge: Option<u32>,
    requests: Option<u32>,
    attempts: Option<u32>,
    /// Requests and attempts of all workers, one `SPAN` ago.
    then: (u64, u64),
}

/// A counter, or nothing if Envoy does not give one.
pub(crate) fn counter(name: &str) -> Option<u32> {
    hostcalls::define_metric(MetricType::Counter, name).ok()
}

/// Adds to a counter.
pub(crate) fn add(id: Option<u32>, n: u64) {
    if let Some(id) = id {
        let _ = hostcalls::increment_metric(id, i64::try_from(n).unwrap_or(i64::MAX));
    }
}

/// Sets a gauge.
pub(crate) fn set(name: &str, value: u64) {
    if let Ok(id) = hostcalls::define_metric(MetricType::Gauge, name) {
        let _ = hostcalls::record_metric(id, value);
    }
}

impl Stats {
    pub(crate) fn new(position: &str, classes: &[String]) -> Self {
        let counters: Vec<Option<u32>> =
            Counters::names(position, classes).map(|name| counter(&name)).collect();
        let id = |class: usize, what| counters.get(Counters::index(class, what)).copied().flatten();
        let classes = classes
            .iter()
            .enumerate()
            .map(|(n, class)| Class {
                gauge: hostcalls::define_metric(
                    MetricType::Gauge,
                    &format!("damper.{position}.class.{class}.amplification_permille"),
                )
                .ok(),
                requests: id(n, PerClass::Requests),
                attempts: id(n, PerClass::Attempts),
                then: (0, 0),
            })
            .collect();
        Self { counters, classes, ticks: 0 }
    }

    /// Hands what was counted to Envoy.
    pub(crate) fn flush(&mut self, worker: &mut Worker) {
        worker.counters().drain(|index, n| add(self.counters.get(index).copied().flatten(), n));
        self.ticks += 1;
        if self.ticks.is_multiple_of(SPAN) {
            self.classes.iter_mut().for_each(Class::measure);
        }
    }
}

impl Class {
    /// Attempts for a thousand requests, of all workers, over the last span.
    fn measure(&mut self) {
        let read = |id: Option<u32>| id.and_then(|id| hostcalls::get_metric(id).ok());
        let (Some(gauge), Some(requests), Some(attempts)) =
            (self.gauge, read(self.requests), read(self.attempts))
        else {
            return;
        };
        let then = std::mem::replace(&mut self.then, (requests, attempts));
        let (requests, attempts) =
            (requests.saturating_sub(then.0), attempts.saturating_sub(then.1));
        if let Some(permille) = attempts.saturating_mul(1000).checked_div(requests) {
            let _ = hostcalls::record_metric(gauge, permille);
        }
    }
}
