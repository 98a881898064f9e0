//! Arguments.

mod admin;
mod diff;
mod drill;
mod emulate;
mod export;
mod lab;
mod learn;
mod load;
mod map;
mod price;
mod proxy;
mod scan;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use admin::{AdminArgs, LeverAction, LeverArgs, PullArgs, StateArg, TopArgs};
pub(crate) use diff::DiffArgs;
pub(crate) use drill::{DrillArgs, DrillPart, DrilledArgs};
pub(crate) use emulate::{EmulateArgs, EmulatedArgs, Part, ServeArgs};
pub(crate) use export::ExportArgs;
pub(crate) use lab::{IncidentsArgs, LabArgs};
pub(crate) use learn::LearnArgs;
pub(crate) use load::{ArrivalsArg, LoadArgs, RetryArg};
pub(crate) use map::MapArgs;
pub(crate) use price::PriceArgs;
pub(crate) use proxy::ProxyArgs;
pub(crate) use scan::{FailOn, Format, ScanArgs, ScopeArg};

/// Keeps a retry from becoming the outage.
///
/// Describe a system in one file; learn the load below which it heals by itself, what holds it
/// down above that, and which change buys the gap back at what price.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Exit codes: 0 fine, 1 a gate (--fail-on, --strict, a difference) failed or no plan meets its targets, 2 no answer (bad input, impossible settings),
130 interrupted (what had been measured is printed).

Examples:
  damper headroom examples/retry-storm.yaml
  damper simulate examples/retry-storm.yaml --html storm.html
  damper check my-system.yaml"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find hidden capacity, the loop that makes the gap, and the remedies with their prices
    Headroom(HeadroomArgs),
    /// Price each retry budget: hidden capacity gained against success lost to errors
    Price(PriceArgs),
    /// Draw where it heals after its trigger and where not, over any two settings
    Map(MapArgs),
    /// Run one experiment and print what came in, what was good and how attempts ended
    Simulate(SimulateArgs),
    /// Solve the analytic model in milliseconds: rejection, attempts, amplification, hidden capacity
    Solve(SolveArgs),
    /// Run the system as real processes on this machine, with an Envoy for each service
    Emulate(EmulateArgs),
    /// A part of an emulation
    #[command(hide = true)]
    Emulated(EmulatedArgs),
    /// Rehearse on a running system: load, a trigger, the recovery, the lever, hidden capacity
    Drill(DrillArgs),
    /// A part of a drill
    #[command(hide = true)]
    Drilled(DrilledArgs),
    /// Send requests at a rate to servers of your own, and measure from their intended start
    Load(LoadArgs),
    /// Find the retry policies in source code, and what is wrong with them
    Scan(ScanArgs),
    /// Learn a system file from traces and metrics
    Learn(LearnArgs),
    /// List the rules of `damper scan`
    Rules(RulesArgs),
    /// Explain a rule: what it finds, why, what to do, with examples in each language
    Explain(ExplainArgs),
    /// Find the retry limits that meet targets with the least amplification, and the layer to retry in
    Plan(PlanArgs),
    /// Write the policies of a system file as configuration of what people run
    Export(ExportArgs),
    /// Compare what runs with what a system file says
    Diff(DiffArgs),
    /// Run the policies of a system file beside any service: the sidecar
    Proxy(ProxyArgs),
    /// Throttle, pause or ramp what a running proxy lets in, by class and by caller
    Lever(LeverArgs),
    /// Show a running proxy live: load, goodput, attempts, refusals, state
    Top(TopArgs),
    /// Climb the rungs, from a collapse in miniature to a drill, each in less than a minute
    Lab(LabArgs),
    /// Run the famous outages again: as they were, with less load, with what ended them
    Incidents(IncidentsArgs),
    /// Validate a system file: all errors at once, with warnings about what will surprise
    Check(CheckArgs),
    /// List every control that a system file can name, or explain one
    Controls(ControlsArgs),
    /// Print the JSON Schema of the system file, or of the proxy's configuration
    Schema(SchemaArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// Whose schema
    #[arg(value_enum, default_value = "system")]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The system file
    System,
    /// The configuration of `damper proxy`
    Proxy,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SystemArgs {
    /// The system file
    pub(crate) file: PathBuf,
    /// Change the file before it is used; may be given several times
    ///
    /// A path and a YAML value; names with special characters are quoted.
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OutputArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a self-contained HTML report
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Seed of everything random, in place of the file's
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Independent replications, in place of the file's
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) replications: Option<u32>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  damper headroom examples/retry-storm.yaml
  damper headroom my-system.yaml --fail-on vulnerable     # a gate for CI
  damper headroom my-system.yaml --set 'policies.\"client -> db\".retry.limit=0'
  damper headroom my-system.yaml --cost '0.40 EUR/h for 30/s'   # what it costs to run stable
  damper headroom my-system.yaml --html report.html --json > result.json")]
pub(crate) struct HeadroomArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Exit with 1 if the system is in this state or a worse one
    #[arg(long, value_name = "STATE")]
    pub(crate) fail_on: Option<Gate>,
    /// What 1/s of capacity costs, such as `0.05/h`, or more of it, such as `'12 EUR/month for 30/s'`
    #[arg(long, value_name = "COST")]
    pub(crate) cost: Option<String>,
    /// Do not try remedies
    #[arg(long)]
    pub(crate) no_remedies: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gate {
    /// Above hidden capacity, or overloaded
    Vulnerable,
    /// Above advertised capacity
    Overloaded,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  damper simulate examples/retry-storm.yaml
  damper simulate examples/retry-storm.yaml --set load=140/s --json
  damper simulate my-system.yaml --set experiment.trigger=none")]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  damper check my-system.yaml
  damper check my-system.yaml --set services.db.queue=150")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Warnings are errors
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  damper controls
  damper controls token-bucket
  damper controls --json | jq '.[] | select(.kind == \"budget\") | .name'")]
pub(crate) struct ControlsArgs {
    /// The control to explain
    pub(crate) name: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  damper rules
  damper rules --json | jq -r '.[] | select(.severity == \"error\") | .id'")]
pub(crate) struct RulesArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  damper explain no-backoff
  damper explain stacked-retries | less")]
pub(crate) struct ExplainArgs {
    /// The rule: `damper rules` lists them
    pub(crate) rule: String,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  damper solve examples/hotel-reservation-routes.yaml
  damper solve examples/hotel-reservation-routes.yaml --sweep load.low=50..250:50
  damper solve my-system.yaml --sweep load.low=50..250:50 --vary policies.default.retry.limit=1,3,5
  damper solve examples/hotel-reservation.yaml --against-sim --json
  damper solve my-system.yaml --sweep load=50..500:10 --html curves.html
  damper solve my-system.yaml --restarts 1000
  damper solve examples/mm1-storm.yaml --basins --html basins.html")]
pub(crate) struct SolveArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Solve at every value of one field, from one to another in steps
    #[arg(long, value_name = "PATH=FROM..TO:STEP")]
    pub(crate) sweep: Option<String>,
    /// Solve with each of several values of one field
    #[arg(long, value_name = "PATH=VALUE,VALUE,…")]
    pub(crate) vary: Option<String>,
    /// Simulate the same, and print the difference
    #[arg(long)]
    pub(crate) against_sim: bool,
    /// The two basins of the weakest service: where it tips, and how long it stays on either side
    #[arg(long, conflicts_with_all = ["sweep", "vary", "against_sim", "restarts", "seed"])]
    pub(crate) basins: bool,
    /// Also write a self-contained HTML report
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Where the solution is not known to be the only one, also iterate from so many random points
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub(crate) restarts: u32,
    /// Seed of everything random, in place of the file's
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Exit codes: 0 the setting meets all targets, 1 no setting that was compared does and the nearest is
printed, 2 no answer.

Examples:
  damper plan examples/five-layers.yaml                      # --hide 99.9%
  damper plan examples/five-layers.yaml --transient 1% --hide 99% --amplification 3
  damper plan examples/retry-storm.yaml --hide 99% --amplification 1.5 --hidden 150/s
  damper plan examples/hotel-reservation.yaml --reject high=2% --at load.low=x3 --max-limit 20
  damper plan my-system.yaml --reject high=2% --at load=x2 --keep 'orders -> payments'")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// At most this share of a class's requests is rejected; without CLASS, of every class
    #[arg(long, value_name = "CLASS=SHARE")]
    pub(crate) reject: Vec<String>,
    /// Conditions under which --reject and --amplified hold; `load.low=x3` is three times the
    /// file's value. May be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) at: Vec<String>,
    /// No service gets more attempts than this for each that it needs, if everything fails
    #[arg(long, value_name = "FACTOR")]
    pub(crate) amplification: Option<String>,
    /// No service gets more attempts than this for each that it needs, under the conditions
    #[arg(long, value_name = "FACTOR")]
    pub(crate) amplified: Option<String>,
    /// At least this share of the requests that a transient fault would fail succeed by retries
    #[arg(long, value_name = "SHARE")]
    pub(crate) hide: Option<String>,
    /// The probability that an attempt fails by a transient fault
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub(crate) transient: String,
    /// Hidden capacity is at least this: a rate, or a share of advertised capacity
    #[arg(long, value_name = "RATE|SHARE")]
    pub(crate) hidden: Option<String>,
    /// The largest limit to try: retries after the first attempt
    #[arg(long, value_name = "RETRIES", default_value_t = 5)]
    pub(crate) max_limit: u32,
    /// Leave these calls as they are: `caller -> callee`, or a callee. May be given several times
    #[arg(long, value_name = "CALL")]
    pub(crate) keep: Vec<String>,
    /// Let a class have fewer retries than a lower one
    #[arg(long)]
    pub(crate) any_order: bool,
}
