//! `cargo xtask compare scan`: how fast `damper scan` reads a tree, beside Semgrep with rules for
//! the same retries.
//!
//! Both are whole programs, from their start to the last byte of JSON, with a thread for each core,
//! and take turns on one copy of the tree. The copy holds only files that both read. Semgrep sends
//! nothing, asks for no newer version and reads its rules from a file. Before any ratio, it is
//! checked that both have read the same files.

mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use serde::Deserialize;

use super::python;
use crate::process::{cargo, program, root, run, shown, target, works};

/// Settings of the comparison.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Folders to read [default: what is at hand of Python's standard library, of the crates that
    /// Cargo has unpacked, and of the modules that come with Node]
    folders: Vec<PathBuf>,
    /// The most that is copied of them, in MiB: of each the same share, spread over its files
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u64).range(1..=1024))]
    mib: u64,
    /// How often each has its turn; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One turn over 1 MiB: to see that it works, not to quote
    #[arg(long, conflicts_with_all = ["mib", "rounds"])]
    quick: bool,
}

/// How far the numbers of files read may be apart, relative to the larger.
const TOLERANCE: f64 = 0.02;

/// What one run of a program took.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Turn {
    wall_s: f64,
    cpu_s: f64,
    /// The largest process of it; `None`: this system cannot tell.
    peak_mib: Option<f64>,
}

/// What a program says it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    files: usize,
    found: usize,
}

/// The parts of `damper scan --json` that are compared.
#[derive(Deserialize)]
struct Ours {
    policies: Vec<serde_json::Value>,
    coverage: Coverage,
}

#[derive(Deserialize)]
struct Coverage {
    files: usize,
    lines: u64,
}

/// The parts of `semgrep scan --json` that are compared.
#[derive(Deserialize)]
struct Theirs {
    results: Vec<serde_json::Value>,
    paths: Paths,
}

#[derive(Deserialize)]
struct Paths {
    scanned: Vec<String>,
}

/// `cargo xtask compare scan`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let (rounds, mib) = if arguments.quick { (1, 1) } else { (arguments.rounds, arguments.mib) };
    run(&mut cargo("build --release --locked --package damper"))?;
    let python = python("semgrep", &root().join("compare/semgrep/requirements.txt"))?;
    let folder = target()?.join("compare/scan");
    let copy = folder.join("tree");
    let copied = tree::copy(&arguments.folders, &copy, mib << 20)?;
    println!("copied: {copied}");
    let ours = |out: &Path| -> Result<std::process::Command> {
        let mut command = words(&target()?.join("release/damper"), &["scan", "--quiet", "--json"]);
        command.args(["--scope", "all", "--implicit", "--fail-on", "never", "--output"]);
        command.arg(out).arg(&copy);
        Ok(command)
    };
    let theirs = |out: &Path| semgrep(&python, out, &copy);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let (out_a, out_b) = (folder.join("damper.json"), folder.join("semgrep.json"));
    for _ in 0..rounds {
        a.push(turn(ours(&out_a)?, &folder)?);
        b.push(turn(theirs(&out_b)?, &folder)?);
    }
    let (scan, lines) = our_result(&out_a)?;
    let other = their_result(&out_b)?;
    println!(
        "{lines} lines in {} files, median of {rounds} turns, {} threads each\n",
        scan.files,
        threads()
    );
    print(lines, &[("Damper", scan, median(a)), ("Semgrep", other, median(b))])?;
    agree(scan.files, other.files)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn words(name: &Path, words: &[&str]) -> Command {
    let mut command = program(name);
    command.args(words);
    command
}

/// Semgrep with our rules: no metrics, no look for a newer version, no time-out that would leave
/// files out, and nothing ignored that Damper reads.
fn semgrep(python: &Path, out: &Path, copy: &Path) -> Result<Command> {
    let folder = python.parent().context("a Python is in a folder")?;
    let mut command = words(&folder.join("semgrep"), &["scan", "--quiet", "--json"]);
    command.args(["--metrics=off", "--disable-version-check", "--no-git-ignore"]);
    command.args(["--max-target-bytes", "0", "--timeout", "0", "--oss-only"]);
    command.args(["--jobs", &threads().to_string(), "--json-output"]).arg(out);
    command.arg("--config").arg(root().join("compare/semgrep/retry.yaml")).arg(copy);
    // Its launcher looks for its other half on the path, and its settings go to our folder.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = [folder.to_path_buf()].into_iter().chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(paths)?);
    command.env("SEMGREP_SETTINGS_FILE", out.with_file_name("semgrep-settings.yml"));
    Ok(command)
}

/// Runs a program by `time`, which knows the memory; without one that can, on our own clock.
fn turn(command: Command, folder: &Path) -> Result<Turn> {
    let note = folder.join("time");
    let mut timed = if works(program("/usr/bin/time").args(["-f", "%M", "true"])) {
        let mut timed = program("/usr/bin/time");
        timed.args(["-f", "%U %S %M", "-o"]).arg(&note).arg(command.get_program());
        timed.args(command.get_args());
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                timed.env(name, value);
            }
        }
        timed
    } else {
        command
    };
    let clock = Instant::now();
    let output = timed.output().with_context(|| shown(&timed))?;
    let wall_s = clock.elapsed().as_secs_f64();
    if !output.status.success() {
        bail!(
            "`{}`: {}\n{}",
            shown(&timed),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let (cpu_s, peak_mib) = match fs::read_to_string(&note) {
        Ok(text) => measured(&text).with_context(|| format!("`time` said: {text}"))?,
        Err(_) => (wall_s, None),
    };
    Ok(Turn { wall_s, cpu_s, peak_mib })
}

/// Seconds of a processor and MiB, of `user system KiB`.
fn measured(text: &str) -> Option<(f64, Option<f64>)> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (user, system, kib) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((user + system, Some(kib / 1024.0)))
}

fn our_result(file: &Path) -> Result<(Read, u64)> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let scan: Ours = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    let read = Read { files: scan.coverage.files, found: scan.policies.len() };
    Ok((read, scan.coverage.lines))
}

fn their_result(file: &Path) -> Result<Read> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let scan: Theirs = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    Ok(Read { files: scan.paths.scanned.len(), found: scan.results.len() })
}

/// By what each took on the clock.
fn median(mut turns: Vec<Turn>) -> Option<Turn> {
    turns.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
    turns.get(turns.len() / 2).copied()
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn print(lines: u64, all: &[(&str, Read, Option<Turn>)]) -> Result<()> {
    println!(
        "  {:<9}{:>7}{:>8}{:>11}{:>11}{:>10}{:>15}{:>15}{:>10}",
        "", "files", "found", "wall", "CPU", "peak", "lines/s", "lines/CPU-s", "ours is"
    );
    let mut ours = None;
    for (name, read, turn) in all {
        let turn = turn.context("no turn")?;
        let first = *ours.get_or_insert(turn);
        let ratio = if name == &all[0].0 {
            String::new()
        } else {
            format!("{:.1} x", turn.wall_s / first.wall_s)
        };
        let peak = turn.peak_mib.map_or_else(|| "?".to_owned(), |mib| format!("{mib:.0} MiB"));
        println!(
            "  {name:<9}{:>7}{:>8}{:>9.2} s{:>9.2} s{peak:>10}{:>15.0}{:>15.0}{ratio:>10}",
            read.files,
            read.found,
            turn.wall_s,
            turn.cpu_s,
            lines as f64 / turn.wall_s,
            lines as f64 / turn.cpu_s,
        );
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn agree(ours: usize, theirs: usize) -> Result<()> {
    let apart = ours.abs_diff(theirs) as f64;
    ensure!(
        apart <= TOLERANCE * ours.max(theirs) as f64,
        "not the same work: {ours} files read by Damper, {theirs} by Semgrep"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_work_is_noticed() {
        assert!(agree(1000, 985).is_ok());
        assert!(agree(1000, 900).is_err());
        assert!(agree(0, 10).is_err());
    }

    #[test]
    fn what_time_says_is_read() {
        assert_eq!(measured("1.50 0.25 2048\n"), Some((1.75, Some(2.0))));
        assert_eq!(measured("Command exited"), None);
    }

    #[test]
    fn the_median_is_by_the_clock() {
        let turn = |wall_s| Turn { wall_s, cpu_s: 1.0, peak_mib: None };
        assert_eq!(median(vec![turn(3.0), turn(1.0), turn(2.0)]), Some(turn(2.0)));
        assert_eq!(median(Vec::new()), None);
    }
}
