//! `damper headroom`.

mod cost;

use damper_sim::{Control, HeadroomOptions, HeadroomState, Plan, headroom};
use damper_system::model::System;

use crate::args::{Gate, HeadroomArgs};
use crate::{command, convert, exit, interrupt, print, progress::Progress, words};

pub(crate) fn run(args: &HeadroomArgs) -> anyhow::Result<u8> {
    let mut loaded = command::load(&args.system)?;
    loaded.override_experiment(&args.output);
    let unit = args.cost.as_deref().map(cost::parse).transpose()?;
    let stop = interrupt::flag();
    let progress = Progress::new(args.output.quiet);
    let show = |what: &str, done, total| progress.show(what, done, total);
    let options = HeadroomOptions {
        replications: loaded.system.experiment.replications,
        remedy_replications: loaded.system.experiment.replications.div_ceil(2),
        remedies: !args.no_remedies,
    };
    let control = Control { stop: &stop, progress: &show };
    let found = headroom(&loaded.file, &loaded.system, &options, &control)?;
    drop(progress);
    let plan = Plan::new(&loaded.system);
    let mut notes = loaded.notes();
    notes.extend(found.notes.iter().cloned());
    let origin = convert::origin(&loaded.system, &args.system.file, &args.system.set, notes);
    let mut result = convert::headroom(origin, &plan, &found, named_trigger(&loaded.system));
    if let Some(unit) = &unit {
        cost::add(&mut result, unit);
    }
    if args.output.json {
        print::json(&result)?;
    } else {
        print::headroom(&result);
    }
    command::write_html(args.output.html.as_deref(), || damper_report::headroom_html(&result))?;
    if found.partial {
        return Ok(exit::INTERRUPTED);
    }
    let failed = match (args.fail_on, found.state) {
        (None, _) | (_, HeadroomState::Stable | HeadroomState::Unknown) => false,
        (Some(Gate::Vulnerable), _) => true,
        (Some(Gate::Overloaded), state) => state == HeadroomState::Overloaded,
    };
    Ok(if failed { exit::GATE } else { exit::OK })
}

/// Name and words of the experiment's trigger.
fn named_trigger(system: &System) -> (String, String) {
    let trigger = system.experiment.trigger.and_then(|t| system.triggers.get(t));
    trigger.map_or_else(Default::default, |t| (t.name.clone(), words::trigger(system, t)))
}
