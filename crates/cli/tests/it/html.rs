//! The report of a real run, as a file and in a real browser.

use std::path::Path;

use crate::chromium::{Browser, DESK, PHONE};
use crate::program::{QUICK, damper};

/// Runs a command with `--html` and reads what it wrote.
fn report(args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let path = file.to_str().unwrap();
    let ran = damper(&[args, &["--html", path]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains(&format!("report: {path}")), "it says where: {}", ran.err);
    assert!(!ran.out.is_empty(), "the report comes beside the text, not in its place");
    std::fs::read_to_string(&file).unwrap()
}

fn headroom() -> String {
    report(&[&["headroom"], QUICK].concat())
}

fn simulate() -> String {
    report(&[&["simulate"], QUICK].concat())
}

#[track_caller]
fn stands_alone(page: &str) {
    // The name of a namespace is not loaded.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    // Inside the page: `url(#mark)`.
    let page = page.replace("url(#", "");
    for word in ["http://", "https://", "@import", "src=", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_headroom_report_has_the_verdict_and_stands_alone() {
    let page = headroom();
    for words in ["VULNERABLE", "retry-storm", "outage of db for 2s", "only reschedules it"] {
        assert!(page.contains(words), "{words}");
    }
    stands_alone(&page);
}

#[test]
fn a_simulate_report_has_the_verdict_and_stands_alone() {
    let page = simulate();
    for words in ["METASTABLE", "retry-storm", "outage of db for 2s"] {
        assert!(page.contains(words), "{words}");
    }
    stands_alone(&page);
}

#[test]
fn what_cannot_be_written_is_said_after_the_result() {
    let ran = damper(&[&["simulate"], QUICK, &["--html", "no-such-folder/report.html"]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.out.contains("METASTABLE"), "the work is not lost: {}", ran.out);
    assert!(ran.err.contains("cannot write no-such-folder/report.html"), "{}", ran.err);
    assert!(!Path::new(env!("CARGO_MANIFEST_DIR")).join("../../no-such-folder").exists());
}

#[test]
fn real_reports_work_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    // A system that heals everywhere has no loop and no remedies to draw.
    let heals = report(
        &[&["headroom"], QUICK, &["--set", "services.db.queue=15", "--no-remedies"]].concat(),
    );
    for (name, page) in [("headroom", headroom()), ("simulate", simulate()), ("heals", heals)] {
        for width in [PHONE, DESK] {
            let seen = browser.open(&page, width);
            seen.assert_fine(name);
            assert_eq!(seen.probe("overlaps"), "", "{name} at {width}: labels cover each other");
            assert_eq!(seen.probe("clipped"), "", "{name} at {width}: labels leave their figure");
        }
    }
}
