//! A scan as Markdown: for a comment under a change, or a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::result::scan::{FoundPolicy, Scan};

/// Findings in a table; the rest is counted.
const ROWS: usize = 50;

/// The findings and the policies.
#[must_use]
pub fn page(scan: &Scan) -> String {
    let mut out = String::new();
    let findings: Vec<_> = scan.findings.iter().filter(|finding| finding.counts()).collect();
    let _ = writeln!(
        out,
        "## Retry policies: {} in {} files, {} findings\n",
        scan.policies.len(),
        scan.coverage.files,
        findings.len()
    );
    if !findings.is_empty() {
        out.push_str("| | rule | where | what | fix |\n|---|---|---|---|---|\n");
        for finding in findings.iter().take(ROWS) {
            let _ = writeln!(
                out,
                "| {} | {} | `{}:{}` | {} | {} |",
                finding.severity,
                finding.rule,
                finding.path,
                finding.line,
                cell(&finding.message),
                cell(&finding.fix)
            );
        }
        if findings.len() > ROWS {
            let _ = writeln!(out, "\n… and {} more.", findings.len() - ROWS);
        }
        out.push('\n');
    }
    if !scan.policies.is_empty() {
        out.push_str("| where | by | attempts | delay | jitter |\n|---|---|---|---|---|\n");
        for policy in scan.policies.iter().take(ROWS) {
            let _ = writeln!(
                out,
                "| `{}:{}` | {} {} | {} | {} | {} |",
                policy.path,
                policy.line,
                policy.by,
                cell(&policy.name),
                cell(&attempts(policy)),
                policy.delay.kind,
                policy.delay.jitter
            );
        }
        if scan.policies.len() > ROWS {
            let _ = writeln!(out, "\n… and {} more.", scan.policies.len() - ROWS);
        }
        out.push('\n');
    }
    let rules = findings.iter().fold(BTreeMap::<_, u32>::new(), |mut by, finding| {
        *by.entry(finding.rule.as_str()).or_default() += 1;
        by
    });
    for (rule, count) in rules {
        let _ = writeln!(out, "- {rule}: {count}");
    }
    out
}

/// Attempts in a cell.
#[must_use]
pub fn attempts(policy: &FoundPolicy) -> String {
    match (policy.attempts.total, policy.attempts.expression.as_deref(), policy.attempts.usual) {
        (Some(total), ..) => total.to_string(),
        (None, Some(expression), Some(usual)) => format!("{usual} unless `{expression}`"),
        (None, Some(expression), None) => format!("`{expression}`"),
        _ => policy.attempts.kind.clone(),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
