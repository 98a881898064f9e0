//! `cargo xtask test`: every test there is, installing what it needs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::{cargo, cargo_tool, files, output, program, root, run, target, works};
use crate::steps::{Done, Steps};
use crate::{browser, compare, docs};

/// Seconds that each fuzz target runs.
const FUZZ_SECONDS: u32 = 30;

/// Runs everything.
pub(crate) fn run_all(steps: &mut Steps) {
    let mut runner =
        Runner { nextest: works(&mut cargo("nextest --version")), browser: browser::find() };
    steps.run("tools", || runner.prepare());
    steps.run("tests", || {
        let words = if runner.nextest {
            "nextest run --workspace --locked --no-fail-fast --no-tests pass"
        } else {
            "test --workspace --locked --no-fail-fast --lib --bins --tests"
        };
        run(&mut runner.settings(cargo(words)))?;
        Ok(Done::Passed)
    });
    steps.run("documentation tests", || {
        run(&mut cargo("test --workspace --locked --no-fail-fast --doc"))?;
        Ok(Done::Passed)
    });
    steps.run("release build", || {
        run(&mut cargo("build --release --locked --package damper"))?;
        Ok(Done::Passed)
    });
    steps.run("slow tests", || runner.slow());
    steps.run("atomics", atomics);
    steps.run("same decisions", || {
        compare::control::same()?;
        Ok(Done::Passed)
    });
    steps.run("examples in the docs", || {
        docs::check(&target()?.join("release"), &target()?.join("docs-examples"))
    });
    steps.run("fuzz", fuzz);
}

/// `cargo xtask test`.
pub(crate) fn run_task(only: &[String]) -> Result<()> {
    let mut steps = Steps::only(only);
    run_all(&mut steps);
    steps.finish()
}

struct Runner {
    nextest: bool,
    browser: Option<PathBuf>,
}

impl Runner {
    fn prepare(&mut self) -> Result<Done> {
        let mut notes = Vec::new();
        match cargo_tool("nextest") {
            Ok(_) => self.nextest = true,
            Err(error) => notes.push(format!("using `cargo test`: no nextest ({error:#})")),
        }
        match browser::find_or_install() {
            Ok(path) => {
                notes.push(format!("browser: {}", path.display()));
                self.browser = Some(path);
            }
            Err(error) => notes.push(format!("browser tests are skipped: {error:#}")),
        }
        let notes = notes.join("; ");
        eprintln!("{notes}");
        Ok(Done::Noted(notes))
    }

    /// With a browser, a test that needs one may not pass without it. A snapshot that differs
    /// is a failure, and leaves nothing in the checkout.
    fn settings(&self, mut command: Command) -> Command {
        command.env("INSTA_UPDATE", "no");
        if let Some(path) = &self.browser {
            command.env("CHROMIUM", path).env("DAMPER_REQUIRE_BROWSER", "1");
        }
        command
    }

    /// Tests marked `#[ignore = "slow: …"]`, in release, of the packages that have any.
    fn slow(&self) -> Result<Done> {
        let mut packages = Vec::new();
        for manifest in files(&root().join("crates"), "Cargo.toml")? {
            let folder = manifest.parent().context("a manifest is in a folder")?;
            let mut slow = false;
            for file in files(folder, ".rs")? {
                slow |= std::fs::read_to_string(&file)?.contains("#[ignore");
            }
            if slow {
                let mut id = cargo("pkgid --locked --manifest-path");
                let id = output(id.arg(&manifest))?;
                packages.push(id.trim().to_owned());
            }
        }
        if packages.is_empty() {
            return Ok(Done::Skipped("no test is marked as slow".into()));
        }
        let mut command = if self.nextest {
            cargo("nextest run --release --locked --no-fail-fast --run-ignored only")
        } else {
            cargo("test --release --locked --no-fail-fast --lib --bins --tests")
        };
        for package in packages {
            command.arg("--package").arg(package);
        }
        if !self.nextest {
            command.args(["--", "--ignored"]);
        }
        run(&mut self.settings(command))?;
        Ok(Done::Passed)
    }
}

/// Every interleaving of what threads share, by loom. Its atomics are not those of the rest, so it
/// has a target folder of its own.
fn atomics() -> Result<Done> {
    let words = "test --release --locked --package damper-control --test loom_shared";
    let mut command = cargo(words);
    command.env("RUSTFLAGS", "--cfg loom").arg("--target-dir").arg(target()?.join("loom"));
    run(&mut command)?;
    Ok(Done::Passed)
}

/// Every fuzz target for a short while. Needs a nightly compiler, which is not brought along.
fn fuzz() -> Result<Done> {
    let manifest = root().join("fuzz/Cargo.toml");
    if !manifest.is_file() {
        return Ok(Done::Skipped("no fuzz targets".into()));
    }
    let nightly = |words: &str| {
        let mut command = program("cargo");
        // Without this, asking for a toolchain that is not there would download it.
        command.env("RUSTUP_AUTO_INSTALL", "0").env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        command.arg("+nightly").args(words.split_whitespace());
        command
    };
    if !works(&mut nightly("--version")) {
        return Ok(Done::Skipped("no nightly toolchain".into()));
    }
    if let Err(error) = cargo_tool("fuzz") {
        return Ok(Done::Skipped(format!("no cargo-fuzz: {error:#}")));
    }
    let targets = output(&mut cargo("fuzz list"))?;
    let targets: Vec<&str> = targets.split_whitespace().collect();
    for target in &targets {
        run(&mut nightly(&format!("fuzz run {target} -- -max_total_time={FUZZ_SECONDS}")))?;
    }
    Ok(Done::Noted(format!("{FUZZ_SECONDS} s each: {}", targets.join(", "))))
}
