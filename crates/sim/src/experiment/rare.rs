//! How often a healthy system collapses with nothing going wrong, by multilevel splitting.
//!
//! Nobody can wait for an event of one in a million days. But the way there is made of steps that
//! are not rare: the backlog (what waits to be served, and what waits to be sent again) climbs to a
//! level, and from there sometimes to the next, and mostly back. So:
//!
//! - A **pilot** looks at the backlog of the healthy system, and sets levels such that about a
//!   quarter of what reaches one reaches the next, until collapse follows about as often.
//! - A long run counts how often per second the first level is crossed from below, and keeps the
//!   states in which it was.
//! - From the states of a level, copies go on with other chance until they reach the next level, are
//!   back at the median of the healthy backlog, or have collapsed. The share that reaches the next
//!   level, and the states in which it did, lead on.
//!
//! The product is the rate. It is unbiased whatever the levels are; they only say how noisy it is
//! (Villén-Altamirano's RESTART with fixed effort; forward flux sampling in physics). All of it is
//! done several times over independently, and the interval is that of those results.
//!
//! **Collapsed** is a system that for a whole window of time served less than half of what was
//! offered well. Whether it comes back by itself is looked at afterwards.

mod summary;
mod window;

use std::sync::atomic::{AtomicU64, Ordering};

use damper_control::Nanos;
use damper_system::model::System;
use rayon::prelude::*;

use crate::checkpoint::Look;
use crate::experiment::Control;
use crate::experiment::headroom::constant_load;
use crate::plan::Plan;
use crate::rng::derived;
use crate::run::Conditions;
use crate::world::World;
use summary::summed;
use window::Window;

/// How much effort goes into it.
#[derive(Clone, Copy, Debug)]
pub struct RareOptions {
    /// Independent results, whose spread is the interval; at least two.
    pub replications: u32,
    /// Copies that go on from each level, in each of them.
    pub effort: u32,
}

/// One level of the backlog.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RareLevel {
    /// Attempts that wait or are served, and calls in backoff.
    pub backlog: u64,
    /// Share of what reached it that reached the next, over all replications.
    pub onwards: f64,
    /// Share that collapsed from it before the next was reached.
    pub collapsed: f64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Rare {
    /// Load, all classes together.
    pub load: f64,
    /// Collapses per second of a healthy system. Zero: none was seen.
    pub per_second: f64,
    /// Its 95 % interval, on a logarithmic scale. Where no collapse was seen, the upper end bounds
    /// what would have been missed.
    pub ci95: [f64; 2],
    /// Share of collapses that had not come back by themselves within the watch of the file.
    pub lasting: Option<f64>,
    /// Crossings of the first level per second.
    pub crossings_per_second: f64,
    /// The backlog at which a system counts as healthy again: the median while all is well.
    pub healthy: u64,
    /// The levels, upwards.
    pub levels: Vec<RareLevel>,
    /// Copies that went on from a level.
    pub trials: u64,
    /// Of these: neither back nor collapsed after a long time, and counted as back.
    pub cut: u64,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Width of the window in which less than half must be good, seconds.
    pub window_s: f64,
    /// Independent results.
    pub replications: u32,
    /// How the question was understood.
    pub notes: Vec<String>,
    /// Interrupted: too few results, or none.
    pub partial: bool,
}

/// Why there can be no answer, in words.
pub type RareError = &'static str;

/// Seconds of a healthy system that the pilot looks at, in intervals.
const PILOT_INTERVALS: usize = 2000;
/// Collapses in the pilot after which the system has no healthy state to speak of.
const MOST_RESTARTS: u32 = 200;
/// Share of the healthy intervals whose backlog is below the first level.
const FIRST_LEVEL: f64 = 0.95;
/// Share of what reaches a level that is to reach the next.
const ONWARDS: f64 = 0.25;
/// The most levels.
const MOST_LEVELS: usize = 80;
/// A result below this rate per second is not followed further: one in three hundred million years.
const RAREST: f64 = 1e-16;
/// Windows after which a copy that is neither back nor collapsed is given up.
const PATIENCE: u64 = 200;
/// Collapses whose end is looked at, in each replication.
const LOOKED_AT: usize = 8;
/// The number of the pilot among the replications.
const PILOT: u32 = 4_000_000;

/// The rate of collapses without a trigger.
///
/// # Errors
/// The load is zero, or the system collapses at once and again.
pub fn rare(
    system: &System,
    options: &RareOptions,
    control: &Control<'_>,
) -> Result<Rare, RareError> {
    if system.total_load() <= 0.0 {
        return Err("the load is zero: give `load:` a rate, e.g. `100/s`");
    }
    let mut notes = Vec::new();
    let system = constant_load(system, "splitting", &mut notes);
    let plan = Plan::new(&system);
    let usual = Conditions::of(&plan);
    let conditions = Conditions {
        trigger: None,
        // Nothing goes wrong, so that no operator pulls a lever.
        trigger_at: u64::MAX,
        // Nothing is counted.
        warmup: u64::MAX,
        most_open: 1_000_000,
        ..usual.clone()
    };
    let experiment = &system.experiment;
    let width = experiment.hold.0.max(plan.loop_time()).min(usual.watch / 4).max(1);
    let effort = options.effort.max(10);
    let splitting = Splitting {
        plan: &plan,
        conditions: &conditions,
        warmup: usual.warmup,
        window: Window::new(width.div_ceil(experiment.interval.0.max(1)) as usize),
        patience: PATIENCE.saturating_mul(width),
        watch: usual.watch,
        recovered_at: experiment.recovered_at,
        effort,
        simulated: AtomicU64::new(0),
        trials: AtomicU64::new(0),
        cut: AtomicU64::new(0),
        control,
    };
    let replications = options.replications.max(2);
    let ladder = match splitting.pilot() {
        Piloted::Ladder(ladder) => ladder,
        Piloted::Unhealthy => {
            return Err(
                "it collapses again and again without a trigger: it has no healthy state to \
                        leave (see `damper headroom` for the load that it can serve)",
            );
        }
        Piloted::Stopped => Ladder { healthy: 0, levels: Vec::new() },
    };
    let steps = u64::from(replications) * (ladder.levels.len() as u64 + 1);
    let done = AtomicU64::new(0);
    let step = || {
        (control.progress)("splitting", done.fetch_add(1, Ordering::Relaxed) + 1, steps);
    };
    let results: Vec<Climb> = (0..replications)
        .into_par_iter()
        .filter_map(|replication| splitting.climb(&ladder, replication, &step))
        .collect();
    let partial = results.len() < replications as usize;
    let mut found = summed(&ladder, &results, effort);
    found.load = system.total_load();
    found.trials = splitting.trials.into_inner();
    found.cut = splitting.cut.into_inner();
    found.simulated_s = Nanos(splitting.simulated.into_inner()).as_secs_f64();
    found.window_s = Nanos(splitting.window.ticks() as u64 * experiment.interval.0).as_secs_f64();
    Ok(Rare { notes, partial, ..found })
}

/// Where a system is healthy again, and the levels that lead away.
struct Ladder {
    healthy: u64,
    levels: Vec<u64>,
}

/// What the pilot came to.
enum Piloted {
    Ladder(Ladder),
    Unhealthy,
    Stopped,
}

/// A state that is gone on from: the world, and what the last window of time showed.
struct State<'a> {
    world: World<'a>,
    window: Window,
}

impl State<'_> {
    fn copy(&self) -> Self {
        Self { world: self.world.checkpoint(), window: self.window.clone() }
    }
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Reached,
    Back,
    Collapsed,
    Cut,
}

/// What was found from one level on.
#[derive(Clone, Copy, Debug, Default)]
struct Rung {
    trials: u64,
    reached: u64,
    collapsed: u64,
}

/// One independent result.
struct Climb {
    per_second: f64,
    crossings_per_second: f64,
    rungs: Vec<Rung>,
    /// Weight that had not been decided when nothing reached the next level.
    missed: f64,
    lasting: (u64, u64),
}

struct Splitting<'a> {
    plan: &'a Plan,
    conditions: &'a Conditions,
    warmup: u64,
    /// An empty window.
    window: Window,
    patience: u64,
    watch: u64,
    recovered_at: f64,
    effort: u32,
    /// Nanoseconds.
    simulated: AtomicU64,
    trials: AtomicU64,
    cut: AtomicU64,
    control: &'a Control<'a>,
}

impl<'a> Splitting<'a> {
    fn took(&self, world: &World<'_>, since: u64) {
        self.simulated.fetch_add(world.now.saturating_sub(since), Ordering::Relaxed);
    }

    /// A healthy world after its warm-up. `None`: stopped, or it never gets there.
    fn fresh(&self, replication: u32) -> Option<State<'a>> {
        let mut world = World::lean(self.plan, self.conditions, replication);
        let mut window = self.window.clone();
        let warm = world.advance(self.control.stop, |world, look| match look {
            Look::Interval(pulse) => {
                window.push(pulse);
                (world.now >= self.warmup).then_some(())
            }
            Look::Event => None,
        });
        self.took(&world, 0);
        warm.map(|()| State { world, window })
    }

    /// Goes on until `look` has an answer or it has collapsed (`Err`).
    fn follow<T>(
        &self,
        state: &mut State<'a>,
        mut look: impl FnMut(&World<'_>, bool) -> Option<T>,
    ) -> Option<Result<T, ()>> {
        let State { world, window } = state;
        let since = world.now;
        let seen = world.advance(self.control.stop, |world, at| match at {
            Look::Event => look(world, false).map(Ok),
            Look::Interval(pulse) => {
                window.push(pulse);
                if window.collapsed() { Some(Err(())) } else { look(world, true).map(Ok) }
            }
        });
        self.took(world, since);
        // What cannot be simulated any further has collapsed.
        seen.or_else(|| (!self.control.stopped()).then_some(Err(())))
    }

    /// One copy, from a state on: how it ended, the state it ended in, and the highest level.
    fn trial(&self, from: &State<'a>, seed: u64, healthy: u64, target: u64) -> Option<Trial<'a>> {
        let mut state = from.copy();
        state.world.reseed(seed);
        let since = state.world.now;
        let mut most = state.world.level();
        let end = self.follow(&mut state, |world, interval| {
            let level = world.level();
            most = most.max(level);
            if level >= target {
                Some(End::Reached)
            } else if level <= healthy {
                Some(End::Back)
            } else {
                (interval && world.now - since > self.patience).then_some(End::Cut)
            }
        })?;
        let end = end.unwrap_or(End::Collapsed);
        self.trials.fetch_add(1, Ordering::Relaxed);
        self.cut.fetch_add(u64::from(end == End::Cut), Ordering::Relaxed);
        let state = matches!(end, End::Reached | End::Collapsed).then_some(state);
        Some(Trial { end, state, most })
    }

    /// As many copies as the effort is, from the states of a level.
    fn trials(
        &self,
        states: &[State<'a>],
        place: [u64; 2],
        healthy: u64,
        target: u64,
    ) -> Option<Vec<Trial<'a>>> {
        let one = |i: u32| {
            let from = states.get(i as usize % states.len())?;
            let seed = derived(self.conditions.seed, &[place[0], place[1], u64::from(i)]);
            self.trial(from, seed, healthy, target)
        };
        (0..self.effort).into_par_iter().map(one).collect()
    }

    /// Backlogs of the healthy system at the ends of intervals.
    fn levels_of_health(&self) -> Result<Vec<u64>, Piloted> {
        let mut levels = Vec::new();
        for restart in 0..MOST_RESTARTS {
            let Some(mut state) = self.fresh(PILOT + restart) else {
                return Err(if self.control.stopped() {
                    Piloted::Stopped
                } else {
                    Piloted::Unhealthy
                });
            };
            let before = levels.len();
            let seen = self.follow(&mut state, |world, interval| {
                if interval {
                    levels.push(world.level());
                }
                (levels.len() >= PILOT_INTERVALS).then_some(())
            });
            match seen {
                None => return Err(Piloted::Stopped),
                Some(Ok(())) => return Ok(levels),
                Some(Err(())) => {
                    // The way down is not health.
                    let way_down = 2 * self.window.ticks();
                    levels.truncate(levels.len().saturating_sub(way_down).max(before));
                }
            }
            (self.control.progress)("pilot", levels.len() as u64, PILOT_INTERVALS as u64);
        }
        Err(Piloted::Unhealthy)
    }

    fn pilot(&self) -> Piloted {
        let mut seen = match self.levels_of_health() {
            Ok(seen) => seen,
            Err(why) => return why,
        };
        seen.sort_unstable();
        let quantile = |share: f64| seen[((seen.len() - 1) as f64 * share) as usize];
        let healthy = quantile(0.5);
        let mut levels = vec![quantile(FIRST_LEVEL).max(healthy + 1)];
        let Some(crossed) = self.crossings(healthy, levels[0], PILOT) else {
            return Piloted::Stopped;
        };
        let mut states = crossed.states;
        let mut weight = crossed.per_second;
        let ladder = |levels| Piloted::Ladder(Ladder { healthy, levels });
        while levels.len() < MOST_LEVELS && weight > RAREST && !states.is_empty() {
            let stage = 2 * levels.len() as u64;
            (self.control.progress)("pilot: levels", levels.len() as u64, MOST_LEVELS as u64);
            let place = [u64::from(PILOT), stage];
            let Some(looked) = self.trials(&states, place, healthy, u64::MAX) else {
                return Piloted::Stopped;
            };
            let collapsed = looked.iter().filter(|t| t.end == End::Collapsed).count() as f64;
            if collapsed >= ONWARDS * f64::from(self.effort) {
                return ladder(levels);
            }
            let mut highest: Vec<u64> = looked.iter().map(|t| t.most).collect();
            drop(looked);
            highest.sort_unstable_by(|a, b| b.cmp(a));
            let last = levels[levels.len() - 1];
            let wished = highest[(ONWARDS * f64::from(self.effort)) as usize];
            let next = wished.max(last + 1);
            let place = [u64::from(PILOT), stage + 1];
            let Some(trials) = self.trials(&states, place, healthy, next) else {
                return Piloted::Stopped;
            };
            let reached: Vec<State<'a>> = trials
                .into_iter()
                .filter(|t| t.end == End::Reached)
                .filter_map(|t| t.state)
                .collect();
            weight *= reached.len() as f64 / f64::from(self.effort);
            if !reached.is_empty() {
                levels.push(next);
            }
            states = reached;
        }
        ladder(levels)
    }

    /// How often the first level is crossed, and the states in which it was.
    fn crossings(&self, healthy: u64, first: u64, replication: u32) -> Option<Crossings<'a>> {
        // Enough states to begin with, or as many as a long time brings.
        let longest = 1000 * self.patience;
        let mut found = Crossings { states: Vec::new(), per_second: 0.0 };
        let (mut crossed, mut time) = (0_u64, 0_u64);
        for restart in 0..MOST_RESTARTS {
            // Numbers of their own: the pilot's are others.
            let number = replication.wrapping_mul(MOST_RESTARTS).wrapping_add(restart);
            let mut state = self.fresh(number)?;
            let begin = state.world.now;
            let mut inside = state.world.level() <= healthy;
            loop {
                let since = state.world.now;
                let next = self.follow(&mut state, |world, _| {
                    let level = world.level();
                    inside |= level <= healthy;
                    let crosses = inside && level >= first;
                    let late = time + (world.now - begin) >= longest;
                    (crosses || late).then_some(crosses)
                })?;
                time += state.world.now - since;
                match next {
                    Err(()) => break,
                    Ok(crosses) => {
                        inside = false;
                        crossed += u64::from(crosses);
                        if crosses {
                            found.states.push(state.copy());
                        }
                        if !crosses || found.states.len() >= self.effort as usize {
                            found.per_second = crossed as f64 / Nanos(time).as_secs_f64();
                            return Some(found);
                        }
                    }
                }
            }
        }
        found.per_second = crossed as f64 / Nanos(time.max(1)).as_secs_f64();
        Some(found)
    }

    /// One independent result. `None`: stopped.
    fn climb(&self, ladder: &Ladder, replication: u32, step: &(dyn Fn() + Sync)) -> Option<Climb> {
        let mut climb = Climb {
            per_second: 0.0,
            crossings_per_second: 0.0,
            rungs: vec![Rung::default(); ladder.levels.len()],
            missed: 0.0,
            lasting: (0, 0),
        };
        let first = *ladder.levels.first()?;
        let crossed = self.crossings(ladder.healthy, first, replication)?;
        step();
        climb.crossings_per_second = crossed.per_second;
        let mut states = crossed.states;
        let mut weight = crossed.per_second;
        let mut down = Vec::new();
        for (i, rung) in climb.rungs.iter_mut().enumerate() {
            if states.is_empty() {
                break;
            }
            let target = ladder.levels.get(i + 1).copied().unwrap_or(u64::MAX);
            let place = [u64::from(replication), i as u64];
            let trials = self.trials(&states, place, ladder.healthy, target)?;
            states = Vec::new();
            rung.trials = trials.len() as u64;
            for trial in trials {
                match trial.end {
                    End::Reached => {
                        rung.reached += 1;
                        states.extend(trial.state);
                    }
                    End::Collapsed => {
                        rung.collapsed += 1;
                        down.extend(trial.state);
                    }
                    End::Back | End::Cut => {}
                }
            }
            let all = rung.trials.max(1) as f64;
            climb.per_second += weight * rung.collapsed as f64 / all;
            if rung.reached == 0 {
                climb.missed = weight / all;
            }
            weight *= rung.reached as f64 / all;
            step();
        }
        // The last ones: they come from the highest level, where most of the weight is.
        let looked_at = down.len().saturating_sub(LOOKED_AT);
        for state in down.iter_mut().skip(looked_at) {
            climb.lasting.1 += 1;
            climb.lasting.0 += u64::from(self.lasts(state)?);
        }
        Some(climb)
    }

    /// Whether a collapsed system is still down after the watch.
    fn lasts(&self, state: &mut State<'a>) -> Option<bool> {
        let State { world, window } = state;
        let since = world.now;
        let seen = world.advance(self.control.stop, |world, look| {
            let Look::Interval(pulse) = look else { return None };
            window.push(pulse);
            if window.served(self.recovered_at) {
                return Some(false);
            }
            (world.now - since >= self.watch).then_some(true)
        });
        self.took(world, since);
        seen.or_else(|| (!self.control.stopped()).then_some(true))
    }
}

/// Crossings of the first level.
struct Crossings<'a> {
    states: Vec<State<'a>>,
    per_second: f64,
}

/// A copy that has ended.
struct Trial<'a> {
    end: End,
    /// Only where somebody goes on from it.
    state: Option<State<'a>>,
    most: u64,
}

#[cfg(test)]
mod tests;
