//! Arguments of `damper learn`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Exit codes: 0 something was learnt, 1 an input was cut off or wrong and --strict was given,
2 nothing was learnt, 130 interrupted (what had been learnt is printed).

Examples:
  damper learn traces.json > system.yaml
  damper learn traces/ --sampling 1% --output system.yaml
  kubectl logs collector | damper learn -
  damper learn traces.json.gz --amplification --graph system.yaml
  damper learn --prometheus http://localhost:9090 --over 1h --output system.yaml
  damper learn metrics.txt --over 10min --amplification --json
  damper learn after.txt --since before.txt --over 10min")]
pub(crate) struct LearnArgs {
    /// Traces (OTLP JSON, Jaeger JSON, Zipkin v2 JSON) and metrics (Prometheus' text, answers of
    /// its API, Envoy's /stats): files, folders, `-` for standard input; packed with gzip or not
    #[arg(required_unless_present = "prometheus", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Ask this Prometheus, too (http only); sends queries to that host and nothing else
    #[arg(long, value_name = "URL")]
    pub(crate) prometheus: Option<String>,
    /// The time that metrics cover: what Prometheus is asked for, or how long the counters of a
    /// file have counted
    #[arg(long, value_name = "DURATION")]
    pub(crate) over: Option<String>,
    /// The same metrics as they were earlier: only what was counted since then counts, and --over is
    /// the time between both
    #[arg(long, value_name = "FILE", conflicts_with = "prometheus")]
    pub(crate) since: Option<PathBuf>,
    /// Share of the traces that are recorded (head sampling)
    #[arg(long, value_name = "SHARE", default_value = "100%")]
    pub(crate) sampling: String,
    /// Types of requests at most; the rarest are put together
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) types: u32,
    /// Spans that wait for the rest of their traces at most, which bounds memory (about 100 bytes
    /// each)
    #[arg(long, value_name = "N", default_value_t = 4_000_000,
        value_parser = clap::value_parser!(u32).range(1_000..))]
    pub(crate) open_spans: u32,
    /// Print how retries multiply at each service instead of a system file
    #[arg(long)]
    pub(crate) amplification: bool,
    /// With --amplification: what the policies of this system file make possible, beside it
    #[arg(long, value_name = "FILE", requires = "amplification")]
    pub(crate) graph: Option<PathBuf>,
    /// Write into a file instead
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print everything that was learnt as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 1 if anything was wrong with an input
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
