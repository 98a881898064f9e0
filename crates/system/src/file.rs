//! A system file: text, tree, changes.

use std::path::{Path, PathBuf};

use crate::document::{Document, Format};
use crate::model::System;
use crate::problem::Problems;
use crate::sections::root;

static FORMAT: Format = Format {
    most: 4 << 20,
    what: "a system file (YAML, UTF-8)",
    like: "a file that `damper check` accepts",
};

/// A system file that has been parsed, with the changes made to it since.
#[derive(Clone, Debug)]
pub struct SystemFile(Document);

impl SystemFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is larger than 4 MiB, or is not YAML.
    pub fn read(path: &Path) -> Result<Self, Problems> {
        Document::read(path, &FORMAT).map(Self)
    }

    /// Parses a text; traces are looked for in the current folder.
    ///
    /// # Errors
    /// It is larger than 4 MiB or not YAML.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problems> {
        Document::parse(name, text, PathBuf::from("."), &FORMAT).map(Self)
    }

    /// Changes one value: `services.db.queue=150`.
    ///
    /// The value is YAML. Keys with special characters are quoted
    /// (`policies."client -> db".retry.limit=0`), lists are indexed from 0
    /// (`requests.search.calls[0]=geo`). Mappings on the way are made if they are missing;
    /// whether the keys are right shows in [`SystemFile::lower`], as for the file itself.
    ///
    /// # Errors
    /// The assignment is malformed, or leads through something that is not a mapping or list.
    /// The file is then as before.
    pub fn set(&mut self, assignment: &str) -> Result<(), Problems> {
        self.0.set(assignment)
    }

    /// What stands at a path, as [`SystemFile::set`] names it; `None`: nothing, or it is no path.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<serde_json::Value> {
        let whole = format!("{path}=");
        let (segments, end) = crate::assign::split(&whole, 0).ok()?;
        if end != whole.len() {
            return None;
        }
        crate::assign::find(&self.to_json(), &segments).cloned()
    }

    /// The system that the file describes.
    ///
    /// # Errors
    /// All mistakes of the file.
    pub fn lower(&self) -> Result<System, Problems> {
        self.lower_with_warnings().map(|(system, _)| system)
    }

    /// The system that the file describes, with what it may say but probably does not mean.
    ///
    /// # Errors
    /// All mistakes of the file.
    pub fn lower_with_warnings(&self) -> Result<(System, Problems), Problems> {
        let mut reader = self.0.reader();
        let system = root::lower(&mut reader, self.0.root(), self.0.base());
        self.0.conclude(reader, system)
    }

    /// What the file is called in problems: its path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The text as read, without changes.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.text()
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
