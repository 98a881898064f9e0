//! One experiment over several replications.

use rayon::prelude::*;

use crate::estimate::Estimate;
use crate::experiment::{AttemptsPerRequest, Control};
use crate::plan::Plan;
use crate::run::{Conditions, Outcome, run};
use crate::stats::{ClassStats, EdgeStats, Point, Series, ServiceStats};
use crate::{State, Verdict};

/// All replications of an experiment together. Counts are sums.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// By replication.
    pub verdicts: Vec<Verdict>,
    /// By class.
    pub classes: Vec<ClassStats>,
    /// Share of the ended requests that were not good, by class.
    pub rejection: Vec<Estimate>,
    /// Attempts over offered requests, of all services with a capacity and of each.
    pub attempts: AttemptsPerRequest,
    /// By service.
    pub services: Vec<ServiceStats>,
    /// By edge.
    pub edges: Vec<EdgeStats>,
    /// The first replication over time.
    pub series: Series,
    /// Simulated nanoseconds after the warm-up.
    pub measured: u64,
    /// Requests that arrived, warm-up included.
    pub requests: u64,
    /// Simulated events.
    pub events: u64,
    /// Whether it was interrupted.
    pub partial: bool,
}

impl Simulated {
    /// The verdict of most replications, with the median recovery; the worse one in a tie.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let votes = |state| self.verdicts.iter().filter(|v| v.state == state).count();
        let order = [State::Overloaded, State::Metastable, State::Stable, State::Undecided];
        let state = order.into_iter().rev().max_by_key(|s| votes(*s)).unwrap_or(State::Undecided);
        let mut of_state: Vec<&Verdict> =
            self.verdicts.iter().filter(|v| v.state == state).collect();
        of_state.sort_by_key(|v| v.recovery);
        match of_state.get(of_state.len() / 2) {
            Some(median) => (*median).clone(),
            None => Verdict {
                state: State::Undecided,
                recovery: None,
                projected: false,
                reason: "interrupted before it could be told".to_owned(),
            },
        }
    }

    /// Attempts at a service over what it would receive if nobody retried and caches were warm.
    #[must_use]
    pub fn amplification(&self, plan: &Plan, service: usize) -> f64 {
        let attempts: u64 = self.services[service].attempts.iter().sum();
        let needed: f64 =
            self.classes.iter().zip(&plan.floor).map(|(c, f)| c.offered as f64 * f[service]).sum();
        if needed > 0.0 { attempts as f64 / needed } else { 0.0 }
    }

    /// Mean share of a service's capacity in use: busy workers, or rate limit taken up.
    #[must_use]
    pub fn utilisation(&self, plan: &Plan, service: usize) -> f64 {
        let s = &plan.system().services[service];
        let stats = &self.services[service];
        let span = self.measured.max(1) as f64;
        let workers = s.workers.map(|w| {
            let all = if stats.there > 0.0 {
                f64::from(w) * stats.there
            } else {
                f64::from(w) * f64::from(s.instances) * span
            };
            stats.busy / all
        });
        let accepted = stats.attempts.iter().sum::<u64>() - stats.rejected;
        let limit = s.rate_limit.map(|l| accepted as f64 / (l.rate * span / 1e9));
        workers.into_iter().chain(limit).fold(0.0, f64::max)
    }

    /// Attempts per request at services with a capacity, and what a healthy system needs.
    #[must_use]
    pub fn calls_per_request(&self, plan: &Plan) -> (f64, f64) {
        let limited =
            || plan.services.iter().enumerate().filter(|(_, s)| s.limited).map(|(i, _)| i);
        let attempts: u64 = limited().map(|s| self.services[s].attempts.iter().sum::<u64>()).sum();
        let offered: u64 = self.classes.iter().map(|c| c.offered).sum();
        let needed: f64 = self
            .classes
            .iter()
            .zip(&plan.floor)
            .map(|(c, f)| c.offered as f64 * limited().map(|s| f[s]).sum::<f64>())
            .sum();
        let requests = offered.max(1) as f64;
        (attempts as f64 / requests, needed / requests)
    }

    /// Replications that recovered, or were never down.
    #[must_use]
    pub fn recovered(&self) -> usize {
        self.verdicts.iter().filter(|v| v.state == State::Stable).count()
    }
}

/// Runs `replications` of an experiment, in parallel.
#[must_use]
pub fn simulate(
    plan: &Plan,
    conditions: &Conditions,
    replications: u32,
    control: &Control<'_>,
) -> Simulated {
    let done = std::sync::atomic::AtomicU64::new(0);
    let total = u64::from(replications.max(1));
    (control.progress)("simulating", 0, total);
    let outcomes: Vec<Outcome> = (0..replications.max(1))
        .into_par_iter()
        .map(|replication| {
            let outcome = run(plan, conditions, replication, control.stop);
            let n = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            (control.progress)("simulating", n, total);
            outcome
        })
        .collect();
    merge(plan, outcomes, conditions.warmup, control.stopped())
}

fn merge(plan: &Plan, outcomes: Vec<Outcome>, warmup: u64, partial: bool) -> Simulated {
    let classes = outcomes.first().map_or(0, |o| o.classes.len());
    let rejection = (0..classes).map(|class| rejection(&outcomes, class, warmup)).collect();
    let limited: Vec<bool> = plan.services.iter().map(|s| s.limited).collect();
    let attempts = AttemptsPerRequest::of(&limited, &outcomes, warmup);
    let mut outcomes = outcomes.into_iter();
    let Some(first) = outcomes.next() else { unreachable!("at least one replication") };
    let mut all = Simulated {
        verdicts: vec![first.verdict],
        classes: first.classes,
        rejection,
        attempts,
        services: first.services,
        edges: first.edges,
        series: first.series,
        measured: first.measured,
        requests: first.requests,
        events: first.events,
        partial,
    };
    for o in outcomes {
        all.verdicts.push(o.verdict);
        all.classes.iter_mut().zip(&o.classes).for_each(|(a, b)| a.absorb(b));
        all.services.iter_mut().zip(&o.services).for_each(|(a, b)| a.absorb(b));
        all.edges.iter_mut().zip(&o.edges).for_each(|(a, b)| a.absorb(b));
        all.measured += o.measured;
        all.requests += o.requests;
        all.events += o.events;
    }
    all
}

/// Over replications, or, if there is one, over twenty batches of it in time.
fn rejection(outcomes: &[Outcome], class: usize, warmup: u64) -> Estimate {
    let share = |good: u64, ended: u64| 1.0 - good as f64 / ended.max(1) as f64;
    if let [only] = outcomes {
        let stats = &only.classes[class];
        let mean = share(stats.good(), stats.ended_all());
        let batches: Vec<f64> = batches(&only.series, warmup)
            .map(|batch| {
                batch.iter().map(|p| p.classes[class]).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
            })
            .filter(|(ended, _)| *ended > 0)
            .map(|(ended, good)| share(good, ended))
            .collect();
        let spread = Estimate::of(&batches);
        let half = (spread.ci95[1] - spread.ci95[0]) / 2.0;
        return Estimate { mean, ci95: [(mean - half).max(0.0), (mean + half).min(1.0)] };
    }
    let shares: Vec<f64> = outcomes
        .iter()
        .map(|o| share(o.classes[class].good(), o.classes[class].ended_all()))
        .collect();
    let e = Estimate::of(&shares);
    Estimate { mean: e.mean, ci95: [e.ci95[0].max(0.0), e.ci95[1].min(1.0)] }
}

/// The measured part of a run in twenty pieces, for the error of a single one.
pub(super) fn batches(series: &Series, warmup: u64) -> impl Iterator<Item = &[Point]> {
    let points = &series.points;
    let measured = (warmup.div_ceil(series.interval) as usize).min(points.len());
    let points = &points[measured..];
    points.chunks(points.len().div_ceil(20).max(1))
}
