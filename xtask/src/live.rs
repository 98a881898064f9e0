//! `cargo xtask live`: whether predictions hold on a system that really runs.

mod measure;
mod page;
mod plan;
mod plot;
mod proxy;
mod quick;
mod stats;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process::{damper, root, target};
use crate::steps::Done;
use measure::{Bench, Failure, How, Live, Part};
pub(crate) use quick::quick;
use stats::Estimate;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The experiment
    #[arg(value_parser = ["hotel", "proxy"])]
    what: String,
    /// A minute: the ends of the range only, and nothing is written
    #[arg(long)]
    quick: bool,
    /// Seed of the first repetition
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Choose pace and seconds so that everything is measured within this, as 15m or 900s
    #[arg(long, value_name = "TIME", value_parser = plan::time, conflicts_with_all = ["quick", "seconds", "repeats"])]
    within: Option<Duration>,
    /// Measured seconds of a repetition, in the system's own time
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(6..=3600))]
    seconds: u32,
    /// Repetitions of each point, each with a seed of its own
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Loads of the low class, per second, in place of all five
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    loads: Vec<u32>,
    /// How many times as slow as the file; found out if not given
    #[arg(long)]
    slower: Option<u32>,
    /// Use the program as it was built before
    #[arg(long)]
    no_build: bool,
    /// Routes that match the class in place of Damper's filter
    #[arg(long)]
    static_policy: bool,
}

/// The files: the same application as call trees and as a routing chain.
const FORMS: [Form; 2] = [
    Form { name: "call trees", file: "examples/hotel-reservation.yaml" },
    Form { name: "routing chain", file: "examples/hotel-reservation-routes.yaml" },
];
/// Load of the low class, per second.
const LOADS: [u32; 5] = [50, 100, 150, 200, 250];
/// Retry limits of high and low.
const LIMITS: [[u32; 2]; 2] = [[5, 1], [5, 5]];
/// Not measured: buckets that are full at first must run dry.
const WARMUP: u32 = 8;
/// A sender that is later than this in one of a hundred requests, in milliseconds, is on a machine
/// that is saturated.
pub(super) const LATE_MS: f64 = 15.0;
/// So is one on a machine that has hardly any rest.
pub(super) const BUSY: f64 = 0.9;
/// How often a run is started.
const TRIES: usize = 3;
/// The aim: live within this of the prediction.
pub(super) const AIM: f64 = 0.03;

/// One form of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
}

/// One point of the experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) form: Form,
    pub(super) limits: [u32; 2],
    pub(super) low: u32,
    /// Without delays between attempts.
    pub(super) immediate: bool,
}

impl Point {
    /// What makes it of the file.
    pub(super) fn sets(&self) -> Vec<String> {
        let [high, low] = self.limits;
        let mut sets = vec![
            format!("load.low={}/s", self.low),
            format!("policies.default.retry.limit={{high: {high}, low: {low}}}"),
        ];
        if self.immediate {
            sets.push("policies.default.retry.backoff=none".to_owned());
        }
        sets
    }
}

/// What is predicted, and what was measured, at one point.
pub(super) struct Outcome {
    pub(super) point: Point,
    /// The model on the form that ran.
    pub(super) tree: Predicted,
    /// The same read as a routing chain.
    pub(super) chain: Predicted,
    pub(super) simulated: Simulated,
    pub(super) live: Vec<Live>,
}

/// Rejection of high and low, and calls per request and per success.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Predicted {
    pub(super) rejection: [f64; 2],
    pub(super) calls: f64,
    pub(super) per_success: f64,
}

/// The simulator's, with intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Simulated {
    pub(super) rejection: [Estimate; 2],
    pub(super) calls: Estimate,
}

impl Outcome {
    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.live.iter().flat_map(|live| &live.parts)
    }

    pub(super) fn rejection(&self, class: usize) -> Estimate {
        Estimate::of(self.parts().map(|part| part.rejection[class]))
    }

    pub(super) fn calls(&self) -> Estimate {
        Estimate::of(self.parts().map(|part| part.calls))
    }

    pub(super) fn per_success(&self) -> Estimate {
        Estimate::of(self.parts().map(|part| part.per_success))
    }
}

/// `cargo xtask live`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    if arguments.what == "proxy" {
        return proxy::run_task();
    }
    let damper = if arguments.no_build { target()?.join("release/damper") } else { damper()? };
    if arguments.quick {
        match quick(damper)? {
            Done::Noted(note) => println!("{note}"),
            Done::Skipped(why) => println!("skipped: {why}"),
            Done::Passed => {}
        }
        return Ok(());
    }
    let begun = Instant::now();
    let bench = Bench::new(damper, arguments.static_policy)?;
    let loads = if arguments.loads.is_empty() { LOADS.to_vec() } else { arguments.loads.clone() };
    let points = all(&loads);
    let mut predicted = Vec::with_capacity(points.len());
    for point in &points {
        predicted.push(bench.predict(point)?);
    }
    println!("predicted and simulated: {} points", points.len());
    let (how, repeats) = plan::plan(&bench, arguments, points.len(), begun)?;
    let mut results = Vec::new();
    let mut missing = Vec::new();
    for (i, (point, (tree, chain, simulated))) in points.iter().zip(predicted).enumerate() {
        println!("[{}/{}] {}", i + 1, points.len(), describe(point));
        match measure(&bench, point, how, repeats) {
            Ok(live) => results.push(Outcome { point: *point, tree, chain, simulated, live }),
            // The others are measured all the same.
            Err(error) => missing.push(format!("{}: {error:#}", describe(point))),
        }
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|w| w != "--no-build").collect();
    write(&bench, &results, &missing, how, repeats, &format!("cargo xtask {}", words.join(" ")))?;
    if missing.is_empty() {
        return Ok(());
    }
    bail!("{} of {} points are missing: {}", missing.len(), points.len(), missing.join("; "))
}

/// Writes the page and its figures, if there is anything to say.
fn write(
    bench: &Bench,
    results: &[Outcome],
    missing: &[String],
    how: How,
    repeats: u32,
    command: &str,
) -> Result<()> {
    if results.is_empty() {
        bail!("nothing was measured, and nothing is written: {}", missing.join("; "));
    }
    let facts = bench.facts(how, repeats)?;
    let docs = root().join("docs");
    for (name, svg) in plot::all(results) {
        let path = docs.join("images").join(name);
        std::fs::write(&path, svg).with_context(|| path.display().to_string())?;
    }
    let path = docs.join("live-hotel.md");
    std::fs::write(&path, page::page(results, missing, &facts, command))
        .with_context(|| path.display().to_string())?;
    print!("{}", page::summary(results));
    println!("written: docs/live-hotel.md");
    Ok(())
}

/// Runs a point as often as asked for.
fn measure(bench: &Bench, point: &Point, how: How, repeats: u32) -> Result<Vec<Live>> {
    let mut live = Vec::new();
    for repeat in 0..repeats {
        let how = How { seed: how.seed + u64::from(repeat), ..how };
        let measured = persistently(|| bench.live(point, how))?;
        println!(
            "    seed {}: rejection {:.3} {:.3}, late {:.1} ms, busy {:.0} %",
            how.seed,
            measured.rejection[0],
            measured.rejection[1],
            measured.late_p99_ms,
            measured.busy * 100.0
        );
        live.push(measured);
    }
    Ok(live)
}

/// A machine that is busy may need another try to start fifteen processes in time. A run that did
/// start is never made again: its figures stand, and if it broke there are none.
fn persistently(mut run: impl FnMut() -> Result<Live, Failure>) -> Result<Live> {
    for _ in 1..TRIES {
        match run() {
            Err(Failure::NotStarted(error)) => println!("    once more: {error:#}"),
            done => return Ok(done?),
        }
    }
    Ok(run()?)
}

fn describe(point: &Point) -> String {
    let delays = if point.immediate { ", retries at once" } else { "" };
    let [high, low] = point.limits;
    format!("{}, low {}/s, k = ({high}, {low}){delays}", point.form.name, point.low)
}

/// Every point: both forms, all loads and limits, and the trap.
fn all(loads: &[u32]) -> Vec<Point> {
    let mut points = Vec::new();
    for form in FORMS {
        for limits in LIMITS {
            let at = |low: &u32| Point { form, limits, low: *low, immediate: false };
            points.extend(loads.iter().map(at));
        }
        points.push(Point { form, limits: LIMITS[0], low: 250, immediate: true });
    }
    points
}

/// The filter, where it has been made.
fn filter() -> Option<PathBuf> {
    crate::filter::path().ok().filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_started_is_never_made_again() {
        let mut runs = 0;
        let done = persistently(|| {
            runs += 1;
            let why = anyhow::anyhow!("run {runs}");
            Err(if runs < 2 { Failure::NotStarted(why) } else { Failure::Broken(why) })
        });
        assert_eq!((done.unwrap_err().to_string().as_str(), runs), ("run 2", 2));
        let mut runs = 0;
        let done = persistently(|| {
            runs += 1;
            Err(Failure::NotStarted(anyhow::anyhow!("not yet")))
        });
        assert!(done.is_err());
        assert_eq!(runs, TRIES);
    }
}
