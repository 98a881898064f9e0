//! `damper simulate`.

use damper_report::result::Simulate;
use damper_sim::{Conditions, Control, Plan, Simulated, simulate};
use damper_system::System;

use crate::args::SimulateArgs;
use crate::{command, convert, exit, interrupt, print, progress::Progress, words};

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<u8> {
    let mut loaded = command::load(&args.system)?;
    loaded.override_experiment(&args.output);
    let system = &loaded.system;
    let stop = interrupt::flag();
    let progress = Progress::new(args.output.quiet);
    let show = |what: &str, done, total| progress.show(what, done, total);
    let plan = Plan::new(system);
    let conditions = Conditions::of(&plan);
    let control = Control { stop: &stop, progress: &show };
    let run = simulate(&plan, &conditions, system.experiment.replications, &control);
    drop(progress);
    let mut origin = convert::origin(system, &args.system.file, &args.system.set, loaded.notes());
    origin.partial = run.partial;
    let trigger = conditions.trigger.and_then(|t| system.triggers.get(t));
    let result = Simulate {
        origin,
        trigger: trigger.map_or_else(String::new, |t| words::trigger(system, t)),
        run: convert::simulation(&plan, &run, system.total_load(), conditions.trigger_span(&plan)),
        graph: convert::graph(&plan, Some(&run), None),
    };
    if args.output.json {
        print::json(&result)?;
    } else {
        print::simulate(&result);
        mechanisms(system, &run);
    }
    command::write_html(args.output.html.as_deref(), || damper_report::simulate_html(&result))?;
    Ok(if run.partial { exit::INTERRUPTED } else { exit::OK })
}

/// What mechanisms did, where there are any.
fn mechanisms(system: &System, run: &Simulated) {
    for (service, stats) in system.services.iter().zip(&run.services) {
        let done: Vec<String> = stats
            .mechanisms
            .named()
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| match name {
                "paused" => format!("{} paused", print::seconds(n as f64 / 1e9)),
                _ => format!("{} {name}", print::thousands(n)),
            })
            .collect();
        if !done.is_empty() {
            print::line(&format!("  {}: {}", service.name, done.join(", ")));
        }
    }
}
