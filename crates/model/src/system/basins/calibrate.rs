//! The numbers of a chain from a system file.

use damper_control::{Backoff, Jitter};
use damper_system::System;
use damper_system::model::Dist;

use super::super::{Solved, paths};
use crate::chain::Storm;

/// A service as a chain.
pub(super) struct Calibrated {
    pub(super) service: usize,
    pub(super) storm: Storm,
    /// Whether its queue has an end.
    pub(super) bounded: bool,
    pub(super) notes: Vec<String>,
}

/// More retries than this are those of several layers.
const MOST_RETRIES: f64 = 16.0;
/// More variable services than this are taken for this: their variance may not even exist.
const MOST_SPREAD: f64 = 25.0;

/// The weakest service, or why there is none.
pub(super) fn of(system: &System, solved: &Solved) -> Result<Calibrated, String> {
    let none = |why: &str| Err(format!("no loop in this system: nothing to draw ({why})"));
    let Some(index) = solved.weakest else {
        return none(
            "no service does work whose caller has gone, as far as a closed form can tell",
        );
    };
    let service = &system.services[index];
    let name = &service.name;
    if system.caches.iter().any(|cache| cache.store.0 as usize == index) {
        return Err(format!(
            "the loop at `{name}` goes through a cache, whose filling is not in this chain; simulate it"
        ));
    }
    let (Some(capacity), Some((visits, timeout))) =
        (service.capacity(), paths::demand(system, index))
    else {
        return none("no caller of the weakest service gives up");
    };
    let Some(hidden) = solved.services[index].hidden_rps.filter(|h| *h > 0.0) else {
        return none("the weakest service has no hidden capacity in closed form");
    };
    let retries = capacity / (visits * hidden) - 1.0;
    if retries <= 1e-9 {
        return none("nobody tries again while everything times out");
    }
    if retries > MOST_RETRIES {
        return Err(format!(
            "retries on the way to `{name}` multiply to {retries:.0}: how those of several layers \
             follow each other is not in this chain; simulate it"
        ));
    }
    let mut notes = Vec::new();
    if system.services.len() > 1 {
        notes.push(format!(
            "only `{name}` is drawn, the weakest service; retries on all ways to it are counted as its callers'"
        ));
    }
    let workers = service.workers.unwrap_or(1).saturating_mul(service.instances.max(1));
    let spread = spread(&service.service_time);
    if spread > MOST_SPREAD {
        notes.push(format!(
            "the service time of `{name}` varies too much for a chain: taken for a squared coefficient of variation of {MOST_SPREAD}"
        ));
    }
    let queue = service.queue.map(|q| u64::from(q) * u64::from(service.instances.max(1)));
    let storm = Storm {
        arrival_rate: system.total_load() * visits,
        service_rate: capacity / f64::from(workers),
        workers: workers as usize,
        spread: spread.min(MOST_SPREAD),
        timeout,
        pause: pause(system, index, retries),
        retries,
        // Replaced by the caller where there is no end.
        room: queue.map_or(usize::MAX >> 1, |q| workers as usize + q as usize),
    };
    Ok(Calibrated { service: index, storm, bounded: queue.is_some(), notes })
}

/// The room of a chain for a queue without an end: what a trigger left, and two time-outs' work
/// beyond the point where it tips.
pub(super) fn room(storm: &Storm, left: f64) -> usize {
    let tips = storm.tipping().map_or(0.0, |point| point.queue);
    let patience = storm.patience();
    let wanted = match storm.tipping() {
        Some(_) => tips + 2.0 * patience,
        None => f64::max(2.0 * patience, 1.5 * left),
    };
    (wanted.ceil().clamp(1.0, 1e6) as usize).max(storm.workers + 1)
}

/// The mean pause before a retry of those who call the service, over the retries of one request.
fn pause(system: &System, service: usize, retries: f64) -> f64 {
    let edges = system.policies.edges.iter();
    let callers = edges.filter(|e| system.server_of(e.target).0 as usize == service);
    let policy = callers.map(|e| &e.policy).max_by_key(|p| p.retry.limits.max());
    let count = (retries.ceil() as u32).clamp(1, 64);
    policy.map_or(0.0, |policy| {
        (1..=count).map(|n| mean_delay(&policy.retry.backoff, n)).sum::<f64>() / f64::from(count)
    })
}

/// The mean of one delay; decorrelated forms are taken at their nominal delay.
fn mean_delay(backoff: &Backoff, n: u32) -> f64 {
    let share = match backoff.jitter {
        Jitter::Full | Jitter::WholeMillis => 0.5,
        Jitter::Equal => 0.75,
        Jitter::Above(percent) => 1.0 + f64::from(percent) / 200.0,
        _ => 1.0,
    };
    share * backoff.nominal(n).as_secs_f64()
}

/// The squared coefficient of variation.
fn spread(dist: &Dist) -> f64 {
    match dist {
        Dist::Deterministic(_) => 0.0,
        Dist::Exponential(_) => 1.0,
        Dist::Erlang { stages, .. } => 1.0 / f64::from(*stages),
        Dist::Lognormal { cv, .. } | Dist::Hyperexponential { cv, .. } => cv * cv,
        Dist::Pareto { alpha, .. } if *alpha > 2.0 => 1.0 / (alpha * (alpha - 2.0)),
        Dist::Pareto { .. } => f64::INFINITY,
        Dist::Empirical(values) => {
            let weight: f64 = values.iter().map(|(_, w)| w).sum();
            let moment = |power: f64| {
                let terms = values.iter().map(|(t, w)| libm::pow(t.as_secs_f64(), power) * w);
                terms.sum::<f64>() / weight
            };
            let mean = moment(1.0);
            if mean > 0.0 { (moment(2.0) / (mean * mean) - 1.0).max(0.0) } else { 0.0 }
        }
    }
}
