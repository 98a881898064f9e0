//! Where the time of a scan goes, on one thread:
//!
//!     cargo run --release --package damper-scan --example scan_speed -- FOLDER...
//!
//! prints lines per second of each stage, and how many lines need parsing.
#![allow(clippy::print_stdout, reason = "a program that prints")]
#![allow(clippy::disallowed_types, reason = "what it is for is to time")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use damper_scan::policy::Scope;
use damper_scan::rules::{self, Context};
use damper_scan::scan::{Known, Source, policies};
use damper_scan::value::Constants;
use damper_scan::walk::{Limits, read, walk};
use damper_scan::{lower, prefilter};

/// Time by stage.
#[derive(Default)]
struct Stages {
    read: Duration,
    prefilter: Duration,
    lower: Duration,
    policies: Duration,
    constants: Duration,
    rules: Duration,
}

fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = work();
    *total += start.elapsed();
    value
}

fn main() {
    let roots: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let limits = Limits::default();
    let walked = walk(&roots, &[], &limits, 1);
    let mut stages = Stages::default();
    let (mut lines, mut parsed, mut files, mut parsed_files, mut found) = (0, 0, 0, 0, 0);
    let start = Instant::now();
    for file in &walked.files {
        let Ok(text) = timed(&mut stages.read, || read(&file.file, &limits)) else { continue };
        let count = text.bytes().filter(|byte| *byte == b'\n').count();
        (files, lines) = (files + 1, lines + count);
        let worth = || prefilter::runs(&file.path) && prefilter::worth(file.language, &text);
        if !timed(&mut stages.prefilter, worth) {
            continue;
        }
        (parsed_files, parsed) = (parsed_files + 1, parsed + count);
        let tree = timed(&mut stages.lower, || lower::tree(file.language, &text));
        let Some(tree) = tree else { continue };
        let source = Source {
            path: &file.path,
            language: file.language,
            text: &text,
            scope: Scope::Production,
        };
        let all = timed(&mut stages.policies, || policies(&tree, &source, Known::default())).all;
        timed(&mut stages.constants, || Constants::of(&tree));
        let context = Context { tree: &tree, source: &source, policies: &all };
        found += timed(&mut stages.rules, || rules::of_file(&context)).len() + all.len();
    }
    let total = start.elapsed();
    println!("{files} files, {parsed_files} parsed; {lines} lines, {parsed} parsed; {found} found");
    let stage = |name: &str, time: Duration| {
        println!(
            "  {name:<10} {:>7.3} s {:>12.0} lines/s",
            time.as_secs_f64(),
            lines as f64 / time.as_secs_f64()
        );
    };
    stage("read", stages.read);
    stage("prefilter", stages.prefilter);
    stage("lower", stages.lower);
    stage("policies", stages.policies);
    stage("constants", stages.constants);
    stage("rules", stages.rules);
    stage("all", total);
}
