//! Commands.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// So much of what a command prints is kept.
const MAX_OUTPUT: usize = 1 << 20;

/// Runs a program without a shell; what it printed.
///
/// # Errors
/// In words: it cannot be started, or it failed.
pub(crate) async fn program(words: &[String]) -> Result<String, String> {
    let Some((name, arguments)) = words.split_first() else {
        return Err("there is no program to run".to_owned());
    };
    output(Command::new(name).args(arguments)).await
}

/// Runs a command of a shell; what it printed.
///
/// # Errors
/// As [`program`].
pub(crate) async fn shell(command: &str) -> Result<String, String> {
    output(Command::new("/bin/sh").args(["-c", command])).await
}

async fn output(command: &mut Command) -> Result<String, String> {
    let words = |error: std::io::Error| error.to_string();
    // Files and no pipes: what a command leaves running keeps them open, and may write to them.
    let (out, err) = (tempfile::tempfile().map_err(words)?, tempfile::tempfile().map_err(words)?);
    // A group of its own: Ctrl-C is for the drill, which then stops what it started.
    command.process_group(0).stdin(Stdio::null()).kill_on_drop(true);
    command.stdout(out.try_clone().map_err(words)?).stderr(err.try_clone().map_err(words)?);
    let mut child = command.spawn().map_err(words)?;
    let mut group = Group::of(&child);
    let status = child.wait().await.map_err(words)?;
    group.has_ended();
    if status.success() {
        return text(&out).map_err(words);
    }
    let said = text(&err).map_err(words)?;
    let said: String = said.trim().chars().take(400).collect();
    Err(format!("{status}: {said}"))
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
