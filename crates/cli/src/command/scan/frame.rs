//! The lines of a finding, read again when they are shown: a scan keeps no text.

use std::collections::BTreeMap;
use std::path::Path;

use damper_report::result::scan::{Frame, Scan};
use damper_scan::walk::{Limits, read};

/// Lines that are shown of a finding, with one before it and one after it.
const LINES: u32 = 8;
/// Characters that are shown of a line.
const WIDTH: usize = 160;
/// Findings with lines; what follows is in files that one would not read on a page anyway.
const FRAMES: usize = 5000;

/// Puts the lines to the findings that count.
pub(crate) fn add(scan: &mut Scan, limits: &Limits) {
    let mut files = BTreeMap::<String, Option<Vec<String>>>::new();
    let counting = scan.findings.iter_mut().filter(|finding| finding.counts());
    for finding in counting.take(FRAMES) {
        // By path they stand together: no more than one file is kept.
        if !files.contains_key(&finding.path) {
            files.clear();
            let text = read(Path::new(&finding.path), limits).ok();
            let lines = text.map(|text| text.lines().map(str::to_owned).collect());
            files.insert(finding.path.clone(), lines);
        }
        let lines = files.get(&finding.path).and_then(Option::as_deref);
        finding.frame = lines.and_then(|lines| frame(lines, finding.line, finding.end_line));
    }
}

fn frame(lines: &[String], line: u32, end_line: u32) -> Option<Frame> {
    let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    if line == 0 || line > count {
        return None;
    }
    let end_line = end_line.clamp(line, count);
    let first = (line - 1).max(1);
    let (last, more) = if end_line - first + 2 <= LINES {
        ((end_line + 1).min(count), 0)
    } else {
        let last = first + LINES - 1;
        (last, end_line - last)
    };
    let shown = &lines[first as usize - 1..last as usize];
    Some(Frame { first, lines: shown.iter().map(|line| clean(line)).collect(), more })
}

/// A line that a terminal or a page shows as it is and nothing else: no tabs, no control
/// characters, no marks that turn the direction of the text around.
fn clean(line: &str) -> String {
    let mut out = String::new();
    for (at, c) in line.trim_end().chars().enumerate() {
        if at == WIDTH {
            out.push('…');
            break;
        }
        match c {
            '\t' => out.push_str("    "),
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => out.push('\u{FFFD}'),
            c if c.is_control() => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_before_and_a_line_after_and_no_more_than_fit() {
        let lines: Vec<_> = (1..=20).map(|n| n.to_string()).collect();
        let shown = |line, end| {
            let frame = frame(&lines, line, end).unwrap();
            (frame.first, frame.lines.len(), frame.more)
        };
        assert_eq!(shown(1, 1), (1, 2, 0));
        assert_eq!(shown(5, 6), (4, 4, 0));
        assert_eq!(shown(5, 10), (4, 8, 0));
        // 4 to 11 are shown; of 5 to 15 there remain 12 to 15.
        assert_eq!(shown(5, 15), (4, 8, 4));
        assert_eq!(shown(20, 99), (19, 2, 0));
        assert_eq!(frame(&lines, 21, 21), None);
    }

    #[test]
    fn a_line_cannot_paint_the_terminal() {
        assert_eq!(clean("\ta\u{1b}[31m\u{202e}b  "), "    a\u{FFFD}[31m\u{FFFD}b");
        assert_eq!(clean(&"x".repeat(200)).chars().count(), WIDTH + 1);
    }
}
