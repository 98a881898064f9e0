//! What every file of ours begins as: a text, its tree, and the changes that were made to it since.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::node::Node;
use crate::problem::{Draft, Problems, Sink};
use crate::read::{Defined, Reader};
use crate::source::{Source, Span};
use crate::{assign, files, yaml};

/// What kind of file it is, in the words of its problems.
#[derive(Debug)]
pub(crate) struct Format {
    /// No such file is larger, in bytes; whole MiB.
    pub(crate) most: usize,
    /// What it is, where none can be read.
    pub(crate) what: &'static str,
    /// What one could look at, where this one gives nothing and nobody knows why.
    pub(crate) like: &'static str,
}

/// A file that has been parsed, with the changes made to it since.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    format: &'static Format,
    /// The file, then each change.
    sources: Vec<Arc<Source>>,
    root: Node,
    /// Mistakes of the YAML that leave a tree to go on with.
    drafts: Vec<Draft>,
    /// Where the files are looked for that it names.
    base: PathBuf,
}

impl Document {
    /// Reads a file.
    pub(crate) fn read(path: &Path, format: &'static Format) -> Result<Self, Problems> {
        let name = path.display().to_string();
        let text = files::read(path, format.most as u64).map_err(|why| {
            let message = format!("the file cannot be read: {why}");
            Problems::about_file(&name, message, format.what)
        })?;
        let base = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Self::parse(&name, &text, base, format)
    }

    /// Parses a text. What it names is looked for in `base`.
    pub(crate) fn parse(
        name: &str,
        text: &str,
        base: PathBuf,
        format: &'static Format,
    ) -> Result<Self, Problems> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.len() > format.most {
            let message = format!("the file is larger than {} MiB", format.most >> 20);
            return Err(Problems::about_file(name, message, "a smaller file"));
        }
        let sources = vec![Arc::new(Source::new(name, text))];
        match yaml::parse(text, 0, 0) {
            Ok(parsed) => {
                Ok(Self { format, sources, root: parsed.root, drafts: parsed.drafts, base })
            }
            Err(draft) => Err(only(&sources, draft)),
        }
    }

    /// Changes one value. The document is as before if that fails.
    pub(crate) fn set(&mut self, assignment: &str) -> Result<(), Problems> {
        let id = self.sources.len() as u32;
        if assignment.len() > self.format.most {
            let message = format!("the change is larger than {} MiB", self.format.most >> 20);
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

    /// A reader that has heard of the mistakes of the YAML.
    pub(crate) fn reader(&self) -> Reader<'_> {
        let mut reader = Reader { sink: Sink::new(&self.sources), names: Defined::default() };
        for draft in &self.drafts {
            reader.error(draft.clone());
        }
        reader
    }

    /// What was read, with the warnings, or every error.
    pub(crate) fn conclude<T>(
        &self,
        mut reader: Reader<'_>,
        read: Option<T>,
    ) -> Result<(T, Problems), Problems> {
        if read.is_none() && !reader.sink.has_errors() {
            // A section gave up without a word: a defect here, but never a silent one.
            reader.error(
                Draft::new(self.root.span, "this file cannot be understood")
                    .expected(format!("{}; please report this one", self.format.like)),
            );
        }
        let failed = reader.sink.has_errors();
        let problems = reader.sink.finish();
        match read {
            Some(read) if !failed => Ok((read, problems)),
            _ => Err(problems.errors()),
        }
    }

    /// The tree.
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// Where the files are looked for that it names.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// What it is called in problems: its path.
    pub(crate) fn name(&self) -> &str {
        &self.sources[0].name
    }

    /// The text as read, without changes.
    pub(crate) fn text(&self) -> &str {
        &self.sources[0].text
    }

    /// The changes, in the order in which they were made.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &str> {
        self.sources[1..].iter().map(|s| s.text.as_str())
    }
}

fn only(sources: &[Arc<Source>], draft: Draft) -> Problems {
    let mut sink = Sink::new(sources);
    sink.error(draft);
    sink.finish()
}
