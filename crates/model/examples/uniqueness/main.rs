//! Looks for a network with loops that has two solutions.
//!
//! Beyond the known conditions nobody has proven that the equations of a network have one solution
//! only; about 60 million published searches with fewer than 10 classes found no other (DiffTry,
//! arXiv 2610.20567). This one does, in about one of a thousand networks in which a service calls
//! several (295 of 300,000); `hunt/tests.rs` has the smallest. Where a request takes one next step
//! it found none in 300,000, though one is known:
//! `small_rows_do_not_make_a_solution_the_only_one` of `damper-model`.
//!
//! `cargo xtask uniqueness --cases N` runs N of ours. A case is one start of one network; there are
//! 100 starts of each. The cases of a seed are the same on every machine, for any number of
//! threads, and in however many runs.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports to a person")]
#![allow(clippy::disallowed_types, reason = "it times itself, on the wall clock")]

mod chance;
mod checkpoint;
mod found;
mod generate;
mod graph;
mod hunt;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use checkpoint::Checkpoint;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

/// Cases between two looks at the clock and at Ctrl-C.
const BLOCK: u64 = 20_000;
/// Networks with two solutions that are kept. Those that take one next step always are.
const KEPT: u64 = 20;
/// Between two checkpoints.
const CHECKPOINT: Duration = Duration::from_secs(10);

#[derive(Parser)]
#[command(name = "uniqueness", about)]
struct Arguments {
    /// Starts to solve from, 100 of each network; `60_000_000` is fine
    #[arg(long, value_parser = count, default_value = "1_000_000")]
    cases: u64,
    /// Which networks and starts [default: 1, or that of the checkpoint]
    #[arg(long, value_parser = count)]
    seed: Option<u64>,
    /// Threads [default: one for each core]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Where to write how far it has come, every 10 seconds and at the end
    #[arg(long, value_name = "FILE", default_value = "uniqueness-checkpoint.txt")]
    checkpoint: PathBuf,
    /// Go on from a checkpoint, and write to it
    #[arg(long, value_name = "FILE", conflicts_with = "checkpoint")]
    resume: Option<PathBuf>,
}

fn count(text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| "expected a whole number".to_owned())
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let file = arguments.resume.as_deref().unwrap_or(&arguments.checkpoint);
    let mut state = match &arguments.resume {
        Some(file) => resumed(file, arguments.seed)?,
        None => Checkpoint { seed: arguments.seed.unwrap_or(1), ..Checkpoint::default() },
    };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(arguments.threads).build()?;
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&stopped);
    ctrlc::set_handler(move || stop.store(true, Ordering::Relaxed))?;

    let bar = ProgressBar::new(arguments.cases);
    bar.set_style(ProgressStyle::with_template(
        "{wide_bar:.dim} {pos}/{len} cases, {per_sec}, {eta} left",
    )?);
    bar.set_position(state.tally.cases);
    bar.reset_eta();
    let (mut clock, mut written) = (Instant::now(), Instant::now());
    while state.tally.cases < arguments.cases && !stopped.load(Ordering::Relaxed) {
        let begin = state.tally.cases;
        let block = begin..arguments.cases.min(begin + BLOCK);
        let mut done = threads.install(|| hunt::cases(state.seed, block))?;
        for (n, found) in (state.tally.several..).zip(done.found.drain(..)) {
            keep(state.seed, &found, n < KEPT)?;
        }
        state.tally = state.tally.with(done);
        state.seconds += clock.elapsed().as_secs_f64();
        clock = Instant::now();
        bar.set_position(state.tally.cases);
        if written.elapsed() >= CHECKPOINT {
            state.write(file)?;
            written = Instant::now();
        }
    }
    state.write(file)?;
    bar.finish_and_clear();
    report(&state, arguments.cases, file);
    Ok(if state.tally.others > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn resumed(file: &Path, seed: Option<u64>) -> Result<Checkpoint, Box<dyn Error>> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let state = Checkpoint::parse(&text).map_err(|error| format!("{name} {error}"))?;
    match seed {
        Some(seed) if seed != state.seed => {
            Err(format!("{name} is of seed {}, not {seed}; leave out --seed", state.seed).into())
        }
        _ => Ok(state),
    }
}

/// Writes a counterexample to a file of its own, and prints it; of those that are common, the
/// first few.
fn keep(seed: u64, found: &hunt::Found, early: bool) -> Result<(), Box<dyn Error>> {
    let drawn = hunt::drawn(seed, found.case)?;
    if !early && drawn.largest_row() >= 1.0 {
        return Ok(());
    }
    let text = found::text(seed, &drawn, found);
    let file = format!("uniqueness-counterexample-{}.txt", found.case);
    std::fs::write(&file, &text).map_err(|error| format!("{file}: {error}"))?;
    println!("{text}\nFound two solutions; kept in {file}");
    Ok(())
}

fn report(state: &Checkpoint, wanted: u64, file: &Path) {
    let Checkpoint { seed, seconds, tally } = state;
    #[allow(clippy::cast_precision_loss, reason = "a speed")]
    let speed = tally.cases as f64 / seconds.max(1e-9);
    println!("cases               {}, seed {seed}", tally.cases);
    println!(
        "networks            {}, {} without a proof of uniqueness",
        tally.networks, tally.open
    );
    println!("time                {seconds:.1} s, {speed:.0} cases/s");
    println!("largest difference  {:.1e}", tally.largest);
    println!("did not settle      {}", tally.unsettled);
    println!("dismissed           {} that differed until solved more exactly", tally.dismissed);
    println!(
        "other solutions     {}, in {} networks, {} of which take one next step",
        tally.others, tally.several, tally.single
    );
    if tally.cases < wanted {
        println!("Stopped early; go on with --cases {wanted} --resume {}", file.display());
    }
}
