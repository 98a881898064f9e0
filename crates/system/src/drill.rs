//! The drill file: what is sent where, what goes wrong meanwhile, what must come of it, and when
//! to stop. Read by the same tables as the system file, with the same quality of errors.
//!
//! ```
//! let text = "
//! drill: 1
//! target: http://127.0.0.1:8080/
//! load: 100/s
//! triggers: {slow: {start: ./slow-down, stop: ./speed-up}}
//! phases: [{load: 100%}, {hold: 10s}, {start: slow, for: 5s}, {recover: 60s}]
//! expect: [{recovery: 30s}]
//! ";
//! let drill = damper_system::DrillFile::parse("slow.yaml", text)?.lower()?;
//! assert_eq!(drill.phases.len(), 4);
//! # Ok::<(), damper_system::Problems>(())
//! ```

mod classes;
mod model;
mod phases;
mod read;
mod sends;
mod tables;
mod things;
mod tls;
mod url;

use std::path::{Path, PathBuf};

pub use model::{
    Abort, Callers, Cause, CauseKind, Ceilings, Drill, Follows, LeverKind, Limit, Manner, Metric,
    MetricKind, Part, Phase, PhaseKind, Place, Plant, Pull, Recovered, Requirement, Search, Size,
    Speaks, Strength, Watched, WorkLever,
};
pub use tls::Believes;
pub use url::Url;

use crate::document::{Document, Format};
use crate::problem::Problems;
use crate::requests::Knows;

static FORMAT: Format = Format {
    most: 1 << 20,
    what: "a drill file (YAML, UTF-8)",
    like: "a file such as those in examples/drill",
};

/// A drill file that has been parsed, with the changes made to it since.
#[derive(Clone, Debug)]
pub struct DrillFile(Document);

impl DrillFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is larger than 1 MiB, or is not YAML.
    pub fn read(path: &Path) -> Result<Self, Problems> {
        Document::read(path, &FORMAT).map(Self)
    }

    /// Parses a text; its system file is looked for in the current folder.
    ///
    /// # Errors
    /// It is larger than 1 MiB or not YAML.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problems> {
        Document::parse(name, text, PathBuf::from("."), &FORMAT).map(Self)
    }

    /// Changes one value, as [`crate::SystemFile::set`] does: `target=http://127.0.0.1:8080/`.
    ///
    /// # Errors
    /// The assignment is malformed, or leads through something that is not a mapping or list.
    pub fn set(&mut self, assignment: &str) -> Result<(), Problems> {
        self.0.set(assignment)
    }

    /// The drill that the file describes. Whatever its request files say is taken for right.
    ///
    /// # Errors
    /// As [`Self::lower_with`].
    pub fn lower(&self) -> Result<Drill, Problems> {
        self.lower_with(&|_: &str| Ok(()))
    }

    /// The drill that the file describes, with somebody who looks through its request files.
    ///
    /// # Errors
    /// All mistakes of the file; where there are none, those of its system file, or of another file
    /// that it names.
    pub fn lower_with(&self, knows: &dyn Knows) -> Result<Drill, Problems> {
        self.lower_with_warnings(knows).map(|(drill, _)| drill)
    }

    /// The same, with what the file may say but probably does not mean.
    ///
    /// # Errors
    /// As [`Self::lower_with`].
    pub fn lower_with_warnings(&self, knows: &dyn Knows) -> Result<(Drill, Problems), Problems> {
        let mut reader = self.0.reader();
        let root = self.0.root();
        let plant = read::plant(&mut reader, root, self.0.base())?;
        if reader.sink.has_errors() && plant.is_none() && root.child("system").is_some() {
            // What is missing without it would hide that it is.
            return Err(reader.sink.finish().errors());
        }
        let requests = sends::request_files(&mut reader, root, self.0.base(), knows)?;
        let others = read::Others { plant, requests };
        let drill = read::lower(&mut reader, root, self.0.base(), others, knows)?;
        self.0.conclude(reader, drill)
    }

    /// What the file is called in problems: its path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The changes, in the order in which they were made.
    pub fn changes(&self) -> impl Iterator<Item = &str> {
        self.0.changes()
    }

    /// The file with its changes as JSON, as the published schema sees it.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        self.0.root().to_json()
    }
}

/// The JSON Schema of a drill file; `docs/drill.schema.json` is a copy.
#[must_use]
pub fn drill_schema() -> serde_json::Value {
    crate::schema::json::of("Damper drill file", &tables::ROOT)
}

/// `docs/drill.md` with its tables as they are now.
#[doc(hidden)]
#[must_use]
pub fn rewrite_drill_tables(markdown: &str) -> String {
    crate::schema::tables::rewrite_of(markdown, &[&tables::ROOT])
}
