//! Commands.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};

/// So much of what a command prints is kept.
const MAX_OUTPUT: usize = 1 << 20;

/// A command that has been started.
pub(crate) struct Running {
    child: Child,
    out: File,
    err: File,
    group: Group,
    /// Until a line comes from here it does nothing; if this end goes away, it never does.
    gate: Option<ChildStdin>,
}

/// Starts a program without a shell, or a command of a shell, which waits to be let go.
///
/// # Errors
/// In words: it cannot be started.
pub(crate) fn start(act: &Words<'_>) -> Result<Running, String> {
    let mut command = Command::new("/bin/sh");
    match act {
        Words::Program(words) => command.args(["-c", HELD_PROGRAM, "sh"]).args(*words),
        Words::Shell(text) => command.args(["-c", HELD_SHELL, "sh", text]),
    };
    spawn(command.stdin(Stdio::piped()))
}

/// Runs it at once; what it printed.
///
/// # Errors
/// In words: it cannot be started, or it failed.
pub(crate) async fn run(act: &Words<'_>) -> Result<String, String> {
    let mut command = match act {
        Words::Program([]) => return Err("there is no program to run".to_owned()),
        Words::Program([name, arguments @ ..]) => {
            let mut command = Command::new(name);
            command.args(arguments);
            command
        }
        Words::Shell(text) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", text]);
            command
        }
    };
    spawn(command.stdin(Stdio::null()))?.output().await
}

/// What is run.
pub(crate) enum Words<'a> {
    /// A program with its arguments.
    Program(&'a [String]),
    /// A command of a shell.
    Shell(&'a str),
}

/// A shell that becomes what it is to run once it is let go. It stays the same process, whose group
/// is known before anything has been done.
const HELD_PROGRAM: &str = "read -r go && exec \"$@\" </dev/null";
const HELD_SHELL: &str = "read -r go && exec /bin/sh -c \"$1\" </dev/null";

fn spawn(command: &mut Command) -> Result<Running, String> {
    let words = |error: std::io::Error| error.to_string();
    // Files and no pipes: what a command leaves running keeps them open, and may write to them.
    let (out, err) = (tempfile::tempfile().map_err(words)?, tempfile::tempfile().map_err(words)?);
    // A group of its own: Ctrl-C is for the drill, which then stops what it started.
    command.process_group(0).kill_on_drop(true);
    command.stdout(out.try_clone().map_err(words)?).stderr(err.try_clone().map_err(words)?);
    let mut child = command.spawn().map_err(words)?;
    let (group, gate) = (Group::of(&child), child.stdin.take());
    Ok(Running { child, out, err, group, gate })
}

impl Running {
    /// Its group of processes, and what tells it from a later one of the same number.
    pub(crate) fn group(&self) -> Option<(i32, String)> {
        let group = self.group.0?.as_raw_nonzero().get();
        Some((group, born(group)?))
    }

    /// Lets it go, and waits for its end; what it printed.
    ///
    /// # Errors
    /// In words: it failed.
    pub(crate) async fn output(mut self) -> Result<String, String> {
        let words = |error: std::io::Error| error.to_string();
        if let Some(mut gate) = self.gate.take() {
            gate.write_all(b"\n").await.map_err(words)?;
        }
        let status = self.child.wait().await.map_err(words)?;
        self.group.has_ended();
        if status.success() {
            return text(&self.out).map_err(words);
        }
        let said = text(&self.err).map_err(words)?;
        let said: String = said.trim().chars().take(400).collect();
        Err(format!("{status}: {said}"))
    }
}

/// Ends a group of processes, if its first one is still the one that was born then. Once that one
/// has ended, what it has left running is meant to.
///
/// # Errors
/// In words: it may not be ended.
pub(crate) fn end(group: i32, when: &str) -> Result<(), String> {
    let Some(pid) = Pid::from_raw(group).filter(|_| group > 1) else {
        return Err(format!("{group} is no group of processes"));
    };
    if born(group).as_deref() != Some(when) {
        return Ok(());
    }
    match kill_process_group(pid, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// When a process began, in a form that no other process of its number has.
#[cfg(target_os = "linux")]
fn born(pid: i32) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may have anything in it; after it, the twentieth field (proc(5): the
    // 22nd of all) is the time of its start.
    let began = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
    Some(format!("{} {began}", boot.trim()))
}

/// The same by `ps`, to the second.
#[cfg(not(target_os = "linux"))]
fn born(pid: i32) -> Option<String> {
    let asked = std::process::Command::new("ps")
        .args(["-o", "lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    (!said.is_empty()).then_some(said)
}

/// What has been written so far. Its end is left where it is, for those who still write.
fn text(file: &File) -> std::io::Result<String> {
    let mut bytes = vec![0; MAX_OUTPUT];
    let mut filled = 0;
    while let Some(free) = bytes.get_mut(filled..).filter(|free| !free.is_empty()) {
        match file.read_at(free, filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The processes of a command that is under way: ended with it, if it is given up.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// What it has left running is meant to.
    fn has_ended(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended in this moment.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
