//! Asks a system questions by running it: does it serve this load, does it recover from it, and
//! how much of it succeeds under transient errors.

use std::sync::atomic::{AtomicU64, Ordering};

use damper_control::Nanos;
use damper_system::model::System;
use rayon::prelude::*;

use crate::experiment::headroom::HeadroomError;
use crate::experiment::search::{Found, Search, search};
use crate::experiment::{Control, worst};
use crate::plan::Plan;
use crate::run::{Conditions, Ending, run};
use crate::{ClassStats, Estimate, Outcome, State};

/// Goodput at which a load counts as served, as a share of what is offered.
const SERVED: f64 = 0.99;
/// Errors at every service with a capacity, to price a change.
const TRANSIENT_ERRORS: f64 = 0.01;
/// Requests for one replication of a price.
const PRICE_REQUESTS: f64 = 40_000.0;
/// Open attempts at which a run is taken as one that does not recover.
const MOST_OPEN_EARLY: usize = 1_000_000;
/// `watch` is what one is willing to look at; an open case is looked at this many times longer.
const PATIENCE: u64 = 4;
/// Hidden capacity is looked for up to this share of the advertised capacity: just below that a
/// system may fall over without any trigger.
const BELOW_ADVERTISED: f64 = 0.98;

/// Asks a system questions by running it.
pub(crate) struct Probe {
    pub(crate) plan: Plan,
    pub(crate) recover: Conditions,
    sustain: Conditions,
    /// Nothing above can be served.
    ceiling: f64,
    guess: f64,
    /// Simulated requests so far.
    pub(crate) requests: AtomicU64,
    /// Runs that were given up because more attempts were open than are simulated.
    pub(crate) cut: AtomicU64,
}

impl Probe {
    pub(crate) fn new(system: &System) -> Result<Self, HeadroomError> {
        if system.total_load() <= 0.0 {
            return Err(HeadroomError::NoLoad);
        }
        let ceiling = worst::ceiling(system).ok_or(HeadroomError::NoCapacity)?;
        let plan = Plan::new(system);
        let mut recover = Conditions::of(&plan);
        let off = if system.triggers.is_empty() {
            HeadroomError::NoTrigger
        } else {
            HeadroomError::TriggerOff
        };
        let (_, trigger_end) = recover.trigger_span(&plan).ok_or(off)?;
        if recover.watch == 0 {
            return Err(HeadroomError::NoWatch);
        }
        recover.early = true;
        recover.most_open = MOST_OPEN_EARLY;
        recover.end = trigger_end.saturating_add(recover.watch.saturating_mul(PATIENCE));
        // Long enough for a queue that grows by 1 % to show, and for its fluctuations.
        let seconds = (200_000.0 / ceiling).clamp(60.0, 300.0);
        let length = Nanos::from_secs_f64(seconds).0.max(10 * plan.loop_time().min(recover.watch));
        let sustain = Conditions {
            trigger: None,
            // Nothing goes wrong, so that no operator pulls a lever.
            trigger_at: u64::MAX,
            end: recover.warmup.saturating_add(length),
            may_fail: 1.0 - SERVED,
            ..recover.clone()
        };
        let guess = worst::hidden(system).unwrap_or(ceiling).min(ceiling);
        Ok(Self {
            plan,
            recover,
            sustain,
            ceiling,
            guess,
            requests: AtomicU64::new(0),
            cut: AtomicU64::new(0),
        })
    }

    pub(crate) fn run(
        &self,
        conditions: &Conditions,
        replication: u32,
        control: &Control<'_>,
    ) -> Outcome {
        let outcome = run(&self.plan, conditions, replication, control.stop);
        self.requests.fetch_add(outcome.requests, Ordering::Relaxed);
        self.cut.fetch_add(u64::from(outcome.ending == Ending::TooManyOpen), Ordering::Relaxed);
        outcome
    }

    /// The factors that bring the whole load to `total`: for all classes, or for the one that
    /// the experiment varies.
    pub(crate) fn factors(&self, total: f64) -> Vec<f64> {
        let system = self.plan.system();
        let now = system.total_load();
        let Some(class) = system.experiment.vary.map(usize::from) else {
            return vec![total / now; system.load.len()];
        };
        let own = system.load[class].mean();
        let mut factors = vec![1.0; system.load.len()];
        factors[class] = ((total - (now - own)) / own).max(0.0);
        factors
    }

    pub(crate) fn at(&self, conditions: &Conditions, load: f64) -> Conditions {
        Conditions { load_factors: self.factors(load), ..conditions.clone() }
    }

    pub(crate) fn sustains(&self, load: f64, replication: u32, control: &Control<'_>) -> bool {
        let o = self.run(&self.at(&self.sustain, load), replication, control);
        let (offered, good) = o.served;
        o.verdict.state == State::Stable && good as f64 >= SERVED * offered as f64
    }

    pub(crate) fn recovers(&self, load: f64, replication: u32, control: &Control<'_>) -> bool {
        let o = self.run(&self.at(&self.recover, load), replication, control);
        o.verdict.state == State::Stable
    }

    pub(crate) fn find_advertised(
        &self,
        replications: u32,
        resolution: f64,
        name: &str,
        control: &Control<'_>,
    ) -> Option<Found> {
        let holds = |load: f64, replication: u32| self.sustains(load, replication, control);
        let s = Search {
            holds: &holds,
            guess: self.ceiling * 0.99,
            ceiling: self.ceiling * 1.02,
            resolution,
            replications,
            name,
        };
        search(&s, control)
    }

    /// Hidden capacity under an advertised one; the advertised one itself if the system heals from
    /// every load that is tried.
    pub(crate) fn find_hidden(
        &self,
        advertised: Estimate,
        replications: u32,
        resolution: f64,
        name: &str,
        control: &Control<'_>,
    ) -> Option<Found> {
        let ceiling = advertised.mean * BELOW_ADVERTISED;
        // A system without a loop heals at the very top, and to see that takes one run each. All
        // of them, whatever they say: how many runs there are must not depend on threads.
        let recovers: Vec<bool> = (0..replications)
            .into_par_iter()
            .map(|replication| self.recovers(ceiling, replication, control))
            .collect();
        if recovers.iter().all(|r| *r) && !control.stopped() {
            return Some(Found { estimate: advertised, at_ceiling: true });
        }
        let holds = |load: f64, replication: u32| self.recovers(load, replication, control);
        let guess = self.guess;
        let found = search(
            &Search { holds: &holds, guess, ceiling, resolution, replications, name },
            control,
        )?;
        Some(if found.at_ceiling { Found { estimate: advertised, ..found } } else { found })
    }

    /// Success under transient errors, by replication, at a load without overload.
    pub(crate) fn success(&self, load: f64, replications: u32, control: &Control<'_>) -> Vec<f64> {
        let length = Nanos::from_secs_f64((PRICE_REQUESTS / load).min(1e6)).0;
        let mut conditions = self.at(&self.sustain, load);
        conditions.error_floor = TRANSIENT_ERRORS;
        conditions.early = false;
        conditions.end = conditions.warmup.saturating_add(length);
        let one = |replication| {
            let o = self.run(&conditions, replication, control);
            let good: u64 = o.classes.iter().map(ClassStats::good).sum();
            let ended: u64 = o.classes.iter().map(ClassStats::ended_all).sum();
            good as f64 / ended.max(1) as f64
        };
        (0..replications.max(2)).into_par_iter().map(one).collect()
    }
}
