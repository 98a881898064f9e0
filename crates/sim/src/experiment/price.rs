//! The price of a budget: hidden capacity gained against success lost to transient errors.
//!
//! Hidden capacity is searched as [`headroom`](super::headroom()) does. Success is measured in a
//! system with so much capacity that nothing but the errors can fail, at the load of the file:
//! what a budget then loses against unlimited retries it loses by refusing retries that would have
//! helped. All settings see the same arrivals and the same bursts.

mod conclude;
mod settings;

use std::sync::atomic::{AtomicU64, Ordering};

use damper_control::Nanos;
use damper_system::SystemFile;
use damper_system::model::{Caller, System, Target};
use rayon::prelude::*;
use thiserror::Error;

use crate::bursts::Bursts;
use crate::estimate::Estimate;
use crate::experiment::Control;
use crate::experiment::headroom::{HeadroomError, constant_load};
use crate::experiment::probe::Probe;
use crate::experiment::remedies::assignments;
use crate::plan::Plan;
use crate::run::{Conditions, run};
use crate::stats::ClassStats;

pub use conclude::{Judged, Lost, PricedSetting, conclude};
pub use settings::Setting;

/// Relative resolution of the searches.
const RESOLUTION: f64 = 0.01;
/// So many times its capacity a service has while success is measured.
const AMPLE: u32 = 10;
/// Bursts that are farther apart than this on average are simulated at this distance, and what
/// they cost is scaled: one is over and forgotten before the next comes.
const FAR_APART_S: f64 = 60.0;

/// How the question is put.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceOptions {
    /// Replications behind each figure, at least two.
    pub replications: u32,
    /// Shares of attempts that fail by transient errors.
    pub errors: Vec<f64>,
    /// Mean length of a burst.
    pub burst_length: Nanos,
    /// The probability that an attempt within a burst fails.
    pub burst_failure: f64,
    /// Requests of one replication behind each figure of success.
    pub requests: u64,
    /// What to price: names of budgets, each over its range, and settings such as
    /// `{kind: envoy, percent: 20%}`. Empty: every budget.
    pub budgets: Vec<String>,
}

/// Why there can be no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PriceError {
    /// There is no hidden capacity to search.
    #[error(transparent)]
    Headroom(#[from] HeadroomError),
    /// There is nothing to bound.
    #[error(
        "no call of this file retries, so that no budget has a price: give a policy `retry: {{limit: 1}}`"
    )]
    NoRetries,
    /// A setting cannot be applied.
    #[error("the budget `{0}` cannot be set: {1}")]
    Setting(String, String),
    /// Bursts cannot make up that share.
    #[error(
        "errors of {share} cannot come in bursts in which {within} of attempts fail: expected a smaller share, or bursts that are worse"
    )]
    Bursts {
        /// The share asked for, in percent.
        share: String,
        /// The probability within a burst, in percent.
        within: String,
    },
}

/// One way in which attempts fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Share of the attempts that fail.
    pub share: f64,
    /// Whether they come in bursts.
    pub bursty: bool,
    /// The share that is simulated; more than `share` where bursts are far apart.
    pub simulated: f64,
}

impl Errors {
    /// What a price at the simulated share is multiplied by.
    #[must_use]
    pub fn scale(self) -> f64 {
        self.share / self.simulated
    }
}

/// Requests that ended, and those of them that ended well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// With a good reply, in time.
    pub good: u64,
    /// At all.
    pub ended: u64,
}

impl Counted {
    /// Share that ended well.
    #[must_use]
    pub fn share(self) -> f64 {
        self.good as f64 / self.ended.max(1) as f64
    }
}

/// What the runs of one setting gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Hidden capacity; `None`: it recovers from no load that was tried.
    pub hidden: Option<Estimate>,
    /// It recovers from every load that was tried.
    pub heals: bool,
    /// Some runs were given up with a million attempts open: hidden capacity may be higher.
    pub at_least: bool,
    /// By [`Errors`], by replication.
    pub success: Vec<Vec<Counted>>,
    /// Requests simulated for it.
    pub requests: u64,
}

/// The question, ready to be worked on.
pub struct Pricing {
    /// What is priced: first unlimited retries, then none, then the budgets.
    pub settings: Vec<Setting>,
    /// The assignments that make each.
    pub sets: Vec<Vec<String>>,
    /// The ways in which attempts fail.
    pub errors: Vec<Errors>,
    /// Load of the file, at which success is measured.
    pub load: f64,
    /// How the question was understood.
    pub notes: Vec<String>,
    systems: Vec<System>,
    options: PriceOptions,
}

impl Pricing {
    /// Reads the settings against the file.
    ///
    /// # Errors
    /// [`PriceError`] where the file or the options cannot give an answer.
    pub fn new(
        file: &SystemFile,
        system: &System,
        options: &PriceOptions,
    ) -> Result<Self, PriceError> {
        let mut notes = Vec::new();
        let base = constant_load(system, "headroom", &mut notes);
        Probe::new(&base)?;
        let edges = retrying(system);
        if edges.is_empty() {
            return Err(PriceError::NoRetries);
        }
        let errors = ways(options)?;
        let mut all: Vec<Setting> = settings::references().into();
        let (written, named): (Vec<_>, Vec<_>) =
            options.budgets.iter().cloned().partition(|b| b.contains('{'));
        if !named.is_empty() || written.is_empty() {
            all.extend(settings::over_ranges(&named));
        }
        all.extend(written.iter().map(|w| settings::written(w)));
        let (mut systems, mut sets) = (Vec::new(), Vec::new());
        for setting in &all {
            let fields: Vec<&str> = setting.fields.iter().map(String::as_str).collect();
            let set = assignments(file, system, &edges, &fields).unwrap_or_default();
            let mut changed = file.clone();
            let failed = |problems: &dyn std::fmt::Display| {
                PriceError::Setting(setting.written.clone(), problems.to_string())
            };
            for assignment in &set {
                changed.set(assignment).map_err(|p| failed(&p))?;
            }
            let mut lowered = changed.lower().map_err(|p| failed(&p))?;
            lowered.experiment = system.experiment.clone();
            systems.push(constant_load(&lowered, "headroom", &mut Vec::new()));
            sets.push(set);
        }
        let options = PriceOptions { replications: options.replications.max(2), ..options.clone() };
        Ok(Self { settings: all, sets, errors, load: base.total_load(), notes, systems, options })
    }

    /// Advertised capacity without retries, under which hidden capacity is searched for all
    /// settings, and the requests that took; `None`: interrupted, or no load is served.
    ///
    /// # Errors
    /// [`HeadroomError`], as from [`Pricing::new`].
    pub fn advertised(&self, control: &Control<'_>) -> Result<Option<(Estimate, u64)>, PriceError> {
        let Some(system) = self.systems.get(1) else { return Ok(None) };
        let probe = Probe::new(system)?;
        let name = "advertised capacity";
        let found =
            probe.find_advertised(self.options.replications, RESOLUTION / 2.0, name, control);
        Ok(found.map(|f| (f.estimate, probe.requests.load(Ordering::Relaxed))))
    }

    /// Measures these settings, each by its place in [`Pricing::settings`]. Those that an
    /// interruption came before are `None`.
    pub fn measure(
        &self,
        places: &[usize],
        advertised: Estimate,
        control: &Control<'_>,
    ) -> Vec<Option<Measured>> {
        let done = AtomicU64::new(0);
        (control.progress)("settings", 0, places.len() as u64);
        let one = |place: &usize| {
            let system = self.systems.get(*place)?;
            let measured = self.measure_one(system, advertised, control)?;
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            (control.progress)("settings", n, places.len() as u64);
            Some(measured)
        };
        places.par_iter().map(one).collect()
    }

    fn measure_one(
        &self,
        system: &System,
        advertised: Estimate,
        control: &Control<'_>,
    ) -> Option<Measured> {
        let quiet = Control { stop: control.stop, progress: &|_, _, _| {} };
        let probe = Probe::new(system).ok()?;
        let n = self.options.replications;
        let hidden = probe.find_hidden(advertised, n, RESOLUTION, "", &quiet);
        let ample = Plan::new(&ample(system));
        let mut requests = 0;
        let mut seen: Vec<(f64, bool, Vec<Counted>)> = Vec::new();
        let mut success = Vec::new();
        for errors in &self.errors {
            let same = |s: &&(f64, bool, _)| (s.0, s.1) == (errors.simulated, errors.bursty);
            if let Some((_, _, counts)) = seen.iter().find(same) {
                success.push(counts.clone());
                continue;
            }
            let conditions = self.conditions(&ample, *errors);
            let outcomes: Vec<(Counted, u64)> = (0..n)
                .into_par_iter()
                .map(|replication| {
                    let o = run(&ample, &conditions, replication, control.stop);
                    let good = o.classes.iter().map(ClassStats::good).sum();
                    let ended = o.classes.iter().map(ClassStats::ended_all).sum();
                    (Counted { good, ended }, o.requests)
                })
                .collect();
            requests += outcomes.iter().map(|o| o.1).sum::<u64>();
            let counts: Vec<Counted> = outcomes.into_iter().map(|o| o.0).collect();
            seen.push((errors.simulated, errors.bursty, counts.clone()));
            success.push(counts);
        }
        (!control.stopped()).then(|| Measured {
            hidden: hidden.map(|f| f.estimate),
            heals: hidden.is_some_and(|f| f.at_ceiling),
            at_least: probe.cut.load(Ordering::Relaxed) > 0
                && !hidden.is_some_and(|f| f.at_ceiling),
            success,
            requests: requests + probe.requests.load(Ordering::Relaxed),
        })
    }

    /// Nothing goes wrong but the errors, from the beginning.
    fn conditions(&self, plan: &Plan, errors: Errors) -> Conditions {
        let of_file = Conditions::of(plan);
        let length = Nanos::from_secs_f64((self.options.requests as f64 / self.load).min(1e7));
        Conditions {
            trigger: None,
            trigger_at: u64::MAX,
            error_floor: if errors.bursty { 0.0 } else { errors.simulated },
            bursts: errors.bursty.then(|| self.options.bursts(errors.simulated)).flatten(),
            end: of_file.warmup.saturating_add(length.0),
            early: false,
            ..of_file
        }
    }
}

impl PriceOptions {
    fn bursts(&self, share: f64) -> Option<Bursts> {
        Bursts::of(share, self.burst_length.0, self.burst_failure)
    }
}

/// Independent errors of each share, then bursts of each.
fn ways(options: &PriceOptions) -> Result<Vec<Errors>, PriceError> {
    let independent = options.errors.iter().map(|share| Errors {
        share: *share,
        bursty: false,
        simulated: *share,
    });
    let mut all: Vec<Errors> = independent.collect();
    let length = options.burst_length.as_secs_f64();
    let rare = options.burst_failure * length / (length + FAR_APART_S);
    for share in &options.errors {
        let simulated = share.max(rare);
        if options.bursts(simulated).is_none() {
            let percent = |share: f64| format!("{}%", share * 100.0);
            let within = percent(options.burst_failure);
            return Err(PriceError::Bursts { share: percent(*share), within });
        }
        all.push(Errors { share: *share, bursty: true, simulated });
    }
    Ok(all)
}

/// The calls that retry.
fn retrying(system: &System) -> Vec<(Caller, Target)> {
    let edges = system.policies.edges.iter();
    edges.filter(|e| e.policy.retry.is_active()).map(|e| (e.caller, e.target)).collect()
}

/// The same with room for everything.
fn ample(system: &System) -> System {
    let mut system = system.clone();
    for service in &mut system.services {
        service.workers = service.workers.map(|w| w.saturating_mul(AMPLE));
        if let Some(limit) = &mut service.rate_limit {
            limit.rate *= f64::from(AMPLE);
            limit.burst *= f64::from(AMPLE);
        }
    }
    system
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    const STORM: &str = "
damper: 1
name: t
services: {db: {workers: 3, service_time: 100ms}}
load: 20/s
requests: {q: {calls: [db]}}
policies: {\"client -> db\": {timeout: 1s, retry: {limit: 1}}}
triggers: {blip: [{outage: db, for: 2s}]}
experiment: {warmup: 10s, trigger_at: 20s, watch: 60s, seed: 1}
";

    fn options() -> PriceOptions {
        PriceOptions {
            replications: 2,
            errors: vec![0.0001, 0.01, 0.05],
            burst_length: Nanos::from_secs(1),
            burst_failure: 0.5,
            requests: 20_000,
            budgets: vec!["{kind: per-minute, retries: 0}".into()],
        }
    }

    fn pricing(text: &str, options: &PriceOptions) -> Result<Pricing, PriceError> {
        let file = SystemFile::parse("t.yaml", text).unwrap();
        let system = file.lower().unwrap();
        Pricing::new(&file, &system, options)
    }

    #[test]
    fn rare_bursts_are_simulated_at_a_distance_of_a_minute() {
        let ways = ways(&options()).unwrap();
        let rare = 0.5 / 61.0;
        let shown: Vec<(f64, bool)> = ways.iter().map(|e| (e.simulated, e.bursty)).collect();
        assert_eq!(
            shown,
            [
                (0.0001, false),
                (0.01, false),
                (0.05, false),
                (rare, true),
                (0.01, true),
                (0.05, true)
            ]
        );
        assert!((ways[3].scale() - 0.0001 * 61.0 / 0.5).abs() < 1e-12);
    }

    #[test]
    fn errors_that_no_burst_can_make_are_refused() {
        let options = PriceOptions { errors: vec![0.6], ..options() };
        let error = ways(&options).unwrap_err().to_string();
        assert!(error.contains("60%") && error.contains("50%"), "{error}");
    }

    /// One retry of independent errors loses p², none loses p; a budget that grants nothing is as
    /// none. In a burst a retry wins about half.
    #[test]
    fn prices_by_hand() {
        let pricing = pricing(STORM, &options()).unwrap();
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &|_, _, _| {} };
        let (advertised, _) = pricing.advertised(&control).unwrap().unwrap();
        // It serves 30/s; what it still answers in time is a little less, since chance makes a queue.
        assert!((0.9..1.0).contains(&(advertised.mean / 30.0)), "{advertised:?}");
        let measured = pricing.measure(&[0, 1, 2], advertised, &control);
        let lost = |setting: usize, way: usize| {
            let counts = &measured[setting].as_ref().unwrap().success[way];
            counts.iter().map(|c| 1.0 - c.share()).sum::<f64>() / counts.len() as f64
        };
        // 40,000 requests: five standard errors of each.
        assert!(lost(0, 1) < 0.0001 + 5.0 * (0.0001_f64 / 40_000.0).sqrt());
        for none in [1, 2] {
            assert!((lost(none, 1) - 0.01).abs() < 0.0025, "{}", lost(none, 1));
            assert!((lost(none, 2) - 0.05).abs() < 0.006, "{}", lost(none, 2));
        }
        // A retry at once ends one service time (0.1 s) later. A burst of 1 s, which has no memory, goes
        // on until then with 1 / 1.1, and fails it with one half.
        let halved = lost(0, 5) / lost(1, 5);
        assert!((halved - 0.5 / 1.1).abs() < 0.06, "{halved}");
        let hidden = |i: usize| measured[i].as_ref().unwrap().hidden.unwrap().mean;
        assert!((hidden(0) / 15.0 - 1.0).abs() < 0.1, "{}", hidden(0));
        // Without retries nothing is hidden: both searches find the same load, to a few percent.
        for without in [hidden(1), hidden(2)] {
            assert!((without / advertised.mean - 1.0).abs() < 0.05, "{without} {advertised:?}");
        }
    }

    /// Bursts four minutes apart, simulated as they are and a minute apart.
    #[test]
    #[ignore = "slow: a million requests"]
    fn rare_bursts_cost_in_proportion() {
        let budget = "{kind: token-bucket, max_tokens: 10, token_ratio: 0.1}";
        let options = PriceOptions {
            budgets: vec![budget.into()],
            errors: vec![0.002],
            requests: 1,
            ..options()
        };
        let pricing = pricing(STORM, &options).unwrap();
        let stop = AtomicBool::new(false);
        let lost = |setting: usize, simulated: f64, requests: f64| {
            let ample = Plan::new(&ample(&pricing.systems[setting]));
            let errors = Errors { share: 0.002, bursty: true, simulated };
            let mut conditions = pricing.conditions(&ample, errors);
            conditions.end = Nanos::from_secs_f64(requests / pricing.load).0;
            let o = run(&ample, &conditions, 0, &stop);
            let [good, ended] = [ClassStats::good, ClassStats::ended_all]
                .map(|f| o.classes.iter().map(f).sum::<u64>() as f64);
            (1.0 - good / ended) * errors.scale()
        };
        let rare = ways(&options).unwrap()[1].simulated;
        let price =
            |simulated, requests| lost(2, simulated, requests) - lost(0, simulated, requests);
        // 200 bursts as they are, 330 a minute apart: each to within about a tenth.
        let (direct, scaled) = (price(0.002, 1e6), price(rare, 4e5));
        assert!(direct > 0.0001, "{direct}");
        assert!((scaled / direct - 1.0).abs() < 0.35, "{scaled} {direct}");
    }

    #[test]
    fn a_file_without_retries_has_no_prices() {
        let text = STORM.replace("limit: 1", "limit: 0");
        assert_eq!(pricing(&text, &options()).err(), Some(PriceError::NoRetries));
        let options = PriceOptions { budgets: vec!["{kind: envoi}".into()], ..options() };
        let error = pricing(STORM, &options).err().unwrap().to_string();
        assert!(error.contains("envoi"), "{error}");
    }
}
