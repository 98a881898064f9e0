//! `damper map --rare`.

use std::sync::atomic::Ordering;

use anyhow::bail;
use damper_report::result as out;
use damper_sim::{Control, RareOptions, rare};

use super::axis::Axis;
use crate::args::MapArgs;
use crate::command::Loaded;
use crate::{convert, exit, interrupt, print, progress::Progress};

/// Independent results, whose spread is the interval.
const REPLICATIONS: u32 = 10;

pub(super) fn run(args: &MapArgs, loaded: &Loaded) -> anyhow::Result<u8> {
    let x = args.x.as_ref().map(|text| Axis::parse(text, loaded)).transpose()?;
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet);
    let show = |what: &str, done, total| progress.show(what, done, total);
    let control = Control { stop: &stop, progress: &show };
    let options = RareOptions { replications: REPLICATIONS, effort: args.effort };
    let mut notes = loaded.notes();
    let mut points = Vec::new();
    let mut partial = false;
    for value in values(x.as_ref(), args.points) {
        let mut system = match (&x, value) {
            (Some(axis), Some(value)) => super::system_at(loaded, &[(axis, value)])?,
            _ => loaded.system.clone(),
        };
        system.experiment.seed = loaded.system.experiment.seed;
        let load = system.total_load();
        let point = match rare(&system, &options, &control) {
            Ok(found) => {
                partial |= found.partial;
                for note in &found.notes {
                    if !notes.contains(note) {
                        notes.push(note.clone());
                    }
                }
                convert::rare(&found)
            }
            Err(why) if x.is_none() => bail!(why),
            Err(why) => {
                out::RarePoint { nothing: Some(why.to_owned()), ..out::RarePoint::default() }
            }
        };
        points.push(out::RarePoint { value, load_rps: load, ..point });
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    drop(progress);
    partial |= stop.load(Ordering::Relaxed);
    let origin = convert::origin(&loaded.system, &args.system.file, &args.system.set, notes);
    let origin = out::Origin { partial, ..origin };
    let result = out::Rare { origin, x: x.as_ref().map(Axis::told), points };
    if args.json {
        print::json(&result)?;
    } else {
        print::rare(&result);
    }
    Ok(if partial { exit::INTERRUPTED } else { exit::OK })
}

/// Values along the axis, both ends included.
fn values(x: Option<&Axis>, points: u32) -> Vec<Option<f64>> {
    let Some(axis) = x else { return vec![None] };
    let range = axis.range();
    let value = |i: u32| {
        let value = range.from + (range.to - range.from) * f64::from(i) / f64::from(points - 1);
        let value = if range.whole { value.round() } else { value };
        (value * 1e9).round() / 1e9
    };
    let mut all: Vec<f64> = (0..points).map(value).collect();
    all.dedup();
    all.into_iter().map(Some).collect()
}
