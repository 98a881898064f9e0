//! Arguments of the commands that ask the admin port of a proxy.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

#[derive(Debug, ClapArgs)]
pub(crate) struct AdminArgs {
    /// The admin port of the proxy; also from the environment, DAMPER_ADMIN
    #[arg(long, value_name = "URL")]
    pub(crate) admin: Option<String>,
    /// A file with the token, if the port asks for one; also from the environment, DAMPER_ADMIN_TOKEN
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The lever works while the proxy is overloaded. Every pull is recorded with who, when, why, and how
goodput answered; `status` shows it. docs/lever.md says what to pull when.

Exit codes: 0 it is in that position, 2 it is not (bad request, no answer).

Examples:
  damper lever status
  damper lever throttle --class low --to 30% --for 5m --why 'db overloaded, INC-42'
  damper lever throttle --caller batch-import --rate 50/s --why 'floods search'
  damper lever pause --hop db --why 'restart without load'
  damper lever ramp --hop db --from 1% --to 100% --over 10m --why 'db is back'
  damper lever open --hop all --why 'all clear'")]
pub(crate) struct LeverArgs {
    #[command(subcommand)]
    pub(crate) action: LeverAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LeverAction {
    /// Show every lever, and who pulled it
    Status(StatusArgs),
    /// Let in a share (--to 30%) or a rate (--to 50/s, or --rate 50/s)
    Throttle(ThrottleArgs),
    /// Let nothing in
    Pause(PullArgs),
    /// Go from one share or rate to another, evenly or in steps
    Ramp(RampArgs),
    /// Stop a ramp where it is
    Hold(PullArgs),
    /// Let everything in at once; after an outage ramp instead
    Open(PullArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PullArgs {
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    /// At which hop, or all; needed where there are several
    #[arg(long)]
    pub(crate) hop: Option<String>,
    /// For this class; may be given several times. Without it for all
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Vec<String>,
    /// For this caller alone, by the value of the header that tells callers apart
    #[arg(long)]
    pub(crate) caller: Option<String>,
    /// Revert by itself after this time, to where it was
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasts: Option<String>,
    /// Why: it is recorded
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: String,
    /// Who pulls; without it the user of this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) who: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ThrottleArgs {
    #[command(flatten)]
    pub(crate) pull: PullArgs,
    /// A share such as 30%, or a rate such as 50/s
    #[arg(long, value_name = "SHARE|RATE", required_unless_present = "rate")]
    pub(crate) to: Option<String>,
    /// A rate such as 50/s
    #[arg(long, conflicts_with = "to")]
    pub(crate) rate: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RampArgs {
    #[command(flatten)]
    pub(crate) pull: PullArgs,
    /// Where it begins; without it, at what is let in now
    #[arg(long, value_name = "SHARE|RATE")]
    pub(crate) from: Option<String>,
    /// Where it ends
    #[arg(long, value_name = "SHARE|RATE")]
    pub(crate) to: String,
    /// How long it takes
    #[arg(long, value_name = "TIME")]
    pub(crate) over: String,
    /// In how many equal steps; without it, evenly
    #[arg(long, value_name = "STEPS")]
    pub(crate) steps: Option<u16>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Load counts requests that were let in, without the retries of callers; x is attempts for each of
them. docs/observe.md says what a state means.

Exit codes: 0 fine, 1 --fail-on: a hop is in this state or a worse one, 2 no answer.

Examples:
  damper top
  damper top --admin http://127.0.0.1:9901 --once
  damper top --once --fail-on vulnerable      # a check for scripts
  damper top --json | jq -c '.hops[] | [.name, .state, .all.goodput_rps]'")]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    /// Print once and end. Where output is no terminal this is so without --json
    #[arg(long)]
    pub(crate) once: bool,
    /// Exit with 1 if a hop is in this state or a worse one; only with --once
    #[arg(long, value_name = "STATE", requires = "once")]
    pub(crate) fail_on: Option<StateArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateArg {
    /// Loop gain × load exceeds capacity
    Vulnerable,
    /// Load alone exceeds capacity
    Overloaded,
    /// Retries keep it down
    Metastable,
}
