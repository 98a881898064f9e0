//! The two basins of a system file: its weakest service as a [`Storm`].

mod calibrate;
mod trigger;

use damper_system::System;

use super::Solved;
use crate::chain::storm::{Basins, Fluid, Point};
use crate::chain::{Expected, Storm};
use calibrate::Calibrated;

/// What there is to draw.
#[derive(Clone, Debug, PartialEq)]
pub enum BasinsAnswer {
    /// A loop, and its plane.
    Loop(Box<SystemBasins>),
    /// Nothing, and why: no loop, or none that this chain knows.
    Nothing(String),
}

/// A duration that may be beyond reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lasting {
    /// So many seconds.
    Seconds(f64),
    /// More than ten to this power, in seconds.
    PowerOfTen(f64),
    /// For ever: nothing leads back.
    Never,
}

impl Lasting {
    fn of(log10: f64) -> Self {
        if log10 < 300.0 {
            Self::Seconds(libm::exp10(log10))
        } else {
            Self::PowerOfTen(log10.floor())
        }
    }
}

/// The plane of the weakest service, and how long things take in it.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemBasins {
    /// The service, an index into the system's.
    pub service: usize,
    /// The service as a chain; its room is the chain's where the service's has no end.
    pub storm: Storm,
    /// Whether the service's own queue ends at the chain's room.
    pub bounded: bool,
    /// Fixed points and boundary of the drift.
    pub basins: Basins,
    /// From an empty service to its collapse.
    pub collapse: Option<Lasting>,
    /// From the collapse back to health.
    pub escape: Option<Lasting>,
    /// Share of time in the basin of collapse, in the long run.
    pub collapsed_share: Option<f64>,
    /// What the trigger of the file leaves behind.
    pub trigger: Option<Triggered>,
    /// The rates of the slowest modes, per second, the slowest first.
    pub modes: Vec<f64>,
    /// The published mixing time of the slowest, log2(100) / rate.
    pub mixing_s: Option<f64>,
    /// States of the chain that was solved, and its size beside the real service's.
    pub chain: Option<(usize, f64)>,
    /// How the question was understood.
    pub notes: Vec<String>,
}

/// A trigger and what follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triggered {
    /// Its index in the file.
    pub trigger: usize,
    /// Where it leaves the service, and how the fluid goes on from there.
    pub fluid: Fluid,
    /// Whether the drift leads back to health from there.
    pub recovers: bool,
    /// Until attempts are served in time again, by the chain where it can be solved at full size,
    /// else by the fluid.
    pub recovery: Lasting,
    /// Whether it is the chain's.
    pub by_chain: bool,
}

impl SystemBasins {
    /// The highest queue and number of retries that are worth drawing: every fixed point, and
    /// what the trigger leaves behind if that is not far outside.
    #[must_use]
    pub fn frame(&self) -> (f64, f64) {
        let plane = &self.basins;
        let collapsed = plane.collapsed.filter(|_| self.bounded);
        let points = [plane.healthy, plane.tipping, collapsed];
        let most = |of: fn(Point) -> f64| points.into_iter().flatten().map(of).fold(0.0, f64::max);
        let left = self.trigger.map(|t| (t.fluid.queue, t.fluid.waiting)).unwrap_or_default();
        let patience = self.storm.patience() + self.storm.workers as f64;
        let room = if self.bounded { self.storm.room as f64 } else { f64::INFINITY };
        let base = f64::max(1.9 * patience, 1.06 * most(|p| p.queue));
        let tall = f64::max(1.25 * self.storm.waiting_at_worst(), 1.1 * most(|p| p.waiting));
        let with = |frame: f64, left: f64, most: f64| {
            if left <= most * frame { frame.max(1.1 * left) } else { frame }
        };
        (with(base, left.0, 3.0).min(room), with(tall, left.1, 1.5))
    }
}

/// Multiplications of one elimination that are worth an answer.
const AFFORDABLE: f64 = 6e8;
/// The smallest part of a service that stands for it.
const SMALLEST: f64 = 0.02;
/// How far the fluid is followed after a trigger, in seconds.
const HORIZON_S: f64 = 1e6;
/// Modes that are asked for.
const MODES: usize = 3;

/// The basins of the system's weakest service.
#[must_use]
pub fn basins(system: &System, solved: &Solved) -> BasinsAnswer {
    match calibrate::of(system, solved) {
        Ok(calibrated) => BasinsAnswer::Loop(Box::new(answer(system, calibrated))),
        Err(why) => BasinsAnswer::Nothing(why),
    }
}

fn answer(system: &System, calibrated: Calibrated) -> SystemBasins {
    let Calibrated { service, mut storm, bounded, mut notes } = calibrated;
    let experiment = &system.experiment;
    let chosen = experiment.trigger.and_then(|t| Some((t, system.triggers.get(t)?)));
    let left = chosen.map(|(index, trigger)| {
        let phases = trigger::phases(system, trigger, service, &mut notes);
        (index, storm.after(&phases, bounded, HORIZON_S))
    });
    // The end of a queue matters where a collapse leans on it, and not to one that only drains.
    if !bounded || storm.tipping().is_none() {
        let own = storm.room;
        storm.room = calibrate::room(&storm, left.map_or(0.0, |(_, fluid)| fluid.queue)).min(own);
    }
    let plane = storm.basins();
    let start = left.map_or(Point { queue: storm.room as f64, waiting: 0.0 }, |(_, fluid)| Point {
        queue: fluid.queue,
        waiting: fluid.waiting,
    });
    let mut found = SystemBasins {
        service,
        storm,
        bounded,
        basins: plane,
        collapse: None,
        escape: None,
        collapsed_share: None,
        trigger: None,
        modes: Vec::new(),
        mixing_s: None,
        chain: None,
        notes,
    };
    let recovery = lasting(&mut found, start);
    found.trigger = left.map(|(trigger, fluid)| {
        let recovers = found.storm.recovers(start);
        let by_chain = recovery.is_some();
        let recovery = recovery.unwrap_or_else(|| match fluid.recovery {
            Some(seconds) => Lasting::Seconds(seconds),
            None => found.escape.unwrap_or(Lasting::Never),
        });
        Triggered { trigger, fluid, recovers, recovery, by_chain }
    });
    found
}

/// The durations that need the chain, and the recovery from `start` if the chain holds it.
fn lasting(found: &mut SystemBasins, start: Point) -> Option<Lasting> {
    let storm = found.storm;
    let two = found.basins.tipping.is_some();
    let size = size(&storm)?;
    let solve = |size: f64| {
        let at = Point { queue: start.queue * size, waiting: start.waiting * size };
        let small = storm.scaled(size);
        Some((small, small.solve(at).ok()?))
    };
    let (small, answer) = solve(size)?;
    found.chain = Some((small.grid().ok()?.states(), size));
    if size < 1.0 {
        let (_, less) = solve(0.7 * size)?;
        // The logarithm of a rare event's time grows linearly with the size of what fluctuates.
        let beyond = |here: Expected, there: Expected| {
            let (here, there) = (here.value()?, there.value()?);
            let slope = (here.log10() - there.log10()) / (0.3 * size);
            Some(Lasting::of(here.log10() + slope.max(0.0) * (1.0 - size)))
        };
        if two {
            found.collapse = beyond(answer.escape, less.escape);
            found.escape = match found.bounded {
                true => beyond(answer.recovery, less.recovery),
                false => Some(Lasting::Never),
            };
            found.notes.push(format!(
                "the chain of the whole service has too many states: times between the basins are \
                 continued from chains of {:.2} and {:.2} of its size, orders of magnitude",
                size,
                0.7 * size
            ));
        }
        return None;
    }
    if two {
        found.collapse = Some(told(answer.escape));
        found.escape = Some(if found.bounded { told(answer.recovery) } else { Lasting::Never });
        found.collapsed_share = Some(if found.bounded { answer.collapsed } else { 1.0 });
    }
    // Without an end of the queue the chain's own would show in its modes.
    if (found.bounded || !two)
        && let Ok(modes) = storm.chain().and_then(|chain| chain.slow_modes(MODES))
    {
        found.mixing_s = modes.first().map(crate::chain::SlowMode::mixing_time);
        found.modes = modes.iter().map(|mode| -mode.rate).collect();
    }
    let holds = start.queue <= storm.room as f64;
    if !holds || (two && !found.bounded && !storm.recovers(start)) {
        return (two && !found.bounded && !storm.recovers(start)).then_some(Lasting::Never);
    }
    if two && !found.bounded {
        // The chain would come back from its own end, which the service does not have.
        return None;
    }
    Some(told(answer.from_start))
}

fn told(expected: Expected) -> Lasting {
    match expected {
        Expected::After(seconds) => Lasting::Seconds(seconds),
        Expected::BeyondReach => Lasting::PowerOfTen(300.0),
    }
}

/// The largest part of a service, at most all of it, whose chain can be solved.
fn size(storm: &Storm) -> Option<f64> {
    storm.grid().ok()?;
    let mut size = 1.0;
    while size >= SMALLEST {
        if storm.scaled(size).work() <= AFFORDABLE {
            return Some(size);
        }
        size *= 0.9;
    }
    None
}
