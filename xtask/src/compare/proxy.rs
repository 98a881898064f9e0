//! `cargo xtask compare proxy`: what a request costs with the sidecar in its way, with Envoy, nginx or
//! HAProxy, and with nothing, all in one run.
//!
//! Each proxy has one core and one thread; load and origin share another. All are started at the
//! beginning and take turns, so that what else the machine does meets all of them. What counts are
//! medians of the turns; what a proxy adds to a latency is compared within a round.

mod h2load;
mod peers;
mod print;
mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use self::peers::{Hops, Ports};
use self::running::{Bench, Running, free_ports};
use super::processor::{cpu_us, resident};
use super::{core, envoy};
use crate::debian::{H2LOAD, HAPROXY, NGINX};
use crate::process::{cargo, program, root, run, target};

/// Settings of the comparison.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How often each has its turn; medians count
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,
    /// Seconds of a turn of as many requests as can be answered
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: u32,
    /// Requests per second where latency is measured: few enough for all
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(10..=20_000))]
    rate: u32,
    /// Idle connections
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=5000))]
    idle: u32,
    /// One short turn each: to see that it works, not to quote
    #[arg(long, conflicts_with_all = ["rounds", "seconds", "idle"])]
    quick: bool,
    /// Only these, by a part of their names; "no proxy" is always there
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Another `damper` than the one that is built now
    #[arg(long)]
    program: Option<PathBuf>,
    /// JSON in place of tables
    #[arg(long)]
    json: bool,
}

/// What is spoken with clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Protocol {
    H1,
    H2c,
}

/// What each has been measured to do.
#[derive(Clone, Debug, Default)]
struct Turns {
    per_second: Vec<f64>,
    cpu_us: Vec<f64>,
    p50_us: Vec<f64>,
    p99_us: Vec<f64>,
}

/// The answer to `latency`.
#[derive(Deserialize)]
struct Latency {
    ok: u64,
    failed: u64,
    p50_us: f64,
    p99_us: f64,
    late_p99_us: f64,
}

const NONE: &str = "no proxy";
const ENVOY: &str = "Envoy";

/// All that takes part, and where.
struct Field {
    bench: Bench,
    all: Vec<Running>,
    h2load: PathBuf,
}

/// `cargo xtask compare proxy`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let folder = target()?.join("compare/proxy");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let mut field = field(arguments, &folder)?;
    let (rounds, seconds, idle) = match arguments.quick {
        true => (1, 1, 100),
        false => (arguments.rounds, arguments.seconds, arguments.idle),
    };
    let mut measured = Vec::new();
    let mut late_us = Vec::new();
    for protocol in [Protocol::H1, Protocol::H2c] {
        let mut turns = vec![Turns::default(); field.all.len()];
        // The first turn of each warms it up and does not count.
        for round in 0..=rounds {
            for (running, turns) in field.all.iter().zip(&mut turns) {
                let mut turn = Turns::default();
                closed(&field.h2load, running, protocol, seconds, &mut turn)?;
                let time = u64::from(seconds) * 1000;
                late_us.push(open(
                    &mut field.bench,
                    running,
                    protocol,
                    arguments.rate,
                    time,
                    &mut turn,
                )?);
                if round > 0 {
                    turns.per_second.extend(turn.per_second);
                    turns.cpu_us.extend(turn.cpu_us);
                    turns.p50_us.extend(turn.p50_us);
                    turns.p99_us.extend(turn.p99_us);
                }
            }
        }
        measured.push((protocol, turns));
    }
    let mut memory = Vec::new();
    for running in &field.all {
        memory.push(match running.pid() {
            Some(pid) => Some(per_connection(&mut field.bench, pid, running.ports.http1, idle)?),
            None => None,
        });
    }
    let names: Vec<&'static str> = field.all.iter().map(|running| running.name).collect();
    let table = print::Table::of(&names, &measured, &memory);
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&table)?);
        return Ok(());
    }
    println!(
        "median of {rounds} turns of {seconds} s; {}; latency at {} requests/s, sent {:.0} µs late (p99)",
        core().map_or_else(
            || "nothing bound to a core".into(),
            |core| format!("each proxy alone on core {core}, load and origin on core {}", other()),
        ),
        arguments.rate,
        super::processor::median(late_us),
    );
    print!("{table}");
    Ok(())
}

/// Starts everything.
fn field(arguments: &Arguments, folder: &Path) -> Result<Field> {
    let built = target()?.join("compare/proxy-bench");
    let mut build = cargo("build --release --locked --manifest-path");
    build.arg(root().join("compare/proxy/Cargo.toml")).arg("--target-dir").arg(&built);
    run(&mut build)?;
    let bench = Bench::start(on(Some(other()), &built.join("release/compare-proxy")))?;
    let mut all = vec![Running::none(NONE, bench.origin)];
    let wanted = |name: &str| {
        let name = name.to_lowercase();
        let only = &arguments.only;
        only.is_empty() || only.iter().any(|word| name.contains(&word.to_lowercase()))
    };
    for (name, starts) in CONTESTANTS {
        if !wanted(name) {
            continue;
        }
        let [http1, mut http2] = free_ports()?;
        if name.starts_with("damper") {
            // It tells the two apart by their first bytes.
            http2 = http1;
        }
        let ports = Ports { http1, http2, origin: bench.origin };
        let command = starts(arguments, folder, ports)?;
        all.push(Running::start(name, command, ports, &folder.join(format!("{name}.log")))?);
    }
    Ok(Field { bench, all, h2load: H2LOAD.find()? })
}

/// Makes the command that starts one, having written its configuration into a folder.
type Starts = fn(&Arguments, &Path, Ports) -> Result<Command>;

/// Who is compared.
const CONTESTANTS: [(&str, Starts); 6] = [
    (ENVOY, |_, folder, ports| {
        let file = write(folder, "envoy.json", &peers::envoy(ports))?;
        let mut command = on(core(), &envoy()?);
        command.args(["--concurrency", "1", "--use-dynamic-base-id", "--log-level", "error"]);
        command.arg("--config-path").arg(file);
        Ok(command)
    }),
    ("nginx", |_, folder, ports| {
        let file = write(folder, "nginx.conf", &peers::nginx(ports, folder))?;
        let mut command = on(core(), &NGINX.find()?);
        command.arg("-p").arg(folder).arg("-c").arg(file);
        Ok(command)
    }),
    ("HAProxy", |_, folder, ports| {
        let file = write(folder, "haproxy.cfg", &peers::haproxy(ports))?;
        let mut command = on(core(), &HAPROXY.find()?);
        command.arg("-db").arg("-f").arg(file);
        Ok(command)
    }),
    ("damper, calls", |arguments, folder, ports| ours(arguments, folder, ports, Hops::Calls)),
    ("damper, service", |arguments, folder, ports| ours(arguments, folder, ports, Hops::Service)),
    ("damper, both", |arguments, folder, ports| ours(arguments, folder, ports, Hops::Both)),
];

fn ours(arguments: &Arguments, folder: &Path, ports: Ports, hops: Hops) -> Result<Command> {
    let damper = match &arguments.program {
        Some(path) => fs::canonicalize(path).with_context(|| path.display().to_string())?,
        None => {
            run(&mut cargo("build --release --locked --package damper"))?;
            target()?.join("release/damper")
        }
    };
    let [between, _] = free_ports()?;
    write(folder, "system.yaml", peers::SYSTEM)?;
    let name = format!("damper-{}.yaml", ports.http1);
    let file = write(folder, &name, &peers::damper(ports, hops, between))?;
    let mut command = on(core(), &damper);
    command.args(["proxy", "--config"]).arg(file);
    Ok(command)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// The core of load and origin.
fn other() -> usize {
    usize::from(core() == Some(0))
}

/// A program on a core, if programs can be bound to one here.
fn on(wanted: Option<usize>, path: &Path) -> Command {
    match wanted.filter(|_| core().is_some()) {
        Some(wanted) => {
            let mut command = program("taskset");
            command.args(["-c", &wanted.to_string()]).arg(path);
            command
        }
        None => program(path),
    }
}

/// As many requests as can be answered.
fn closed(
    h2load: &Path,
    running: &Running,
    protocol: Protocol,
    seconds: u32,
    turns: &mut Turns,
) -> Result<()> {
    let cpu = || running.pid().map_or(Ok(f64::NAN), cpu_us);
    let before = cpu()?;
    let mut load = on(Some(other()), h2load);
    let (words, port) = match protocol {
        Protocol::H1 => ("--h1 --clients=64 --threads=1", running.ports.http1),
        Protocol::H2c => {
            ("--clients=8 --max-concurrent-streams=8 --threads=1", running.ports.http2)
        }
    };
    load.args(words.split_whitespace()).arg(format!("--duration={seconds}"));
    load.arg(format!("http://127.0.0.1:{port}/search"));
    let done = h2load::run(&mut load).with_context(|| running.name)?;
    let cpu = cpu()? - before;
    turns.per_second.push(done.requests / f64::from(seconds));
    turns.cpu_us.push(cpu / done.requests);
    Ok(())
}

/// So many requests per second, whatever becomes of them. How late they were sent.
fn open(
    bench: &mut Bench,
    running: &Running,
    protocol: Protocol,
    rate: u32,
    milliseconds: u64,
    turns: &mut Turns,
) -> Result<f64> {
    let (port, word) = match protocol {
        Protocol::H1 => (running.ports.http1, "h1"),
        Protocol::H2c => (running.ports.http2, "h2"),
    };
    let seen: Latency = bench.ask(&format!("latency {port} {word} {rate} {milliseconds}"))?;
    ensure!(
        seen.failed * 1000 <= seen.ok,
        "{}: {} of {} requests failed",
        running.name,
        seen.failed,
        seen.ok + seen.failed
    );
    turns.p50_us.push(seen.p50_us);
    turns.p99_us.push(seen.p99_us);
    Ok(seen.late_p99_us)
}

/// Memory that an idle connection takes, in bytes.
fn per_connection(bench: &mut Bench, pid: u32, port: u16, count: u32) -> Result<f64> {
    let before = resident(pid)?;
    let _: serde_json::Value = bench.ask(&format!("idle {port} {count}"))?;
    let after = resident(pid)?;
    let _: serde_json::Value = bench.ask("close")?;
    Ok((after - before).max(0.0) / f64::from(count))
}
