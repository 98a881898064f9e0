//! Arguments of `damper drill`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Nothing leaves this machine unless the plan gives the host an owner and --confirm names it. However
it ends (Ctrl-C, SIGTERM, the end of the terminal, a crash), the load ends, what was started is
stopped, and levers are opened by a ramp; what was measured until then is kept.

Exit codes: 0 all expectations are met, 1 one is not, or an abort condition held, 2 it could not run,
130 interrupted.

Examples:
  damper drill examples/drill/retry-storm.yaml --dry-run       # what would be sent where
  damper drill examples/drill/retry-storm.yaml --html drill.html
  damper drill examples/drill/retry-storm.yaml --headroom      # hidden capacity of the running system
  damper drill my-plan.yaml --confirm staging.example.org --yes-as 'Kim (CI)' --json
  damper drill my-plan.yaml --set load=50/s --set 'phases[1].hold=1min'
  damper drill --lift                                          # after a crash of the machine")]
pub(crate) struct DrillArgs {
    /// The drill file
    #[arg(required_unless_present_any = ["lift", "schema"])]
    pub(crate) file: Option<PathBuf>,
    /// Change the file before it is used; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print exactly what would be sent where, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Find the highest load, or the longest trigger, from which the running system recovers
    #[arg(long)]
    pub(crate) headroom: bool,
    /// With --headroom: what is varied, in place of the file's; `from` and `to` must be rates or times
    /// accordingly
    #[arg(long, value_enum, requires = "headroom")]
    pub(crate) of: Option<SizeArg>,
    /// With --headroom: go on from the checkpoint of a search that was interrupted
    #[arg(long, requires = "headroom")]
    pub(crate) resume: bool,
    /// The owner of this host knows of the drill; may be given several times
    #[arg(long, value_name = "HOST")]
    pub(crate) confirm: Vec<String>,
    /// Say yes to every step that needs a person, in this name
    #[arg(long, value_name = "NAME")]
    pub(crate) yes_as: Option<String>,
    /// Everything this many times as slow, in place of the file's
    #[arg(long, value_name = "FACTOR", value_parser = super::emulate::slower)]
    pub(crate) slower: Option<f64>,
    /// Admin port of the emulation that is the target; without it one is started
    #[arg(long, value_name = "URL")]
    pub(crate) emulation: Option<String>,
    /// Do not simulate what the drill should show
    #[arg(long)]
    pub(crate) no_prediction: bool,
    /// Where records, checkpoints and what is to be undone are kept
    #[arg(long, value_name = "FOLDER", default_value = ".damper")]
    pub(crate) keep_in: PathBuf,
    /// Keep no record of it
    #[arg(long)]
    pub(crate) no_history: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write a page of Markdown, for a runbook
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Undo what a drill left behind that could not do it itself
    #[arg(long, conflicts_with_all = ["file", "dry_run", "headroom", "schema"])]
    pub(crate) lift: bool,
    /// Print the JSON Schema of a drill file
    #[arg(long, conflicts_with = "file")]
    pub(crate) schema: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SizeArg {
    /// The load, at the trigger as it is
    Load,
    /// The length of the trigger, at the load as it is
    Trigger,
}

impl SizeArg {
    /// As the drill file has it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Trigger => "trigger",
        }
    }
}

/// Parts of a drill, started by `damper drill`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DrilledArgs {
    #[command(subcommand)]
    pub(crate) part: DrillPart,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DrillPart {
    /// Undoes what is left when its input ends
    Keep {
        /// The file of what is to be undone
        ledger: PathBuf,
    },
}
