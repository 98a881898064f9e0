//! Texts that problems point into: the file itself, each `--set`, each trace.

use std::ops::Range;

/// A named text with its line starts.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    lines: Vec<usize>,
}

impl Source {
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let starts = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let lines = std::iter::once(0).chain(starts.map(|(i, _)| i + 1)).collect();
        Self { name: name.into(), text, lines }
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    pub(crate) fn position(&self, byte: usize) -> (usize, usize) {
        let byte = floor_boundary(&self.text, byte);
        let line = self.lines.partition_point(|start| *start <= byte).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        (line, self.text[start..byte].chars().count() + 1)
    }

    /// The bytes of a line (from 1) without its end.
    pub(crate) fn line(&self, line: usize) -> Range<usize> {
        let start =
            line.checked_sub(1).and_then(|i| self.lines.get(i).copied()).unwrap_or(self.text.len());
        let end = self.lines.get(line).map_or(self.text.len(), |e| e - 1);
        let end = end.max(start);
        let line = self.text[start..end].trim_end_matches('\r');
        start..start + line.len()
    }

    /// How many lines there are; an end of line at the end of the text begins no further one.
    pub(crate) fn count(&self) -> usize {
        let open = self.lines.last().is_some_and(|s| *s == self.text.len());
        (self.lines.len() - usize::from(open)).max(1)
    }

    /// A range cut to its first line and to character boundaries; at least one character long
    /// where the line has one.
    pub(crate) fn clip(&self, range: Range<usize>) -> Range<usize> {
        let start = floor_boundary(&self.text, range.start);
        let (line, _) = self.position(start);
        let line = self.line(line);
        let start = start.min(line.end);
        let mut end = floor_boundary(&self.text, range.end).min(line.end);
        if end <= start {
            let next = self.text[start..line.end].chars().next();
            end = start + next.map_or(0, char::len_utf8);
        }
        if end == start {
            // At the end of a line: its last character.
            let last = self.text[line.start..start].chars().next_back();
            return start - last.map_or(0, char::len_utf8)..end;
        }
        start..end
    }
}

fn floor_boundary(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

/// A range of bytes in one of a file's sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) source: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn new(source: u32, range: Range<usize>) -> Self {
        Self {
            source,
            start: u32::try_from(range.start).unwrap_or(u32::MAX),
            end: u32::try_from(range.end).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_survive_any_byte() {
        let s = Source::new("x", "aä\r\nb\n");
        assert_eq!(s.position(0), (1, 1));
        assert_eq!(s.position(2), (1, 2), "inside ä");
        assert_eq!(s.position(5), (2, 1));
        assert_eq!(s.position(999), (3, 1));
        assert_eq!(s.line(1), 0..3);
        assert_eq!(s.clip(0..6), 0..3);
        assert_eq!(s.clip(5..5), 5..6);
        assert_eq!(s.clip(99..99), 7..7);
        assert_eq!(s.clip(3..3), 1..3, "the end of a line");
    }
}
