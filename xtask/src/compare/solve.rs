//! `cargo xtask compare solve`: the equations of a network in Damper, and in NumPy and SciPy.
//!
//! All read the same file and take turns, one after another on one core. Each measures itself,
//! from the numbers in memory to the solution, so that neither the start of Python nor reading the
//! file counts. All repeat equally often; a turn gives the median of its repetitions, and the median
//! of the turns counts. Before any ratio, it is checked that all found the same solution.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Deserialize;

use super::{core, python};
use crate::process::{cargo, program, quiet_output, root, run, shown, target};

/// Settings of the comparison.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How often each has its turn; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One turn of the small networks: to see that it works, not to quote
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
}

/// How often each solves in one turn.
const REPETITIONS: usize = 5;
const CLASSES: usize = 4;
const SERVICES: [usize; 3] = [10, 100, 1_000];
/// The most that `scipy.optimize.root` gets: its time grows with the square to the cube of it.
const ROOT_MOST: usize = 100;
/// How far solutions may be apart: rates in relation to the largest, and s̄.
const TOLERANCE: f64 = 1e-6;

/// Who solves, and what follows the name of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Solver {
    Damper,
    FixedPoint,
    Root,
}

impl Solver {
    const ALL: [Self; 3] = [Self::Damper, Self::FixedPoint, Self::Root];

    fn name(self) -> &'static str {
        match self {
            Self::Damper => "Damper",
            Self::FixedPoint => "NumPy, fixed point",
            Self::Root => "scipy.optimize.root",
        }
    }

    fn most(self) -> usize {
        if self == Self::Root { ROOT_MOST } else { usize::MAX }
    }
}

/// What a solver prints.
#[derive(Clone, Debug, Deserialize)]
struct Turn {
    /// Seconds of each repetition.
    all_s: Vec<f64>,
    /// Rounds of the iteration; calls of the map for `root`.
    rounds: usize,
    rates: Vec<f64>,
    rejection: Vec<f64>,
}

struct Programs {
    damper: PathBuf,
    python: PathBuf,
    core: Option<usize>,
}

/// `cargo xtask compare solve`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let rounds = if arguments.quick { 1 } else { arguments.rounds };
    let sizes = if arguments.quick { &SERVICES[..2] } else { &SERVICES[..] };
    run(&mut cargo("build --release --locked --package damper-model --example speed"))?;
    let folder = target()?.join("compare/solve");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let programs = Programs {
        damper: target()?.join("release/examples/speed"),
        python: python("scipy", &root().join("compare/solve/requirements.txt"))?,
        core: core(),
    };
    println!(
        "{CLASSES} classes, from the numbers in memory to the solution, median of {rounds} turns of \
         {REPETITIONS} repetitions, {}",
        programs
            .core
            .map_or_else(|| "not bound to a core".into(), |core| format!("on core {core}")),
    );
    println!(
        "\n  {:<8}{:<9}{:>9}  {:<22}{:>12}{:>8}{:>10}",
        "", "", "services", "", "time", "rounds", "ours is"
    );
    for shape in ["dag", "cyclic"] {
        for model in ["fluid", "finite"] {
            for &services in sizes {
                one(&programs, &folder, (shape, model, services), rounds)?;
            }
        }
    }
    Ok(())
}

/// Draws one network, and has it solved by all.
fn one(
    programs: &Programs,
    folder: &Path,
    (shape, model, services): (&str, &str, usize),
    rounds: u32,
) -> Result<()> {
    let file = folder.join(format!("{shape}-{model}-{services}.json"));
    let mut draw = program(&programs.damper);
    draw.args(["draw", shape, model, &services.to_string(), &CLASSES.to_string()]);
    fs::write(&file, quiet_output(&mut draw)?).with_context(|| file.display().to_string())?;
    let solvers: Vec<Solver> =
        Solver::ALL.into_iter().filter(|solver| services <= solver.most()).collect();
    let mut seconds = vec![Vec::new(); solvers.len()];
    let mut last: Vec<Turn> = Vec::new();
    for _ in 0..rounds {
        last.clear();
        for (n, solver) in solvers.iter().enumerate() {
            let turn = turn(programs, *solver, &file)?;
            seconds[n].extend(median(turn.all_s.clone()));
            last.push(turn);
        }
    }
    if let Some(difference) = disagreement(&last) {
        bail!("{shape}, {model}, {services} services: {difference}");
    }
    let medians: Vec<f64> = seconds.into_iter().filter_map(median).collect();
    for ((solver, time), turn) in solvers.iter().zip(&medians).zip(&last) {
        let first = *solver == Solver::Damper;
        let words =
            if first { format!("{shape:<8}{model:<9}{services:>9}") } else { format!("{:26}", "") };
        let ratio = if first { String::new() } else { format!("{:.0} x", time / medians[0]) };
        let time = milliseconds(*time);
        println!("  {words}  {:<22}{time:>12}{:>8}{ratio:>10}", solver.name(), turn.rounds);
    }
    Ok(())
}

fn turn(programs: &Programs, solver: Solver, file: &Path) -> Result<Turn> {
    let mut words: Vec<PathBuf> = match solver {
        Solver::Damper => vec![programs.damper.clone(), "solve".into(), file.into()],
        Solver::FixedPoint | Solver::Root => {
            vec![programs.python.clone(), root().join("compare/solve/scipy_solve.py"), file.into()]
        }
    };
    let repetitions = REPETITIONS.to_string().into();
    words.extend(match solver {
        Solver::Damper => ["--turns".into(), repetitions],
        Solver::FixedPoint => [repetitions, "fixed-point".into()],
        Solver::Root => [repetitions, "root".into()],
    });
    let mut command = bound(programs.core, &words)?;
    let text = quiet_output(&mut command)?;
    serde_json::from_str(&text).with_context(|| shown(&command))
}

/// On one core, and with one thread for whatever NumPy multiplies with.
fn bound(core: Option<usize>, words: &[PathBuf]) -> Result<Command> {
    let mut command = if let Some(core) = core {
        let mut command = program("taskset");
        command.args(["-c", &core.to_string()]).args(words);
        command
    } else {
        let [first, rest @ ..] = words else { bail!("nothing to run") };
        let mut command = program(first);
        command.args(rest);
        command
    };
    command.env("OPENBLAS_NUM_THREADS", "1");
    Ok(command)
}

fn median(mut seconds: Vec<f64>) -> Option<f64> {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

/// What a solver found differently from the first.
fn disagreement(turns: &[Turn]) -> Option<String> {
    let (first, others) = turns.split_first()?;
    let largest = first.rates.iter().fold(f64::MIN_POSITIVE, |most, rate| most.max(*rate));
    for (n, other) in others.iter().enumerate() {
        let same =
            [(&first.rates, &other.rates, largest), (&first.rejection, &other.rejection, 1.0)];
        for (ours, theirs, scale) in same {
            if ours.len() != theirs.len() {
                return Some(format!("{} values, {} in the first", theirs.len(), ours.len()));
            }
            let pairs = ours.iter().zip(theirs);
            // What is not a number is nowhere near.
            if let Some((a, b)) = pairs.into_iter().find(|(a, b)| !near(**a, **b, scale)) {
                return Some(format!("{b} from solver {}, {a} from the first", n + 2));
            }
        }
    }
    None
}

fn near(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= TOLERANCE * scale
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", 1e3 * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(rates: &[f64], rejection: &[f64]) -> Turn {
        Turn { all_s: vec![1.0], rounds: 1, rates: rates.into(), rejection: rejection.into() }
    }

    #[test]
    fn another_solution_is_noticed() {
        let ours = turn(&[100.0, 1.0], &[0.5]);
        assert_eq!(disagreement(&[ours.clone(), turn(&[100.000_05, 1.0], &[0.5])]), None);
        let others = [
            turn(&[100.001, 1.0], &[0.5]),
            turn(&[100.0, 1.0], &[0.500_01]),
            turn(&[100.0, f64::NAN], &[0.5]),
            turn(&[100.0], &[0.5]),
        ];
        for other in others {
            assert!(disagreement(&[ours.clone(), other]).is_some());
        }
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }
}
