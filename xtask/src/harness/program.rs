//! The programs: where they are, what they need, and how often each asks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::server::Server;
use crate::process::{cargo, program, root, run, target, works};

/// A program that was answered so often will not end by itself.
const MOST: u64 = 50;
/// Nor will one that goes on for so long after it has asked first.
const LONGEST: Duration = Duration::from_secs(25);
/// Nor will one that has not asked by then; an interpreter on a busy machine takes its time.
const SLOWEST_START: Duration = Duration::from_secs(120);

/// The languages that there are programs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Python,
    Node,
    Rust,
}

impl Language {
    pub(super) const ALL: [Self; 3] = [Self::Python, Self::Node, Self::Rust];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Rust => "rust",
        }
    }

    fn folder(self) -> PathBuf {
        folder().join(self.name())
    }

    /// What tells the versions of the libraries.
    fn manifest(self) -> PathBuf {
        self.folder().join(match self {
            Self::Python => "requirements.txt",
            Self::Node => "package-lock.json",
            Self::Rust => "Cargo.lock",
        })
    }

    /// Why its programs cannot run here, if they cannot.
    pub(super) fn missing(self) -> Option<&'static str> {
        let (name, argument) = match self {
            Self::Python => ("python3", "--version"),
            Self::Node => ("npm", "--version"),
            Self::Rust => ("cargo", "--version"),
        };
        (!works(program(name).arg(argument))).then_some(name)
    }

    /// Installs the libraries, once for each state of the manifest, or builds.
    pub(super) fn prepare(self) -> Result<()> {
        let folder = self.folder();
        match self {
            Self::Python => installed(&folder.join(".venv"), &self.manifest(), || {
                run(program("python3").args(["-m", "venv"]).arg(folder.join(".venv")))?;
                let mut install = program(folder.join(".venv/bin/python"));
                install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
                run(install.arg("-r").arg(self.manifest()))
            }),
            Self::Node => installed(&folder.join("node_modules"), &self.manifest(), || {
                let mut install = program("npm");
                install.args(["ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]);
                run(install.current_dir(&folder))
            }),
            Self::Rust => {
                let mut build = cargo("build --locked --quiet --bins --manifest-path");
                build.arg(folder.join("Cargo.toml")).arg("--target-dir").arg(built()?);
                run(&mut build)
            }
        }
    }
}

/// Installs into a folder if what it was last installed from has changed.
fn installed(folder: &Path, manifest: &Path, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let wanted = fs::read_to_string(manifest).with_context(|| manifest.display().to_string())?;
    let stamp = folder.join("harness.stamp");
    if fs::read_to_string(&stamp).is_ok_and(|done| done == wanted) {
        return Ok(());
    }
    install()?;
    fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())
}

pub(super) fn folder() -> PathBuf {
    root().join("compare/harness")
}

fn built() -> Result<PathBuf> {
    Ok(target()?.join("compare/harness"))
}

/// One program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) language: Language,
    pub(super) file: PathBuf,
    /// What it is, by its first line: an entry of the catalogue, or `hand-rolled`.
    pub(super) kind: String,
    /// Why nobody can read the count from the text, if so it is.
    pub(super) unknowable: Option<String>,
    /// Why `scan` does not see it, if that is known.
    pub(super) missed: Option<String>,
}

/// How often a program asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) count: u64,
    /// Whether it did not end by itself.
    pub(super) stopped: bool,
}

impl Program {
    /// Every program of a language, by name.
    pub(super) fn all(language: Language) -> Result<Vec<Self>> {
        let (folder, endings): (_, &[&str]) = match language {
            Language::Python => (language.folder(), &[".py"]),
            Language::Node => (language.folder(), &[".js", ".mjs", ".mts"]),
            Language::Rust => (language.folder().join("src/bin"), &[".rs"]),
        };
        let mut all = Vec::new();
        // Not deeper: what was installed is beside them.
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let file = entry?.path();
            let name = file.to_string_lossy();
            if endings.iter().any(|ending| name.ends_with(ending)) {
                all.push(Self::read(language, file)?);
            }
        }
        all.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(all)
    }

    fn read(language: Language, file: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let (kind, unknowable, missed) = head(&text);
        let (unknowable, missed) = (unknowable.map(str::to_owned), missed.map(str::to_owned));
        Ok(Self { language, file, kind: kind.to_owned(), unknowable, missed })
    }

    /// Its name in the table.
    pub(super) fn name(&self) -> String {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        format!("{}/{name}", self.language.name())
    }

    pub(super) fn manifest(&self) -> PathBuf {
        self.language.manifest()
    }

    fn command(&self) -> Result<Command> {
        let folder = self.language.folder();
        Ok(match self.language {
            Language::Python => {
                let mut python = program(folder.join(".venv/bin/python"));
                python.arg(&self.file);
                python
            }
            Language::Node => {
                let mut node = program("node");
                if self.file.extension().is_some_and(|end| end == "mts") {
                    node.args(["--import", "tsx"]);
                }
                node.arg(&self.file);
                node
            }
            Language::Rust => {
                let name = self.file.file_stem().unwrap_or_default();
                program(built()?.join("debug").join(name))
            }
        })
    }

    /// Runs it against a server of its own until it ends or clearly will not. What it says goes
    /// to `log`: that it fails is what it is for.
    pub(super) fn measure(&self, log: &Path) -> Result<Measured> {
        let server = Server::start()?;
        let mut command = self.command()?;
        command.current_dir(self.language.folder());
        // Only what is listed here may decide how often a library tries.
        let path = command.get_envs().find(|(key, _)| *key == "PATH");
        let path = path.and_then(|(_, value)| value.map(std::ffi::OsStr::to_owned));
        command.env_clear().envs(path.map(|path| ("PATH", path)));
        command.envs(
            ["HOME", "LANG"].into_iter().filter_map(|key| Some((key, std::env::var_os(key)?))),
        );
        command.env("HARNESS_URL", server.url("http")).env("HARNESS_TLS_URL", server.url("https"));
        command.envs(CREDENTIALS);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(log)?);
        let mut child = command.spawn().with_context(|| self.name())?;
        let start = Instant::now();
        let mut asked: Option<Instant> = None;
        let stopped = loop {
            if child.try_wait()?.is_some() {
                break false;
            }
            let count = server.counted();
            if count > 0 {
                asked.get_or_insert_with(Instant::now);
            }
            let over = match asked {
                Some(asked) => asked.elapsed() >= LONGEST,
                None => start.elapsed() >= SLOWEST_START,
            };
            if count >= MOST || over {
                child.kill()?;
                child.wait()?;
                break true;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        Ok(Measured { count: server.counted(), stopped })
    }
}

/// The AWS libraries ask for these before anything else, also where nobody checks them.
const CREDENTIALS: [(&str, &str); 5] = [
    ("AWS_ACCESS_KEY_ID", "none"),
    ("AWS_SECRET_ACCESS_KEY", "none"),
    ("AWS_CONFIG_FILE", "/nonexistent"),
    ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
];

/// What the comment at the top says: `KIND: …`, and in its second line `unknowable: why` or
/// `missed: why`.
fn head(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let mut lines = text.lines().map(|line| line.trim_start_matches(['#', '/', '!', ' ']));
    let kind = lines.next().unwrap_or_default();
    let kind = kind.split([':', ' ']).next().unwrap_or(kind);
    let second = lines.next().unwrap_or_default();
    (kind, second.strip_prefix("unknowable: "), second.strip_prefix("missed: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_names_what_it_is() {
        assert_eq!(head("# py-tenacity: bare\nimport os\n"), ("py-tenacity", None, None));
        assert_eq!(head("//! no retry: none\n"), ("no", None, None));
        assert_eq!(
            head("// hand-rolled: a loop\n// unknowable: a parameter\nx()"),
            ("hand-rolled", Some("a parameter"), None)
        );
        assert_eq!(
            head("# hand-rolled: a\n# missed: no wait\n"),
            ("hand-rolled", None, Some("no wait"))
        );
        assert_eq!(head("# py-redis around py-x: a"), ("py-redis", None, None));
    }

    #[test]
    fn there_are_enough_programs_and_each_says_what_it_is() {
        let mut count = 0;
        for language in Language::ALL {
            for program in Program::all(language).unwrap() {
                assert!(!program.kind.is_empty(), "{}", program.name());
                count += 1;
            }
        }
        assert!(count >= super::super::ENOUGH, "{count}");
    }
}
