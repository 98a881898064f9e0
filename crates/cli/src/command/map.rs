//! `damper map`.

mod axis;
mod rare;

use std::fmt::Write as _;

use anyhow::anyhow;
use damper_sim::{Control, MapOptions, map};
use damper_system::{Problems, System};

use crate::args::MapArgs;
use crate::command::Loaded;
use crate::command::csv::quoted;
use crate::{command, convert, exit, interrupt, print, progress::Progress, words};
use axis::Axis;

pub(crate) fn run(args: &MapArgs) -> anyhow::Result<u8> {
    let mut loaded = command::load(&args.system)?;
    let seed = args.seed.unwrap_or(loaded.system.experiment.seed);
    loaded.system.experiment.seed = seed;
    if args.rare {
        return rare::run(args, &loaded);
    }
    let axis = |text: &Option<String>| Axis::parse(text.as_deref().unwrap_or_default(), &loaded);
    let (x, y) = (axis(&args.x)?, axis(&args.y)?);
    let at = |at_x: f64, at_y: f64| -> Result<System, String> {
        let mut system =
            system_at(&loaded, &[(&x, at_x), (&y, at_y)]).map_err(|p| p.to_string())?;
        system.experiment.seed = seed;
        Ok(system)
    };
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet);
    let show = |what: &str, done, total| progress.show(what, done, total);
    let options = MapOptions {
        side: args.cells.next_power_of_two(),
        most_runs: args.most_runs,
        ordered: !args.run_all,
    };
    let control = Control { stop: &stop, progress: &show };
    let found = map(&x.range(), &y.range(), &at, &options, &control)
        .map_err(|why| anyhow!(why.trim_end().to_owned()))?;
    drop(progress);
    let origin = convert::origin(
        &loaded.system,
        &args.system.file,
        &args.system.set,
        loaded.notes().into_iter().chain(x.note()).chain(y.note()).collect(),
    );
    let mut result = convert::map(origin, &found, &options);
    (result.x, result.y) = (x.told(), y.told());
    result.file_at = x.inside().zip(y.inside()).map(|(x, y)| [x, y]);
    let trigger = loaded.system.experiment.trigger.and_then(|t| loaded.system.triggers.get(t));
    result.trigger = trigger.map(|t| words::trigger(&loaded.system, t)).unwrap_or_default();
    if args.json {
        print::json(&result)?;
    } else {
        print::map(&result);
    }
    if let Some(path) = &args.csv {
        command::write(path, &csv(&result))?;
        print::note(&format!("points: {}", path.display()));
    }
    command::write_html(args.html.as_deref(), || damper_report::map_html(&result))?;
    Ok(if found.partial { exit::INTERRUPTED } else { exit::OK })
}

/// The system with these values.
fn system_at(loaded: &Loaded, values: &[(&Axis, f64)]) -> Result<System, Problems> {
    let mut file = loaded.file.clone();
    for (axis, value) in values {
        axis.apply(*value, &mut file)?;
    }
    let mut system = file.lower()?;
    // After all others, since they may change what there is to bring to it.
    values.iter().filter(|(axis, _)| axis.is_load()).for_each(|(_, load)| system.bring_to(*load));
    Ok(system)
}

/// The points that were run, one a line.
fn csv(map: &damper_report::result::Map) -> String {
    let column = |axis: &damper_report::result::MapAxis| match axis.unit.as_str() {
        "" => quoted(&axis.path),
        unit => quoted(&format!("{} [{unit}]", axis.path)),
    };
    let mut text = format!(
        "{},{},state,runs,healed,heals_low,heals_high,decided,seed,version\n",
        column(&map.x),
        column(&map.y)
    );
    for p in &map.points {
        let [low, high] = p.heals_ci95;
        let _ = writeln!(
            text,
            "{},{},{},{},{},{low:.4},{high:.4},{},{},{}",
            p.x, p.y, p.state, p.runs, p.healed, p.decided, map.origin.seed, map.origin.version
        );
    }
    text
}
