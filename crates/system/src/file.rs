//! A system file: text, tree, changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::System;
use crate::node::Node;
use crate::problem::{Draft, Problems, Sink};
use crate::read::{Defined, Reader};
use crate::sections::root;
use crate::source::{Source, Span};
use crate::{assign, files, yaml};

/// No system file is larger.
const MAX_BYTES: usize = 4 << 20;

/// A system file that has been parsed, with the changes made to it since.
#[derive(Clone, Debug)]
pub struct SystemFile {
    /// The file, then each change.
    sources: Vec<Arc<Source>>,
    root: Node,
    /// Mistakes of the YAML that leave a tree to go on with.
    drafts: Vec<Draft>,
    /// Where traces are looked for.
    base: PathBuf,
}

impl SystemFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is larger than 4 MiB, or is not YAML.
    pub fn read(path: &Path) -> Result<Self, Problems> {
        let name = path.display().to_string();
        let text = files::read(path, MAX_BYTES as u64).map_err(|why| {
            let message = format!("the file cannot be read: {why}");
            Problems::about_file(&name, message, "a system file (YAML, UTF-8)")
        })?;
        let base = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Self::with_base(&name, &text, base)
    }

    /// Parses a text; traces are looked for in the current folder.
    ///
    /// # Errors
    /// It is larger than 4 MiB or not YAML.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problems> {
        Self::with_base(name, text, PathBuf::from("."))
    }

    fn with_base(name: &str, text: &str, base: PathBuf) -> Result<Self, Problems> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.len() > MAX_BYTES {
            let message = "the file is larger than 4 MiB".to_owned();
            return Err(Problems::about_file(name, message, "a smaller file"));
        }
        let sources = vec![Arc::new(Source::new(name, text))];
        match yaml::parse(text, 0, 0) {
            Ok(parsed) => Ok(Self { sources, root: parsed.root, drafts: parsed.drafts, base }),
            Err(draft) => Err(only(&sources, draft)),
        }
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
        let id = self.sources.len() as u32;
        if assignment.len() > MAX_BYTES {
            let message = "the change is larger than 4 MiB".to_owned();
            return Err(Problems::about_file("--set", message, "a smaller change"));
        }
        let mut sources = self.sources.clone();
        sources.push(Arc::new(Source::new("--set", assignment)));
        let change = |root: &mut Node| {
            let (path, start) = assign::split(assignment, id)?;
            let parsed = yaml::parse(&assignment[start..], id, start)?;
            let mut value = parsed.root;
            if value.span.start == value.span.end {
                value.span = Span::new(id, 0..assignment.len());
            }
            assign::apply(root, &path, value)?;
            Ok(parsed.drafts)
        };
        let mut root = self.root.clone();
        match change(&mut root) {
            Ok(drafts) => {
                self.root = root;
                self.drafts.extend(drafts);
                self.sources = sources;
                Ok(())
            }
            Err(draft) => Err(only(&sources, draft)),
        }
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
        let mut reader = Reader { sink: Sink::new(&self.sources), names: Defined::default() };
        for draft in &self.drafts {
            reader.error(draft.clone());
        }
        let system = root::lower(&mut reader, &self.root, &self.base);
        if system.is_none() && !reader.sink.has_errors() {
            // A section gave up without a word: a defect here, but never a silent one.
            let at = self.root.span;
            reader.error(
                Draft::new(at, "this file cannot be understood")
                    .expected("a file that `damper check` accepts; please report this one"),
            );
        }
        let failed = reader.sink.has_errors();
        let problems = reader.sink.finish();
        match system {
            Some(system) if !failed => Ok((system, problems)),
            _ => Err(problems.errors()),
        }
    }

    /// What the file is called in problems: its path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.sources[0].name
    }

    /// The text as read, without changes.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.sources[0].text
    }

    /// The changes, in the order in which they were made.
    pub fn changes(&self) -> impl Iterator<Item = &str> {
        self.sources[1..].iter().map(|s| s.text.as_str())
    }

    /// The file with its changes as JSON, as the published schema sees it.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        self.root.to_json()
    }
}

fn only(sources: &[Arc<Source>], draft: Draft) -> Problems {
    let mut sink = Sink::new(sources);
    sink.error(draft);
    sink.finish()
}
