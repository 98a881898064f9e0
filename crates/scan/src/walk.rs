//! Which files are read, and why the others are not.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};

use crate::language::Language;
use crate::library::Manifests;
use crate::settings;

/// Bounds of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest file that is read, in bytes.
    pub file_bytes: u64,
    /// The deepest folder below a root.
    pub depth: usize,
    /// The longest line, in bytes: a file with a longer one is taken for minified.
    pub line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 2 << 20, depth: 64, line_bytes: 20_000 }
    }
}

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    /// In a folder of other people's code: `vendor`, `node_modules`.
    Vendored,
    /// Larger than [`Limits::file_bytes`].
    TooLarge,
    /// Lines longer than [`Limits::line_bytes`].
    Minified,
    /// It has zero bytes in it.
    Binary,
    /// It cannot be read.
    Unreadable,
    /// A symbolic link: what it leads to is read where it is, or not at all.
    Link,
    /// The parser found no end within its bounds.
    Unparsed,
}

impl Skipped {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vendored => "vendored",
            Self::TooLarge => "too-large",
            Self::Minified => "minified",
            Self::Binary => "binary",
            Self::Unreadable => "unreadable",
            Self::Link => "link",
            Self::Unparsed => "unparsed",
        }
    }
}

/// Folders of other people's code.
const VENDORED: &[&str] = &[
    "vendor",
    "node_modules",
    "bower_components",
    "third_party",
    "third-party",
    "thirdparty",
    "site-packages",
    ".venv",
    "venv",
    "virtualenv",
    ".tox",
    ".nox",
    "__pycache__",
    "jspm_packages",
    ".yarn",
    "Pods",
    "Carthage",
    ".gradle",
    ".mvn",
    ".terraform",
    "_vendor",
];

/// Ends of names that a packer writes.
const MINIFIED: &[&str] = &[".min.js", ".bundle.js", ".chunk.js", "-min.js", ".min.mjs"];

/// A file that may be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Its path from the root, with `/`.
    pub path: String,
    /// Where it is.
    pub file: PathBuf,
    /// Its language.
    pub language: Language,
    /// How large it is.
    pub bytes: u64,
}

/// What a walk has found.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// The files, by path.
    pub files: Vec<Found>,
    /// Manifests, which tell the versions of packages: those of the outermost folders first.
    pub manifests: Vec<PathBuf>,
    /// Files that may hold configuration: their paths from the root, and where they are.
    pub settings: Vec<(String, PathBuf)>,
    /// How many were left out, and why.
    pub skipped: BTreeMap<Skipped, u64>,
    /// The first few that a person should know of, in order.
    pub notes: Vec<String>,
}

/// Manifests that are read.
const MANIFESTS: usize = 500;
/// Files that may hold configuration that are looked into.
const SETTINGS: usize = 200_000;
/// Hidden folders and files that hold what operators write.
const SHOWN: &[&str] = &[".github", ".gitlab", ".circleci", ".aws", ".gitlab-ci.yml"];

/// Whether a hidden folder or file is looked into.
fn shown(name: &str) -> bool {
    SHOWN.contains(&name) || name == ".env" || name.starts_with(".env.")
}

/// Notes that are kept.
const NOTES: usize = 50;

impl Walked {
    /// Counts a file that was left out.
    pub fn skip(&mut self, why: Skipped) {
        *self.skipped.entry(why).or_default() += 1;
    }

    /// Keeps a note. Which ones are kept of too many does not depend on when they come.
    pub fn note(&mut self, note: String) {
        let at = self.notes.partition_point(|known| *known <= note);
        self.notes.insert(at, note);
        self.notes.truncate(NOTES);
    }

    /// Adds what another part of the walk has found.
    fn append(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        self.manifests.append(&mut other.manifests);
        self.settings.append(&mut other.settings);
        for (why, count) in other.skipped {
            *self.skipped.entry(why).or_default() += count;
        }
        other.notes.into_iter().for_each(|note| self.note(note));
    }
}

/// Walks through roots: folders, or files. `.gitignore` is honoured also outside of a checkout,
/// hidden folders are not entered but for a few, links are not followed. Threads, 0 for one for
/// each core, take folders from each other; what they find is put in order at the end.
#[must_use]
pub fn walk(roots: &[PathBuf], exclude: &[String], limits: &Limits, threads: usize) -> Walked {
    let all = Mutex::new(Walked::default());
    for root in roots {
        let mut builder = WalkBuilder::new(root);
        builder.max_depth(Some(limits.depth)).follow_links(false).require_git(false);
        builder.threads(threads).hidden(false).filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            entry.depth() == 0 || !name.starts_with('.') || shown(&name)
        });
        // A single file is named from where one stands, and so are the globs that leave it out.
        let single = root.is_file();
        let base = if single { Path::new(".") } else { root };
        if let Some(overrides) = overrides(base, exclude, &mut lock(&all)) {
            if single && is_left_out(root, &overrides) {
                continue;
            }
            builder.overrides(overrides);
        }
        builder.build_parallel().visit(&mut Visitors { root, limits, all: &all });
    }
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.files.sort();
    all.files.dedup();
    all.settings.sort();
    all.settings.dedup();
    all.settings.truncate(SETTINGS);
    // The nearest to the root first: they say most, and are the last to be left out.
    all.manifests.sort_by_cached_key(|file| (file.components().count(), file.clone()));
    all.manifests.truncate(MANIFESTS);
    all
}

/// What one thread has is whole also if another has failed.
fn lock(all: &Mutex<Walked>) -> MutexGuard<'_, Walked> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a [`Visitor`] for each thread.
struct Visitors<'w> {
    root: &'w Path,
    limits: &'w Limits,
    all: &'w Mutex<Walked>,
}

impl<'w> ParallelVisitorBuilder<'w> for Visitors<'w> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'w> {
        let Self { root, limits, all } = *self;
        let folder = (PathBuf::new(), false);
        Box::new(Visitor { root, limits, all, own: Walked::default(), folder })
    }
}

/// One thread's part of a walk, added to the others' when it is dropped.
struct Visitor<'w> {
    root: &'w Path,
    limits: &'w Limits,
    all: &'w Mutex<Walked>,
    own: Walked,
    /// The folder of the last entry, and whether it is in one of other people's code.
    folder: (PathBuf, bool),
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        lock(self.all).append(std::mem::take(&mut self.own));
    }
}

impl ParallelVisitor for Visitor<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        match entry {
            Ok(entry) => self.entry(entry),
            Err(error) => {
                self.own.skip(Skipped::Unreadable);
                self.own.note(error.to_string());
            }
        }
        WalkState::Continue
    }
}

impl Visitor<'_> {
    fn entry(&mut self, entry: DirEntry) {
        let Some(kind) = entry.file_type() else { return };
        if kind.is_dir() {
            return;
        }
        let language =
            entry.path().extension().and_then(|end| Language::of_extension(end.to_str()?));
        // What is in other people's code is counted and not read.
        if self.foreign(entry.path()) {
            if kind.is_file() && language.is_some() {
                self.own.skip(Skipped::Vendored);
            }
            return;
        }
        if kind.is_symlink() {
            if language.is_some() {
                self.own.skip(Skipped::Link);
            }
            return;
        }
        if !kind.is_file() {
            return;
        }
        let name = entry.file_name().to_string_lossy();
        if Manifests::is_manifest(&name) {
            self.own.manifests.push(entry.path().to_owned());
        }
        let Some(language) = language else {
            let path = relative(self.root, entry.path());
            if settings::may_be(&path) {
                self.own.settings.push((path, entry.path().to_owned()));
            }
            return;
        };
        if MINIFIED.iter().any(|end| name.ends_with(end)) {
            return self.own.skip(Skipped::Minified);
        }
        let path = relative(self.root, entry.path());
        let bytes = entry.metadata().map_or(0, |data| data.len());
        if bytes > self.limits.file_bytes {
            self.own.skip(Skipped::TooLarge);
            self.own.note(format!("{path}: larger than {} bytes", self.limits.file_bytes));
            return;
        }
        self.own.files.push(Found { path, file: entry.into_path(), language, bytes });
    }

    /// Whether a folder of other people's code lies between the root and this.
    fn foreign(&mut self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or(path);
        if self.folder.0 != folder {
            let below = folder.strip_prefix(self.root).unwrap_or(Path::new(""));
            self.folder = (folder.to_owned(), below.iter().any(vendored));
        }
        self.folder.1
    }
}

/// What a configuration leaves out. A glob that is none is told and left out itself.
fn overrides(
    root: &Path,
    exclude: &[String],
    all: &mut Walked,
) -> Option<ignore::overrides::Override> {
    if exclude.is_empty() {
        return None;
    }
    let mut builder = OverrideBuilder::new(root);
    for glob in exclude {
        if let Err(error) = builder.add(&format!("!{glob}")) {
            all.note(format!("exclude: {error}"));
        }
    }
    builder.build().ok()
}

/// Whether a single file, or a folder that it is in, is left out. Only folders below where one
/// stands are asked for.
fn is_left_out(file: &Path, overrides: &ignore::overrides::Override) -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    let file = file.strip_prefix(&here).unwrap_or(file);
    let file = file.strip_prefix(".").unwrap_or(file);
    let mut folders = file.ancestors().skip(1).filter(|one| !one.as_os_str().is_empty());
    overrides.matched(file, false).is_ignore()
        || file.is_relative() && folders.any(|one| overrides.matched(one, true).is_ignore())
}

fn vendored(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| VENDORED.contains(&name))
}

/// The path below a root, with `/`; of a root that is a file its name as it was given.
fn relative(root: &Path, path: &Path) -> String {
    let below = match path.strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => below,
        _ => path,
    };
    let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// So much of a thread's buffer stays between files.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    /// What a file is read into: most are small, and a buffer that is there takes one call.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(KEPT_BYTES / 16));
}

/// Reads a file as text: UTF-8 with or without its mark, UTF-16 with its mark, and bytes that are
/// neither with a sign in place of each.
///
/// # Errors
/// Why it is left out.
pub fn read(file: &Path, limits: &Limits) -> Result<String, Skipped> {
    let open = File::open(file).map_err(|_| Skipped::Unreadable)?;
    let text = SCRATCH.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.shrink_to(KEPT_BYTES);
        open.take(limits.file_bytes + 1).read_to_end(bytes).map_err(|_| Skipped::Unreadable)?;
        if bytes.len() as u64 > limits.file_bytes {
            return Err(Skipped::TooLarge);
        }
        decode(bytes)
    })?;
    // One look at the lines: most files have none that is long, and then it is quick.
    if text.len() > limits.line_bytes && text.split('\n').any(|line| line.len() > limits.line_bytes)
    {
        return Err(Skipped::Minified);
    }
    Ok(text)
}

fn decode(bytes: &[u8]) -> Result<String, Skipped> {
    for (mark, big) in [([0xFF, 0xFE], false), ([0xFE, 0xFF], true)] {
        if let Some(rest) = bytes.strip_prefix(&mark) {
            let units = rest.chunks_exact(2).map(|pair| {
                let pair = [pair[0], pair[1]];
                if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
            });
            return Ok(char::decode_utf16(units)
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect());
        }
    }
    if bytes[..bytes.len().min(8192)].contains(&0) {
        return Err(Skipped::Binary);
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    // Nearly every file is UTF-8, and that is quicker told of the whole than of each part.
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_walk_leaves_out_what_is_not_ours() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &[u8]| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, text).expect("written");
        };
        write("a.py", b"x = 1\n");
        write("sub/b.go", b"package b\n");
        write("node_modules/c.js", b"");
        write("node_modules/deep/c.js", b"");
        write("node_modules/deep/c.txt", b"");
        write("node_modules_ours/c.js", b"");
        write("ignored/d.py", b"");
        write(".gitignore", b"ignored\n");
        write("e.min.js", b"");
        write(".hidden/a.yaml", b"a: 1\n");
        write(".github/workflows/ci.yml", b"a: 1\n");
        write(".env", b"A=1\n");
        write("f.txt", b"");
        write("left/out.py", b"");
        write("g.py", &vec![b'#'; 3 << 20]);
        #[cfg(unix)]
        std::os::unix::fs::symlink("..", root.path().join("sub/up")).expect("linked");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/hosts", root.path().join("h.py")).expect("linked");
        let walked = walk(&[root.path().to_owned()], &["left/".to_owned()], &Limits::default(), 0);
        let paths: Vec<_> = walked.files.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, ["a.py", "node_modules_ours/c.js", "sub/b.go"]);
        let settings: Vec<_> = walked.settings.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(settings, [".env", ".github/workflows/ci.yml"]);
        assert_eq!(walked.skipped[&Skipped::Vendored], 2);
        assert_eq!(walked.skipped[&Skipped::TooLarge], 1);
        assert_eq!(walked.skipped[&Skipped::Minified], 1);
        assert_eq!(walked.skipped[&Skipped::Link], 1);
    }

    #[test]
    fn a_file_that_is_named_may_be_left_out_too() {
        let root = tempfile::tempdir().expect("a folder");
        let file = root.path().join("a_gen.py");
        fs::write(&file, "").expect("written");
        let of = |exclude: &str| {
            walk(std::slice::from_ref(&file), &[exclude.to_owned()], &Limits::default(), 0)
                .files
                .len()
        };
        assert_eq!((of("*_gen.py"), of("other.py")), (0, 1));
    }

    #[test]
    fn odd_encodings_are_read() {
        let decoded = |bytes: &[u8]| decode(bytes);
        assert_eq!(decoded(b"\xEF\xBB\xBFa").as_deref(), Ok("a"));
        assert_eq!(decoded(b"\xFF\xFEa\0b\0").as_deref(), Ok("ab"));
        assert_eq!(decoded(b"\xFE\xFF\0a\0b").as_deref(), Ok("ab"));
        assert_eq!(decoded(b"caf\xE9").as_deref(), Ok("caf\u{FFFD}"));
        assert_eq!(decoded(b"a\0b"), Err(Skipped::Binary));
    }
}
