//! One run of the emulation, and what the model and the simulator say of it.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::stats::Estimate;
use super::{Point, Predicted, Simulated, filter};
use crate::compare;
use crate::process::{program, quiet_output};

/// What one run showed, in the time of the system: a slower run's times are divided again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    /// Of high and low.
    pub(super) rejection: [f64; 2],
    pub(super) requests: [u64; 2],
    /// Equal parts of the measured time: what intervals are made of.
    pub(super) parts: Vec<Part>,
    /// Median and 99th percentile of good replies.
    pub(super) latency_ms: [[f64; 2]; 2],
    /// The sender's own delay.
    pub(super) late_p99_ms: f64,
    /// The share of time in which the machine was busy.
    pub(super) busy: f64,
    /// Requests that ended neither well nor by rejection.
    pub(super) other: u64,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// Of high and low.
    pub(super) rejection: [f64; 2],
    pub(super) calls: f64,
    pub(super) per_success: f64,
}

/// How a run is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub(super) seed: u64,
    /// Everything this many times as slow.
    pub(super) slower: u32,
    /// Not measured, in seconds of the system's own time.
    pub(super) warmup: u32,
    /// Measured, in seconds of the system's own time.
    pub(super) seconds: u32,
}

impl How {
    /// Parts of about [`PART`] seconds.
    fn parts(self) -> u32 {
        (self.seconds / PART).max(1)
    }
}

/// A part of a run in seconds of the system's own time: three times what a bucket holds, so that
/// parts are nearly independent of each other.
pub(super) const PART: u32 = 3;

/// Why there is no result of a run.
pub(super) enum Failure {
    /// It did not start, and may be tried again.
    NotStarted(anyhow::Error),
    /// It had started: what it would have shown is not known.
    Broken(anyhow::Error),
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotStarted(why) | Failure::Broken(why) => why,
        }
    }
}

/// The programs.
pub(super) struct Bench {
    damper: PathBuf,
    envoy: PathBuf,
    pub(super) filter: Option<PathBuf>,
}

impl Bench {
    pub(super) fn new(damper: PathBuf, static_policy: bool) -> Result<Self> {
        let filter = if static_policy { None } else { filter() };
        Ok(Self { damper, envoy: compare::envoy()?, filter })
    }

    /// Runs a point: a warm-up and a measurement.
    pub(super) fn live(&self, point: &Point, how: How) -> Result<Live, Failure> {
        let mut command = program(&self.damper);
        command.arg("emulate").arg(point.form.file).arg("--envoy").arg(&self.envoy);
        match &self.filter {
            Some(filter) => command.arg("--filter").arg(filter),
            None => command.arg("--static-policy"),
        };
        for set in point.sets() {
            command.args(["--set", &set]);
        }
        let How { seed, slower, warmup, seconds } = how;
        let (warmup, time) = (warmup * slower, (warmup + seconds) * slower);
        command.args(["--load", "--json", "--seed", &seed.to_string()]);
        command.args(["--warmup", &format!("{warmup}s"), "--for", &format!("{time}s")]);
        command.args(["--slower", &slower.to_string(), "--parts", &how.parts().to_string()]);
        let output = command.output().context("damper emulate");
        let output = output.map_err(Failure::NotStarted)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let why = anyhow::anyhow!("damper emulate: {}: {}", output.status, said.trim());
            // The first line comes when everything runs.
            let started = printed.lines().next().is_some();
            return Err(if started { Failure::Broken(why) } else { Failure::NotStarted(why) });
        }
        let outcome = || {
            let last = printed.lines().last().context("nothing was printed")?;
            let value: Value = serde_json::from_str(last).context("no JSON was printed")?;
            read(&value, f64::from(slower))
        };
        outcome().map_err(Failure::Broken)
    }

    /// The model, also with the trees read as a chain, and the simulator.
    pub(super) fn predict(&self, point: &Point) -> Result<(Predicted, Predicted, Simulated)> {
        let mut command = program(&self.damper);
        command.args(["solve", point.form.file, "--against-sim", "--json", "--quiet"]);
        for set in point.sets() {
            command.args(["--set", &set]);
        }
        let value: Value = serde_json::from_str(&quiet_output(&mut command)?)?;
        let number = |value: &Value| value.as_f64().context("a number is missing");
        let both =
            |of: &dyn Fn(&str) -> Result<f64>| Ok::<_, anyhow::Error>([of("high")?, of("low")?]);
        let tree = Predicted {
            rejection: both(&|class| number(&value["classes"][class]["rejection"]))?,
            calls: number(&value["calls_per_request"])?,
            per_success: number(&value["calls_per_success"])?,
        };
        let routes = &value["as_routes"];
        let chain = if routes.is_null() {
            tree
        } else {
            Predicted {
                rejection: both(&|class| number(&routes["rejection"][class]))?,
                calls: number(&routes["calls_per_request"])?,
                per_success: number(&routes["calls_per_success"])?,
            }
        };
        let run = &value["simulated"];
        let estimate = |mean: &Value, ci: &Value| -> Result<Estimate> {
            Ok(Estimate { mean: number(mean)?, half: (number(&ci[1])? - number(&ci[0])?) / 2.0 })
        };
        let class = |name: &str| {
            let class = &run["classes"][name];
            estimate(&class["rejection"], &class["rejection_ci95"])
        };
        let simulated = Simulated {
            rejection: [class("high")?, class("low")?],
            calls: estimate(&run["calls_per_request"], &run["calls_per_request_ci95"])?,
        };
        Ok((tree, chain, simulated))
    }

    /// What somebody needs to know to make it again, one fact a line.
    pub(super) fn facts(&self, how: How, repeats: u32) -> Result<Vec<(&'static str, String)>> {
        let How { seed, slower, warmup, seconds } = how;
        let first = |command: &mut std::process::Command| -> Result<String> {
            Ok(quiet_output(command)?.lines().next().unwrap_or_default().to_owned())
        };
        let version = first(program(&self.damper).arg("--version"))?;
        let envoy = quiet_output(program(&self.envoy).arg("--version"))?;
        let envoy = envoy.split("version:").nth(1).unwrap_or_default();
        // A hash, then the number.
        let envoy = envoy.trim().split('/').nth(1).unwrap_or("unknown").to_owned();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = processor
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .map_or("unknown", |rest| rest.trim_start_matches(['\t', ' ', ':']));
        let who = if self.filter.is_some() {
            "Envoy, the limit set by Damper's filter"
        } else {
            "Envoy, by routes that match the class (no filter)"
        };
        Ok(vec![
            ("seeds", format!("{seed} and those that follow, one for each repetition")),
            (
                "pace",
                format!(
                    "1/{slower} of the file's: rates divided and times multiplied by {slower}; times below are the file's"
                ),
            ),
            (
                "measured",
                format!(
                    "{repeats} x {seconds} s for each point, each after {warmup} s of warm-up and in {} parts",
                    how.parts()
                ),
            ),
            ("retries", who.to_owned()),
            ("versions", format!("{version}, Envoy {envoy}")),
            ("machine", format!("{cores} cores, {processor}, {}", std::env::consts::OS)),
        ])
    }
}

fn read(value: &Value, slower: f64) -> Result<Live> {
    let mut live = Live::default();
    let number = |value: &Value| value.as_f64().context("a number is missing");
    let classes = value["classes"].as_array().context("no classes")?;
    for (i, class) in classes.iter().enumerate().take(2) {
        live.rejection[i] = number(&class["rejection"])?;
        let count = |key: &str| class[key].as_u64().unwrap_or_default();
        live.requests[i] = count("requests") - count("not_sent");
        live.latency_ms[i] =
            [number(&class["ok_ms"]["p50"])? / slower, number(&class["ok_ms"]["p99"])? / slower];
        live.other +=
            ["failed", "timed_out", "connection", "not_sent"].map(count).iter().sum::<u64>();
    }
    // A run of one part has none beside itself.
    let parts = value["parts"].as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    for part in parts {
        let rejection = |class: usize| number(&part["classes"][class]["rejection"]);
        live.parts.push(Part {
            rejection: [rejection(0)?, rejection(1)?],
            calls: number(&part["calls_per_request"])?,
            per_success: number(&part["calls_per_success"])?,
        });
    }
    live.late_p99_ms = number(&value["late_ms"]["p99"])?;
    live.busy = value["machine_busy"].as_f64().unwrap_or_default();
    Ok(live)
}
