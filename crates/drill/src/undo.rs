//! What must be undone, and who does it when the drill cannot.
//!
//! Before something is started, how to stop it is written to a file on disk and told to a keeper,
//! a process of its own. However the drill ends, one of three stops it: the drill itself (errors,
//! signals), the keeper (a crash, SIGKILL: the end of its input is the end of the drill), or a
//! person with the file (`damper drill --lift`, if the machine went down).

use std::fs::{self, File};
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use damper_system::Place;

use crate::act::{Act, ActError, Check, PATIENCE, surely};
use crate::places::Places;

/// How one thing is undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    /// What it belongs to.
    pub id: String,
    /// What it does, in words.
    pub what: String,
    /// What is done.
    pub acts: Vec<Act>,
    /// What must be so then.
    pub checks: Vec<Check>,
    /// How long each of the acts may take, in seconds.
    #[serde(default = "patience_s")]
    pub patience_s: f64,
    /// It ends with the drill's own processes: nobody else can undo it, and nobody need.
    #[serde(skip)]
    pub ends_with_us: bool,
}

fn patience_s() -> f64 {
    PATIENCE.as_secs_f64()
}

impl Undo {
    /// How one thing is undone by acts that take no time of their own.
    #[must_use]
    pub fn new(id: String, what: String, acts: Vec<Act>, checks: Vec<Check>) -> Self {
        Self { id, what, acts, checks, patience_s: patience_s(), ends_with_us: false }
    }

    /// The same for something at an emulation, which may be the drill's own.
    pub(crate) fn on(self, place: Option<&Place>, places: &Places) -> Self {
        Self { ends_with_us: place == Some(&Place::Emulation) && places.owned, ..self }
    }

    /// Does it, and makes sure of it.
    ///
    /// # Errors
    /// It could not be done, or does not hold.
    pub async fn run(&self) -> Result<(), ActError> {
        let patience = Duration::try_from_secs_f64(self.patience_s).unwrap_or(PATIENCE);
        surely(&self.acts, &self.checks, patience).await
    }
}

/// What is to be undone, on disk and in the mind of a keeper.
pub struct Ledger {
    path: PathBuf,
    open: Vec<Undo>,
    keeper: Option<Keeper>,
    _lock: Lock,
}

/// Only one drill, or one that lifts what another left, has a ledger at a time. The system takes the
/// lock away from whoever ends, however they do.
struct Lock {
    _file: File,
}

impl Lock {
    fn take(ledger: &Path) -> std::io::Result<Self> {
        let path = ledger.with_extension("lock");
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(&path)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).map_err(
            |_| {
                let shown = path.display();
                std::io::Error::other(format!("another drill is under way: it has {shown}"))
            },
        )?;
        Ok(Self { _file: file })
    }
}

impl Ledger {
    /// A ledger in a file, which must not have anything in it: somebody has to undo that first.
    ///
    /// # Errors
    /// The file has something in it, or cannot be read or written.
    pub fn open(path: &Path, keeper: Option<Keeper>) -> std::io::Result<Self> {
        let lock = Lock::take(path)?;
        let left = read(path)?;
        if !left.is_empty() {
            let what: Vec<&str> = left.iter().map(|undo| undo.id.as_str()).collect();
            return Err(std::io::Error::other(format!(
                "{} says that another drill left something behind ({}): undo it with \
                 `damper drill --lift`",
                path.display(),
                what.join(", ")
            )));
        }
        Ok(Self { path: path.to_owned(), open: Vec::new(), keeper, _lock: lock })
    }

    /// Notes how something is undone, before it is done.
    ///
    /// # Errors
    /// It cannot be written down; then it must not be done.
    pub fn arm(&mut self, undo: Undo) -> std::io::Result<()> {
        self.open.retain(|known| known.id != undo.id);
        if let Some(keeper) = self.keeper.as_mut().filter(|_| !undo.ends_with_us) {
            keeper.tell(&Word::Arm(undo.clone()))?;
        }
        self.open.push(undo);
        write(&self.path, &self.open)
    }

    /// Does something. While a command is under way, how to end it is in the ledger.
    ///
    /// # Errors
    /// It failed, or cannot be written down, and is not done then.
    pub(crate) async fn carry_out(&mut self, act: &Act) -> Result<(), String> {
        let begun = act.begin().map_err(|error| error.to_string())?;
        let undo = begun.undo();
        let id = undo.as_ref().map(|undo| undo.id.clone());
        if let Some(undo) = undo {
            self.arm(undo).map_err(|error| error.to_string())?;
        }
        let done = begun.run_within(PATIENCE).await;
        if let Some(id) = id {
            self.disarm(&id).map_err(|error| error.to_string())?;
        }
        done.map(|_| ()).map_err(|error| error.to_string())
    }

    /// It has been undone, and is as it was.
    ///
    /// # Errors
    /// It cannot be written down.
    pub fn disarm(&mut self, id: &str) -> std::io::Result<()> {
        if self.open.iter().all(|undo| undo.id != id) {
            return Ok(());
        }
        self.open.retain(|undo| undo.id != id);
        if let Some(keeper) = &mut self.keeper {
            keeper.tell(&Word::Disarm(id.to_owned()))?;
        }
        write(&self.path, &self.open)
    }

    /// What is still to be undone, in the order in which it was done.
    #[must_use]
    pub fn left(&self) -> &[Undo] {
        &self.open
    }

    /// Undoes one thing.
    ///
    /// # Errors
    /// It could not be undone; it stays in the ledger.
    pub async fn undo(&mut self, id: &str) -> Result<(), String> {
        let Some(undo) = self.open.iter().find(|undo| undo.id == id).cloned() else {
            return Ok(());
        };
        match undo.run().await {
            Err(error) if !undo.ends_with_us => return Err(error.to_string()),
            _ => {}
        }
        self.disarm(id).map_err(|error| error.to_string())
    }
}

/// What is told to a keeper, one JSON value a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Arm(Undo),
    Disarm(String),
}

/// A process that undoes what is left when this one has gone.
pub struct Keeper {
    input: ChildStdin,
    child: Child,
}

impl Keeper {
    /// Starts it: a program whose arguments make it call [`keep`].
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: &Path, arguments: &[&str]) -> std::io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(program);
        // A group of its own: neither Ctrl-C nor the end of the terminal's first process is for it.
        command.args(arguments).process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or_else(|| std::io::Error::other("no pipe"))?;
        Ok(Self { input, child })
    }

    fn tell(&mut self, word: &Word) -> std::io::Result<()> {
        let mut line = serde_json::to_string(word)?;
        line.push('\n');
        self.input.write_all(line.as_bytes())?;
        self.input.flush()
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Keeps in mind what standard input says, and undoes what is left when it ends.
///
/// # Errors
/// Something could not be undone; it is still in the ledger at `path`.
pub async fn keep(path: &Path) -> Result<Vec<String>, String> {
    let mut left: Vec<Undo> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Word::Arm(undo)) => {
                left.retain(|known| known.id != undo.id);
                left.push(undo);
            }
            Ok(Word::Disarm(id)) => left.retain(|undo| undo.id != id),
            Err(_) => break,
        }
    }
    if left.is_empty() {
        // The drill has undone everything; the file may be another drill's by now.
        return Ok(Vec::new());
    }
    all(left, path).await
}

/// Undoes what the ledger of a drill says, which is gone.
///
/// # Errors
/// Something could not be undone; it is still in the ledger.
pub async fn lift(path: &Path) -> Result<Vec<String>, String> {
    let _lock = Lock::take(path).map_err(|error| error.to_string())?;
    let left = read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    all(left, path).await
}

/// Undoes all, the last first, whatever becomes of each.
async fn all(mut left: Vec<Undo>, path: &Path) -> Result<Vec<String>, String> {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    while let Some(undo) = left.pop() {
        match undo.run().await {
            Ok(()) => done.push(undo.what),
            Err(error) => failed.push((undo, error)),
        }
    }
    let still: Vec<Undo> = failed.iter().map(|(undo, _)| undo.clone()).collect();
    write(path, &still).map_err(|error| format!("{}: {error}", path.display()))?;
    if failed.is_empty() {
        return Ok(done);
    }
    let words = failed.iter().map(|(undo, error)| format!("not undone: {}: {error}", undo.what));
    Err(words.collect::<Vec<String>>().join("\n"))
}

fn read(path: &Path) -> std::io::Result<Vec<Undo>> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Replaces the file in one step, and has it on disk before anything is done. Nothing left: no
/// file.
fn write(path: &Path, left: &[Undo]) -> std::io::Result<()> {
    let left: Vec<&Undo> = left.iter().filter(|undo| !undo.ends_with_us).collect();
    if left.is_empty() {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(&serde_json::to_vec_pretty(&left)?)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo(id: &str, command: &str) -> Undo {
        let acts = vec![Act::Shell(command.to_owned())];
        Undo::new(id.to_owned(), format!("{id} is stopped"), acts, Vec::new())
    }

    #[tokio::test]
    async fn what_is_armed_is_on_disk_and_is_undone_once() {
        let folder = tempfile::tempdir().unwrap();
        let (path, log) = (folder.path().join("a/undo.json"), folder.path().join("log"));
        let mut ledger = Ledger::open(&path, None).unwrap();
        ledger.arm(undo("one", &format!("echo one >> {}", log.display()))).unwrap();
        ledger.arm(undo("two", &format!("echo two >> {}", log.display()))).unwrap();
        assert!(Ledger::open(&path, None).is_err_and(|e| e.to_string().contains("under way")));
        assert!(lift(&path).await.is_err_and(|why| why.contains("under way")));
        ledger.undo("one").await.unwrap();
        ledger.undo("one").await.unwrap();
        drop(ledger);
        assert!(Ledger::open(&path, None).is_err_and(|e| e.to_string().contains("--lift")));
        assert_eq!(lift(&path).await.unwrap(), ["two is stopped"]);
        assert_eq!(fs::read_to_string(&log).unwrap(), "one\ntwo\n");
        assert!(!path.exists() && lift(&path).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_ends_with_the_drill_is_nobody_elses_to_undo() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("undo.json");
        let mut ledger = Ledger::open(&path, None).unwrap();
        ledger.arm(Undo { ends_with_us: true, ..undo("own", "exit 1") }).unwrap();
        assert!(!path.exists());
        ledger.undo("own").await.unwrap();
        assert!(ledger.left().is_empty());
    }

    #[tokio::test]
    async fn what_cannot_be_undone_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("undo.json");
        let mut ledger = Ledger::open(&path, None).unwrap();
        ledger.arm(undo("bad", "exit 1")).unwrap();
        ledger.arm(undo("good", "true")).unwrap();
        assert!(ledger.undo("bad").await.is_err());
        assert_eq!(ledger.left().len(), 2);
        drop(ledger);
        let why = lift(&path).await.unwrap_err();
        assert!(why.contains("bad is stopped"), "{why}");
        assert_eq!(read(&path).unwrap().len(), 1, "the other is done with");
    }
}
