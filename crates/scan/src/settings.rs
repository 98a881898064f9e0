//! Files of configuration: which are read, and what they say.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use damper_config::Reading;
use rayon::prelude::*;

use crate::policy::Scope;
use crate::rules::print_of;
use crate::scope;
use crate::suppress::{self, Suppression};
use crate::walk::{Limits, Skipped, read as read_text};

/// The largest file of configuration, in bytes: what a proxy dumps is larger than what people write.
const LARGEST: u64 = 64 << 20;

/// A file of configuration with something in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Its path from the root, with `/`.
    pub path: String,
    /// Where it is used.
    pub scope: Scope,
    /// What it says.
    pub reading: Reading,
    /// A number for the lines of each layer and fact.
    pub prints: BTreeMap<[u32; 2], u64>,
    /// What is silenced in it.
    pub suppressions: Vec<Suppression>,
    /// What of it could not be read, the worst first.
    pub unread: Vec<Unread>,
    /// How much more could not be read.
    pub unread_more: u64,
    /// Whether there are mistakes in it; and if so, whether it looks like configuration that is read
    /// here.
    pub broken: Option<bool>,
}

impl Settings {
    /// What a file of code says as configuration does.
    pub(crate) fn of_code(scope: Scope, reading: Reading) -> Self {
        let (path, prints) = (String::new(), BTreeMap::new());
        let (suppressions, unread) = (Vec::new(), Vec::new());
        Self { path, scope, reading, prints, suppressions, unread, unread_more: 0, broken: None }
    }

    /// A number for lines of it, the same wherever they move to; 0 for lines of which nothing is
    /// said.
    #[must_use]
    pub fn print(&self, lines: [u32; 2]) -> u64 {
        self.prints.get(&lines).copied().unwrap_or_default()
    }
}

/// What the files of configuration say, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Operators {
    pub(crate) files: Vec<Settings>,
    pub(crate) read: u64,
    pub(crate) lines: u64,
    pub(crate) notes: Vec<String>,
    pub(crate) skipped: BTreeMap<Skipped, u64>,
    /// Whether it was stopped before all were read.
    pub(crate) partial: bool,
}

/// Whether a file may hold configuration, by its name.
#[must_use]
pub fn may_be(path: &str) -> bool {
    !damper_config::Syntax::of_path(path).is_empty()
}

/// Places of what could not be read that are kept of one file.
const UNREAD_OF_A_FILE: usize = 100;

/// What of a file of configuration could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The line.
    pub line: u32,
    /// A mistake, or what stands there and is filled in by something that does not run here.
    pub why: String,
    /// What kind it is.
    pub kind: UnreadKind,
}

/// What kind of thing could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnreadKind {
    /// The file is not what it should be.
    Broken,
    /// A value that is not known, in what a policy or a fact says.
    OpenInPolicy,
    /// A value that is not known, elsewhere.
    Open,
}

impl UnreadKind {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::OpenInPolicy => "unresolved-in-policy",
            Self::Open => "unresolved",
        }
    }
}

/// What a reading leaves unread, the worst first.
fn unread(reading: &Reading) -> Vec<Unread> {
    let layers = reading.layers.iter().map(|layer| layer.lines);
    let said: Vec<_> = layers.chain(reading.facts.iter().map(|fact| fact.lines)).collect();
    let kind = |line: u32| {
        let inside = said.iter().any(|lines| lines[0] <= line && line <= lines[1]);
        if inside { UnreadKind::OpenInPolicy } else { UnreadKind::Open }
    };
    let broken = reading.broken.iter().filter(|broken| broken.ours);
    let broken = broken.flat_map(|broken| &broken.mistakes).map(|(line, why)| Unread {
        line: *line,
        why: why.clone(),
        kind: UnreadKind::Broken,
    });
    let open = reading.open.iter().map(|(line, why)| Unread {
        line: *line,
        why: why.clone(),
        kind: kind(*line),
    });
    let mut all: Vec<_> = broken.chain(open).collect();
    all.sort_by_key(|one| (one.kind, one.line));
    all
}

/// Reads files of configuration, all together: what one says may be about another. A text is kept
/// no longer than it takes to parse it; those of the few files with something in them are read
/// once more for what hangs on their lines.
pub(crate) fn read(files: &[(String, PathBuf)], limits: &Limits, stop: &AtomicBool) -> Operators {
    let limits =
        Limits { file_bytes: LARGEST.max(limits.file_bytes), line_bytes: usize::MAX, ..*limits };
    let (read, lines) = (AtomicU64::new(0), AtomicU64::new(0));
    let partial = AtomicBool::new(false);
    let skipped = Mutex::new(BTreeMap::<Skipped, u64>::new());
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let text = |at: usize| {
        if stop.load(Ordering::Relaxed) {
            partial.store(true, Ordering::Relaxed);
            return None;
        }
        let (path, file) = files.get(at)?;
        match read_text(file, &limits) {
            Ok(text) => {
                read.fetch_add(1, Ordering::Relaxed);
                let worth = damper_config::worth(path, &text);
                if worth {
                    lines.fetch_add(text.lines().count() as u64, Ordering::Relaxed);
                }
                worth.then_some(Cow::Owned(text))
            }
            // Any file may be called so: what is no text is no configuration.
            Err(Skipped::Binary) => None,
            Err(why) => {
                if let Ok(mut skipped) = skipped.lock() {
                    *skipped.entry(why).or_default() += 1;
                }
                None
            }
        }
    };
    let readings = damper_config::read_tree_with(&paths, text);
    let at: HashMap<&str, &PathBuf> =
        files.iter().map(|(path, file)| (path.as_str(), file)).collect();
    let found: Vec<_> = readings
        .into_par_iter()
        .filter(|(_, reading)| *reading != Reading::default())
        .map(|(path, reading)| {
            let file = at.get(path.as_str());
            let text = file.and_then(|file| read_text(file, &limits).ok()).unwrap_or_default();
            settings(path, reading, &text)
        })
        .collect();
    let mut all = Operators {
        read: read.into_inner(),
        lines: lines.into_inner(),
        partial: partial.into_inner(),
        skipped: skipped.into_inner().unwrap_or_default(),
        ..Operators::default()
    };
    for (file, notes) in found {
        all.files.push(file);
        all.notes.extend(notes);
    }
    all.files.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Numbers for the lines of what a reading says.
pub(crate) fn prints(reading: &Reading, text: &str) -> BTreeMap<[u32; 2], u64> {
    let layers = reading.layers.iter().map(|layer| layer.lines);
    let lines = layers.chain(reading.facts.iter().map(|fact| fact.lines));
    lines.map(|lines| (lines, print_of(text, lines[0], lines[1]))).collect()
}

/// A file with what hangs on its lines, and notes about it.
fn settings(path: String, mut reading: Reading, text: &str) -> (Settings, Vec<String>) {
    let (suppressions, wrong) = suppress::of(text);
    let notes = wrong.iter().map(|(line, why)| format!("{path}:{line}: {why}")).collect();
    let mut unread = unread(&reading);
    let unread_more = unread.len().saturating_sub(UNREAD_OF_A_FILE) as u64;
    unread.truncate(UNREAD_OF_A_FILE);
    let file = Settings {
        scope: scope::of(&path, text),
        prints: prints(&reading, text),
        suppressions,
        unread,
        unread_more,
        broken: reading.broken.as_ref().map(|broken| broken.ours),
        reading: {
            // They are said by `unread`.
            (reading.open, reading.broken) = (Vec::new(), None);
            reading
        },
        path,
    };
    (file, notes)
}
