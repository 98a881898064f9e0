//! A scan as Markdown: for a comment under a change, or a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::format;
use crate::result::scan::{FoundPolicy, Scan, rank};
use crate::result::study::{Bucket, Share, Study};

/// Rows of a table; the rest is counted.
const ROWS: usize = 50;

/// The findings and the policies.
#[must_use]
pub fn page(scan: &Scan) -> String {
    let mut out = String::new();
    let mut findings: Vec<_> = scan.findings.iter().filter(|finding| finding.counts()).collect();
    findings.sort_by_key(|finding| rank(&finding.severity));
    let _ = writeln!(
        out,
        "## Retry policies: {} in {} files, {} findings\n",
        scan.policies.len(),
        scan.coverage.files,
        findings.len()
    );
    if scan.partial {
        out.push_str("**Interrupted: this is what had been found until then.**\n\n");
    }
    if !findings.is_empty() {
        out.push_str("| | rule | where | what | fix |\n|---|---|---|---|---|\n");
        for finding in findings.iter().take(ROWS) {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                finding.severity,
                finding.rule,
                code(&format!("{}:{}", finding.path, finding.line)),
                cell(&finding.message),
                cell(&finding.fix)
            );
        }
        more(&mut out, findings.len());
    }
    if !scan.policies.is_empty() {
        out.push_str("| where | by | attempts | delay | jitter |\n|---|---|---|---|---|\n");
        for policy in scan.policies.iter().take(ROWS) {
            let _ = writeln!(
                out,
                "| {} | {} {} | {} | {} | {} |",
                code(&format!("{}:{}", policy.path, policy.line)),
                policy.by,
                cell(&policy.name),
                attempts_cell(policy),
                policy.delay.kind,
                policy.delay.jitter
            );
        }
        more(&mut out, scan.policies.len());
    }
    let rules = findings.iter().fold(BTreeMap::<_, u32>::new(), |mut by, finding| {
        *by.entry(finding.rule.as_str()).or_default() += 1;
        by
    });
    for (rule, count) in &rules {
        let _ = writeln!(out, "- {rule}: {count}");
    }
    if !rules.is_empty() {
        out.push('\n');
    }
    if !scan.coverage.skipped.is_empty() {
        let parts = scan.coverage.skipped.iter().map(|(why, count)| format!("{count} {why}"));
        let _ = writeln!(out, "Left out: {}.", parts.collect::<Vec<_>>().join(", "));
    }
    if let Some(sentence) = scan.unread.sentence() {
        let _ = writeln!(out, "\nConfiguration: {sentence}.\n");
    }
    for place in scan.unread.telling().take(ROWS) {
        let _ = writeln!(out, "- {}", cell(&place.sentence()));
    }
    out
}

/// The tables of the study.
#[must_use]
pub fn study(study: &Study) -> String {
    let mut out = format!(
        "## Retry policies of {} project{}\n\n{} policies in {} of them, {} duplicates left out.\n\n",
        study.projects.len(),
        if study.projects.len() == 1 { "" } else { "s" },
        study.policies,
        study.projects_with_policies,
        study.duplicates
    );
    if study.partial {
        out.push_str("**Interrupted: this is what had been found until then.**\n\n");
    }
    let policies = [&study.over_five_retries, &study.immediate, &study.jittered];
    shares(&mut out, "projects with", study.anti_patterns.iter());
    shares(&mut out, "policies with", policies.into_iter());
    let buckets = [
        ("attempts", &study.attempts),
        ("delay", &study.delays),
        ("by", &study.by),
        ("language", &study.languages),
    ];
    for (name, buckets) in buckets {
        counts(&mut out, name, buckets);
    }
    out.push_str("| project | files | lines | policies | rules |\n|---|---:|---:|---:|---|\n");
    for project in study.projects.iter().take(ROWS) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            cell(&project.name),
            project.files,
            project.lines,
            project.policies,
            project.rules.join(", ")
        );
    }
    more(&mut out, study.projects.len());
    out
}

fn shares<'s>(out: &mut String, of: &str, shares: impl Iterator<Item = &'s Share>) {
    let _ = writeln!(out, "| {of} | | of | share | published |\n|---|---:|---:|---:|---:|");
    for share in shares {
        let percent = |share: Option<f64>| share.map_or("–".to_owned(), format::percent);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            share.name,
            share.count,
            share.of,
            percent(share.share),
            percent(share.published)
        );
    }
    out.push('\n');
}

fn counts(out: &mut String, name: &str, buckets: &[Bucket]) {
    let _ = writeln!(out, "| {name} | policies |\n|---|---:|");
    for bucket in buckets {
        let _ = writeln!(out, "| {} | {} |", cell(&bucket.name), bucket.count);
    }
    out.push('\n');
}

fn more(out: &mut String, rows: usize) {
    if rows > ROWS {
        let _ = writeln!(out, "\n… and {} more.", rows - ROWS);
    }
    out.push('\n');
}

/// Attempts in words.
#[must_use]
pub fn attempts(policy: &FoundPolicy) -> String {
    match (policy.attempts.total, policy.attempts.expression.as_deref(), policy.attempts.usual) {
        (Some(total), ..) => total.to_string(),
        (None, Some(expression), Some(usual)) => format!("{usual} unless {expression}"),
        (None, Some(expression), None) => expression.to_owned(),
        _ => policy.attempts.kind.clone(),
    }
}

fn attempts_cell(policy: &FoundPolicy) -> String {
    match (policy.attempts.total, policy.attempts.expression.as_deref(), policy.attempts.usual) {
        (None, Some(expression), Some(usual)) => format!("{usual} unless {}", code(expression)),
        (None, Some(expression), None) => code(expression),
        _ => attempts(policy),
    }
}

/// Words in a cell: what would end it or be read as markup is escaped.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Code in a cell. Its fence is longer than any run of backticks in it.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.replace('|', "\\|");
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    if fence.len() == 1 { format!("`{text}`") } else { format!("{fence} {text} {fence}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_cells() {
        assert_eq!(cell("a|b*c\nd"), "a\\|b\\*c d");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a`b"), "`` a`b ``");
    }
}
