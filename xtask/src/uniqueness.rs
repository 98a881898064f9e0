//! `cargo xtask uniqueness`: the hunt for a network with two solutions. It is an example of
//! `damper-model`, as nothing here may depend on our crates; this builds it in release.

use std::path::{PathBuf, absolute};

use anyhow::{Context as _, Result};

use crate::process::{cargo, run};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Starts to solve from, 100 of each network; `60_000_000` is fine
    #[arg(long, default_value = "1_000_000")]
    cases: String,
    /// Which networks and starts [default: 1, or that of the checkpoint]
    #[arg(long)]
    seed: Option<String>,
    /// Go on from a checkpoint, which is `uniqueness-checkpoint.txt` in the repository, or from a
    /// copy of it
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

/// Fails if another solution is found; the case is kept in the repository's folder.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let words = "run --release --locked --package damper-model --example uniqueness --";
    let mut command = cargo(words);
    command.args(["--cases", &arguments.cases]);
    if let Some(seed) = &arguments.seed {
        command.args(["--seed", seed]);
    }
    if let Some(file) = &arguments.resume {
        // It runs in the repository, which need not be where we are.
        let file = absolute(file).with_context(|| file.display().to_string())?;
        command.arg("--resume").arg(file);
    }
    run(&mut command)
}
