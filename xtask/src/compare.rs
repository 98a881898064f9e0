//! Damper beside other tools: the same work, on the same machine, in one run.

pub(crate) mod control;
pub(crate) mod sim;
pub(crate) mod solve;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::process::{program, root, run, works};

/// A Python that has `module`, and installs `requirements` if it does not.
fn python(module: &str, requirements: &Path) -> Result<PathBuf> {
    let environment = root().join("compare/.venv");
    let python = environment.join("bin/python");
    if !works(program(&python).args(["-c", &format!("import {module}")])) {
        run(program("python3").args(["-m", "venv"]).arg(&environment))?;
        let mut install = program(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
        run(install.arg(requirements))?;
    }
    Ok(python)
}

/// A core to run on: the last one, as the first has the machine's interrupts. `None`: this
/// system cannot bind a program to a core.
fn core() -> Option<usize> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (0..cores).rev().find(|core| works(program("taskset").args(["-c", &core.to_string(), "true"])))
}
