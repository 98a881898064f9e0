//! `damper solve --basins`.

use damper_model::chain::storm::Point;
use damper_model::system::{self as model, BasinsAnswer, Solved, SystemBasins};
use damper_report::{basins_html, result as out};
use damper_system::System;
use damper_system::coverage::Command;

use crate::args::SolveArgs;
use crate::command::Loaded;
use crate::{command, convert, exit, print, words};

/// Columns and rows of arrows.
const ARROWS: (usize, usize) = (26, 13);

/// Solves and prints.
pub(super) fn run(args: &SolveArgs, loaded: &Loaded) -> anyhow::Result<u8> {
    let system = &loaded.system;
    let mut notes = loaded.notes();
    let result = of(system, &model::solve(system)?, &mut notes);
    let origin = convert::origin(system, &args.system.file, &args.system.set, notes);
    // Where there is no chain, nothing is left out of it.
    let drawn = result.plane.is_some();
    let left_out = if drawn { convert::left_out(Command::Basins, system) } else { Vec::new() };
    let result = out::Basins { origin: out::Origin { left_out, ..origin }, ..result };
    if args.json {
        print::json(&result)?;
    } else {
        print::basins(&result);
        print::left_out(&result.origin);
    }
    command::write_html(args.html.as_deref(), || basins_html(&result))?;
    Ok(exit::OK)
}

/// The basins of a system, in the result format.
pub(super) fn of(system: &System, solved: &Solved, notes: &mut Vec<String>) -> out::Basins {
    let mut result = out::Basins { load_rps: system.total_load(), ..out::Basins::default() };
    match model::basins(system, solved) {
        BasinsAnswer::Nothing(why) => result.nothing = Some(why),
        BasinsAnswer::Loop(found) => {
            notes.extend(found.notes.iter().cloned());
            result.plane = Some(plane(system, &found));
        }
    }
    result
}

fn plane(system: &System, found: &SystemBasins) -> out::Plane {
    let storm = &found.storm;
    let trigger = found.trigger.as_ref().map(|t| out::AfterTrigger {
        trigger: words::trigger(system, &system.triggers[t.trigger]),
        left: out::PlanePoint { queue: t.fluid.queue, waiting: t.fluid.waiting },
        recovers: t.recovers,
        recovery: lasting(t.recovery),
        fluid_recovery_s: t.fluid.recovery,
    });
    out::Plane {
        service: system.services[found.service].name.clone(),
        arrivals_rps: storm.arrival_rate,
        capacity_rps: storm.capacity(),
        hidden_rps: storm.capacity() / (1.0 + storm.retries),
        timeout_s: storm.timeout,
        retries: storm.retries,
        room: found.bounded.then_some(storm.room as u64),
        healthy: found.basins.healthy.map(point),
        tipping: found.basins.tipping.map(point),
        collapsed: found.basins.collapsed.filter(|_| found.bounded).map(point),
        boundary: found.basins.boundary.iter().copied().map(point).collect(),
        frame: found.frame().into(),
        drift: arrows(found),
        collapse_after: found.collapse.map(lasting),
        escape_after: found.escape.map(lasting),
        collapsed_share: found.collapsed_share,
        trigger,
        mixing_s: found.mixing_s,
        slowest_modes_per_s: found.modes.clone(),
        states: found.chain.map(|(states, _)| states as u64),
        scale: found.chain.map(|(_, scale)| scale),
    }
}

fn point(at: Point) -> out::PlanePoint {
    out::PlanePoint { queue: at.queue, waiting: at.waiting }
}

fn lasting(duration: model::Lasting) -> out::Lasting {
    let mut told = out::Lasting::default();
    match duration {
        model::Lasting::Seconds(seconds) => told.seconds = Some(seconds),
        model::Lasting::PowerOfTen(power) => told.beyond_power_of_ten = Some(power),
        model::Lasting::Never => told.never = true,
    }
    told
}

/// The drift over the plane that is worth drawing.
fn arrows(found: &SystemBasins) -> Vec<out::Arrow> {
    let (width, height) = found.frame();
    let (columns, rows) = ARROWS;
    // In the middle of their cells, so that none leaves the picture.
    let share = |i: usize, of: usize| (i as f64 + 0.5) / of as f64;
    let at = |i| Point {
        queue: width * share(i % columns, columns),
        waiting: height * share(i / columns, rows),
    };
    let arrow = |at: Point| {
        let (queue_per_s, waiting_per_s) = found.storm.drift(at);
        out::Arrow { at: point(at), queue_per_s, waiting_per_s }
    };
    (0..columns * rows).map(|i| arrow(at(i))).collect()
}
