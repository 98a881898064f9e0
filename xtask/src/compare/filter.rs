//! `cargo xtask compare filter`: what a request costs Envoy with the plugin, with the same by Lua,
//! with the same by routes, and with none of them.
//!
//! One Envoy for each, all with one worker thread, all started at the beginning; they take turns
//! under the same load, so that what else the machine does meets all of them. The client and the
//! server are threads of this program, on another core where there are two. Time of the processor is
//! that of Envoy's process, from `/proc`.

mod load;
mod setup;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use self::load::{Load, Server};
use super::processor::{cpu_us, median, quantile};
use super::{core, envoy};
use crate::filter;
use crate::process::{program, target};

/// Settings of the comparison.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How often each has its turn; medians count
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=999))]
    rounds: u32,
    /// Milliseconds of a turn; short ones meet the same machine more often
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(100..=60_000))]
    milliseconds: u64,
    /// Connections of the client
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    connections: u16,
    /// Another plugin than the one that is built now
    #[arg(long)]
    plugin: Option<PathBuf>,
}

/// An Envoy under comparison.
struct Running {
    name: &'static str,
    child: Child,
    port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a turn gave.
#[derive(Clone, Copy)]
struct Turn {
    per_second: f64,
    cpu_us: f64,
}

/// `cargo xtask compare filter`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let plugin = match &arguments.plugin {
        Some(path) => fs::canonicalize(path).with_context(|| path.display().to_string())?,
        None => {
            println!("{}", filter::build(&filter::Arguments::default())?);
            filter::path()?
        }
    };
    let envoy = envoy()?;
    let folder = target()?.join("compare/filter");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let server = Server::start()?;
    let mut all = Vec::new();
    for (name, filter) in setup::variants(&plugin, &folder)? {
        let bootstrap = setup::bootstrap(&filter, server.port);
        all.push(start(&envoy, &folder, name, &bootstrap.to_string())?);
    }
    println!(
        "one worker thread, {} connections, median of {} turns of {} ms, Envoy {}",
        arguments.connections,
        arguments.rounds,
        arguments.milliseconds,
        core().map_or_else(|| "not bound to a core".into(), |core| format!("on core {core}")),
    );
    let mut turns = vec![Vec::new(); all.len()];
    for running in &all {
        turn(running, arguments, Duration::from_secs(1))?;
    }
    let time = Duration::from_millis(arguments.milliseconds);
    for round in 0..arguments.rounds as usize {
        // Each round begins elsewhere, and every other one goes backwards, so that nobody always
        // comes after the same one.
        for k in 0..all.len() {
            let k = if round.is_multiple_of(2) { k } else { all.len() - 1 - k };
            let n = (k + round / 2) % all.len();
            turns[n].push(turn(&all[n], arguments, time)?);
        }
    }
    print(&all, &turns);
    Ok(())
}

fn start(envoy: &Path, folder: &Path, name: &'static str, bootstrap: &str) -> Result<Running> {
    let file = folder.join(format!("{}.json", name.replace(' ', "-")));
    fs::write(&file, bootstrap).with_context(|| file.display().to_string())?;
    let admin = file.with_extension("admin");
    let _ = fs::remove_file(&admin);
    let mut command = match core() {
        Some(core) => {
            let mut command = program("taskset");
            command.args(["-c", &core.to_string()]).arg(envoy);
            command
        }
        None => Command::new(envoy),
    };
    let log = fs::File::create(file.with_extension("log"))?;
    let child = command
        .args(["--concurrency", "1", "--disable-hot-restart", "--log-level", "error"])
        .arg("--admin-address-path")
        .arg(&admin)
        .arg("--config-path")
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot run {}", envoy.display()))?;
    let mut running = Running { name, child, port: 0 };
    for _ in 0..200 {
        if let Some(status) = running.child.try_wait()? {
            let log = fs::read_to_string(file.with_extension("log")).unwrap_or_default();
            bail!("Envoy ended ({name}): {status}\n{log}");
        }
        let address = fs::read_to_string(&admin).unwrap_or_default();
        if let Some(port) = load::listener(address.trim()) {
            running.port = port;
            return Ok(running);
        }
        thread::sleep(Duration::from_millis(100));
    }
    bail!("Envoy does not listen ({name})")
}

fn turn(running: &Running, arguments: &Arguments, time: Duration) -> Result<Turn> {
    let before = cpu_us(running.child.id())?;
    let load = Load { port: running.port, connections: arguments.connections, time };
    let done = load.run()?;
    let cpu = cpu_us(running.child.id())? - before;
    Ok(Turn { per_second: done.per_second, cpu_us: cpu / done.requests as f64 })
}

fn print(all: &[Running], turns: &[Vec<Turn>]) {
    println!(
        "\n  {:<34}{:>12}{:>14}{:>16}{:>16}{:>12}",
        "", "requests/s", "CPU µs each", "over none, µs", "half are in", "of Lua's"
    );
    // Paired: what a variant costs over none is compared within a round.
    let extra = |n: usize| {
        let pairs = turns[n].iter().zip(&turns[0]);
        pairs.map(|(turn, none)| turn.cpu_us - none.cpu_us).collect::<Vec<f64>>()
    };
    let over = |n: usize| median(extra(n));
    let lua = all.iter().position(|running| running.name == setup::LUA).map(over);
    for (n, running) in all.iter().enumerate() {
        let per_second = median(turns[n].iter().map(|turn| turn.per_second).collect());
        let cpu = median(turns[n].iter().map(|turn| turn.cpu_us).collect());
        print!("  {:<34}{per_second:>12.0}{cpu:>14.1}", running.name);
        if n > 0 {
            let ratio = lua.map_or(f64::NAN, |lua| over(n) / lua);
            let half = [0.25, 0.75].map(|share| format!("{:+.1}", quantile(extra(n), share)));
            print!("{:>16}{:>16}{ratio:>12.2}", format!("{:+.1}", over(n)), half.join(" … "));
        }
        println!();
    }
}
