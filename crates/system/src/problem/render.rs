//! Problems with a code frame, for terminals.

use std::fmt;
use std::ops::Range;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};

use super::{Problem, Problems, Severity};
use crate::source::Source;

/// More problems than this are not drawn, only counted.
const MAX_DRAWN: usize = 50;
/// Longer lines are cut around the place in question.
const MAX_LINE: usize = 160;

impl Problems {
    /// Every problem with its file, line and column, the line itself with the place
    /// underlined, what was found, what was expected and the nearest right name.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let mut out = String::new();
        for problem in self.problems.iter().take(MAX_DRAWN) {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&problem.render(colour));
        }
        let more = self.len() - self.problems.len().min(MAX_DRAWN);
        if more > 0 {
            out.push_str(&format!("\n… and {more} more\n"));
        }
        out
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl Problem {
    /// The problem with a code frame.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let theme =
            if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(100)
            .with_context_lines(1)
            .with_links(false)
            .without_syntax_highlighting();
        let mut out = String::new();
        match handler.render_report(&mut out, &Drawn::new(self)) {
            Ok(()) => out,
            Err(_) => format!("{self}\n"),
        }
    }
}

impl Diagnostic for Problem {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = help(self);
        (!help.is_empty()).then(|| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source.text)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = (self.span.start, self.span.len());
        let label = LabeledSpan::new_primary_with_span(Some(label(self)), span);
        Some(Box::new(std::iter::once(label)))
    }
}

impl Diagnostic for Problems {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|p| p as &dyn Diagnostic)))
    }
}

fn label(problem: &Problem) -> String {
    if problem.message.contains(&problem.found) {
        "here".to_owned()
    } else {
        format!("found {}", problem.found)
    }
}

fn help(problem: &Problem) -> String {
    let mut lines = Vec::new();
    if !problem.expected.is_empty() {
        lines.push(format!("expected {}", problem.expected));
    }
    if let Some(suggestion) = &problem.suggestion {
        lines.push(format!("did you mean `{suggestion}`?"));
    }
    for related in problem.related.iter().filter(|r| r.file != problem.file) {
        let super::Related { label, file, line, column, .. } = related;
        lines.push(format!("{label}: {file}:{line}:{column}"));
    }
    lines.join("\n")
}

/// A problem with the part of its source that is drawn.
#[derive(Debug)]
struct Drawn {
    message: String,
    help: String,
    severity: Severity,
    source: NamedSource<String>,
    labels: Vec<LabeledSpan>,
}

impl Drawn {
    fn new(problem: &Problem) -> Self {
        let source = &problem.source;
        let related = problem.related.iter().filter(|r| r.file == problem.file);
        let mut places: Vec<(usize, Range<usize>, String)> =
            related.map(|r| (r.line, r.span.clone(), r.label.clone())).collect();
        places.insert(0, (problem.line, problem.span.clone(), label(problem)));
        let mut wanted: Vec<usize> = places
            .iter()
            .flat_map(|(line, ..)| [line.saturating_sub(1).max(1), *line, line + 1])
            .collect();
        let last = source.count().max(problem.line);
        wanted.retain(|line| *line <= last);
        wanted.sort_unstable();
        wanted.dedup();
        // Lines that are not drawn are left empty, so that the numbers stay right.
        let mut text = String::new();
        let mut labels = Vec::new();
        let mut help = help(problem);
        let mut at = 1;
        for line in wanted {
            let range = source.line(line);
            while at < line {
                text.push('\n');
                at += 1;
            }
            let first = places.iter().find(|(l, ..)| *l == line);
            let cut = cut(source, range.clone(), first.map(|(_, span, _)| span.start));
            let start = text.len();
            if cut.start > range.start && line == problem.line {
                help.push_str(&format!("\nthe line is long: this is column {}", problem.column));
            }
            text.extend(source.text[cut.clone()].chars().map(printable));
            for (i, (_, span, label)) in places.iter().enumerate().filter(|(_, (l, ..))| *l == line)
            {
                let from = span.start.clamp(cut.start, cut.end) - cut.start;
                let to = span.end.clamp(cut.start, cut.end) - cut.start;
                let span = (start + from, to.max(from) - from);
                labels.push(if i == 0 {
                    LabeledSpan::new_primary_with_span(Some(label.clone()), span)
                } else {
                    LabeledSpan::new_with_span(Some(label.clone()), span)
                });
            }
        }
        Self {
            message: problem.message.clone(),
            help: help.trim_start().to_owned(),
            severity: problem.severity,
            source: NamedSource::new(&problem.file, text),
            labels,
        }
    }
}

/// The part of a line to draw.
fn cut(source: &Source, line: Range<usize>, keep: Option<usize>) -> Range<usize> {
    if line.len() <= MAX_LINE {
        return line;
    }
    let keep = keep.unwrap_or(line.start).clamp(line.start, line.end);
    let from = keep.saturating_sub(MAX_LINE / 2).max(line.start);
    let boundary = |mut i: usize| {
        while !source.text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    boundary(from)..boundary((from + MAX_LINE).min(line.end))
}

/// A character of the same length that a terminal does not act upon.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() && c.len_utf8() == 1 => '?',
        c if c.is_control() => '¿',
        // Characters that reorder what follows them.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => '\u{fffd}',
        c => c,
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Drawn {}

impl Diagnostic for Drawn {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }
}
