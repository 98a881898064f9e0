//! `damper solve`.

mod basins;
mod outcome;
pub(crate) mod points;

use std::sync::atomic::Ordering;

use anyhow::Context as _;
use damper_model::network::Uniqueness;
use damper_model::system::{Solved, restarts, solve};
use damper_report::result as out;
use damper_sim::{Conditions, Control, Plan, simulate};
use damper_system::System;
use damper_system::coverage::Command;

use crate::args::SolveArgs;
use crate::command::Loaded;
use crate::{command, convert, exit, interrupt, print, progress::Progress};

pub(crate) fn run(args: &SolveArgs) -> anyhow::Result<u8> {
    let mut loaded = command::load(&args.system)?;
    if args.basins {
        return basins::run(args, &loaded);
    }
    let experiment = &mut loaded.system.experiment;
    experiment.seed = args.seed.unwrap_or(experiment.seed);
    let seed = experiment.seed;
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet || !args.against_sim);
    let points = points::of(&loaded.file, args.sweep.as_deref(), args.vary.as_deref())?;
    let mut notes = loaded.notes();
    let mut result =
        out::Solve { swept: points.swept, varied: points.varied, ..out::Solve::default() };
    let mut partial = false;
    let mut left_out: Vec<out::LeftOut> = Vec::new();
    let mut one = |system: &System, notes: &mut Vec<String>| -> anyhow::Result<_> {
        let solved = solve(system)?;
        let read = solved.as_routes.as_ref().filter(|r| r.differs_from(&solved));
        let remarks = read.map_or(&[][..], |r| &r.remarks);
        for note in solved.notes.iter().chain(remarks) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        // A point of a sweep can have what the file itself does not.
        for left in convert::left_out(Command::Solve, system) {
            if left_out.iter().all(|known| known.key != left.key) {
                left_out.push(left);
            }
        }
        let mut solution = outcome::solution(system, &solved);
        if args.restarts > 0 && solved.unique == Uniqueness::NotGuaranteed && !partial {
            let stopped = || stop.load(Ordering::Relaxed);
            let found = restarts(system, args.restarts as usize, seed, stopped)?;
            partial |= stopped();
            solution.fixed_points = Some(outcome::fixed_points(system, &found));
        }
        if args.against_sim && !partial {
            let show = |what: &str, done, total| progress.show(what, done, total);
            let control = Control { stop: &stop, progress: &show };
            solution.simulated = Some(simulated(system, &solution, &control, &mut partial));
        }
        Ok((solved, solution))
    };
    if points.all.is_empty() {
        let (solved, solution) = one(&loaded.system, &mut notes)?;
        result.solution = Some(solution);
        result.graph = Some(graph(&loaded.system, &solved));
    }
    for at in points.all {
        let Loaded { mut system, .. } = changed(&loaded, &at.set)?;
        system.experiment.seed = seed;
        let solved = one(&system, &mut notes);
        let (_, solution) = solved.with_context(|| format!("at {}", at.set.join(", ")))?;
        let points::At { set, value, variant } = at;
        result.points.push(out::Point { at: set, value, variant, solution });
    }
    drop(progress);
    let origin = convert::origin(&loaded.system, &args.system.file, &args.system.set, notes);
    result.origin = out::Origin { partial, left_out, ..origin };
    if args.json {
        print::json(&result)?;
    } else {
        print::solve(&result);
        print::left_out(&result.origin);
    }
    command::write_html(args.html.as_deref(), || damper_report::solve_html(&result))?;
    Ok(if partial { exit::INTERRUPTED } else { exit::OK })
}

/// The system at one point of a sweep.
fn changed(loaded: &Loaded, at: &[String]) -> anyhow::Result<Loaded> {
    let mut file = loaded.file.clone();
    for assignment in at {
        file.set(assignment)?;
    }
    let (system, warnings) = file.lower_with_warnings()?;
    Ok(Loaded { file, system, warnings })
}

/// The call graph, with what the solution sends to each service.
fn graph(system: &System, solved: &Solved) -> out::Graph {
    let mut graph = convert::graph(&Plan::new(system), None, None);
    for node in &mut graph.nodes {
        let is_it = |s: &damper_system::model::Service| s.name == node.name;
        let Some(i) = system.services.iter().position(is_it) else { continue };
        let service = &solved.services[i];
        node.amplification = Some(service.amplification);
        node.attempts_rps = Some(service.attempts_rps.iter().sum());
        node.rejection = Some(service.s);
    }
    graph
}

/// The simulator on the same system, without a trigger: the model knows none.
fn simulated(
    system: &System,
    solution: &out::Solution,
    control: &Control<'_>,
    partial: &mut bool,
) -> out::Simulated {
    let plan = Plan::new(system);
    let mut conditions = Conditions::of(&plan);
    conditions.trigger = None;
    let run = simulate(&plan, &conditions, system.experiment.replications, control);
    *partial |= run.partial;
    outcome::simulated(system, solution, &run)
}
