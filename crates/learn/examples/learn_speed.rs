//! How fast traces are read, and how much memory that takes.
//!
//! `cargo run --release -p damper-learn --example learn_speed -- FILES`
#![allow(missing_docs)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints")]
#![allow(clippy::disallowed_types, reason = "this is a benchmark")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use damper_learn::{Control, Options, learn};

fn main() {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let begin = Instant::now();
    let control = Control { stop: &AtomicBool::new(false), progress: &|_, _| {} };
    match learn(&Options { paths, ..Options::default() }, &control) {
        Err(error) => eprintln!("{error}"),
        Ok(learnt) => {
            let seconds = begin.elapsed().as_secs_f64();
            let megabytes = learnt.read.bytes as f64 / 1e6;
            println!(
                "{megabytes:.0} MB, {} spans, {} traces in {seconds:.2} s: {:.0} MB/s",
                learnt.read.spans,
                learnt.read.traces,
                megabytes / seconds
            );
            for note in &learnt.notes {
                println!("note: {note}");
            }
        }
    }
    // Linux only; elsewhere nothing is said about memory.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find(|line| line.starts_with("VmHWM")) {
        println!("{peak}");
    }
}
