//! One module per command.

pub(crate) mod admin;
pub(crate) mod check;
pub(crate) mod controls;
pub(crate) mod csv;
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

/// Writes a file that was asked for.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Tells texts apart: FNV-1a, 64 bits. Nobody is kept from deceiving themselves.
pub(crate) fn fingerprint(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Writes an HTML report, if one was asked for, and says where it is.
pub(crate) fn write_html(path: Option<&Path>, html: impl FnOnce() -> String) -> anyhow::Result<()> {
    if let Some(path) = path {
        write(path, &html())?;
        print::note(&format!("report: {}", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn fingerprints_by_hand() {
        // FNV-1a's own test vectors.
        assert_eq!(super::fingerprint(""), "cbf29ce484222325");
        assert_eq!(super::fingerprint("a"), "af63dc4c8601ec8c");
    }
}
