//! Arguments of `damper diff`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::SystemArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Reads configuration as `damper scan` does, with the defaults of a mesh, and compares call by call:
attempts (by class), budget, timeouts, amplification.

Exit codes: 0 nothing differs, 1 something does, 2 no answer.

Examples:
  damper diff my-system.yaml k8s/
  curl -s localhost:15000/config_dump > dump.json; damper diff my-system.yaml dump.json
  damper diff my-system.yaml k8s/ --json | jq '.calls[] | select(.differs != [])'")]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Configuration: files or folders, or what Envoy's `/config_dump` says
    #[arg(required = true, value_name = "DIR|CONFIG_DUMP")]
    pub(crate) running: Vec<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Istio's version, which decides about its defaults
    #[arg(long, value_name = "MAJOR.MINOR")]
    pub(crate) istio: Option<String>,
    /// The request header that carries the class
    #[arg(long, value_name = "HEADER", default_value = "x-damper-class")]
    pub(crate) class_header: String,
}
