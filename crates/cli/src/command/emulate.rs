//! `damper emulate`, and its parts.

mod load;
mod machine;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use damper_emulate::{
    Emulation, Handle, Options, Retries, Role, Serve, find_envoy, keep, serve, slow_down,
};
use damper_system::System;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use load::{Outcome, Times};

use crate::args::{EmulateArgs, EmulatedArgs, Part, ServeArgs};
use crate::{command, exit, print};

/// Where `cargo xtask` puts things, from the folder of the repository.
const FILTER: &str = "target/filter/damper-filter.wasm";
const ENVOYS: [&str; 1] = ["compare/.venv/bin/envoy"];

/// A runtime of one thread: the servers are many and small, and cores are few.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime for sockets and timers")
}

/// `damper emulated`: what `damper emulate` starts.
pub(crate) fn part(args: &EmulatedArgs) -> anyhow::Result<u8> {
    match &args.part {
        Part::Keep => keep().context("the keeper")?,
        Part::Serve(args) => runtime()?.block_on(server(args))?,
    }
    Ok(exit::OK)
}

async fn server(args: &ServeArgs) -> anyhow::Result<()> {
    let mut system = command::load(&args.system)?.system;
    system.experiment.seed = args.seed;
    // The parent has said what could not be made slower.
    let _ = slow_down(&mut system, args.slower);
    let role = args.service.clone().map_or(Role::Client, Role::Service);
    let options = Serve { role, protocol: args.protocol.into(), proxied: args.proxied };
    serve(system, options).await.context("the server")
}

pub(crate) fn run(args: &EmulateArgs) -> anyhow::Result<u8> {
    let mut loaded = command::load(&args.system)?;
    let seed = args.seed.unwrap_or(loaded.system.experiment.seed);
    loaded.system.experiment.seed = seed;
    let mut system = loaded.system;
    let notes = slow_down(&mut system, args.slower);
    let trigger = trigger(args, &system)?;
    let mut options = options(args, seed)?;
    // Envoy has none of the budgets, and says so.
    if args.without_envoy {
        options.notes = notes;
    }
    let runtime = runtime()?;
    let result = runtime.block_on(emulate(args, system, trigger, &options));
    // Connections of the admin port may still be open.
    runtime.shutdown_background();
    result
}

async fn emulate(
    args: &EmulateArgs,
    system: System,
    trigger: Option<(Duration, String)>,
    options: &Options,
) -> anyhow::Result<u8> {
    let mut signals = Signals::listen()?;
    let emulation = tokio::select! {
        started = Emulation::start(system, options) => started?,
        () = signals.next() => return Ok(exit::INTERRUPTED),
    };
    emulation.open_admin().await?;
    let handle = emulation.handle();
    let state = handle.state();
    if args.json {
        print::json_line(&state)?;
    } else {
        print::emulation(&state);
    }
    let triggered = start_later(&handle, trigger);
    let lasts = args.lasts.map(|span| span.0);
    let until = async {
        if let (true, Some(time)) = (args.load, lasts) {
            return load::run(args, &handle, time, triggered, &mut signals).await;
        }
        let over = async {
            match lasts {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => Ok(exit::OK),
            () = signals.next() => Ok(exit::INTERRUPTED),
            () = triggered => Ok(exit::OK),
        }
    };
    emulation.run(until).await?
}

/// Starts a trigger at its time, and then never ends.
async fn start_later(handle: &Handle, trigger: Option<(Duration, String)>) {
    if let Some((after, name)) = trigger {
        tokio::time::sleep(after).await;
        if handle.trigger(&name).await.is_some() {
            print::note(&format!("trigger: {name}"));
        }
    }
    std::future::pending::<()>().await;
}

/// Ctrl-C, or the word of whoever runs this to end. Listened for from the beginning to the end, so
/// that none is lost between two waits.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("signals cannot be listened for");
        let interrupt = listen(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Which trigger is started, and when.
fn trigger(args: &EmulateArgs, system: &System) -> anyhow::Result<Option<(Duration, String)>> {
    let Some(after) = args.trigger_after else { return Ok(None) };
    let known = || system.triggers.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
    let at = match &args.trigger {
        Some(name) => system.triggers.iter().position(|t| t.name == *name),
        None => system.experiment.trigger,
    };
    let Some(found) = at.and_then(|at| system.triggers.get(at)) else {
        let named = args.trigger.as_ref().map_or("", String::as_str);
        bail!("no trigger {named} to start; the file has: {}", known());
    };
    Ok(Some((after.0, found.name.clone())))
}

fn options(args: &EmulateArgs, seed: u64) -> anyhow::Result<Options> {
    let program = std::env::current_exe().context("this program cannot be found")?;
    let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let mut serve = words(&["emulated", "serve"]);
    let file = args.system.file.to_str().context("the name of the file is not UTF-8")?;
    serve.push(file.to_owned());
    for set in &args.system.set {
        serve.extend(["--set".to_owned(), set.clone()]);
    }
    serve.extend(["--seed".to_owned(), seed.to_string()]);
    serve.extend(["--slower".to_owned(), args.slower.to_string()]);
    let keep = words(&["emulated", "keep"]);
    let retries = retries(args)?;
    let (protocol, notes) = (args.protocol.into(), Vec::new());
    Ok(Options { program, serve, keep, protocol, retries, notes })
}

fn retries(args: &EmulateArgs) -> anyhow::Result<Retries> {
    if args.without_envoy {
        return Ok(Retries::Servers);
    }
    let candidates = ENVOYS.map(PathBuf::from);
    let program = find_envoy(args.envoy.as_deref(), &candidates)?;
    if args.static_policy {
        return Ok(Retries::Envoy { program });
    }
    let filter = filter(args.filter.as_deref(), std::env::var_os("DAMPER_FILTER"))?;
    let filter = filter.canonicalize().context("the filter")?;
    Ok(Retries::Filter { program, filter })
}

/// The filter: the one that is named, `$DAMPER_FILTER`, or where `cargo xtask filter` puts it when
/// no other folder is set for what is built.
fn filter(named: Option<&Path>, variable: Option<OsString>) -> anyhow::Result<PathBuf> {
    let variable = variable.filter(|value| !value.is_empty()).map(PathBuf::from);
    let (filter, from) = match (named, variable) {
        (Some(named), _) => (named.to_path_buf(), "--filter"),
        (None, Some(variable)) => (variable, "$DAMPER_FILTER"),
        (None, None) => (PathBuf::from(FILTER), "neither --filter nor $DAMPER_FILTER is given"),
    };
    if !filter.is_file() {
        bail!(
            "no filter at {} ({from}): `cargo xtask filter` makes one and says where; name it with \
             --filter or $DAMPER_FILTER; --static-policy does without it",
            filter.display()
        );
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_goes_before_the_variable() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "x").unwrap();
            path
        };
        let (named, variable) = (file("named"), file("variable"));
        let value = Some(variable.clone().into_os_string());
        assert_eq!(filter(Some(&named), value.clone()).unwrap(), named);
        assert_eq!(filter(None, value).unwrap(), variable);
    }

    #[test]
    fn where_it_was_looked_for_is_said() {
        let nowhere = PathBuf::from("there/is/no.wasm");
        let why = |named, variable| filter(named, variable).unwrap_err().to_string();
        assert!(why(Some(&nowhere), None).starts_with("no filter at there/is/no.wasm (--filter):"));
        let variable = why(None, Some(nowhere.clone().into_os_string()));
        assert!(variable.contains("no.wasm ($DAMPER_FILTER):"), "{variable}");
        // An empty variable is none. Tests run in the folder of their crate, where there is none.
        let default = why(None, Some(OsString::new()));
        assert!(default.contains("--filter or $DAMPER_FILTER"), "{default}");
    }
}
