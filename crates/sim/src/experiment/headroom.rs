//! Hidden capacity: the load below which a system heals by itself, what holds it down above,
//! and which change buys the gap back at what price.

use std::sync::atomic::{AtomicU64, Ordering};

use damper_control::Nanos;
use damper_system::SystemFile;
use damper_system::model::{Load, System};
use rayon::prelude::*;
use thiserror::Error;

use crate::State;
use crate::estimate::Estimate;
use crate::experiment::loops;
use crate::experiment::remedies::Context;
use crate::experiment::search::{Found, Search, search};
use crate::experiment::worst;
use crate::experiment::{Control, REMEDIES, Simulated, SustainingLoop, simulate};
use crate::plan::Plan;
use crate::run::{Conditions, run};

/// Goodput at which a load counts as served, as a share of what is offered.
const SERVED: f64 = 0.99;
/// Errors at every service with a capacity, to price a change.
const TRANSIENT_ERRORS: f64 = 0.01;
/// Requests for one replication of a price.
const PRICE_REQUESTS: f64 = 40_000.0;

/// How much effort goes into it.
#[derive(Clone, Copy, Debug)]
pub struct HeadroomOptions {
    /// Replications behind each estimate of the system as it is.
    pub replications: u32,
    /// Replications behind each estimate of a remedy.
    pub remedy_replications: u32,
    /// Whether remedies are tried.
    pub remedies: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Headroom {
    /// Highest load that is served at 99 % without a trigger; `None`: interrupted, or none is.
    pub advertised: Option<Estimate>,
    /// Highest load from which it recovers after the trigger; `None`: interrupted, or none.
    pub hidden: Option<Estimate>,
    /// It recovers from every load up to the advertised capacity.
    pub heals_everywhere: bool,
    /// Load of the file (mean, where it varies).
    pub load: f64,
    /// The state at that load: stable, vulnerable (metastable, once triggered) or overloaded.
    pub state: HeadroomState,
    /// A run above hidden capacity, to see the loop in.
    pub shown: Option<Simulated>,
    /// Its load.
    pub shown_load: f64,
    /// What holds it down.
    pub looped: Option<SustainingLoop>,
    /// Changes that were tried; the one with the highest hidden capacity first, the cheaper one
    /// among equals.
    pub remedies: Vec<Priced>,
    /// Replications behind each estimate.
    pub replications: u32,
    /// Simulated requests over all runs.
    pub requests: u64,
    /// Interrupted: the rest is missing.
    pub partial: bool,
    /// How the question was understood.
    pub notes: Vec<String>,
}

/// The state at the load of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadroomState {
    /// Below hidden capacity: it heals by itself.
    Stable,
    /// Between hidden and advertised: one trigger away from an outage that outlives it.
    Vulnerable,
    /// Above advertised capacity.
    Overloaded,
    /// Not known: interrupted.
    Unknown,
}

impl HeadroomState {
    /// Its name in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Vulnerable => "vulnerable",
            Self::Overloaded => "overloaded",
            Self::Unknown => "unknown",
        }
    }
}

/// A change and what it is worth.
#[derive(Clone, Debug)]
pub struct Priced {
    /// Its identifier in [`REMEDIES`].
    pub id: &'static str,
    /// In words.
    pub name: &'static str,
    /// The assignments that make it.
    pub set: Vec<String>,
    /// Hidden capacity with it.
    pub hidden: Option<Estimate>,
    /// Advertised capacity with it.
    pub advertised: Option<Estimate>,
    /// Success under 1 % transient errors without overload, before and after.
    pub success: [f64; 2],
    /// Success after minus success before; over the same arrivals and errors.
    pub gain: Estimate,
}

/// Why there can be no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum HeadroomError {
    /// Nothing ever goes wrong in this file.
    #[error(
        "the file has no trigger, and hidden capacity is what a system recovers from: add `triggers:`, e.g. `blip: [{{outage: NAME, for: 2s}}]`"
    )]
    NoTrigger,
    /// Nobody calls.
    #[error("the load is zero: give `load:` a rate, e.g. `100/s` (headroom varies it)")]
    NoLoad,
    /// No service has a capacity.
    #[error(
        "no service that requests reach has a capacity: give one `workers:` with a `service_time:`, or a `rate_limit:`"
    )]
    NoCapacity,
    /// The trigger runs into the warm-up or the measurement is empty.
    #[error("experiment.watch is zero: recovery can only be seen by watching")]
    NoWatch,
}

/// Finds advertised and hidden capacity, the loop, and the remedies.
///
/// # Errors
/// [`HeadroomError`] when the settings of the file cannot give an answer.
pub fn headroom(
    file: &SystemFile,
    system: &System,
    options: &HeadroomOptions,
    control: &Control<'_>,
) -> Result<Headroom, HeadroomError> {
    let mut notes = Vec::new();
    let system = constant_load(system, &mut notes);
    let probe = Probe::new(&system)?;
    let mut result = Headroom {
        advertised: None,
        hidden: None,
        heals_everywhere: false,
        load: system.total_load(),
        state: HeadroomState::Unknown,
        shown: None,
        shown_load: 0.0,
        looped: None,
        remedies: Vec::new(),
        replications: options.replications,
        requests: 0,
        partial: false,
        notes,
    };
    probe.measure(&mut result, options, control);
    if options.remedies
        && let (Some(looped), Some(hidden)) = (&result.looped, result.hidden)
    {
        let base = Base { file, system: &system, probe: &probe, looped, hidden: hidden.mean };
        result.remedies = base.try_remedies(options, control);
    }
    result.requests = probe.requests.load(Ordering::Relaxed);
    result.partial = control.stopped();
    Ok(result)
}

/// A load that varies has no single headroom: its mean takes its place.
fn constant_load(system: &System, notes: &mut Vec<String>) -> System {
    let mut system = system.clone();
    for (load, class) in system.load.iter_mut().zip(&system.classes) {
        if !matches!(load, Load::Constant(_)) {
            notes.push(format!(
                "the load of `{class}` varies over time; headroom takes its mean, {:.4}/s",
                load.mean()
            ));
            *load = Load::Constant(load.mean());
        }
    }
    system
}

/// Asks a system questions by running it.
struct Probe {
    plan: Plan,
    recover: Conditions,
    sustain: Conditions,
    /// Nothing above can be served.
    ceiling: f64,
    guess: f64,
    requests: AtomicU64,
}

impl Probe {
    fn new(system: &System) -> Result<Self, HeadroomError> {
        if system.total_load() <= 0.0 {
            return Err(HeadroomError::NoLoad);
        }
        let ceiling = worst::ceiling(system).ok_or(HeadroomError::NoCapacity)?;
        let plan = Plan::new(system);
        let mut recover = Conditions::of(&plan);
        let (_, trigger_end) = recover.trigger_span(&plan).ok_or(HeadroomError::NoTrigger)?;
        if recover.watch == 0 {
            return Err(HeadroomError::NoWatch);
        }
        recover.early = true;
        // `watch` is what one is willing to look at; an open case is looked at longer.
        recover.end = trigger_end.saturating_add(recover.watch.saturating_mul(8));
        // Long enough for a queue that grows by 1 % to show, and for its fluctuations.
        let seconds = (200_000.0 / ceiling).clamp(60.0, 300.0);
        let length = Nanos::from_secs_f64(seconds).0.max(10 * plan.loop_time().min(recover.watch));
        let sustain = Conditions {
            trigger: None,
            end: recover.warmup.saturating_add(length),
            may_fail: 1.0 - SERVED,
            ..recover.clone()
        };
        let guess = worst::hidden(system).unwrap_or(ceiling).min(ceiling);
        Ok(Self { plan, recover, sustain, ceiling, guess, requests: AtomicU64::new(0) })
    }

    fn run(
        &self,
        conditions: &Conditions,
        replication: u32,
        control: &Control<'_>,
    ) -> crate::Outcome {
        let outcome = run(&self.plan, conditions, replication, control.stop);
        self.requests.fetch_add(outcome.requests, Ordering::Relaxed);
        outcome
    }

    /// The factors that bring the whole load to `total`: for all classes, or for the one that
    /// the experiment varies.
    fn factors(&self, total: f64) -> Vec<f64> {
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

    fn at(&self, conditions: &Conditions, load: f64) -> Conditions {
        Conditions { load_factors: self.factors(load), ..conditions.clone() }
    }

    fn sustains(&self, load: f64, replication: u32, control: &Control<'_>) -> bool {
        let o = self.run(&self.at(&self.sustain, load), replication, control);
        let (offered, good) = o.served;
        o.verdict.state == State::Stable && good as f64 >= SERVED * offered as f64
    }

    fn recovers(&self, load: f64, replication: u32, control: &Control<'_>) -> bool {
        let o = self.run(&self.at(&self.recover, load), replication, control);
        o.verdict.state == State::Stable
    }

    fn find_advertised(
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

    fn find_hidden(
        &self,
        guess: f64,
        ceiling: f64,
        replications: u32,
        resolution: f64,
        name: &str,
        control: &Control<'_>,
    ) -> Option<Found> {
        let holds = |load: f64, replication: u32| self.recovers(load, replication, control);
        search(&Search { holds: &holds, guess, ceiling, resolution, replications, name }, control)
    }

    fn measure(&self, result: &mut Headroom, options: &HeadroomOptions, control: &Control<'_>) {
        let n = options.replications.max(1);
        let advertised = self.find_advertised(n, 0.005, "advertised capacity", control);
        result.advertised = advertised.map(|f| f.estimate);
        let Some(top) = result.advertised else { return };
        // Just below the top a system may fall over without any trigger: look a little lower.
        let ceiling = top.ci95[0].min(top.mean) * 0.98;
        let hidden = self.find_hidden(self.guess, ceiling, n, 0.005, "hidden capacity", control);
        result.heals_everywhere = hidden.is_some_and(|f| f.at_ceiling);
        result.hidden = hidden.map(|f| if f.at_ceiling { top } else { f.estimate });
        result.state = match result.hidden {
            _ if result.load > top.mean => HeadroomState::Overloaded,
            Some(h) if result.load > h.mean => HeadroomState::Vulnerable,
            None if control.stopped() => HeadroomState::Unknown,
            None => HeadroomState::Vulnerable,
            Some(_) => HeadroomState::Stable,
        };
        let hidden_load = result.hidden.map_or(0.0, |h| h.mean);
        let inside = result.load > hidden_load * 1.02;
        result.shown_load = if inside || result.heals_everywhere {
            result.load
        } else {
            (hidden_load + top.mean) / 2.0
        };
        let mut conditions = self.at(&Conditions::of(&self.plan), result.shown_load);
        conditions.early = false;
        (control.progress)("the run that is shown", 0, 1);
        let shown = simulate(
            &self.plan,
            &conditions,
            1,
            &Control { stop: control.stop, progress: &|_, _, _| {} },
        );
        self.requests.fetch_add(shown.requests, Ordering::Relaxed);
        if shown.verdict().state != State::Stable {
            let after = self.recover.trigger_span(&self.plan).map_or(0, |(_, end)| end);
            result.looped = loops::find(&self.plan, &shown, after);
        }
        result.shown = Some(shown);
    }

    /// Success under transient errors, by replication, at a load without overload.
    fn success(&self, load: f64, replications: u32, control: &Control<'_>) -> Vec<f64> {
        let length = Nanos::from_secs_f64((PRICE_REQUESTS / load).min(1e6)).0;
        let mut conditions = self.at(&self.sustain, load);
        conditions.error_floor = TRANSIENT_ERRORS;
        conditions.early = false;
        conditions.end = conditions.warmup.saturating_add(length);
        let one = |replication| {
            let o = self.run(&conditions, replication, control);
            let good: u64 = o.classes.iter().map(crate::ClassStats::good).sum();
            let ended: u64 = o.classes.iter().map(crate::ClassStats::ended_all).sum();
            good as f64 / ended.max(1) as f64
        };
        (0..replications.max(2)).into_par_iter().map(one).collect()
    }
}

/// The system as it is, for comparison.
struct Base<'a> {
    file: &'a SystemFile,
    system: &'a System,
    probe: &'a Probe,
    looped: &'a SustainingLoop,
    hidden: f64,
}

impl Base<'_> {
    fn try_remedies(&self, options: &HeadroomOptions, control: &Control<'_>) -> Vec<Priced> {
        let context = Context { file: self.file, system: self.system, looped: self.looped };
        let proposals: Vec<_> =
            REMEDIES.iter().filter_map(|r| (r.propose)(&context).map(|set| (r, set))).collect();
        let load = self.hidden / 2.0;
        let n = options.remedy_replications.max(1);
        let before = self.probe.success(load, n, control);
        let total = proposals.len() as u64;
        let done = AtomicU64::new(0);
        (control.progress)("remedies", 0, total);
        let quiet = Control { stop: control.stop, progress: &|_, _, _| {} };
        let mut priced: Vec<Priced> = proposals
            .into_par_iter()
            .filter_map(|(remedy, set)| {
                let mut file = self.file.clone();
                let system =
                    set.iter().all(|s| file.set(s).is_ok()).then(|| file.lower().ok()).flatten()?;
                let probe = Probe::new(&constant_load(&system, &mut Vec::new())).ok()?;
                let advertised = probe.find_advertised(1, 0.01, "", &quiet);
                let hidden = advertised.and_then(|top| {
                    let ceiling = top.estimate.mean * 0.98;
                    let found = probe.find_hidden(probe.guess, ceiling, n, 0.02, "", &quiet)?;
                    Some(if found.at_ceiling { top.estimate } else { found.estimate })
                });
                let after = probe.success(load, n, &quiet);
                self.probe
                    .requests
                    .fetch_add(probe.requests.load(Ordering::Relaxed), Ordering::Relaxed);
                let gains: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
                (control.progress)("remedies", done.fetch_add(1, Ordering::Relaxed) + 1, total);
                (!control.stopped()).then(|| Priced {
                    id: remedy.id,
                    name: remedy.name,
                    set,
                    hidden,
                    advertised: advertised.map(|f| f.estimate),
                    success: [Estimate::of(&before).mean, Estimate::of(&after).mean],
                    gain: Estimate::of(&gains),
                })
            })
            .collect();
        // Within the resolution of the search two remedies are worth the same: cheaper first.
        let worth = |p: &Priced| p.hidden.map_or(i64::MIN, |h| (h.mean.ln() / 0.05) as i64);
        priced.sort_by(|a, b| {
            worth(b).cmp(&worth(a)).then_with(|| b.gain.mean.total_cmp(&a.gain.mean))
        });
        priced
    }
}

impl Priced {
    /// What it does to the loop, in words, against the hidden capacity of the system as it is.
    #[must_use]
    pub fn verdict(&self, before: Option<Estimate>) -> &'static str {
        let (Some(before), Some(after), Some(top)) = (before, self.hidden, self.advertised) else {
            return "no answer";
        };
        let apart = after.ci95[0] > before.ci95[1] || after.ci95[1] < before.ci95[0];
        match after.mean / before.mean {
            _ if after.mean >= 0.95 * top.mean => "removes the loop",
            r if r > 1.1 && apart => "weakens the loop",
            r if r < 0.95 && apart => "makes it worse",
            _ if self.id == "backoff" => "only reschedules it",
            _ => "leaves the loop",
        }
    }
}
