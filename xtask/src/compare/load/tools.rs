//! The generators: how each is called, and where its answer is in what it prints.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::bound;
use crate::compare::{core, python};
use crate::debian::GENERATORS;
use crate::process::{
    cargo, output, program, quiet_output, root, run, shown, target, tools, works,
};

/// Connections over which is sent on schedule. With few of them one that the server is slow to read
/// holds up many requests, and what is measured is the server.
const PACED: &str = "64";

/// A load generator.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) version: String,
    pub(super) open_loop: bool,
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Damper,
    Wrk,
    H2load,
    Locust,
    Oha,
}

/// All that are to be compared; Damper is the first.
pub(super) fn all(oha: bool, locust: bool) -> Result<Vec<Tool>> {
    run(&mut cargo("build --release --package damper --bin damper"))?;
    let damper = target()?.join("release/damper");
    let mut all = vec![tool("damper", Kind::Damper, damper, "--version")?];
    for found in &GENERATORS {
        let kind = if found.name == "wrk" { Kind::Wrk } else { Kind::H2load };
        all.push(tool(found.name, kind, found.find()?, found.version)?);
    }
    if oha {
        if !works(program("oha").arg("--version")) {
            let mut install =
                cargo("install --locked --no-default-features --features rustls --root");
            run(install.arg(tools()).arg("oha"))?;
        }
        all.push(tool("oha", Kind::Oha, PathBuf::from("oha"), "--version")?);
    }
    if locust {
        let python = python("locust", &root().join("compare/load/requirements.txt"))?;
        all.push(tool("locust", Kind::Locust, python.with_file_name("locust"), "--version")?);
    }
    Ok(all)
}

fn tool(name: &'static str, kind: Kind, path: PathBuf, version: &str) -> Result<Tool> {
    // wrk says its version and then fails, since it has no target.
    let said = program(&path).arg(version).output();
    let said = said.with_context(|| format!("cannot run {}", path.display()))?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let open_loop = kind == Kind::Damper;
    Ok(Tool { name, version: number(&text), open_loop, path, kind })
}

/// The first word that has a number of a version.
fn number(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == '/');
    let mut numbers = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    numbers.next().unwrap_or("?").trim_end_matches(',').to_owned()
}

impl Tool {
    /// Whether it can be told when to send, to be compared with.
    pub(super) fn has_schedule(&self) -> bool {
        matches!(self.kind, Kind::Damper | Kind::H2load | Kind::Oha)
    }

    /// Requests per second as fast as it goes. `fastest`: what the fastest had so far.
    pub(super) fn flat_out(
        &self,
        port: u16,
        connections: u32,
        seconds: u64,
        fastest: f64,
    ) -> Result<f64> {
        let url = format!("http://127.0.0.1:{port}/");
        let mut command = Command::new(&self.path);
        match self.kind {
            Kind::Damper => {
                let rate = (fastest * 1.5).max(150_000.0);
                self.load(&mut command, &url, rate, seconds);
                command.args(["--connections", &connections.to_string()]);
                command.args(["--in-flight", &(2 * connections).to_string()]);
                command.args(["--warmup", "300ms"]);
            }
            Kind::Wrk => {
                command.args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), &url]);
            }
            Kind::H2load => {
                command.args(["--h1", "-t1", "-c", &connections.to_string()]);
                command.args(["-D", &seconds.to_string(), &url]);
            }
            Kind::Oha => {
                command.args(["-z", &format!("{seconds}s"), "-c", &connections.to_string()]);
                command.args(["--no-tui", "--output-format", "json", &url]);
                command.env("TOKIO_WORKER_THREADS", "1");
            }
            Kind::Locust => {
                let file = root().join("compare/load/locustfile.py");
                let count = connections.to_string();
                command.arg("-f").arg(file).args(["--headless", "--json", "-u", &count]);
                command.args([
                    "-r",
                    &count,
                    "-t",
                    &format!("{}s", seconds + 2),
                    "-H",
                    url.trim_end_matches('/'),
                ]);
                command.args(["--loglevel", "ERROR"]);
            }
        }
        let text = self.said(&command)?;
        let rate = match self.kind {
            Kind::Damper => json(&text)?["total"]["throughput_rps"].as_f64(),
            Kind::Wrk => after(&text, "Requests/sec:"),
            Kind::H2load => before(&text, " req/s"),
            Kind::Oha => json(&text)?["summary"]["requestsPerSec"].as_f64(),
            Kind::Locust => locust(&json(&text)?),
        };
        rate.with_context(|| format!("`{}` printed no rate:\n{text}", shown(&command)))
    }

    /// Sends at a rate: what it says of its own lateness, in milliseconds.
    pub(super) fn paced(&self, port: u16, rate: f64, seconds: u64) -> Result<Option<f64>> {
        let url = format!("http://127.0.0.1:{port}/");
        let mut command = Command::new(&self.path);
        match self.kind {
            Kind::Damper => {
                self.load(&mut command, &url, rate.round(), seconds);
                command.args(["--arrivals", "even", "--connections", PACED]);
            }
            Kind::H2load => {
                command.args(["--h1", "-t1", "-c", PACED, "-D", &seconds.to_string()]);
                command.args(["--rps", &format!("{:.1}", rate / 64.0), &url]);
            }
            Kind::Oha => {
                command.args([
                    "-z",
                    &format!("{seconds}s"),
                    "-c",
                    PACED,
                    "-q",
                    &format!("{rate:.0}"),
                ]);
                command.args(["--no-tui", "--output-format", "json", &url]);
                command.env("TOKIO_WORKER_THREADS", "1");
            }
            Kind::Wrk | Kind::Locust => return Ok(None),
        }
        let text = self.said(&command)?;
        Ok(match self.kind {
            Kind::Damper => json(&text)?["late_ms"]["p99"].as_f64(),
            _ => None,
        })
    }

    fn load(&self, command: &mut Command, url: &str, rate: f64, seconds: u64) {
        command.args(["load", url, "--rate", &format!("{rate:.0}/s")]);
        command.args(["--for", &format!("{seconds}s"), "--json", "--threads", "1"]);
        command.args(["--max-rate", "10000000/s", "--max-requests", "10000000000"]);
    }

    fn said(&self, command: &Command) -> Result<String> {
        let mut command = bound(core(), command);
        // Locust ends with 1 if a request failed, which it says in its answer, too.
        if self.kind == Kind::Locust {
            let said = command.output().with_context(|| shown(&command))?;
            return Ok(String::from_utf8_lossy(&said.stdout).into_owned());
        }
        if self.kind == Kind::Damper { output(&mut command) } else { quiet_output(&mut command) }
    }
}

fn json(text: &str) -> Result<Value> {
    let begin = text.find(['{', '[']).context("no JSON")?;
    Ok(serde_json::from_str(&text[begin..])?)
}

fn after(text: &str, what: &str) -> Option<f64> {
    text.split(what).nth(1)?.split_whitespace().next()?.parse().ok()
}

fn before(text: &str, what: &str) -> Option<f64> {
    text.split(what).next()?.split_whitespace().last()?.parse().ok()
}

/// From the first request to the last.
fn locust(stats: &Value) -> Option<f64> {
    let row = stats.as_array()?.first()?;
    let number = |key: &str| row.get(key).and_then(Value::as_f64);
    let time = number("last_request_timestamp")? - number("start_time")?;
    Some(number("num_requests")? / time.max(0.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_they_print_is_understood() {
        assert_eq!(number("wrk debian/4.1.0-3+b2 [epoll] Copyright"), "4.1.0-3+b2");
        assert_eq!(number("h2load nghttp2/1.52.0\n"), "1.52.0");
        assert_eq!(after("x\nRequests/sec:  96012.5\nTransfer", "Requests/sec:"), Some(96012.5));
        assert_eq!(before("finished in 4.00s, 75000.25 req/s, 9MB/s", " req/s"), Some(75000.25));
        let stats = serde_json::json!([{"num_requests": 90, "start_time": 1.0, "last_request_timestamp": 4.0}]);
        assert_eq!(locust(&stats), Some(30.0));
        assert!(json("noise [1, 2]").is_ok());
    }
}
