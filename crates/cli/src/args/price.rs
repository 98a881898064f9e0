//! Arguments of `damper price`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::OutputArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Every call that retries gets the budget; each budget of `damper controls` is tried over its range.
The price is the success that is lost against unlimited retries while nothing else goes wrong.

Examples:
  damper price my-system.yaml
  damper price my-system.yaml --budget envoy --budget token-bucket
  damper price my-system.yaml --budget '{kind: envoy, percent: 5%}' --errors 0.1%,1%
  damper price my-system.yaml --csv price.csv --html price.html
  damper price my-system.yaml --shard 0/4 --part part-0.json    # and 1/4, 2/4, 3/4 elsewhere
  damper price --merge part-*.json --html price.html")]
pub(crate) struct PriceArgs {
    /// The system file
    #[arg(required_unless_present = "merge", conflicts_with = "merge")]
    pub(crate) file: Option<PathBuf>,
    /// Change the file before it is used; may be given several times
    ///
    /// A path and a YAML value; names with special characters are quoted.
    #[arg(long, value_name = "PATH=VALUE", conflicts_with = "merge")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Also write every setting with every price as CSV
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub(crate) csv: Option<PathBuf>,
    /// Price this budget over its range, or this one setting of it; may be given several times
    #[arg(long, value_name = "NAME|SETTING", conflicts_with = "merge")]
    pub(crate) budget: Vec<String>,
    /// Shares of attempts that fail by transient errors, independent and in bursts
    #[arg(
        long,
        value_name = "SHARE,…",
        value_delimiter = ',',
        default_value = "0.01%,0.1%,1%,5%",
        conflicts_with = "merge"
    )]
    pub(crate) errors: Vec<String>,
    /// Mean length of a burst of errors
    #[arg(long, value_name = "DURATION", default_value = "1s", conflicts_with = "merge")]
    pub(crate) burst_length: String,
    /// The probability that an attempt within a burst fails
    #[arg(long, value_name = "SHARE", default_value = "50%", conflicts_with = "merge")]
    pub(crate) burst_failure: String,
    /// Requests of one replication behind each figure of success
    #[arg(long, value_name = "N", default_value_t = 100_000, conflicts_with = "merge",
        value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub(crate) requests: u64,
    /// The share of errors at which settings are compared; one of --errors
    #[arg(long, value_name = "SHARE", default_value = "1%", conflicts_with = "merge")]
    pub(crate) at: String,
    /// The most success that the recommended setting may lose there, in percentage points
    #[arg(long, value_name = "POINTS", default_value_t = 0.1, conflicts_with = "merge")]
    pub(crate) most: f64,
    /// Measure one of N parts of the settings, counted from 0, and write it to --part
    #[arg(long, value_name = "I/N", requires = "part", conflicts_with_all = ["merge", "json", "html"])]
    pub(crate) shard: Option<String>,
    /// The file that a part is written to
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub(crate) part: Option<PathBuf>,
    /// Put parts together: the result is the same as from one run
    #[arg(long, value_name = "PART", num_args = 1.., conflicts_with_all = ["seed", "replications"])]
    pub(crate) merge: Vec<PathBuf>,
}
