//! `cargo xtask test`: every test there is, installing what it needs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{cargo, cargo_tool, run, run_watched, target, works};
use crate::steps::{Done, Steps};
use crate::{browser, compare, debian, docs, filter, fuzz, harness, live, nextest, npm};

/// Runs everything.
pub(crate) fn run_all(steps: &mut Steps) {
    let mut runner = Runner {
        nextest: works(&mut cargo("nextest --version")),
        browser: browser::find(),
        envoy: None,
        others: Vec::new(),
    };
    steps.run("tools", || runner.prepare());
    steps.run("tests", || runner.tests(&[]));
    steps.run("documentation tests", || {
        run(&mut cargo("test --workspace --locked --no-fail-fast --doc"))?;
        Ok(Done::Passed)
    });
    steps.run("filter", || Ok(Done::Noted(filter::build(&filter::Arguments::default())?)));
    steps.run("slow tests", || runner.slow());
    steps.run("live run", || live::quick(program()?));
    steps.run("atomics", atomics);
    steps.run("same decisions", || {
        compare::control::same()?;
        Ok(Done::Passed)
    });
    steps.run("attempts of programs", || Ok(Done::Noted(harness::step(&program()?)?)));
    steps.run("examples in the docs", || {
        docs::check(&target()?.join("debug"), &target()?.join("docs-examples"))
    });
    steps.run("fuzz", fuzz::step);
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
    envoy: Option<PathBuf>,
    /// Other programs by the variables that name them.
    others: Vec<(String, PathBuf)>,
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
        match compare::envoy() {
            Ok(path) => self.envoy = Some(path),
            Err(error) => notes.push(format!("tests with Envoy are skipped: {error:#}")),
        }
        match compare::export_python() {
            Ok(path) => self.others.push(("EXPORT_PYTHON".to_owned(), path)),
            Err(error) => notes.push(format!("exports are not tried with gRPC: {error:#}")),
        }
        match compare::export_models() {
            Ok(path) => self.others.push(("EXPORT_MODELS".to_owned(), path)),
            Err(error) => notes.push(format!("exports are not held to npm's models: {error:#}")),
        }
        match npm::http_server() {
            Ok(path) => self.others.push(("NPM_HTTP_SERVER".to_owned(), path)),
            Err(error) => notes.push(format!("no drill on a server from npm: {error:#}")),
        }
        for one in &debian::PROGRAMS {
            match one.find() {
                Ok(path) => self.others.push((one.name.to_uppercase(), path)),
                Err(error) => {
                    notes.push(format!("nothing is tried with {}: {error:#}", one.name));
                }
            }
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
        if let Some(path) = &self.envoy {
            command.env("ENVOY", path);
        }
        if let Some(path) = filter::path().ok().filter(|path| path.is_file()) {
            command.env("DAMPER_FILTER", path);
        }
        command.envs(self.others.iter().map(|(name, path)| (name, path)));
        command
    }

    /// The tests, or some of them. The summary names what failed, and what passed at its second try only.
    fn tests(&self, some: &[&str]) -> Result<Done> {
        if !self.nextest {
            let words =
                "test --workspace --all-features --locked --no-fail-fast --lib --bins --tests";
            run(self.settings(cargo(words)).args(some))?;
            return Ok(Done::Passed);
        }
        let words = "nextest run --workspace --all-features --locked --no-fail-fast --no-tests pass \
            --final-status-level flaky";
        let mut named = nextest::Named::default();
        let ran = run_watched(self.settings(cargo(words)).args(some), |line| named.read(line));
        match (ran, named.to_string()) {
            (Ok(()), names) if names.is_empty() => Ok(Done::Passed),
            (Ok(()), names) => Ok(Done::Noted(names)),
            (Err(error), names) if names.is_empty() => Err(error),
            (Err(_), names) => bail!(names),
        }
    }

    /// Tests marked `#[ignore = "slow: …"]`, as they were built with the others.
    fn slow(&self) -> Result<Done> {
        self.tests(if self.nextest { &["--run-ignored", "only"] } else { &["--", "--ignored"] })
    }
}

/// The program as the tests built it. One build serves all steps: a second one, in release, would
/// take as long as the tests.
fn program() -> Result<PathBuf> {
    run(&mut cargo("test --workspace --all-features --locked --lib --bins --tests --no-run"))?;
    Ok(target()?.join("debug/damper"))
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
