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
fn a_headroom_report_has_what_it_costs() {
    let args = ["headroom", "--no-remedies", "--cost", "0.05 EUR/h"];
    let page = report(&[&args, QUICK].concat());
    for words in ["What it costs to run stable", "Cost of capacity per hour", "EUR/h for"] {
        assert!(page.contains(words), "{words}");
    }
    stands_alone(&page);
    assert!(!headroom().contains("id=\"cost\""));
}

#[test]
fn a_report_says_what_it_leaves_out() {
    let page = report(&["solve", "examples/mechanisms/health.yaml"]);
    for words in ["In the file, and not in this answer", "the health checks of `web`"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_simulate_report_has_the_verdict_and_stands_alone() {
    let page = simulate();
    for words in ["METASTABLE", "retry-storm", "outage of db for 2s"] {
        assert!(page.contains(words), "{words}");
    }
    stands_alone(&page);
}

fn solution() -> String {
    let again = "policies.default.retry.on=[rejected, downstream]";
    let few = "experiment.replications=2";
    report(&["solve", HOTEL, "--set", again, "--set", few, "--restarts", "5", "--against-sim"])
}

fn curves() -> String {
    let vary = "policies.default.retry.limit={high: 5, low: 1},5";
    report(&["solve", HOTEL, "--sweep", "load.low=50..250:50", "--vary", vary])
}

const HOTEL: &str = "examples/hotel-reservation.yaml";

#[test]
fn a_solution_report_has_both_readings_and_stands_alone() {
    let page = solution();
    for words in ["hotel-reservation", "rejects as a routing chain", "88.6", "73.7", "simulated"] {
        assert!(page.contains(words), "{words}");
    }
    stands_alone(&page);
}

#[test]
fn a_sweep_report_has_curves_and_stands_alone() {
    let page = curves();
    for words in ["id=\"rejection\"", "id=\"work\"", "id=\"services\"", "load.low", "60.8"] {
        assert!(page.contains(words), "{words}");
    }
    // Nothing wastes work there, so there is no hidden capacity to draw.
    assert!(!page.contains("id=\"hidden\""));
    let swept = ["solve", "examples/retry-storm.yaml", "--sweep", "load=100..300:100"];
    assert!(report(&swept).contains("id=\"hidden\""));
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
    for (name, page) in [
        ("headroom", headroom()),
        ("simulate", simulate()),
        ("heals", heals),
        ("solution", solution()),
        ("curves", curves()),
    ] {
        for width in [PHONE, DESK] {
            let seen = browser.open(&page, width);
            seen.assert_fine(name);
            assert_eq!(seen.probe("overlaps"), "", "{name} at {width}: labels cover each other");
            assert_eq!(seen.probe("clipped"), "", "{name} at {width}: labels leave their figure");
        }
    }
}
