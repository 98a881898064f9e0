//! What is measured of one system, and in which words.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use damper_sim::{
    ClassStats, Conditions, Control, Estimate, Headroom, HeadroomOptions, Outcome, Plan, headroom,
    run,
};
use damper_system::SystemFile;
use damper_system::model::System;
use rayon::prelude::*;

pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

/// Errors at every service with a capacity, to find the price.
pub(crate) const ERRORS: f64 = 0.01;

pub(crate) fn repository() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).to_owned()
}

/// An example of the repository, changed.
pub(crate) fn example(name: &str, changes: &[String]) -> (SystemFile, System) {
    let path = repository().join("examples").join(name);
    let mut file = SystemFile::read(&path).unwrap_or_else(|p| panic!("{p}"));
    for change in changes {
        file.set(change).unwrap_or_else(|p| panic!("{change}: {p}"));
    }
    let system = file.lower().unwrap_or_else(|p| panic!("{changes:?}: {p}"));
    (file, system)
}

/// Advertised and hidden capacity.
pub(crate) fn capacity(file: &SystemFile, system: &System, replications: u32) -> Headroom {
    let options = HeadroomOptions { replications, remedy_replications: 1, remedies: false };
    let control = Control { stop: &STOP, progress: &|_, _, _| {} };
    headroom(file, system, &options, &control).unwrap()
}

/// Independent runs, in parallel; their order is that of the replications.
pub(crate) fn runs(plan: &Plan, conditions: &Conditions, replications: u32) -> Vec<Outcome> {
    (0..replications).into_par_iter().map(|r| run(plan, conditions, r, &STOP)).collect()
}

/// Good requests as a share of those that ended, over all classes.
pub(crate) fn success(outcome: &Outcome) -> f64 {
    let good: u64 = outcome.classes.iter().map(ClassStats::good).sum();
    let ended: u64 = outcome.classes.iter().map(ClassStats::ended_all).sum();
    good as f64 / ended.max(1) as f64
}

/// Success by replication when all is well but for errors, at a share of the load of the file.
pub(crate) fn under_errors(
    plan: &Plan,
    load: f64,
    seconds: u64,
    replications: u32,
) -> Vec<Outcome> {
    let mut conditions = Conditions::of(plan);
    conditions.load_factors.fill(load);
    conditions.trigger = None;
    conditions.error_floor = ERRORS;
    conditions.end = conditions.warmup + seconds * 1_000_000_000;
    // Nothing has gone wrong, so that the operator does nothing.
    conditions.trigger_at = u64::MAX;
    runs(plan, &conditions, replications)
}

pub(crate) const BOUNDS: &str = "bounds the loop";

/// What a control does to the loop: the words of `damper headroom` for a remedy.
pub(crate) fn verdict(plain: &Headroom, with: &Headroom, reschedules: bool) -> &'static str {
    let (Some(before), Some(after), Some(top)) = (plain.hidden, with.hidden, with.advertised)
    else {
        return if with.advertised.is_none() { "serves no load" } else { "never heals" };
    };
    let apart = after.ci95[0] > before.ci95[1] || after.ci95[1] < before.ci95[0];
    match after.mean / before.mean {
        _ if after.mean >= 0.95 * top.mean => BOUNDS,
        r if r > 1.1 && apart => "weakens it",
        r if r < 0.95 && apart => "makes it worse",
        _ if reschedules => "only reschedules it",
        _ => "leaves it",
    }
}

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    Estimate::of(&values).mean
}

/// A mean with its interval.
pub(crate) fn rate(estimate: Option<Estimate>) -> String {
    estimate
        .map_or("–".to_owned(), |e| format!("{:.0} ({:.0}–{:.0})", e.mean, e.ci95[0], e.ci95[1]))
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A change of a share in percentage points; never a negative zero.
pub(crate) fn points(change: f64) -> String {
    let hundredths = (1e4 * change).round();
    if hundredths == 0.0 { "0.00".to_owned() } else { format!("{:+.2}", hundredths / 1e2) }
}

/// One line of a table.
pub(crate) fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

pub(crate) fn head(cells: &[&str]) -> String {
    format!("| {} |\n|{}\n", cells.join(" | "), "---|".repeat(cells.len()))
}
