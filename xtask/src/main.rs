//! `cargo xtask`: set-up, the full test run, the checks of a change, what is generated in the
//! docs, and side-by-side comparisons with other tools.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task runner prints")]
#![allow(clippy::disallowed_types, reason = "it times what it runs, on the wall clock")]

mod book;
mod browser;
mod ci;
mod compare;
mod debian;
mod docs;
mod filter;
mod fuzz;
mod harness;
mod live;
mod nextest;
mod npm;
mod plot;
mod process;
mod rules;
mod score;
mod seeds;
mod steps;
mod study;
mod test;
mod uniqueness;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Every test there is, installing what it needs
    Test {
        /// Only the steps with one of these words in their names
        only: Vec<String>,
    },
    /// What a change must pass: formatting, lints, documentation, licences, rules, every test
    Ci,
    /// Write what is generated in docs/: pages of the controls, tables of the system file, and the
    /// comparison of the controls, which takes minutes
    Docs,
    /// Build the plugin of Envoy, target/filter/damper-filter.wasm
    Filter(filter::Arguments),
    /// Look for a network with loops that has two solutions
    Uniqueness(uniqueness::Arguments),
    /// Compare what `damper scan` finds with labels: precision, recall, right attributes
    Score(score::Arguments),
    /// Compare the attempts that `damper scan` reads from programs with those that they make
    Harness(harness::Arguments),
    /// Hold predictions against a system that really runs, and write the page about it
    Live(live::Arguments),
    /// Make the studies of docs/studies/ again: minutes each
    Study(study::Arguments),
    /// Measure Damper beside other tools, in one run on this machine
    Compare {
        #[command(subcommand)]
        what: Compare,
    },
}

#[derive(Subcommand)]
enum Compare {
    /// The simulator beside SimPy, NeXosim and DesCartes
    Sim(compare::sim::Arguments),
    /// The controls beside tower, governor, tower-resilience and congestion-limiter; and whether
    /// they decide as what they are taken from
    Control(compare::control::Arguments),
    /// The analytic solver beside NumPy and SciPy
    Solve(compare::solve::Arguments),
    /// The scanner beside Semgrep
    Scan(compare::scan::Arguments),
    /// The plugin of Envoy beside Lua, routes and nothing
    Filter(compare::filter::Arguments),
    /// `damper load` beside wrk, h2load, locust and oha: how fast, and how near to the schedule
    Load(compare::load::Arguments),
    /// The sidecar beside Envoy, nginx and HAProxy, and nothing
    Proxy(compare::proxy::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Test { only } => test::run_task(&only),
        Task::Ci => ci::run_task(),
        Task::Docs => docs::rewrite(),
        Task::Filter(arguments) => filter::run_task(&arguments),
        Task::Uniqueness(arguments) => uniqueness::run_task(&arguments),
        Task::Score(arguments) => score::run_task(&arguments),
        Task::Harness(arguments) => harness::run_task(&arguments),
        Task::Study(arguments) => study::run_task(&arguments),
        Task::Live(arguments) => live::run_task(&arguments),
        Task::Compare { what: Compare::Sim(arguments) } => compare::sim::run(&arguments),
        Task::Compare { what: Compare::Control(arguments) } => {
            compare::control::run_task(&arguments)
        }
        Task::Compare { what: Compare::Solve(arguments) } => compare::solve::run_task(&arguments),
        Task::Compare { what: Compare::Scan(arguments) } => compare::scan::run_task(&arguments),
        Task::Compare { what: Compare::Filter(arguments) } => compare::filter::run_task(&arguments),
        Task::Compare { what: Compare::Load(arguments) } => compare::load::run_task(&arguments),
        Task::Compare { what: Compare::Proxy(arguments) } => compare::proxy::run_task(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
