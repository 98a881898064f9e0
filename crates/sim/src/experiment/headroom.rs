//! Hidden capacity: the load below which a system heals by itself, what holds it down above,
//! and which change buys the gap back at what price.

use std::sync::atomic::{AtomicU64, Ordering};

use damper_system::SystemFile;
use damper_system::model::{Load, System};
use rayon::prelude::*;
use thiserror::Error;

use crate::State;
use crate::estimate::Estimate;
use crate::experiment::loops;
use crate::experiment::probe::Probe;
use crate::experiment::remedies::Context;
use crate::experiment::{Control, REMEDIES, Remedy, Simulated, SustainingLoop, simulate};
use crate::run::Conditions;

/// Relative resolution of the search for the system as it is, and for a remedy.
const RESOLUTION: f64 = 0.005;
const REMEDY_RESOLUTION: f64 = 0.02;

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
    /// Some runs were cut short at a million open attempts: hidden capacity may be higher.
    pub at_least: bool,
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
    /// The experiment takes none of the triggers that there are.
    #[error(
        "experiment.trigger is none, and hidden capacity is what a system recovers from: name a trigger, or leave the key out for the first one"
    )]
    TriggerOff,
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
    let system = constant_load(system, "headroom", &mut notes);
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
    measure(&probe, &mut result, options, control);
    if options.remedies
        && let (Some(looped), Some(advertised), Some(hidden)) =
            (&result.looped, result.advertised, result.hidden)
    {
        let base =
            Base { file, system: &system, probe: &probe, looped, advertised, hidden: hidden.mean };
        result.remedies = base.try_remedies(options, control);
    }
    result.requests = probe.requests.load(Ordering::Relaxed);
    result.partial = control.stopped();
    Ok(result)
}

/// A load that varies has no single headroom, nor one rate of anything: its mean takes its place, and
/// a note says who took it.
pub(super) fn constant_load(system: &System, who: &str, notes: &mut Vec<String>) -> System {
    let mut system = system.clone();
    for (load, class) in system.load.iter_mut().zip(&system.classes) {
        if !matches!(load, Load::Constant(_)) {
            notes.push(format!(
                "the load of `{class}` varies over time; {who} takes its mean, {:.4}/s",
                load.mean()
            ));
            *load = Load::Constant(load.mean());
        }
    }
    system
}

/// Fills in everything but the remedies.
fn measure(probe: &Probe, result: &mut Headroom, options: &HeadroomOptions, control: &Control<'_>) {
    let n = options.replications.max(1);
    let advertised = probe.find_advertised(n, RESOLUTION, "advertised capacity", control);
    result.advertised = advertised.map(|f| f.estimate);
    let Some(top) = result.advertised else { return };
    let hidden = probe.find_hidden(top, n, RESOLUTION, "hidden capacity", control);
    result.heals_everywhere = hidden.is_some_and(|f| f.at_ceiling);
    result.hidden = hidden.map(|f| f.estimate);
    result.state = match result.hidden {
        _ if result.load > top.mean => HeadroomState::Overloaded,
        Some(h) if result.load > h.mean => HeadroomState::Vulnerable,
        None if control.stopped() => HeadroomState::Unknown,
        None => HeadroomState::Vulnerable,
        Some(_) => HeadroomState::Stable,
    };
    if probe.cut.load(Ordering::Relaxed) > 0 {
        result.notes.push(CUT_NOTE.to_owned());
    }
    let hidden_load = result.hidden.map_or(0.0, |h| h.mean);
    let inside = result.load > hidden_load * 1.02;
    result.shown_load = if inside || result.heals_everywhere {
        result.load
    } else {
        (hidden_load + top.mean) / 2.0
    };
    let conditions = probe.at(&Conditions::of(&probe.plan), result.shown_load);
    (control.progress)("the run that is shown", 0, 1);
    let quiet = Control { stop: control.stop, progress: &|_, _, _| {} };
    let shown = simulate(&probe.plan, &conditions, 1, &quiet);
    probe.requests.fetch_add(shown.requests, Ordering::Relaxed);
    if shown.verdict().state != State::Stable {
        let after = probe.recover.trigger_span(&probe.plan).map_or(0, |(_, end)| end);
        result.looped = loops::find(&probe.plan, &shown, after);
    }
    result.shown = Some(shown);
}

/// Said when it happened; the capacities found are then bounds from below.
const CUT_NOTE: &str =
    "some runs were given up with a million attempts open and count as not recovering";

/// The system as it is, for comparison.
struct Base<'a> {
    file: &'a SystemFile,
    system: &'a System,
    probe: &'a Probe,
    looped: &'a SustainingLoop,
    advertised: Estimate,
    hidden: f64,
}

impl Base<'_> {
    fn try_remedies(&self, options: &HeadroomOptions, control: &Control<'_>) -> Vec<Priced> {
        let context = Context { file: self.file, system: self.system, looped: self.looped };
        let proposals: Vec<_> =
            REMEDIES.iter().filter_map(|r| (r.propose)(&context).map(|set| (r, set))).collect();
        let n = options.remedy_replications.max(1);
        let before = self.probe.success(self.hidden / 2.0, n, control);
        let total = proposals.len() as u64;
        let done = AtomicU64::new(0);
        (control.progress)("remedies", 0, total);
        let mut priced: Vec<Priced> = proposals
            .into_par_iter()
            .filter_map(|(remedy, set)| {
                let priced = self.try_remedy(remedy, set, n, &before, control);
                let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                (control.progress)("remedies", n, total);
                priced
            })
            .collect();
        // Within the resolution of the search two remedies are worth the same: cheaper first.
        let worth = |p: &Priced| p.hidden.map_or(i64::MIN, |h| (h.mean.ln() / 0.05) as i64);
        priced.sort_by(|a, b| {
            worth(b).cmp(&worth(a)).then_with(|| b.gain.mean.total_cmp(&a.gain.mean))
        });
        priced
    }

    /// `None` when interrupted, or if the changed file makes no sense.
    fn try_remedy(
        &self,
        remedy: &Remedy,
        set: Vec<String>,
        n: u32,
        before: &[f64],
        control: &Control<'_>,
    ) -> Option<Priced> {
        let mut file = self.file.clone();
        let applied = set.iter().all(|s| file.set(s).is_ok());
        let system = applied.then(|| file.lower().ok()).flatten()?;
        let probe = Probe::new(&constant_load(&system, "headroom", &mut Vec::new())).ok()?;
        let quiet = Control { stop: control.stop, progress: &|_, _, _| {} };
        // Most changes leave the advertised capacity alone, and to see that takes one run.
        let advertised =
            if probe.sustains(self.advertised.mean * (1.0 - REMEDY_RESOLUTION), 0, &quiet) {
                Some(self.advertised)
            } else {
                probe.find_advertised(1, REMEDY_RESOLUTION / 2.0, "", &quiet).map(|f| f.estimate)
            };
        let hidden =
            advertised.and_then(|top| probe.find_hidden(top, n, REMEDY_RESOLUTION, "", &quiet));
        let after = probe.success(self.hidden / 2.0, n, &quiet);
        self.probe.requests.fetch_add(probe.requests.load(Ordering::Relaxed), Ordering::Relaxed);
        let gains: Vec<f64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        (!control.stopped()).then(|| Priced {
            id: remedy.id,
            name: remedy.name,
            set,
            hidden: hidden.map(|f| f.estimate),
            at_least: probe.cut.load(Ordering::Relaxed) > 0
                && !hidden.is_some_and(|f| f.at_ceiling),
            advertised,
            success: [Estimate::of(before).mean, Estimate::of(&after).mean],
            gain: Estimate::of(&gains),
        })
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
