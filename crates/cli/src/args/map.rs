//! Arguments of `damper map`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::SystemArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A direction is a path as `--set` has it, `load` (all classes together), or `trigger.KEY`, which is KEY
of every action of the file's trigger; and a range. Without one, load goes up to what can be served,
and others up to twice the file's value.

Exit codes: 0 the map is there, 2 no answer, 130 interrupted (what had been measured is printed).

Examples:
  damper map examples/retry-storm.yaml --x load --y trigger.for
  damper map my-system.yaml --x load=50..300 --y trigger.for=100ms..4000ms --html map.html
  damper map my-system.yaml --x load --y 'policies.\"client -> db\".retry.limit=0..5'
  damper map my-system.yaml --x load --y services.db.queue=10..500 --cells 128 --csv map.csv
  damper map my-system.yaml --rare                      # how often it collapses with no trigger
  damper map my-system.yaml --rare --x load=16..24 --points 5")]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// What goes across
    #[arg(long, value_name = "PATH[=FROM..TO]", required_unless_present = "rare")]
    pub(crate) x: Option<String>,
    /// What goes upwards
    #[arg(long, value_name = "PATH[=FROM..TO]", required_unless_present = "rare")]
    pub(crate) y: Option<String>,
    /// Instead: how often a healthy system collapses by chance, with no trigger, along --x if given
    #[arg(long, conflicts_with_all = ["y", "cells", "most_runs", "run_all", "csv", "html"])]
    pub(crate) rare: bool,
    /// With --rare and --x: values along it
    #[arg(long, value_name = "N", default_value_t = 5, requires = "rare", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) points: u32,
    /// With --rare: copies that go on from each level, in each of ten independent results
    #[arg(long, value_name = "N", default_value_t = 200, requires = "rare", value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) effort: u32,
    /// Finest cells along each side: a power of two, others are rounded up
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(8..=1024))]
    pub(crate) cells: u32,
    /// The most runs at one point, each with a seed of its own
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(4..=1000))]
    pub(crate) most_runs: u32,
    /// Let no point speak for another: run each, even where all easier ones stay down
    #[arg(long)]
    pub(crate) run_all: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the points that were run as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Also write a self-contained HTML report
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Seed of everything random, in place of the file's
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}
