//! Processes under comparison, and the one that is on both sides of them.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::peers::Ports;
use crate::process::shown;

/// A proxy, or nothing: then the load goes to the origin.
pub(super) struct Running {
    pub(super) name: &'static str,
    child: Option<Child>,
    pub(super) ports: Ports,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Running {
    /// No proxy.
    pub(super) fn none(name: &'static str, origin: u16) -> Self {
        Self { name, child: None, ports: Ports { http1: origin, http2: origin, origin } }
    }

    /// Starts one and waits until it listens on both ports.
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        ports: Ports,
        log: &Path,
    ) -> Result<Self> {
        let file = fs::File::create(log).with_context(|| log.display().to_string())?;
        let out = file.try_clone()?;
        let child = command.stdin(Stdio::null()).stdout(out).stderr(file).spawn();
        let child = child.with_context(|| format!("cannot run `{}`", shown(&command)))?;
        let mut running = Self { name, child: Some(child), ports };
        for _ in 0..400 {
            if let Some(child) = &mut running.child
                && let Some(status) = child.try_wait()?
            {
                let log = fs::read_to_string(log).unwrap_or_default();
                bail!("{name} ended: {status}\n{log}");
            }
            if [ports.http1, ports.http2].iter().all(|port| listens(*port)) {
                return Ok(running);
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("{name} does not listen; {} may say why", log.display())
    }

    /// Its process; `None`: there is no proxy.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Two ports that were free a moment ago.
pub(super) fn free_ports() -> Result<[u16; 2]> {
    let one = TcpListener::bind("127.0.0.1:0")?;
    let two = TcpListener::bind("127.0.0.1:0")?;
    Ok([one.local_addr()?.port(), two.local_addr()?.port()])
}

/// The origin and the loads that h2load does not have: `compare/proxy`.
pub(super) struct Bench {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(super) origin: u16,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bench {
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("cannot run `{}`", shown(&command)))?;
        let asks = child.stdin.take().context("a pipe was asked for")?;
        let answers = BufReader::new(child.stdout.take().context("a pipe was asked for")?);
        let mut bench = Self { child, asks, answers, origin: 0 };
        let said: Value = bench.answer()?;
        let port = said.get("origin").and_then(Value::as_u64).and_then(|p| u16::try_from(p).ok());
        bench.origin = port.context("the origin does not say its port")?;
        Ok(bench)
    }

    /// Asks for one thing and waits until it is done.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, what: &str) -> Result<T> {
        writeln!(self.asks, "{what}")?;
        self.answer().with_context(|| what.to_owned())
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut line = String::new();
        ensure!(self.answers.read_line(&mut line)? > 0, "compare-proxy has ended");
        serde_json::from_str(&line).with_context(|| line.trim().to_owned())
    }
}
