//! The engines: how each is built, and how it is asked for a turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::Turn;
use crate::process::{cargo, program, quiet_output, root, run, shown, target, works};

/// An engine in one shape.
pub(super) struct Engine {
    kind: Kind,
    name: String,
    /// The program, and a script for it.
    command: Vec<PathBuf>,
    shape: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ours,
    Rust,
    SimPy,
}

/// The parts of `damper simulate --json` that are compared.
#[derive(Deserialize)]
struct Simulated {
    events: u64,
    measured_s: f64,
    classes: BTreeMap<String, Class>,
    services: BTreeMap<String, Service>,
}

#[derive(Deserialize)]
struct Class {
    offered: u64,
    good: u64,
}

#[derive(Deserialize)]
struct Service {
    attempts: u64,
    served: u64,
    abandoned: u64,
}

impl Engine {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_ours(&self) -> bool {
        self.kind == Kind::Ours
    }

    pub(super) fn is_slow(&self) -> bool {
        self.kind == Kind::SimPy
    }

    /// Simulates once.
    pub(super) fn turn(
        &self,
        workload: &str,
        seconds: u64,
        seed: u64,
        core: Option<usize>,
    ) -> Result<Turn> {
        let mut command = match (core, &self.command[..]) {
            (Some(core), words) => {
                let mut command = program("taskset");
                command.args(["-c", &core.to_string()]).args(words);
                command
            }
            (None, [first, rest @ ..]) => {
                let mut command = program(first);
                command.args(rest);
                command
            }
            (None, []) => anyhow::bail!("{}: nothing to run", self.name),
        };
        if self.kind != Kind::Ours {
            command.args([workload, &seconds.to_string(), &seed.to_string(), self.shape]);
            let (text, process_s) = timed(&mut command)?;
            let mut turn: Turn = serde_json::from_str(&text).with_context(|| shown(&command))?;
            turn.seconds = Duration::from_secs(seconds).as_secs_f64();
            if turn.cpu_s <= 0.0 {
                turn.cpu_s = process_s;
            }
            return Ok(turn);
        }
        command.args(["simulate", &format!("compare/{workload}.yaml"), "--json"]);
        // The watch begins when the trigger has ended.
        let before = if workload == "mm1-storm" { 65 } else { 0 };
        for set in
            [format!("experiment.watch={}s", seconds - before), format!("experiment.seed={seed}")]
        {
            command.args(["--set", &set]);
        }
        // The whole program: reading the file and writing the result are ours to pay.
        let (text, cpu_s) = timed(&mut command)?;
        let result: Simulated = serde_json::from_str(&text).with_context(|| shown(&command))?;
        let services = result.services.values();
        Ok(Turn {
            requests: result.classes.values().map(|class| class.offered).sum(),
            good: result.classes.values().map(|class| class.good).sum(),
            attempts: services.clone().map(|service| service.attempts).sum(),
            served: services.clone().map(|service| service.served + service.abandoned).sum(),
            wasted: services.map(|service| service.abandoned).sum(),
            events: result.events,
            cpu_s,
            seconds: result.measured_s,
        })
    }

    #[cfg(test)]
    pub(super) fn for_test(name: &str) -> Self {
        Self { kind: Kind::Rust, name: name.into(), command: Vec::new(), shape: "" }
    }
}

/// What a program prints, and the processor time it took (where that cannot be told, the time
/// on the clock).
fn timed(command: &mut Command) -> Result<(String, f64)> {
    let (clock, before) = (Instant::now(), children_s());
    let text = quiet_output(command)?;
    let cpu_s = before.zip(children_s()).map(|(before, after)| after - before);
    Ok((text, cpu_s.filter(|cpu| *cpu > 0.0).unwrap_or_else(|| clock.elapsed().as_secs_f64())))
}

/// Processor time of the children that have ended, from Linux's `/proc`.
fn children_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name in brackets; user and system time of children are the 16th
    // and 17th, in hundredths of a second on every machine that Rust knows.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u32>().ok();
    Some(f64::from(ticks(13)? + ticks(14)?) / 100.0)
}

/// Builds and installs what is compared.
pub(super) fn prepare() -> Result<Vec<Engine>> {
    let target = target()?;
    run(&mut cargo("build --release --locked --package damper"))?;
    let mut engines = vec![Engine {
        kind: Kind::Ours,
        name: "Damper".into(),
        command: vec![target.join("release/damper")],
        shape: "",
    }];
    for (name, folder) in [("NeXosim", "nexosim"), ("DesCartes", "descartes")] {
        let manifest = root().join("compare").join(folder).join("Cargo.toml");
        let built = target.join("compare").join(folder);
        let mut build = cargo("build --release --locked --manifest-path");
        run(build.arg(manifest).arg("--target-dir").arg(&built))?;
        let command = built.join("release").join(format!("compare-{folder}"));
        engines.extend(shapes(Kind::Rust, name, &[command]));
    }
    let python = simpy(&root().join("compare"))?;
    engines.extend(shapes(
        Kind::SimPy,
        "SimPy",
        &[python, root().join("compare/simpy/mm1_storm.py")],
    ));
    Ok(engines)
}

fn shapes(kind: Kind, name: &str, command: &[PathBuf]) -> impl Iterator<Item = Engine> {
    ["parts", "fused"].into_iter().map(move |shape| Engine {
        kind,
        name: format!("{name}, {shape}"),
        command: command.to_vec(),
        shape,
    })
}

/// A Python with SimPy.
fn simpy(folder: &Path) -> Result<PathBuf> {
    let environment = folder.join(".venv");
    let python = environment.join("bin/python");
    if !works(program(&python).args(["-c", "import simpy"])) {
        run(program("python3").args(["-m", "venv"]).arg(&environment))?;
        let mut install = program(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
        run(install.arg(folder.join("simpy/requirements.txt")))?;
    }
    Ok(python)
}
