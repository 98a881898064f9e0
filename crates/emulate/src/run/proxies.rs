//! The Envoys of an emulation, behind their keeper.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use damper_system::System;
use damper_system::model::{Caller, ServiceId};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;

use super::member::{Member, PATIENCE, command};
use super::{Error, Options, Retries};
use crate::envoy::{Beside, Sidecar, bootstrap, callees};
use crate::keep::{Kept, Orders, Program};
use crate::order::line;

/// How often ports are chosen anew when somebody else was faster.
const TRIES: usize = 3;
/// How often a proxy that starts is asked whether it is ready.
const LOOK: Duration = Duration::from_millis(20);

/// What the keeper says, line by line.
type Said = Lines<BufReader<ChildStdout>>;

/// The keeper and its Envoys.
pub(super) struct Keeper {
    pub(super) pid: u32,
    pub(super) sidecars: Vec<Sidecar>,
    input: ChildStdin,
    child: Child,
    // The keeper removes it; this is for when there is no keeper yet, or none any more.
    folder: TempDir,
}

impl Keeper {
    /// Starts an Envoy beside each server, if there are to be any.
    pub(super) async fn start(
        system: &System,
        options: &Options,
        members: &[Member],
        broken: &mpsc::Sender<Error>,
    ) -> Result<Option<Self>, Error> {
        let (program, filter) = match &options.retries {
            Retries::Servers => return Ok(None),
            Retries::Envoy { program } => (program, None),
            Retries::Filter { program, filter } => (program, Some(filter.as_path())),
        };
        let mut tried = 0;
        loop {
            tried += 1;
            match Self::attempt(system, options, members, program, filter, broken).await {
                Err(Error::Ended { said, .. }) if tried < TRIES && in_use(&said) => {}
                Err(error) => return Err(error),
                Ok(keeper) => return Ok(Some(keeper)),
            }
        }
    }

    async fn attempt(
        system: &System,
        options: &Options,
        members: &[Member],
        program: &Path,
        filter: Option<&Path>,
        broken: &mpsc::Sender<Error>,
    ) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("damper-emulate-")
            .tempdir()
            .map_err(Error::io("making a temporary folder"))?;
        let mut sidecars = ports(members)?;
        let mut programs = Vec::new();
        for (member, sidecar) in members.iter().zip(&sidecars) {
            let who = caller(system, &member.name);
            let inbound = |service: &str| {
                sidecars.iter().find(|s| s.name == service).and_then(|s| s.inbound_port)
            };
            let beside = Beside {
                system,
                who,
                name: &member.name,
                protocol: options.protocol,
                app_port: member.port,
                inbound_port: sidecar.inbound_port,
                outbound_port: sidecar.outbound_port,
                admin_port: sidecar.admin_port,
                callees: callees(system, who)
                    .into_iter()
                    .filter_map(|(name, service)| Some((name, inbound(&service)?)))
                    .collect(),
                filter,
            };
            // Names of services are names of files: letters, digits, `-`, `_` and `.`.
            let file = folder.path().join(format!("{}.json", member.name));
            std::fs::write(&file, bootstrap(&beside).to_string())
                .map_err(Error::io("writing the configuration of Envoy"))?;
            let words = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"];
            let mut arguments: Vec<String> = words.map(str::to_owned).to_vec();
            arguments.extend(["--config-path".to_owned(), file.display().to_string()]);
            let log = folder.path().join(format!("{}.log", member.name));
            programs.push(Program { path: program.to_path_buf(), arguments, log });
        }
        let orders = Orders { folder: folder.path().to_path_buf(), programs };
        let (child, input, mut lines) = start_keeper(options, &orders).await?;
        let names: Vec<String> =
            sidecars.iter().map(|s| format!("the Envoy of {}", s.name)).collect();
        match next(&mut lines).await? {
            Kept::Started(pids) => {
                for (sidecar, pid) in sidecars.iter_mut().zip(pids) {
                    sidecar.pid = pid;
                }
            }
            other => return Err(ended(&names, other, program)),
        }
        let pid = child.id().unwrap_or_default();
        let keeper = Self { pid, sidecars, input, child, folder };
        if let Err(error) = keeper.ready(&mut lines, &names, program).await {
            // Its ports are free again when this returns.
            keeper.stop().await;
            return Err(error);
        }
        let (broken, program) = (broken.clone(), program.to_path_buf());
        tokio::spawn(async move {
            let error = match next_ever(&mut lines).await {
                Some(said) => ended(&names, said, &program),
                None => Error::Ended { what: "the keeper of Envoy".into(), said: String::new() },
            };
            // Nobody listens once the emulation is over.
            let _ = broken.send(error).await;
        });
        Ok(keeper)
    }

    /// Waits until every Envoy says that it is live.
    async fn ready(&self, lines: &mut Said, names: &[String], program: &Path) -> Result<(), Error> {
        let ports: Vec<u16> = self.sidecars.iter().map(|s| s.admin_port).collect();
        let ready = async {
            for port in ports {
                while !is_ready(port).await {
                    tokio::time::sleep(LOOK).await;
                }
            }
        };
        tokio::select! {
            done = tokio::time::timeout(PATIENCE, ready) => done.map_err(|_| Error::Silent {
                what: "one of the Envoys".to_owned(),
                seconds: PATIENCE.as_secs(),
            }),
            said = next(lines) => Err(ended(names, said?, program)),
        }
    }

    /// Where a server finds its callees: all at its own sidecar.
    pub(super) fn peers_of(&self, name: &str, system: &System) -> BTreeMap<String, u16> {
        let Some(own) = self.sidecars.iter().find(|s| s.name == name) else {
            return BTreeMap::new();
        };
        let names = callees(system, caller(system, name)).into_keys();
        names.map(|callee| (callee, own.outbound_port)).collect()
    }

    /// Ends all, and waits for it.
    ///
    /// The keeper is never killed: it would leave its Envoys. Its input is closed, so that it ends
    /// them and itself, if need be after this has given up waiting. One that was killed or crashed
    /// has left them, and they are ended here.
    pub(super) async fn stop(self) {
        let Self { input, mut child, sidecars, folder, .. } = self;
        drop(input);
        match tokio::time::timeout(PATIENCE, child.wait()).await {
            Ok(Ok(status)) if status.success() => {}
            Ok(_) => {
                for sidecar in sidecars {
                    end_orphan(sidecar.pid, folder.path()).await;
                }
            }
            // The folder stays the keeper's, too.
            Err(_) => drop(folder.keep()),
        }
    }
}

/// Ends an Envoy whose keeper is gone.
///
/// Where the system tells (Linux), only if the process still has this run's folder among its
/// arguments: if it ended long ago, its number may be another's.
async fn end_orphan(pid: u32, folder: &Path) {
    if pid == 0 {
        return;
    }
    if let Ok(arguments) = std::fs::read(format!("/proc/{pid}/cmdline"))
        && !String::from_utf8_lossy(&arguments).contains(&*folder.to_string_lossy())
    {
        return;
    }
    // The shell's own `kill`: there is one wherever there is a shell.
    let mut kill = tokio::process::Command::new("/bin/sh");
    kill.args(["-c", &format!("kill -KILL {pid}")]);
    kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It may have ended meanwhile.
    let _ = kill.status().await;
}

fn caller(system: &System, name: &str) -> Caller {
    let at = system.services.iter().position(|s| s.name == name);
    at.map_or(Caller::Client, |i| Caller::Service(ServiceId(i as u32)))
}

/// Whether what was said last is that a port is taken.
fn in_use(said: &str) -> bool {
    said.contains("Address already in use") || said.contains("cannot bind")
}

async fn start_keeper(
    options: &Options,
    orders: &Orders,
) -> Result<(Child, ChildStdin, Said), Error> {
    let mut command = command(options);
    // It must live to end the others, even if this process forgets it.
    command.args(&options.keep).kill_on_drop(false).stderr(Stdio::null());
    let what = || "the keeper of Envoy".to_owned();
    let mut child = command.spawn().map_err(|why| Error::Start {
        what: what(),
        program: options.program.clone(),
        why,
    })?;
    let (Some(mut input), Some(out)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::Ended { what: what(), said: String::new() });
    };
    let told = || Error::io("telling the keeper");
    let text = line(orders).map_err(told())?;
    input.write_all(text.as_bytes()).await.map_err(told())?;
    Ok((child, input, BufReader::new(out).lines()))
}

async fn next_ever(lines: &mut Said) -> Option<Kept> {
    let text = lines.next_line().await.ok().flatten()?;
    serde_json::from_str(&text).ok()
}

async fn next(lines: &mut Said) -> Result<Kept, Error> {
    let what = || "the keeper of Envoy".to_owned();
    match next_ever(lines).await {
        Some(said) => Ok(said),
        None => Err(Error::Ended { what: what(), said: String::new() }),
    }
}

fn ended(names: &[String], said: Kept, program: &Path) -> Error {
    let name = |index: usize| names.get(index).cloned().unwrap_or_default();
    match said {
        Kept::Refused { index, why } => Error::Start {
            what: name(index),
            program: program.to_path_buf(),
            why: std::io::Error::other(why),
        },
        Kept::Ended { index, said } => Error::Ended { what: name(index), said },
        Kept::Started(_) => {
            Error::Ended { what: "the keeper of Envoy".into(), said: String::new() }
        }
    }
}

/// Free ports for every sidecar. They are held until all are chosen, so that none comes twice.
fn ports(members: &[Member]) -> Result<Vec<Sidecar>, Error> {
    let mut held = Vec::new();
    let mut free = || -> Result<u16, Error> {
        let choose = || Error::io("choosing a port");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(choose())?;
        let port = listener.local_addr().map_err(choose())?.port();
        held.push(listener);
        Ok(port)
    };
    let mut sidecars = Vec::with_capacity(members.len());
    for (i, member) in members.iter().enumerate() {
        sidecars.push(Sidecar {
            name: member.name.clone(),
            pid: 0,
            admin_port: free()?,
            outbound_port: free()?,
            inbound_port: if i == 0 { None } else { Some(free()?) },
        });
    }
    Ok(sidecars)
}

/// Whether an Envoy says that it is live.
async fn is_ready(admin_port: u16) -> bool {
    let ask = async {
        let at = (Ipv4Addr::LOCALHOST, admin_port);
        let mut stream = tokio::net::TcpStream::connect(at).await?;
        stream.write_all(b"GET /ready HTTP/1.1\r\nhost: e\r\nconnection: close\r\n\r\n").await?;
        let mut reply = String::new();
        stream.take(4096).read_to_string(&mut reply).await?;
        Ok::<_, std::io::Error>(reply.contains("LIVE"))
    };
    ask.await.unwrap_or(false)
}
