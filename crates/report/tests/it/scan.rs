//! A scan and a study as pages.

use damper_report::result::scan::{
    Coverage, Finding, FoundAttempts, FoundDelay, FoundPolicy, Frame, Scan,
};
use damper_report::scan::{html, study};

use crate::chromium::{Browser, DESK, PHONE};

/// A scan with everything in it; its names try to be markup.
pub fn hostile() -> Scan {
    let path = "a b/<script>alert(1)</script>\u{202e}'\"|`.py";
    let finding = |rule: &str, severity: &str, line: u32| Finding {
        rule: rule.into(),
        severity: severity.into(),
        path: path.into(),
        line,
        end_line: line + 20,
        message: "8 attempts <b>without</b> a pause & more".into(),
        why: "it matters".into(),
        fix: "wait".into(),
        scope: "production".into(),
        fingerprint: "00000000000000ff".into(),
        frame: Some(Frame {
            first: line,
            lines: vec!["</pre><script>x()</script>".into(), "x".repeat(160)],
            more: 19,
        }),
        ..Finding::default()
    };
    let policy = |fingerprint: &str, total: Option<u32>| FoundPolicy {
        path: path.into(),
        line: 3,
        end_line: 23,
        language: "python".into(),
        by: "library".into(),
        name: "<i>tenacity</i>".into(),
        kind: "retry".into(),
        attempts: FoundAttempts {
            total,
            kind: if total.is_some() { "count" } else { "dynamic" }.into(),
            expression: total.is_none().then(|| "n `|` <b>".into()),
            ..FoundAttempts::default()
        },
        delay: FoundDelay { kind: "none".into(), jitter: "none".into(), ..FoundDelay::default() },
        scope: "production".into(),
        fingerprint: fingerprint.into(),
        ..FoundPolicy::default()
    };
    Scan {
        version: "0.1.0".into(),
        roots: vec![".".into()],
        scopes: vec!["production".into()],
        policies: vec![policy("1", Some(8)), policy("2", None)],
        findings: vec![
            finding("no-backoff", "warning", 3),
            finding("no-backoff", "warning", 30),
            finding("unbounded-retry", "error", 3),
            Finding { silenced: Some("why not".into()), ..finding("catch-all", "warning", 9) },
            Finding { known: true, ..finding("budget-absent", "note", 9) },
        ],
        coverage: Coverage {
            files: 3,
            lines: 90,
            skipped: [("vendored".to_owned(), 4)].into(),
            ..Coverage::default()
        },
        notes: vec!["a.py: larger than <b>2</b> bytes".into()],
        ..Scan::default()
    }
}

fn pages() -> [(&'static str, String); 3] {
    let scan = hostile();
    let tables = study::study("0.1.0", &[("<u>one</u>".to_owned(), &scan)]);
    let empty = Scan { scopes: vec!["production".into()], ..Scan::default() };
    let none = study::study("0.1.0", &[("x".to_owned(), &empty)]);
    [
        ("scan", html::page(&scan, &tables)),
        ("study", html::study_page(&tables)),
        ("clean", html::page(&empty, &none)),
    ]
}

#[test]
fn names_and_lines_stay_text() {
    for (name, page) in pages() {
        for word in
            ["<script>alert", "<script>x()", "<b>without", "<i>tenacity", "<u>one", "\u{202e}"]
        {
            assert!(!page.contains(word), "{name}: {word}");
        }
    }
}

#[test]
fn a_page_counts_what_counts() {
    let [(_, page), _, (_, clean)] = pages();
    for words in
        ["3 findings in production code.", "silenced", "known (baseline)", "left out: vendored"]
    {
        assert!(page.contains(words), "{words}");
    }
    assert!(clean.contains("Nothing to find fault with in production code."), "{clean}");
}

#[test]
fn scans_work_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    for (name, page) in pages() {
        for width in [PHONE, DESK] {
            let seen = browser.open(&page, width);
            seen.assert_fine(name);
            assert_eq!(seen.probe("overlaps"), "", "{name} at {width}: labels cover each other");
            assert_eq!(seen.probe("clipped"), "", "{name} at {width}: labels leave their figure");
            assert_eq!(seen.probe("scripts"), "2", "{name}: one script of ours and the probe");
        }
    }
}
