//! `cargo xtask compare sim`: one workload in Damper, SimPy, NeXosim and DesCartes.
//!
//! The engines take turns, on one core, so that what else the machine does meets all of them,
//! and processor time is measured, which suffers least from it; what is printed is the median.
//! Before any ratio, it is checked that they simulated the same.

mod engines;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use clap::Args;
use serde::Deserialize;

use engines::Engine;

/// Settings of the comparison.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Simulated seconds
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(5_000..))]
    seconds: u64,
    /// How often each engine has its turn; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One turn of 20,000 simulated seconds: to see that it works, not to quote
    #[arg(long, conflicts_with_all = ["seconds", "rounds"])]
    quick: bool,
}

/// SimPy simulates this much less: it is slow, and what counts is the time per request.
const SIMPY_SHORTER: u64 = 20;
/// But not less than this, or the time before the storm would show.
const SHORTEST: u64 = 5_000;
/// How far apart the engines may be, relative to the larger.
const TOLERANCE: f64 = 0.02;

/// What one turn of an engine gave.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Turn {
    requests: u64,
    good: u64,
    attempts: u64,
    served: u64,
    wasted: u64,
    events: u64,
    /// Seconds of processor time. Of the engine only, if it says so; else of its process.
    #[serde(default)]
    cpu_s: f64,
    /// Simulated seconds that were counted.
    #[serde(skip)]
    seconds: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
impl Turn {
    fn requests_per_second(&self) -> f64 {
        self.requests as f64 / self.cpu_s
    }

    fn events_per_second(&self) -> f64 {
        self.events as f64 / self.cpu_s
    }

    /// What must be the same in every engine.
    fn shape(&self) -> [(&'static str, f64); 4] {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        [
            ("attempts per request", share(self.attempts, self.requests)),
            ("served per second", self.served as f64 / self.seconds),
            ("good requests", share(self.good, self.requests)),
            ("wasted work", share(self.wasted, self.served)),
        ]
    }
}

/// `cargo xtask compare sim`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (seconds, rounds) =
        if arguments.quick { (20_000, 1) } else { (arguments.seconds, arguments.rounds) };
    let engines = engines::prepare()?;
    let core = super::core();
    println!(
        "{seconds} simulated seconds ({} in SimPy), {}, per second of processor time, median of \
         {rounds}",
        shorter(seconds),
        core.map_or_else(|| "not bound to a core".into(), |core| format!("on core {core}")),
    );
    let mut disagreements = Vec::new();
    for workload in ["mm1-storm", "mm1"] {
        let mut turns: BTreeMap<usize, Vec<Turn>> = BTreeMap::new();
        for round in 0..rounds {
            for (index, engine) in engines.iter().enumerate() {
                let seconds = horizon(engine, seconds);
                let turn = engine.turn(workload, seconds, u64::from(round) + 1, core)?;
                turns.entry(index).or_default().push(turn);
            }
        }
        let medians: Vec<(&Engine, Turn)> =
            engines.iter().zip(turns.into_values().filter_map(median)).collect();
        disagreements.extend(disagreement(workload, &medians));
        print(workload, &medians);
    }
    if !disagreements.is_empty() {
        bail!("the engines did not simulate the same:\n{}", disagreements.join("\n"));
    }
    Ok(())
}

fn shorter(seconds: u64) -> u64 {
    (seconds / SIMPY_SHORTER).max(SHORTEST)
}

fn horizon(engine: &Engine, seconds: u64) -> u64 {
    if engine.is_slow() { shorter(seconds) } else { seconds }
}

fn median(mut turns: Vec<Turn>) -> Option<Turn> {
    turns.sort_by(|a, b| a.requests_per_second().total_cmp(&b.requests_per_second()));
    turns.get(turns.len() / 2).copied()
}

/// Where an engine differs from the first.
fn disagreement(workload: &str, medians: &[(&Engine, Turn)]) -> Vec<String> {
    let mut found = Vec::new();
    let Some((first, reference)) = medians.first() else {
        return found;
    };
    let reference = reference.shape();
    for (engine, turn) in medians {
        for ((what, is), (_, expected)) in turn.shape().into_iter().zip(reference) {
            // Shares near zero differ by what came before the storm: at least compare to one.
            if (is - expected).abs() > TOLERANCE * is.max(expected).max(1.0) {
                found.push(format!(
                    "{workload}: {what}: {is:.4} in {}, {expected:.4} in {}",
                    engine.name(),
                    first.name()
                ));
            }
        }
    }
    found
}

fn print(workload: &str, medians: &[(&Engine, Turn)]) {
    let ours = medians.iter().find(|(engine, _)| engine.is_ours()).map(|(_, turn)| *turn);
    println!("\n{workload}");
    println!(
        "  {:<22}{:>13}{:>13}{:>11}{:>9}{:>11}",
        "", "requests/s", "events/s", "attempts", "good", "ours is"
    );
    for (engine, turn) in medians {
        let [(_, attempts), _, (_, good), _] = turn.shape();
        let ratio = match ours {
            Some(ours) if !engine.is_ours() => {
                format!("{:.1} x", ours.requests_per_second() / turn.requests_per_second())
            }
            _ => String::new(),
        };
        println!(
            "  {:<22}{:>13}{:>13}{attempts:>11.3}{:>8.2}%{ratio:>11}",
            engine.name(),
            thousands(turn.requests_per_second()),
            thousands(turn.events_per_second()),
            100.0 * good,
        );
    }
}

/// A whole number with commas.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(attempts: u64, cpu_s: f64) -> Turn {
        Turn {
            requests: 1000,
            good: 10,
            attempts,
            served: 500,
            wasted: 490,
            events: 9000,
            cpu_s,
            seconds: 50.0,
        }
    }

    #[test]
    fn the_median_is_by_speed() {
        let turns = vec![turn(1, 3.0), turn(2, 1.0), turn(3, 2.0)];
        assert_eq!(median(turns).unwrap().attempts, 3);
        assert!(median(Vec::new()).is_none());
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(thousands(7.0), "7");
        assert_eq!(thousands(1234.4), "1,234");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
    }

    #[test]
    fn other_work_is_noticed() {
        let (a, b) = (Engine::for_test("a"), Engine::for_test("b"));
        let same = [(&a, turn(4000, 1.0)), (&b, turn(4050, 9.0))];
        assert_eq!(disagreement("w", &same), Vec::<String>::new());
        let other = [(&a, turn(4000, 1.0)), (&b, turn(3000, 9.0))];
        assert_eq!(
            disagreement("w", &other),
            ["w: attempts per request: 3.0000 in b, 4.0000 in a"]
        );
    }
}
