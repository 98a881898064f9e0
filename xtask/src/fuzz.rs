//! Every fuzz target for a short while. Needs a nightly compiler, which is not brought along.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};

use crate::process::{cargo, cargo_tool, files, output, program, root, run, target, works};
use crate::seeds;
use crate::steps::Done;

/// How long each target runs.
const SECONDS: u32 = 15;
/// Our crates have no `unsafe`, and C that is linked in is not instrumented: a sanitizer would find
/// nothing and take half of the runs.
const PLAIN: &str = "--sanitizer none";
/// The same inputs in each run: what is found is found again. `cargo fuzz run TARGET` looks further.
const SEED: u32 = 1;
/// A finding is printed up to so many bytes, since the machine that found it may be gone.
const PRINTED: usize = 4096;

/// `cargo xtask test fuzz`.
pub(crate) fn step() -> Result<Done> {
    if !root().join("fuzz/Cargo.toml").is_file() {
        return Ok(Done::Skipped("no fuzz targets".into()));
    }
    if !works(&mut nightly("--version")) {
        return Ok(Done::Skipped("no nightly toolchain".into()));
    }
    if let Err(error) = cargo_tool("fuzz") {
        return Ok(Done::Skipped(format!("no cargo-fuzz: {error:#}")));
    }
    let targets = output(&mut cargo("fuzz list"))?;
    let targets: Vec<&str> = targets.split_whitespace().collect();
    let made = seeds::write(&target()?.join("fuzz-seeds"))?;
    run(&mut nightly(&format!("fuzz build {PLAIN}")))?;
    let mut broken = Vec::new();
    for target in &targets {
        // What a run finds is kept in the first folder; the others are only read.
        let corpus = root().join("fuzz/corpus").join(target);
        fs::create_dir_all(&corpus).with_context(|| corpus.display().to_string())?;
        let given = [root().join("fuzz/seeds").join(target), made.join(target)];
        let mut fuzz = nightly(&format!("fuzz run {PLAIN} {target}"));
        fuzz.arg(corpus).args(given.iter().filter(|folder| folder.is_dir()));
        fuzz.args(["--", &format!("-max_total_time={SECONDS}"), &format!("-seed={SEED}")]);
        let begun = SystemTime::now();
        if run(&mut fuzz).is_err() {
            print(target, begun)?;
            broken.push(*target);
        }
    }
    if !broken.is_empty() {
        bail!("fuzzing broke {}", broken.join(", "));
    }
    Ok(Done::Noted(format!("{SECONDS} s each: {}", targets.join(", "))))
}

fn nightly(words: &str) -> Command {
    let mut command = program("cargo");
    // Without this, asking for a toolchain that is not there would download it.
    command.env("RUSTUP_AUTO_INSTALL", "0").env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command.arg("+nightly").args(words.split_whitespace());
    command
}

/// Prints what a target was given when it broke.
fn print(target: &str, since: SystemTime) -> Result<()> {
    for file in found(&root().join("fuzz/artifacts").join(target), since)? {
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        let shown = bytes.get(..PRINTED).unwrap_or(&bytes);
        eprintln!("{}, {} bytes: {}", file.display(), bytes.len(), shown.escape_ascii());
    }
    Ok(())
}

fn found(folder: &Path, since: SystemTime) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let new = |file: &PathBuf| {
        fs::metadata(file).and_then(|data| data.modified()).is_ok_and(|time| time >= since)
    };
    Ok(files(folder, "")?.into_iter().filter(new).collect())
}
