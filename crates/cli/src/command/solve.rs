//! `damper solve`.

mod basins;
mod points;

use anyhow::Context as _;
use damper_model::network::Uniqueness;
use damper_model::system::{Solved, solve};
use damper_report::result as out;
use damper_sim::{Conditions, Control, Plan, simulate};
use damper_system::System;

use crate::args::SolveArgs;
use crate::command::Loaded;
use crate::{command, convert, exit, interrupt, print, progress::Progress};

pub(crate) fn run(args: &SolveArgs) -> anyhow::Result<u8> {
    let loaded = command::load(&args.system)?;
    if args.basins {
        return basins::run(args, &loaded);
    }
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet || !args.against_sim);
    let points = points::of(&loaded.file, args.sweep.as_deref(), args.vary.as_deref())?;
    let mut notes = loaded.notes();
    let mut result = out::Solve::default();
    let mut partial = false;
    let mut one = |system: &System, notes: &mut Vec<String>| -> anyhow::Result<out::Solution> {
        let solved = solve(system)?;
        for note in &solved.notes {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let mut solution = convert_solution(system, &solved);
        if args.against_sim && !partial {
            let show = |what: &str, done, total| progress.show(what, done, total);
            let control = Control { stop: &stop, progress: &show };
            solution.simulated = Some(simulated(system, &solution, &control, &mut partial));
        }
        Ok(solution)
    };
    if points.is_empty() {
        result.solution = Some(one(&loaded.system, &mut notes)?);
    }
    for at in points {
        let Loaded { system, .. } = changed(&loaded, &at)?;
        let solution = one(&system, &mut notes).with_context(|| format!("at {}", at.join(", ")))?;
        result.points.push(out::Point { at, solution });
    }
    drop(progress);
    let origin = convert::origin(&loaded.system, &args.system.file, &args.system.set, notes);
    result.origin = out::Origin { partial, ..origin };
    if args.json {
        print::json(&result)?;
    } else {
        print::solve(&result);
    }
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
    let replications = system.experiment.replications;
    let run = simulate(&plan, &conditions, replications, control);
    *partial |= run.partial;
    let classes = system.classes.iter().zip(&run.rejection).map(|(name, seen)| {
        let solved = solution.classes.get(name).map_or(0.0, |c| c.rejection);
        let class = out::SimulatedClass {
            rejection: seen.mean,
            rejection_ci95: seen.ci95,
            difference: solved - seen.mean,
        };
        (name.clone(), class)
    });
    out::Simulated {
        classes: classes.collect(),
        calls_per_request: run.calls_per_request(&plan).0,
        replications,
    }
}

fn convert_solution(system: &System, solved: &Solved) -> out::Solution {
    let classes = system.classes.iter().zip(&solved.classes).zip(&system.load);
    let classes = classes.map(|((name, class), load)| {
        let class = out::ClassSolution {
            load_rps: load.mean(),
            rejection: class.rejection,
            completion: class.completion,
        };
        (name.clone(), class)
    });
    let services = system.services.iter().zip(&solved.services).map(|(service, s)| {
        let attempts = system.classes.iter().cloned().zip(s.attempts_rps.iter().copied());
        let solution = out::ServiceSolution {
            s: s.s,
            attempts_rps: attempts.collect(),
            utilisation: s.utilisation,
            amplification: s.amplification,
            worst_amplification: s.worst_amplification,
            hidden_rps: s.hidden_rps,
        };
        (service.name.clone(), solution)
    });
    let (unique, because) = match solved.unique {
        Uniqueness::NoLoop => (true, "nothing depends on itself"),
        Uniqueness::SharedRouting => (true, "at most two classes share their routes"),
        Uniqueness::SmallRows => (true, "every service passes on little to its loop"),
        Uniqueness::NotGuaranteed => {
            (false, "no known condition holds; no system of this kind with two is known")
        }
    };
    out::Solution {
        load_rps: system.total_load(),
        classes: classes.collect(),
        class_order: system.classes.clone(),
        services: services.collect(),
        service_order: system.services.iter().map(|s| s.name.clone()).collect(),
        calls_per_request: solved.calls_per_request,
        calls_per_success: solved.calls_per_success,
        floor_calls_per_request: solved.floor_calls_per_request,
        hidden_rps: solved.hidden_rps,
        weakest: solved.weakest.map(|i| system.services[i].name.clone()),
        unique,
        unique_because: because.to_owned(),
        iterations: solved.iterations as u64,
        residual: solved.residual,
        simulated: None,
    }
}
