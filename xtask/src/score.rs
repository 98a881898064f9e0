//! `cargo xtask score`: how good `damper scan` is, against labels that people made by reading.
//!
//! A finding is a hit where its lines overlap a labelled site's, three lines to either side; one
//! that overlaps only an ambiguous place counts neither way; anything else in production scope is
//! a false positive. Recall is over production sites.

mod labels;
mod tally;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process::{damper, output, program};
use labels::Repository;
use tally::{Report, Tally};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder with one file of labels for each repository
    labels: PathBuf,
    /// A folder with the checkouts, each named as its file of labels is [default: the same]
    #[arg(long, value_name = "DIR")]
    checkouts: Option<PathBuf>,
    /// Only repositories with this in their names
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Print every miss, false positive and wrong attribute
    #[arg(long)]
    details: bool,
    /// Fail below this recall or precision, in percent
    #[arg(long, value_name = "PERCENT")]
    at_least: Option<f64>,
}

pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let damper = damper()?;
    let checkouts = arguments.checkouts.as_ref().unwrap_or(&arguments.labels);
    let mut report = Report::default();
    for file in label_files(&arguments.labels)? {
        let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if arguments.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let folder = checkouts.join(&name);
        if !folder.is_dir() {
            eprintln!("{name}: no checkout, left out");
            continue;
        }
        let repository = Repository::read(&file)?;
        let found = scan(&damper, &folder)?;
        report.add(Tally::of(&repository, &found));
    }
    if report.repositories.is_empty() {
        bail!("{}: no labels with a checkout", arguments.labels.display());
    }
    report.print(arguments.details);
    if let Some(least) = arguments.at_least {
        let (precision, recall) = (report.precision(), report.recall());
        if 100.0 * precision < least || 100.0 * recall < least {
            bail!("below {least} %");
        }
    }
    Ok(())
}

fn label_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    Ok(files)
}

/// The policies that `damper scan` finds in a folder.
fn scan(damper: &Path, folder: &Path) -> Result<Vec<Value>> {
    let folder = std::path::absolute(folder)?;
    let mut command = program(damper);
    // From within, so that paths are those of the labels.
    command.args(["scan", ".", "--json", "--quiet", "--fail-on", "never"]);
    command.args(["--scope", "all", "--implicit"]).current_dir(folder);
    let printed: Value = serde_json::from_str(&output(&mut command)?)?;
    let policies = printed.get("policies").and_then(Value::as_array).context("no policies")?;
    Ok(policies.clone())
}
