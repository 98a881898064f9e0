//! Annotations as GitHub's workflow commands: one line each, shown beside the change.

use crate::result::scan::{SEVERITIES, Scan, rank};

/// GitHub shows so many of each kind in a step.
pub const SHOWN: usize = 10;

/// A line for each finding, the worst first; before them the count if GitHub will not show all.
#[must_use]
pub fn annotations(scan: &Scan) -> String {
    let mut findings: Vec<_> = scan.findings.iter().filter(|f| f.counts()).collect();
    findings.sort_by_key(|finding| rank(&finding.severity));
    let hidden: usize = SEVERITIES
        .iter()
        .map(|severity| findings.iter().filter(|finding| finding.severity == *severity).count())
        .map(|count| count.saturating_sub(SHOWN))
        .sum();
    let said = (hidden > 0).then(|| {
        format!(
            "damper: {} findings; {hidden} of them are not shown beside the change, as it takes \
             {SHOWN} of a kind\n",
            findings.len()
        )
    });
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
    let unread = scan.unread.sentence().map(|text| format!("damper: {text}\n"));
    said.into_iter().chain(lines).chain(unread).collect()
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

    #[test]
    fn what_is_not_shown_is_counted() {
        let finding = Finding { severity: "error".to_owned(), ..Finding::default() };
        let scan = Scan { findings: vec![finding; SHOWN + 2], ..Scan::default() };
        let first = annotations(&scan).lines().next().unwrap_or_default().to_owned();
        assert!(first.starts_with("damper: 12 findings; 2 of them are not shown"), "{first}");
    }
}
