//! What was found and what was not read, in a few lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use damper_report::result::scan::{Finding, Scan, rank};

use super::super::{BOLD, DIM, colour, count, paint, thousands};
use super::{plain, severities, style};

/// Notes that are printed; the rest is counted.
const NOTES: usize = 10;

/// What is said of a scan that has read no file: it is not clean.
const NOTHING: &str = "nothing to scan: no file of a known language was read";

/// The same in one line, for formats that have no place for it.
pub(crate) fn nothing(scan: &Scan) -> String {
    left_out(scan).map_or_else(|| NOTHING.to_owned(), |why| format!("{NOTHING}; {why}"))
}

pub(super) fn summary(out: &mut String, scan: &Scan) {
    let counting: Vec<&Finding> = scan.findings.iter().filter(|one| one.counts()).collect();
    let scopes = scan.scopes.join(", ");
    let files = scan.coverage.files;
    if files == 0 && !scan.partial {
        let _ = writeln!(out, "{}", paint(BOLD, NOTHING));
    } else if counting.is_empty() {
        let word = match (scan.partial, scan.unread.broken_files) {
            (true, _) => "no findings so far",
            (false, 0) => "clean",
            _ => "nothing found in what could be read",
        };
        let _ = writeln!(out, "{}: no findings in {scopes} code", paint(colour("stable"), word));
    } else {
        let mut paths: Vec<_> = counting.iter().map(|finding| &finding.path).collect();
        paths.dedup();
        let _ = writeln!(
            out,
            "{} in {} ({scopes} code): {}",
            paint(BOLD, &count(counting.len(), "finding")),
            count(paths.len(), "file"),
            severities(&counting)
        );
        by_rule(out, &counting);
    }
    if files > 0 || scan.partial {
        let _ = writeln!(
            out,
            "{} in {}, {}{}",
            policies(scan.policies.len()),
            count(usize::try_from(files).unwrap_or(usize::MAX), "file"),
            count(usize::try_from(scan.coverage.lines).unwrap_or(usize::MAX), "line"),
            languages(scan)
        );
    }
    for line in [unlisted(scan), marked(scan), left_out(scan)].into_iter().flatten() {
        let _ = writeln!(out, "{}", paint(DIM, &line));
    }
    if let Some(sentence) = scan.unread.sentence() {
        let _ = writeln!(out, "{}", paint(DIM, &sentence));
    }
    for place in scan.unread.telling().take(NOTES) {
        let _ = writeln!(out, "{}", paint(DIM, &format!("  {}", plain(&place.sentence()))));
    }
    let more = scan.unread.telling().count().saturating_sub(NOTES);
    if more > 0 {
        let _ = writeln!(out, "{}", paint(DIM, &format!("  {more} more, see --json")));
    }
    for note in scan.notes.iter().take(NOTES) {
        let _ = writeln!(out, "{}", paint(DIM, &format!("note: {}", plain(note))));
    }
    if scan.notes.len() > NOTES {
        let more = format!("note: {} more, see --json", scan.notes.len() - NOTES);
        let _ = writeln!(out, "{}", paint(DIM, &more));
    }
    if scan.partial {
        let said = "interrupted: this is what had been found until then";
        let _ = writeln!(out, "{}", paint(colour("vulnerable"), said));
    }
}

fn by_rule(out: &mut String, counting: &[&Finding]) {
    let mut rules = BTreeMap::<(usize, &str), (usize, &str)>::new();
    for finding in counting {
        let entry = rules.entry((rank(&finding.severity), &finding.rule)).or_default();
        *entry = (entry.0 + 1, &finding.severity);
    }
    let width = rules.keys().map(|(_, rule)| rule.len()).max().unwrap_or(0);
    for ((_, rule), (number, severity)) in rules {
        let pad = " ".repeat(7_usize.saturating_sub(severity.len()));
        let severity = paint(style(severity), severity);
        let _ = writeln!(out, "  {severity}{pad}  {rule:width$}  {:>5}", thousands(number as u64));
    }
}

fn policies(number: usize) -> String {
    let word = if number == 1 { "policy" } else { "policies" };
    format!("{} {word}", thousands(number as u64))
}

fn languages(scan: &Scan) -> String {
    let parts: Vec<_> = scan
        .coverage
        .languages
        .iter()
        .map(|(name, of)| format!("{name} {}", thousands(of.files)))
        .collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// What was found and is not listed, with the option that lists it.
fn unlisted(scan: &Scan) -> Option<String> {
    let of = scan.unlisted;
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    if of.policies_elsewhere + of.findings_elsewhere > 0 {
        parts.push(format!(
            "{} and {} elsewhere (--scope all)",
            policies(number(of.policies_elsewhere)),
            count(number(of.findings_elsewhere), "finding")
        ));
    }
    if of.implicit_policies > 0 {
        let policies = policies(number(of.implicit_policies));
        parts.push(format!("{policies} that nobody wrote (--implicit)"));
    }
    (!parts.is_empty()).then(|| format!("not listed: {}", parts.join(", ")))
}

fn marked(scan: &Scan) -> Option<String> {
    let silenced = scan.findings.iter().filter(|finding| finding.silenced.is_some()).count();
    let known = scan.findings.iter().filter(|finding| finding.known).count();
    let mut parts = Vec::new();
    if silenced > 0 {
        parts.push(format!("{} silenced", thousands(silenced as u64)));
    }
    if known > 0 {
        parts.push(format!("{} known from the baseline", thousands(known as u64)));
    }
    if scan.stale > 0 {
        parts.push(format!("{} of the baseline gone", thousands(scan.stale)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn left_out(scan: &Scan) -> Option<String> {
    let all: u64 = scan.coverage.skipped.values().sum();
    let mut parts = Vec::new();
    if all > 0 {
        let why = scan.coverage.skipped.iter().map(|(why, n)| format!("{} {why}", thousands(*n)));
        parts.push(format!(
            "left out: {} ({})",
            count(usize::try_from(all).unwrap_or(usize::MAX), "file"),
            why.collect::<Vec<_>>().join(", ")
        ));
    }
    if scan.coverage.broken > 0 {
        let files = count(usize::try_from(scan.coverage.broken).unwrap_or(usize::MAX), "file");
        parts.push(format!("{files} with syntax errors, read as far as they can be"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
