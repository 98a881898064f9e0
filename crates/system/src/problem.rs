//! Problems: what is wrong, where, and what to write instead.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::source::{Source, Span};

mod render;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but probably does not say what was meant.
    Warning,
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// How bad.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What stands there.
    pub found: String,
    /// What could stand there.
    pub expected: String,
    /// The nearest thing that would be right.
    pub suggestion: Option<String>,
    /// The file, `--set` for a change, or a trace.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Bytes of the file that the problem is about, within one line.
    pub span: Range<usize>,
    /// Other places that belong to it.
    pub related: Vec<Related>,
    source: Arc<Source>,
}

/// A second place that a problem points to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Related {
    /// What is there.
    pub label: String,
    /// The file, `--set` for a change, or a trace.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Bytes, within one line.
    pub span: Range<usize>,
}

impl fmt::Display for Problem {
    /// One line: place, severity, message, what was found, what was expected.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let Self { file, line, column, message, .. } = self;
        write!(f, "{file}:{line}:{column}: {severity}: {message}")?;
        if !self.message.contains(&self.found) {
            write!(f, "; found {}", self.found)?;
        }
        if !self.expected.is_empty() {
            write!(f, "; expected {}", self.expected)?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// All problems of a file, in the order of their places.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    problems: Vec<Problem>,
    omitted: usize,
}

impl Problems {
    /// The problems.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.problems.iter()
    }

    /// How many there are, with those that are left out.
    #[must_use]
    pub fn len(&self) -> usize {
        self.problems.len() + self.omitted
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// How many were left out of the list because there are too many.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Whether one of them is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.iter().any(|p| p.severity == Severity::Error)
    }

    /// Without the warnings.
    pub(crate) fn errors(mut self) -> Self {
        self.problems.retain(|p| p.severity == Severity::Error);
        self
    }

    /// One problem about a file that could not be read at all.
    pub(crate) fn about_file(name: &str, message: String, expected: &str) -> Self {
        let source = [Arc::new(Source::new(name, ""))];
        let mut sink = Sink::new(&source);
        sink.error(Draft::new(Span::new(0, 0..0), message).expected(expected));
        sink.finish()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.problems.into_iter()
    }
}

impl std::error::Error for Problems {}

/// A problem before its place has been looked up.
///
/// Boxed, because it travels in results whose other side is small.
#[derive(Clone, Debug)]
pub(crate) struct Draft(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    span: Span,
    message: String,
    found: String,
    expected: String,
    suggestion: Option<String>,
    related: Vec<(Span, String)>,
}

impl Draft {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            span,
            message: message.into(),
            found: String::new(),
            expected: String::new(),
            suggestion: None,
            related: Vec::new(),
        }))
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.0.found = found.into();
        self
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.0.expected = expected.into();
        self
    }

    pub(crate) fn suggest(mut self, suggestion: Option<impl Into<String>>) -> Self {
        self.0.suggestion = suggestion.map(Into::into);
        self
    }

    pub(crate) fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.0.related.push((span, label.into()));
        self
    }
}

/// Collects problems, each once.
pub(crate) struct Sink<'s> {
    sources: &'s [Arc<Source>],
    /// Read while lowering.
    extra: Vec<Arc<Source>>,
    seen: HashSet<(Span, String)>,
    found: Vec<(Span, Problem)>,
    omitted: usize,
}

/// More than this many problems are counted, not kept.
const MAX_PROBLEMS: usize = 200;

impl<'s> Sink<'s> {
    pub(crate) fn new(sources: &'s [Arc<Source>]) -> Self {
        Self { sources, extra: Vec::new(), seen: HashSet::new(), found: Vec::new(), omitted: 0 }
    }

    /// Adds a text that spans may point into.
    pub(crate) fn source(&mut self, source: Source) -> u32 {
        self.extra.push(Arc::new(source));
        (self.sources.len() + self.extra.len() - 1) as u32
    }

    pub(crate) fn error(&mut self, draft: Draft) {
        self.push(Severity::Error, draft);
    }

    pub(crate) fn warn(&mut self, draft: Draft) {
        self.push(Severity::Warning, draft);
    }

    /// Whether further problems are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MAX_PROBLEMS
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.found.iter().any(|(_, p)| p.severity == Severity::Error)
    }

    fn look_up(&self, span: Span) -> Option<&Arc<Source>> {
        let i = span.source as usize;
        self.sources.get(i).or_else(|| self.extra.get(i - self.sources.len()))
    }

    fn push(&mut self, severity: Severity, Draft(draft): Draft) {
        if self.is_full() {
            self.omitted += 1;
            return;
        }
        let Some(source) = self.look_up(draft.span) else {
            return;
        };
        let place = |source: &Source, span: Span| {
            let range = source.clip(span.range());
            let (line, column) = source.position(range.start);
            (range, line, column)
        };
        let (span, line, column) = place(source, draft.span);
        let found = if draft.found.is_empty() && !span.is_empty() {
            crate::node::quoted(&source.text[span.clone()])
        } else {
            draft.found
        };
        let related = draft
            .related
            .into_iter()
            .filter_map(|(span, label)| {
                let source = self.look_up(span)?;
                let (span, line, column) = place(source, span);
                let file = source.name.clone();
                Some(Related { label, file, line, column, span })
            })
            .collect();
        let problem = Problem {
            severity,
            message: draft.message,
            found,
            expected: draft.expected,
            suggestion: draft.suggestion,
            file: source.name.clone(),
            line,
            column,
            span,
            related,
            source: Arc::clone(source),
        };
        if self.seen.insert((draft.span, problem.message.clone())) {
            self.found.push((draft.span, problem));
        }
    }

    /// What was collected, by place.
    pub(crate) fn finish(mut self) -> Problems {
        self.found.sort_by_key(|(span, p)| (p.severity, *span));
        Problems {
            problems: self.found.into_iter().map(|(_, p)| p).collect(),
            omitted: self.omitted,
        }
    }
}
