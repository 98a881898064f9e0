//! `damper scan`, for people.

mod policies;
mod summary;

pub(crate) use summary::nothing;

use std::fmt::Write as _;

use anstyle::Style;
use damper_report::result::scan::{Finding, Frame, SEVERITIES, Scan, rank};

use super::{BOLD, DIM, colour, count, paint};

/// Findings by file, the worst first, the policies if they are asked for, and the summary.
pub(crate) fn scan(scan: &Scan, with_policies: bool) -> String {
    let mut out = String::new();
    for (path, findings) in files(scan) {
        let _ = writeln!(out, "{}: {}", paint(BOLD, &plain(path)), severities(&findings));
        for here in places(findings) {
            place(&mut out, &here);
        }
        out.push('\n');
    }
    if with_policies {
        policies::table(&mut out, &scan.policies);
    }
    summary::summary(&mut out, scan);
    out
}

/// Files with what counts in them: those with the worst finding first, then those with the most.
fn files(scan: &Scan) -> Vec<(&str, Vec<&Finding>)> {
    let mut files = Vec::<(&str, Vec<&Finding>)>::new();
    for finding in scan.findings.iter().filter(|finding| finding.counts()) {
        match files.last_mut() {
            Some((path, findings)) if *path == finding.path => findings.push(finding),
            _ => files.push((&finding.path, vec![finding])),
        }
    }
    let key = |findings: &[&Finding]| {
        SEVERITIES.map(|severity| {
            let of = findings.iter().filter(|finding| finding.severity == severity);
            std::cmp::Reverse(of.count())
        })
    };
    files.sort_by_key(|(path, findings)| (key(findings), *path));
    files
}

/// The findings of one file by place, the worst first.
fn places(mut findings: Vec<&Finding>) -> Vec<Vec<&Finding>> {
    findings.sort_by_key(|finding| (rank(&finding.severity), finding.line, finding.end_line));
    let mut places = Vec::<Vec<&Finding>>::new();
    for finding in findings {
        let same = |place: &&mut Vec<&Finding>| {
            place.first().is_some_and(|first| {
                (first.line, first.end_line) == (finding.line, finding.end_line)
            })
        };
        match places.iter_mut().find(same) {
            Some(place) => place.push(finding),
            None => places.push(vec![finding]),
        }
    }
    places
}

fn place(out: &mut String, findings: &[&Finding]) {
    let Some(first) = findings.first() else { return };
    let at = format!("{}:{}", plain(&first.path), first.line);
    let _ = writeln!(out, "\n  {}", paint(DIM, &at));
    if let Some(lines) = findings.iter().find_map(|finding| finding.frame.as_ref()) {
        frame(out, lines, first.line, first.end_line);
    }
    for finding in findings {
        let severity = paint(style(&finding.severity), &finding.severity);
        let rule = paint(DIM, &format!("[{}]", finding.rule));
        let _ = writeln!(out, "  {severity}: {} {rule}", plain(&finding.message));
        for (name, text) in [("why", &finding.why), ("fix", &finding.fix)] {
            if !text.is_empty() {
                let _ = writeln!(out, "    {name}: {}", plain(text));
            }
        }
    }
}

/// The lines with their numbers; those of the finding are marked.
fn frame(out: &mut String, frame: &Frame, line: u32, end_line: u32) {
    let last = frame.first as usize + frame.lines.len();
    let width = last.to_string().len();
    for (number, text) in (frame.first..).zip(&frame.lines) {
        let hit = (line..=end_line).contains(&number);
        let sign = if hit { paint(colour("overloaded"), ">") } else { " ".to_owned() };
        let number = paint(DIM, &format!("{number:width$} |"));
        let text = if text.is_empty() { String::new() } else { format!(" {text}") };
        let _ = writeln!(out, "  {sign} {number}{text}");
    }
    if frame.more > 0 {
        let more = format!("… {}", count(frame.more as usize, "more line"));
        let _ = writeln!(out, "    {}", paint(DIM, &more));
    }
}

/// `2 errors, 1 note`.
fn severities(findings: &[&Finding]) -> String {
    let parts = SEVERITIES.iter().filter_map(|severity| {
        let of = findings.iter().filter(|finding| finding.severity == *severity).count();
        (of > 0).then(|| paint(style(severity), &count(of, severity)))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn style(severity: &str) -> Style {
    match severity {
        "error" => colour("overloaded"),
        "warning" => colour("vulnerable"),
        _ => BOLD,
    }
}

/// A name from a file system or a file: what would steer a terminal shows itself.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => '\u{FFFD}',
            c if c.is_control() => '\u{FFFD}',
            c => c,
        })
        .collect()
}
