//! One module per command.

pub(crate) mod admin;
pub(crate) mod check;
pub(crate) mod controls;
pub(crate) mod diff;
pub(crate) mod drill;
pub(crate) mod emulate;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod headroom;
pub(crate) mod incidents;
pub(crate) mod lab;
pub(crate) mod learn;
pub(crate) mod lever;
pub(crate) mod load;
pub(crate) mod map;
pub(crate) mod plan;
pub(crate) mod price;
pub(crate) mod proxy;
pub(crate) mod rules;
pub(crate) mod scan;
pub(crate) mod schema;
pub(crate) mod simulate;
pub(crate) mod solve;
pub(crate) mod top;

use std::fs;
use std::path::Path;

use anyhow::Context;
use damper_system::{Problems, System, SystemFile};

use crate::args::{OutputArgs, SystemArgs};
use crate::print;

/// A file that was read, changed and understood.
pub(crate) struct Loaded {
    pub(crate) file: SystemFile,
    pub(crate) system: System,
    pub(crate) warnings: Problems,
}

/// Reads a system file, applies `--set` and checks it.
pub(crate) fn load(args: &SystemArgs) -> anyhow::Result<Loaded> {
    let mut file = SystemFile::read(&args.file)?;
    for assignment in &args.set {
        file.set(assignment)?;
    }
    let (system, warnings) = file.lower_with_warnings()?;
    Ok(Loaded { file, system, warnings })
}

impl Loaded {
    /// Puts what the command line says over the experiment of the file.
    pub(crate) fn override_experiment(&mut self, output: &OutputArgs) {
        let e = &mut self.system.experiment;
        e.seed = output.seed.unwrap_or(e.seed);
        e.replications = output.replications.unwrap_or(e.replications);
    }

    /// Warnings as lines for the notes of a result.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.warnings.iter().map(ToString::to_string).collect()
    }
}

/// Writes an HTML report, if one was asked for, and says where it is.
pub(crate) fn write_html(path: Option<&Path>, html: impl FnOnce() -> String) -> anyhow::Result<()> {
    if let Some(path) = path {
        fs::write(path, html()).with_context(|| format!("cannot write {}", path.display()))?;
        print::note(&format!("report: {}", path.display()));
    }
    Ok(())
}
