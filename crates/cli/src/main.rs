//! The `damper` command.

mod args;
mod command;
mod convert;
mod incidents;
mod interrupt;
mod lab;
mod print;
mod progress;
mod words;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// Exit codes, documented in `damper --help`.
pub(crate) mod exit {
    /// All is well, or no gate was asked for.
    pub(crate) const OK: u8 = 0;
    /// A gate (`--fail-on`) failed.
    pub(crate) const GATE: u8 = 1;
    /// The question could not be answered: bad input, impossible settings, an unwritable file.
    pub(crate) const ERROR: u8 = 2;
    /// Interrupted; what had been measured was printed.
    pub(crate) const INTERRUPTED: u8 = 130;
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Headroom(a) => command::headroom::run(a),
        Command::Price(a) => command::price::run(a),
        Command::Map(a) => command::map::run(a),
        Command::Simulate(a) => command::simulate::run(a),
        Command::Solve(a) => command::solve::run(a),
        Command::Emulate(a) => command::emulate::run(a),
        Command::Emulated(a) => command::emulate::part(a),
        Command::Drill(a) => command::drill::run(a),
        Command::Drilled(a) => command::drill::part(a),
        Command::Load(a) => command::load::run(a),
        Command::Scan(a) => command::scan::run(a),
        Command::Learn(a) => command::learn::run(a),
        Command::Rules(a) => command::rules::run(a),
        Command::Explain(a) => command::explain::run(a),
        Command::Plan(a) => command::plan::run(a),
        Command::Export(a) => command::export::run(a),
        Command::Diff(a) => command::diff::run(a),
        Command::Proxy(a) => command::proxy::run(a),
        Command::Lever(a) => command::lever::run(a),
        Command::Top(a) => command::top::run(a),
        Command::Lab(a) => command::lab::run(a),
        Command::Incidents(a) => command::incidents::run(a),
        Command::Check(a) => command::check::run(a),
        Command::Controls(a) => command::controls::run(a),
        Command::Schema(a) => command::schema::run(a),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            print::error(&error);
            ExitCode::from(exit::ERROR)
        }
    }
}
