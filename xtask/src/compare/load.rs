//! `cargo xtask compare load`: `damper load` beside other load generators.
//!
//! Each is bound to one core and sends to the same nginx, on another core, in turns. Then those that
//! send by a schedule send at half of their own highest rate to a server of ours that writes down when
//! each request came: how late it was, beside a schedule with even distances, is measured from outside
//! and in the same way for all.

mod sink;
mod tools;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Serialize;

use self::sink::{Lateness, Sink};
use self::tools::Tool;
use super::core;
use crate::debian::NGINX;
use crate::process::{program, target};

/// Settings of the comparison.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How often each has its turn; medians count
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,
    /// Seconds of a turn
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Connections of each
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=512))]
    connections: u32,
    /// One short turn of each: only shows that it works
    #[arg(long)]
    quick: bool,
    /// Also oha, which is compiled first if it is not there
    #[arg(long)]
    oha: bool,
    /// Without locust
    #[arg(long)]
    no_locust: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// What one generator did.
#[derive(Serialize)]
struct Row {
    tool: &'static str,
    version: String,
    open_loop: bool,
    /// Requests per second, as fast as it goes on one core.
    rps: f64,
    /// The same of every turn.
    turns: Vec<f64>,
    /// Beside `damper load`: how many times as fast Damper is.
    damper_is: f64,
    /// The rate at which its schedule was looked at, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule_rps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<Lateness>,
    /// What it says itself about its own lateness, in milliseconds (p99).
    #[serde(skip_serializing_if = "Option::is_none")]
    says_late_p99_ms: Option<f64>,
}

/// `cargo xtask compare load`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let (rounds, seconds) =
        if arguments.quick { (1, 1) } else { (arguments.rounds, arguments.seconds) };
    let tools = tools::all(arguments.oha, !arguments.no_locust && !arguments.quick)?;
    let nginx = Nginx::start()?;
    let mut turns: Vec<Vec<f64>> = vec![Vec::new(); tools.len()];
    let mut fastest = 50_000.0;
    for _ in 0..rounds {
        for (tool, turns) in tools.iter().zip(&mut turns) {
            let rate = tool.flat_out(nginx.port, arguments.connections, seconds, fastest)?;
            eprintln!("  {:<10}{rate:>10.0} requests/s", tool.name);
            turns.push(rate);
            // An open loop is offered more than anybody could send.
            fastest = rate.max(fastest);
        }
    }
    drop(nginx);
    let medians: Vec<f64> = turns.iter().map(|turns| median(turns.clone())).collect();
    let ours = medians.first().copied().unwrap_or(f64::NAN);
    let mut rows = Vec::new();
    for ((tool, turns), rps) in tools.iter().zip(turns).zip(medians) {
        let mut row = Row {
            tool: tool.name,
            version: tool.version.clone(),
            open_loop: tool.open_loop,
            rps,
            turns,
            damper_is: ours / rps,
            schedule_rps: None,
            late: None,
            says_late_p99_ms: None,
        };
        if tool.has_schedule() {
            let mut found = Vec::new();
            for _ in 0..rounds {
                found.push(scheduled(tool, rps / 2.0, seconds)?);
            }
            found.sort_by(|a, b| a.0.p99_ms.total_cmp(&b.0.p99_ms));
            if let Some((late, says)) = found.into_iter().nth(rounds as usize / 2) {
                row.schedule_rps = Some(rps / 2.0);
                (row.late, row.says_late_p99_ms) = (Some(late), says);
            }
        }
        rows.push(row);
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!(
        "\none core each, nginx on another, {} connections, medians of {rounds} turns of {seconds} s\n",
        arguments.connections
    );
    print(&rows);
    Ok(())
}

/// Sends at a rate to a server that writes down when requests came.
fn scheduled(tool: &Tool, rate: f64, seconds: u64) -> Result<(Lateness, Option<f64>)> {
    let sink = Sink::start(first_core())?;
    let says = tool.paced(sink.port, rate, seconds)?;
    let late = sink.lateness(rate).with_context(|| format!("{}: nothing arrived", tool.name))?;
    Ok((late, says))
}

fn print(rows: &[Row]) {
    println!(
        "  {:<10}{:<10}{:>6}{:>14}{:>12}{:>14}{:>12}{:>12}{:>14}",
        "",
        "version",
        "loop",
        "requests/s",
        "Damper is",
        "schedule at",
        "late p50",
        "late p99",
        "says p99"
    );
    let ms = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.3} ms"));
    for row in rows {
        println!(
            "  {:<10}{:<10}{:>6}{:>14.0}{:>11.2}x{:>14}{:>12}{:>12}{:>14}",
            row.tool,
            row.version,
            if row.open_loop { "open" } else { "closed" },
            row.rps,
            row.damper_is,
            row.schedule_rps.map_or("–".into(), |rate| format!("{rate:.0}/s")),
            ms(row.late.as_ref().map(|late| late.p50_ms)),
            ms(row.late.as_ref().map(|late| late.p99_ms)),
            ms(row.says_late_p99_ms),
        );
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Where the target runs: the first core, as generators run on the last.
fn first_core() -> Option<usize> {
    core().map(|_| 0)
}

/// A program on a core of its own.
fn bound(to: Option<usize>, command: &Command) -> Command {
    let mut bound = match to {
        Some(core) => {
            let mut taskset = program("taskset");
            taskset.args(["-c", &core.to_string()]).arg(command.get_program());
            taskset
        }
        None => program(command.get_program()),
    };
    bound.args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            bound.env(name, value);
        }
    }
    bound
}

/// The target: one worker, one small reply.
struct Nginx {
    child: Child,
    port: u16,
}

impl Nginx {
    fn start() -> Result<Self> {
        let nginx = NGINX.find()?;
        let folder = target()?.join("compare/load");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let at = folder.display();
        let text = format!(
            "worker_processes 1;\npid {at}/nginx.pid;\nerror_log {at}/error.log crit;\ndaemon off;\n\
             events {{ worker_connections 4096; }}\nhttp {{\n  access_log off;\n  \
             keepalive_requests 1000000000;\n  client_body_temp_path {at}/t1;\n  \
             proxy_temp_path {at}/t2;\n  fastcgi_temp_path {at}/t3;\n  uwsgi_temp_path {at}/t4;\n  \
             scgi_temp_path {at}/t5;\n  server {{ listen 127.0.0.1:{port} backlog=4096; location / \
             {{ return 200 \"ok\"; }} }}\n}}\n"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, text).with_context(|| file.display().to_string())?;
        let mut command = Command::new(nginx);
        command.arg("-c").arg(&file).arg("-p").arg(&folder);
        command.arg("-e").arg(folder.join("error.log"));
        let mut command = bound(first_core(), &command);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut nginx = Self { child, port };
        for _ in 0..100 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(nginx);
            }
            if let Some(status) = nginx.child.try_wait()? {
                bail!("nginx ended: {status}; {}", folder.join("error.log").display());
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("nginx does not listen")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A master that is killed leaves its worker: it is asked to end.
        let pid = self.child.id().to_string();
        let asked = program("kill").args(["-TERM", &pid]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
