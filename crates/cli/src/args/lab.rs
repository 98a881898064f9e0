//! Arguments of `damper lab` and `damper incidents`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Exit codes: 0 it was seen, 1 the figures do not show it, 2 no answer, 130 interrupted.

Examples:
  damper lab                 # the rungs
  damper lab 1 --explain
  damper lab 2 --json
  damper lab 6               # a drill on real processes
  damper lab 1 --file > mine.yaml && damper simulate mine.yaml")]
pub(crate) struct LabArgs {
    /// The rung to climb: 1 to 6
    pub(crate) rung: Option<u32>,
    /// Also say why
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print its file instead: a system, or the plan of a drill
    #[arg(long)]
    pub(crate) file: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress, and draw charts at once
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Exit codes: 0 all went as on record, 1 not, 2 no answer, 130 interrupted.

Examples:
  damper incidents                       # the twelve that can be run
  damper incidents facebook-2010-cache
  damper incidents slack-2022-cache --json
  damper incidents slack-2022-cache --file > mine.yaml && damper headroom mine.yaml
  damper incidents --catalogue           # the 22 of the OSDI '22 study")]
pub(crate) struct IncidentsArgs {
    /// The incident to run
    pub(crate) name: Option<String>,
    /// Print its system file instead
    #[arg(long, requires = "name")]
    pub(crate) file: bool,
    /// Print the catalogue of the OSDI '22 study, each with the mechanism that reproduces it
    #[arg(long, conflicts_with = "name")]
    pub(crate) catalogue: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress, and draw charts at once
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
