//! Arguments of `damper scan`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Exit codes: 0 no finding at or above --fail-on, 1 there are some, 2 could not run or read nothing
because of errors, 130 interrupted (what had been found is printed).

A comment silences the finding of its line, or of the line below it, with a reason:
  # damper: ignore[no-backoff] a person waits for this and gives up by hand

Examples:
  damper scan .
  damper scan src --policies --fail-on never
  damper scan . --format sarif --output damper.sarif --fail-on error
  damper scan . --write-baseline damper-baseline.json     # fail only on what is new from now on
  damper scan . --baseline damper-baseline.json
  git diff --name-only main | damper scan --files-from -
  damper scan . --amplification --html graph.html
  damper scan services deploy --graph system.yaml --max-amplification 10
  damper scan --study service-a service-b --html study.html")]
pub(crate) struct ScanArgs {
    /// Folders and files
    #[arg(required_unless_present_any = ["files_from", "graph"], value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Also the files listed here, one a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Print into a file instead
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write a self-contained HTML report
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Exit with 1 from this severity on [default: that of .damper.yaml, else warning]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(crate) fail_on: Option<FailOn>,
    /// Where code counts; may be given several times [default: that of .damper.yaml, else
    /// production]
    #[arg(long, value_enum)]
    pub(crate) scope: Vec<ScopeArg>,
    /// List the retry policies, too
    #[arg(long)]
    pub(crate) policies: bool,
    /// Policies, too, that nobody wrote: the library retries by itself
    #[arg(long)]
    pub(crate) implicit: bool,
    /// The configuration [default: .damper.yaml in the folder that is scanned or above it]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Findings in this file are known and do not fail
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write what is found now as the baseline
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// Count instead: each PATH is a project; print the tables of the published study
    #[arg(long, conflicts_with_all = ["baseline", "write_baseline", "scope", "implicit", "policies",
        "fail_on", "files_from"])]
    pub(crate) study: bool,
    /// Multiply instead: what the layers that were found add up to along the calls that the
    /// manifests show
    #[arg(long, conflicts_with_all = ["study", "baseline", "write_baseline", "policies",
        "fail_on"])]
    pub(crate) amplification: bool,
    /// Multiply along the calls of a system file, whose policies count, too
    #[arg(long, value_name = "FILE", conflicts_with_all = ["study", "baseline", "write_baseline",
        "policies", "fail_on"])]
    pub(crate) graph: Option<PathBuf>,
    /// No way may multiply a request by more: exit with 1 otherwise, and say the fewest changes
    #[arg(long, value_name = "TIMES", conflicts_with_all = ["study", "baseline", "write_baseline",
        "policies", "fail_on"], value_parser = times)]
    pub(crate) max_amplification: Option<f64>,
    /// The share of attempts that fails, for what is expected
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = share)]
    pub(crate) failure_rate: f64,
    /// Leave out larger files
    #[arg(long, value_name = "MIB", default_value_t = 2,
        value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) max_file_mib: u64,
    /// Threads [default: one for each core]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// Everything, for programs
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Workflow commands, which GitHub shows beside the change
    Github,
    /// Tables, for a comment or a page
    Markdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Everything
    Note,
    /// What makes an overload worse, and what makes an outage
    Warning,
    /// What makes an outage
    Error,
    /// Nothing
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// What runs for users
    Production,
    /// Tests and benchmarks
    Test,
    /// What explains
    Docs,
    /// What shows how
    Example,
    /// What a program wrote
    Generated,
    /// All of these
    All,
}

/// At least 1.
fn times(text: &str) -> Result<f64, String> {
    let number: f64 =
        text.trim_end_matches(['x', '×']).parse().map_err(|_| "a number such as 10")?;
    if number.is_finite() && number >= 1.0 { Ok(number) } else { Err("at least 1".to_owned()) }
}

/// `10%` or `0.1`.
fn share(text: &str) -> Result<f64, String> {
    let (text, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = text.trim().parse::<f64>().map_err(|_| "a share such as 10%")? / unit;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("from 0% to 100%".to_owned()) }
}
