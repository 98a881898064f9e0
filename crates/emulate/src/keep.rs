//! The keeper of the proxies: a process between the parent and its Envoys.
//!
//! An Envoy does not watch its parent. The keeper does: when its input ends, however the parent
//! has ended, it kills them and removes the folder of the run.

use std::io::{BufRead as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::order::line;

/// What the keeper is told in its first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The folder of the run; removed at the end.
    pub(crate) folder: PathBuf,
    /// What to start.
    pub(crate) programs: Vec<Program>,
}

/// One program to start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Program {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// A file for what it prints.
    pub(crate) log: PathBuf,
}

/// What the keeper says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kept {
    /// They run, with these process ids.
    Started(Vec<u32>),
    /// One could not be started.
    Refused {
        /// Which, by its place in the orders.
        index: usize,
        /// Why.
        why: String,
    },
    /// One has ended.
    Ended {
        /// Which, by its place in the orders.
        index: usize,
        /// The end of what it printed.
        said: String,
    },
}

/// How often the keeper looks whether its programs live.
const LOOK: Duration = Duration::from_millis(100);
/// As much of a program's last words is passed on.
const LAST_WORDS: u64 = 2000;

/// Keeps programs until its input ends.
///
/// # Errors
/// The first line cannot be understood, or there is nobody to answer to; whatever was started has
/// been ended by then.
pub fn keep() -> std::io::Result<()> {
    let mut first = String::new();
    std::io::stdin().lock().read_line(&mut first)?;
    if first.is_empty() {
        return Ok(());
    }
    let orders: Orders = serde_json::from_str(&first)?;
    let mut children = Children(Vec::new(), orders.folder.clone());
    for (index, program) in orders.programs.iter().enumerate() {
        match start(program) {
            Ok(child) => children.0.push(child),
            Err(error) => return say(&Kept::Refused { index, why: error.to_string() }),
        }
    }
    say(&Kept::Started(children.0.iter().map(Child::id).collect()))?;
    let (ended, over) = channel::<()>();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        // Whatever comes, the end of the input is what counts.
        let _ = std::io::stdin().lock().take(1 << 20).read_to_end(&mut rest);
        drop(ended);
    });
    let mut known = vec![false; children.0.len()];
    loop {
        match over.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return Ok(()),
        }
        for (index, (child, known)) in children.0.iter_mut().zip(&mut known).enumerate() {
            if !*known && child.try_wait()?.is_some() {
                *known = true;
                let said = last_words(&orders.programs[index].log);
                say(&Kept::Ended { index, said })?;
            }
        }
    }
}

fn start(program: &Program) -> std::io::Result<Child> {
    let log = std::fs::File::create(&program.log)?;
    Command::new(&program.path)
        .args(&program.arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

fn say(said: &Kept) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(line(said)?.as_bytes())?;
    out.flush()
}

/// The end of a log.
fn last_words(log: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = std::fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS)))?;
        let mut bytes = Vec::new();
        file.take(LAST_WORDS).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

/// Programs that end with this value, and the folder that goes with them.
struct Children(Vec<Child>, PathBuf);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.1);
    }
}
