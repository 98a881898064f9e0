//! Annotations as GitHub's workflow commands: one line each, shown beside the change.

use crate::result::scan::Scan;

/// GitHub shows so many of each kind in a step.
pub const SHOWN: usize = 10;

/// A line for each finding, the worst first.
#[must_use]
pub fn annotations(scan: &Scan) -> String {
    let mut findings: Vec<_> = scan.findings.iter().filter(|f| f.counts()).collect();
    let rank = |severity: &str| ["error", "warning", "note"].iter().position(|s| *s == severity);
    findings.sort_by_key(|finding| rank(&finding.severity));
    let lines = findings.into_iter().map(|finding| {
        let command = if finding.severity == "note" { "notice" } else { &finding.severity };
        format!(
            "::{command} file={},line={},endLine={},title={}::{}\n",
            property(&finding.path),
            finding.line,
            finding.end_line,
            property(&finding.rule),
            data(&format!("{}. To fix: {}", finding.message, finding.fix))
        )
    });
    lines.collect()
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::scan::Finding;

    #[test]
    fn the_worst_come_first_and_signs_are_escaped() {
        let finding = |severity: &str, path: &str, message: &str| Finding {
            rule: "no-backoff".to_owned(),
            severity: severity.to_owned(),
            path: path.to_owned(),
            line: 3,
            end_line: 4,
            message: message.to_owned(),
            fix: "wait".to_owned(),
            ..Finding::default()
        };
        let scan = Scan {
            findings: vec![
                finding("note", "a.py", "x"),
                finding("error", "b,c:d.py", "50 %\nmore"),
            ],
            ..Scan::default()
        };
        assert_eq!(
            annotations(&scan),
            "::error file=b%2Cc%3Ad.py,line=3,endLine=4,title=no-backoff::50 %25%0Amore. To fix: wait\n\
             ::notice file=a.py,line=3,endLine=4,title=no-backoff::x. To fix: wait\n"
        );
    }
}
