//! `cargo xtask compare control`: decisions of our controls beside those of tower, governor,
//! tower-resilience and congestion-limiter, on one thread and on two; and whether they are the
//! same as those of the programs they are taken from.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Deserialize;

use super::python;
use crate::process::{cargo, program, quiet_output, root, run, target};

/// Settings of the comparison.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How often each contestant has its turn; the median counts
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Microseconds that a turn takes; a short one is less likely to be disturbed
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(100..))]
    microseconds: u32,
    /// Five short turns: to see that it works, not to quote
    #[arg(long, conflicts_with_all = ["rounds", "microseconds"])]
    quick: bool,
    /// Only compare what is decided, and measure nothing
    #[arg(long, conflicts_with_all = ["rounds", "microseconds", "quick"])]
    same: bool,
}

/// What one contestant took on so many threads.
#[derive(Clone, Debug, Deserialize)]
struct Measured {
    group: String,
    name: String,
    ours: bool,
    threads: u32,
    /// Nanoseconds per request, the median of `rounds`.
    ns: f64,
    rounds: u32,
}

/// A contestant on one thread and on two.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    name: String,
    ours: bool,
    one: Option<f64>,
    two: Option<f64>,
}

/// The group of what cannot be had for less, and its member that must be slower on two threads.
const FLOOR: &str = "floor";
const ONE_WORD: &str = "one word that all write";

/// `cargo xtask compare control`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    same()?;
    if arguments.same {
        return Ok(());
    }
    let built = target()?.join("compare/control");
    run(&mut peers("build --release --locked")?)?;
    let (rounds, microseconds) =
        if arguments.quick { (5, 500) } else { (arguments.rounds, arguments.microseconds) };
    let mut measure = program(built.join("release/compare-control"));
    let text = quiet_output(measure.args([rounds.to_string(), microseconds.to_string()]))?;
    let measured: Vec<Measured> = text
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
        .collect::<Result<_>>()?;
    let groups = groups(&measured);
    println!(
        "\nnanoseconds per request, on one thread and on two at the same time, median of {rounds}; \
         \"times\" is how much longer a peer takes than the last of ours"
    );
    for (group, rows) in &groups {
        print(group, rows);
    }
    if let Some(warning) = warning(&groups, &measured) {
        println!("\n{warning}");
    }
    Ok(())
}

/// Whether our controls decide as the programs they are taken from: tower, governor, the AWS SDK
/// for Rust, and gRPC's client.
pub(crate) fn same() -> Result<()> {
    run(&mut peers("test --locked --no-fail-fast --tests")?)?;
    let mut expect = peers("run --locked --quiet")?;
    let expected = target()?.join("compare/control/grpc.jsonl");
    fs::write(&expected, quiet_output(expect.args(["--", "grpc"]))?)?;
    let folder = root().join("compare/grpc");
    let mut compare = program(python("grpc", &folder.join("requirements.txt"))?);
    run(compare.arg(folder.join("throttle.py")).arg(expected))
}

/// Cargo, in the workspace of the peers.
fn peers(words: &str) -> Result<Command> {
    let mut command = cargo(words);
    command.arg("--manifest-path").arg(root().join("compare/control/Cargo.toml"));
    command.arg("--target-dir").arg(target()?.join("compare/control"));
    Ok(command)
}

/// By group, in the order in which they were measured.
fn groups(measured: &[Measured]) -> Vec<(String, Vec<Row>)> {
    let mut groups: Vec<(String, Vec<Row>)> = Vec::new();
    let mut place = BTreeMap::new();
    for Measured { group, name, ours, threads, ns, .. } in measured {
        let index = *place.entry(group).or_insert(groups.len());
        if index == groups.len() {
            groups.push((group.clone(), Vec::new()));
        }
        let rows = &mut groups[index].1;
        if rows.last().is_none_or(|row| row.name != *name) {
            rows.push(Row { name: name.clone(), ours: *ours, ..Row::default() });
        }
        if let Some(row) = rows.last_mut() {
            *if *threads == 1 { &mut row.one } else { &mut row.two } = Some(*ns);
        }
    }
    groups
}

/// Why the numbers for two threads should not be believed, if so.
fn warning(groups: &[(String, Vec<Row>)], measured: &[Measured]) -> Option<String> {
    let (_, floor) = groups.iter().find(|(group, _)| group == FLOOR)?;
    let word = floor.iter().find(|row| row.name == ONE_WORD)?;
    let rounds = measured.iter().map(|one| one.rounds).min()?;
    let (one, two) = word.one.zip(word.two)?;
    if two < 1.5 * one {
        return Some(format!(
            "Two threads that write one word took {two:.1} ns, and one took {one:.1} ns: they did \
             not run at the same time. The numbers for two threads mean nothing here."
        ));
    }
    (rounds < 3).then(|| {
        "This machine was busy: of some contestants fewer than three rounds counted, in which \
         threads ran at the same time and undisturbed."
            .into()
    })
}

fn print(group: &str, rows: &[Row]) {
    println!("\n{group}");
    println!("  {:<46}{:>9}{:>9}{:>8}{:>9}{:>9}", "", "1 thread", "2", "2 / 1", "times", "on 2");
    // The last of ours reads a clock where peers do.
    let like_peers = rows.iter().rfind(|row| row.ours).cloned().unwrap_or_default();
    for row in rows {
        let ns = |ns: Option<f64>| ns.map_or_else(|| "-".into(), |ns| format!("{ns:.1}"));
        let ratio = |over: Option<f64>, under: Option<f64>| {
            over.zip(under).map_or_else(String::new, |(over, under)| format!("{:.1}", over / under))
        };
        let peer = |ns: Option<f64>| ns.filter(|_| !row.ours);
        println!(
            "  {:<46}{:>9}{:>9}{:>8}{:>9}{:>9}",
            row.name,
            ns(row.one),
            ns(row.two),
            ratio(row.two, row.one),
            ratio(peer(row.one), like_peers.one),
            ratio(peer(row.two), like_peers.two),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(group: &str, name: &str, threads: u32, ns: f64) -> Measured {
        let ours = name == "ours";
        Measured { group: group.into(), name: name.into(), ours, threads, ns, rounds: 9 }
    }

    #[test]
    fn rows_keep_their_order() {
        let all = [
            measured("z", "ours", 1, 10.0),
            measured("z", "ours", 2, 11.0),
            measured("a", "theirs", 1, 100.0),
        ];
        let groups = groups(&all);
        assert_eq!(groups.len(), 2);
        let row = |name: &str, ours, one, two| Row { name: name.into(), ours, one, two };
        assert_eq!(groups[0], ("z".into(), vec![row("ours", true, Some(10.0), Some(11.0))]));
        assert_eq!(groups[1], ("a".into(), vec![row("theirs", false, Some(100.0), None)]));
    }

    #[test]
    fn threads_that_took_turns_are_noticed() {
        let word = |two| [measured(FLOOR, ONE_WORD, 1, 5.0), measured(FLOOR, ONE_WORD, 2, two)];
        let said = |all: &[Measured]| warning(&groups(all), all);
        assert_eq!(said(&word(14.0)), None);
        assert!(said(&word(5.1)).unwrap().contains("mean nothing"));
        let mut few = word(14.0);
        few[1].rounds = 1;
        assert!(said(&few).unwrap().contains("busy"));
    }
}
