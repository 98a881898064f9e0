//! `cargo xtask harness`: the attempts that `damper scan` reads from a program, beside those that
//! the program makes.
//!
//! The programs of `compare/harness` ask a server on the loopback interface that always fails and
//! counts. Nothing about what is expected is written down: one side is the count, the other is
//! what `scan` prints of the same file.

mod program;
mod said;
mod server;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Result, bail};
use serde_json::json;

use crate::process;
use program::{Language, Measured, Program};
use said::Said;
use verdict::Verdict;

/// So many programs run at the same time; most of the time they wait.
const AT_ONCE: usize = 6;
/// Fewer programs show nothing.
const ENOUGH: usize = 60;
/// The least share of exact counts among those that can be known, in percent.
const LEAST: f64 = 95.0;

/// Which programs, and how to print.
#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Only programs with this in their names
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Also print why a count is not known, and what programs that did not ask have said
    #[arg(long)]
    details: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// One program with both sides.
struct Row {
    program: Program,
    measured: Measured,
    said: Said,
    verdict: Verdict,
    log: PathBuf,
}

/// `cargo xtask harness`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let (rows, missing) = measure(arguments, &process::damper()?)?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&as_json(&rows))?);
    } else {
        print(&rows, arguments.details);
    }
    let whole = arguments.only.is_none() && missing.is_empty();
    let ran = rows.iter().filter(|row| row.verdict != Verdict::DidNotRun).count();
    judge(&rows.iter().collect::<Vec<_>>())?;
    if whole && ran < ENOUGH {
        bail!("only {ran} programs ran, and fewer than {ENOUGH} show nothing");
    }
    Ok(())
}

/// The same, as a step of the tests: what could not run is said.
pub(crate) fn step(damper: &Path) -> Result<String> {
    let (rows, missing) = measure(&Arguments::default(), damper)?;
    print(&rows, true);
    let all: Vec<&Row> = rows.iter().collect();
    judge(&all)?;
    let left_out = missing.iter().map(|what| format!("; left out: no {what}"));
    Ok(Totals::of(&all).to_string() + &left_out.collect::<String>())
}

/// Runs and scans all that are asked for; and what is not installed.
fn measure(arguments: &Arguments, damper: &Path) -> Result<(Vec<Row>, Vec<&'static str>)> {
    let mut programs = Vec::new();
    let mut missing = Vec::new();
    for language in Language::ALL {
        let mut all = Program::all(language)?;
        let only = arguments.only.as_deref().unwrap_or_default();
        all.retain(|program| program.name().contains(only));
        if all.is_empty() {
            continue;
        }
        if let Some(what) = language.missing() {
            eprintln!("left out: {} ({what} is not there)", language.name());
            missing.push(what);
            continue;
        }
        language.prepare()?;
        programs.extend(all);
    }
    let logs = process::target()?.join("harness");
    std::fs::create_dir_all(&logs)?;
    let queue = Mutex::new(programs.into_iter());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(program) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                    let row = one(program, damper, &logs);
                    if let Ok(mut done) = done.lock() {
                        done.push(row);
                    }
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut rows = done.into_iter().collect::<Result<Vec<Row>>>()?;
    rows.sort_by(|a, b| {
        (a.program.language, &a.program.file).cmp(&(b.program.language, &b.program.file))
    });
    if rows.is_empty() {
        bail!("no program has this in its name, or nothing to run one with is there");
    }
    Ok((rows, missing))
}

fn one(program: Program, damper: &Path, logs: &Path) -> Result<Row> {
    let log = logs.join(format!("{}.log", program.name().replace('/', "-")));
    let measured = program.measure(&log)?;
    let mut command: Command = process::program(damper);
    command.current_dir(program::folder());
    let said = Said::ask(command, &program.file, &program.manifest())?;
    let verdict = Verdict::of(measured, &said, program.unknowable.is_none());
    Ok(Row { program, measured, said, verdict, log })
}

/// What must hold.
fn judge(rows: &[&Row]) -> Result<()> {
    let named = |wrong: &dyn Fn(&Row) -> bool| -> String {
        let wrong = rows.iter().filter(|row| wrong(row));
        wrong.map(|row| row.program.name()).collect::<Vec<_>>().join(", ")
    };
    let below = named(&|row| row.verdict.is_below() && row.program.missed.is_none());
    if !below.is_empty() {
        bail!("below what was measured: {below}");
    }
    let found = named(&|row| row.program.missed.is_some() && row.verdict == Verdict::Exact);
    if !found.is_empty() {
        bail!("no longer missed, so their heads should not say it: {found}");
    }
    let idle = named(&|row| row.verdict == Verdict::DidNotRun);
    if !idle.is_empty() {
        bail!("never asked (--details shows what they said): {idle}");
    }
    let totals = Totals::of(rows);
    if totals.share() < LEAST {
        bail!("{totals}; at least {LEAST} % must be");
    }
    if totals.within < totals.unknowable {
        bail!("{totals}: bounds must hold, and say why they are bounds");
    }
    Ok(())
}

/// Counts over some programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    /// Programs whose count can be read.
    knowable: usize,
    exact: usize,
    /// Programs whose count depends on something that is decided later.
    unknowable: usize,
    /// Of these, where what is said holds.
    within: usize,
}

impl Totals {
    fn of(rows: &[&Row]) -> Self {
        let mut all = Self::default();
        for row in rows {
            let good = matches!(row.verdict, Verdict::Exact | Verdict::Within);
            let (count, right) = if row.program.unknowable.is_none() {
                (&mut all.knowable, &mut all.exact)
            } else {
                (&mut all.unknowable, &mut all.within)
            };
            *count += 1;
            *right += usize::from(good);
        }
        all
    }

    /// In percent.
    fn share(self) -> f64 {
        if self.knowable == 0 { 100.0 } else { 100.0 * self.exact as f64 / self.knowable as f64 }
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { knowable, exact, unknowable, within } = self;
        write!(out, "{exact} of {knowable} exact ({:.1} %)", self.share())?;
        write!(out, ", {within} of {unknowable} within bounds")
    }
}

fn print(rows: &[Row], details: bool) {
    let measured = |row: &Row| {
        let Measured { count, stopped } = row.measured;
        if stopped { format!("{count}, stopped") } else { count.to_string() }
    };
    println!("{:<36} {:<30} {:>12}  {:<22} verdict", "program", "found", "measured", "said");
    for row in rows {
        println!(
            "{:<36} {:<30} {:>12}  {:<22} {}",
            row.program.name(),
            if row.said.by.is_empty() { "nothing".to_owned() } else { row.said.by.join(" + ") },
            measured(row),
            row.said.attempts.to_string(),
            row.verdict.name(),
        );
        if !details || row.verdict == Verdict::Exact {
            continue;
        }
        if let Some(missed) = &row.program.missed {
            println!("    known to be missed: {missed}");
        }
        if let Some(unknowable) = &row.program.unknowable {
            println!("    cannot be known: {unknowable}");
        }
        for why in &row.said.why {
            println!("    said why: {why}");
        }
        if row.verdict == Verdict::DidNotRun {
            let log = std::fs::read_to_string(&row.log).unwrap_or_default();
            log.lines().rev().take(5).for_each(|line| println!("    {line}"));
        }
    }
    println!();
    for language in Language::ALL {
        let of: Vec<&Row> = rows.iter().filter(|row| row.program.language == language).collect();
        if !of.is_empty() {
            println!("{:<8} {:>4} programs: {}", language.name(), of.len(), Totals::of(&of));
        }
    }
    let all: Vec<&Row> = rows.iter().collect();
    println!("{:<8} {:>4} programs: {}", "all", rows.len(), Totals::of(&all));
    let counts = Verdict::ALL.map(|verdict| {
        let count = rows.iter().filter(|row| row.verdict == verdict).count();
        format!("{count} {}", verdict.name())
    });
    println!("{}", counts.join(", "));
}

fn as_json(rows: &[Row]) -> serde_json::Value {
    let programs: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "program": row.program.name(),
                "kind": row.program.kind,
                "unknowable": row.program.unknowable,
                "missed": row.program.missed,
                "measured": row.measured.count,
                "stopped": row.measured.stopped,
                "found": row.said.by,
                "said": row.said.attempts.to_string(),
                "why": row.said.why,
                "verdict": row.verdict,
            })
        })
        .collect();
    let totals = Totals::of(&rows.iter().collect::<Vec<_>>());
    json!({
        "programs": programs,
        "knowable": totals.knowable,
        "exact": totals.exact,
        "unknowable": totals.unknowable,
        "within": totals.within,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use said::Attempts;

    fn row(verdict: Verdict, unknowable: bool) -> Row {
        Row {
            program: Program {
                language: Language::Python,
                file: PathBuf::from("a.py"),
                kind: "hand-rolled".to_owned(),
                unknowable: unknowable.then(|| "a parameter".to_owned()),
                missed: None,
            },
            measured: Measured { count: 1, stopped: false },
            said: Said { attempts: Attempts::Exact(1), by: Vec::new(), why: Vec::new() },
            verdict,
            log: PathBuf::new(),
        }
    }

    fn judged(rows: &[Row]) -> String {
        judge(&rows.iter().collect::<Vec<_>>())
            .map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn what_must_hold() {
        let exact = || (0..19).map(|_| row(Verdict::Exact, false));
        let with = |verdict, unknowable| {
            judged(&exact().chain([row(verdict, unknowable)]).collect::<Vec<_>>())
        };
        assert_eq!(with(Verdict::Over, false), "fine", "one of twenty may be over");
        assert_eq!(with(Verdict::Within, true), "fine");
        assert_eq!(with(Verdict::Under, false), "below what was measured: python/a.py");
        assert_eq!(with(Verdict::NotFound, true), "below what was measured: python/a.py");
        assert!(with(Verdict::DidNotRun, false).starts_with("never asked"));
        assert!(with(Verdict::NoReason, true).contains("0 of 1 within bounds"));
        let mut missed = row(Verdict::NotFound, false);
        missed.program.missed = Some("no wait".to_owned());
        assert_eq!(judged(&exact().chain([missed]).collect::<Vec<_>>()), "fine");
        let mut missed = row(Verdict::Exact, false);
        missed.program.missed = Some("no wait".to_owned());
        assert!(judged(&[missed]).starts_with("no longer missed"));
        let two: Vec<Row> =
            exact().chain([row(Verdict::Over, false), row(Verdict::Vague, false)]).collect();
        assert!(judged(&two).starts_with("19 of 21 exact (90.5 %)"), "{}", judged(&two));
    }
}
