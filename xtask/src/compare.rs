//! Damper beside other tools: the same work, on the same machine, in one run.

pub(crate) mod control;
pub(crate) mod sim;

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
