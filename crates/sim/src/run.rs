//! One replication: conditions in, counts and a verdict out.

use std::sync::atomic::AtomicBool;

use damper_control::Budget;
use damper_control::queue::Order;

use crate::bursts::Bursts;
use crate::judge::{Judge, Question, Verdict};
use crate::observe::Watch;
use crate::plan::{NEVER, Plan};
use crate::stats::{ClassStats, EdgeStats, Series, ServiceStats};
use crate::world::World;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The time of the experiment was over.
    TimeOver,
    /// The answer was known.
    Decided,
    /// More attempts were open than could ever be cleared.
    TooManyOpen,
    /// The user stopped it.
    Interrupted,
}

/// Under which conditions a plan is run: the experiment of the file, and what is varied.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Factor on the load of the file, by class.
    pub load_factors: Vec<f64>,
    /// Index of the trigger; `None`: nothing goes wrong.
    pub trigger: Option<usize>,
    /// Attempts at services with a capacity fail at least with this probability.
    pub error_floor: f64,
    /// And these bursts come on top.
    pub bursts: Option<Bursts>,
    /// Seed.
    pub seed: u64,
    /// Not measured, nanoseconds.
    pub warmup: u64,
    /// Start of the trigger.
    pub trigger_at: u64,
    /// How long it is watched after the trigger.
    pub watch: u64,
    /// The run ends here at the latest.
    pub end: u64,
    /// A reply later than this is not good.
    pub good_within: u64,
    /// End as soon as it is known whether the system recovers, or, without a trigger, that it
    /// cannot serve its load.
    pub early: bool,
    /// The most attempts that may be open at once: a run that exceeds it is ended, since memory
    /// has an end, too.
    pub most_open: usize,
    /// Share of the requests that may fail before a load counts as not served.
    pub may_fail: f64,
}

impl Conditions {
    /// The experiment as the file describes it.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let system = plan.system();
        let e = &system.experiment;
        let length = e.trigger.and_then(|t| system.triggers.get(t)).map_or(0, |t| t.length().0);
        Self {
            load_factors: vec![1.0; system.classes.len()],
            trigger: e.trigger,
            error_floor: 0.0,
            bursts: None,
            seed: e.seed,
            warmup: e.warmup.0,
            trigger_at: e.trigger_at.0,
            watch: e.watch.0,
            end: e.trigger_at.0.saturating_add(length).saturating_add(e.watch.0),
            good_within: e.good_within.map_or(NEVER, |t| t.0),
            early: false,
            most_open: 4_000_000,
            may_fail: 1.0 - e.recovered_at,
        }
    }

    /// Start and end of the trigger.
    #[must_use]
    pub fn trigger_span(&self, plan: &Plan) -> Option<(u64, u64)> {
        let trigger = plan.system().triggers.get(self.trigger?)?;
        Some((self.trigger_at, self.trigger_at.saturating_add(trigger.length().0)))
    }
}

/// What one replication showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it ended.
    pub ending: Ending,
    /// By class.
    pub classes: Vec<ClassStats>,
    /// By service.
    pub services: Vec<ServiceStats>,
    /// By edge of the plan.
    pub edges: Vec<EdgeStats>,
    /// Over time.
    pub series: Series,
    /// Simulated nanoseconds after the warm-up.
    pub measured: u64,
    /// Requests that arrived, warm-up included.
    pub requests: u64,
    /// Simulated events.
    pub events: u64,
    /// Requests offered and served well after the warm-up (after the trigger, if there is one),
    /// as the judge saw them.
    pub served: (u64, u64),
    /// What was left open, for the engine's own tests.
    #[doc(hidden)]
    pub open: Open,
}

/// What a run leaves behind when it ends. When the load has stopped and everything has drained,
/// each of these is zero; whatever is not has leaked, or is counted wrongly.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Open {
    /// Requests, attempts and fetches.
    pub attempts: usize,
    /// Calls.
    pub calls: usize,
    /// Timers of calls and attempts, and events of the calendar.
    pub timers: usize,
    /// Attempts waiting or in service at services with a capacity.
    pub backlog: u64,
    /// Calls in backoff.
    pub backing_off: u64,
    /// Attempts in queues, and busy workers, by service.
    pub stations: Vec<(u64, u64)>,
    /// Fetches under way, over all caches.
    pub fetches: usize,
    /// Passes of gates and permits of guards.
    pub controls: usize,
    /// By edge of the plan.
    pub budgets: Vec<Budget>,
    /// By instance.
    pub orders: Vec<Order>,
    /// The most attempts and calls that were open together.
    pub most: (usize, usize),
}

/// Runs one replication. The result depends on the plan, the conditions and the number of the
/// replication, and on nothing else, unless `stop` is raised.
#[must_use]
pub fn run(plan: &Plan, conditions: &Conditions, replication: u32, stop: &AtomicBool) -> Outcome {
    watched(plan, conditions, replication, stop, Watch::default())
}

/// The same, with somebody who watches. What is watched goes as it would otherwise.
#[cfg(feature = "observe")]
#[must_use]
pub fn run_observed<'a>(
    plan: &'a Plan,
    conditions: &'a Conditions,
    replication: u32,
    stop: &AtomicBool,
    observer: &'a mut dyn crate::observe::Observer,
) -> Outcome {
    let watch = Watch { observer: Some(observer), ..Watch::default() };
    watched(plan, conditions, replication, stop, watch)
}

fn watched<'a>(
    plan: &'a Plan,
    conditions: &'a Conditions,
    replication: u32,
    stop: &AtomicBool,
    watch: Watch<'a>,
) -> Outcome {
    let experiment = &plan.system().experiment;
    let mut judge = Judge::new(Question {
        interval: experiment.interval.0.max(1),
        warmup: conditions.warmup,
        trigger: conditions.trigger_span(plan),
        watch: conditions.watch,
        hold: experiment.hold.0,
        recovered_at: experiment.recovered_at,
        loop_time: plan.loop_time().min(conditions.watch / 4),
        memory: plan.memory().min(conditions.watch),
        early: conditions.early,
        most_open: conditions.most_open,
        length: conditions.end.saturating_sub(conditions.warmup),
        may_fail: conditions.may_fail,
    });
    let mut world = World::new(plan, conditions, replication);
    world.watch = watch;
    let ending = world.run(&mut judge, stop);
    world.close();
    let served = judge.served();
    let open = world.open();
    Outcome {
        verdict: judge.conclude(ending),
        ending,
        measured: world.now.saturating_sub(conditions.warmup),
        requests: world.requests,
        events: world.events,
        served,
        open,
        classes: world.class_stats,
        services: world.service_stats,
        edges: world.edge_stats,
        series: world.series,
    }
}
