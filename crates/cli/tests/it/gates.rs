//! Exit codes: 0 fine, 1 a gate failed, 2 no answer.

use crate::program::{QUICK, damper};

#[track_caller]
fn exits(args: &[&str], code: i32) {
    let ran = damper(args);
    assert_eq!(ran.code, Some(code), "{args:?}\n{}{}", ran.out, ran.err);
}

fn headroom<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["headroom"], QUICK, more, &["--no-remedies"]].concat()
}

#[test]
fn a_vulnerable_system_fails_the_gate_that_asks() {
    exits(&headroom(&[]), 0);
    exits(&headroom(&["--fail-on", "overloaded"]), 0);
    exits(&headroom(&["--fail-on", "vulnerable"]), 1);
    exits(&headroom(&["--fail-on", "vulnerable", "--json"]), 1);
}

#[test]
fn a_stable_system_passes() {
    exits(&headroom(&["--set", "load=10/s", "--fail-on", "vulnerable"]), 0);
    exits(&headroom(&["--set", "services.db.queue=15", "--fail-on", "vulnerable"]), 0);
}

#[test]
fn an_overloaded_system_fails_both() {
    exits(&headroom(&["--set", "load=40/s"]), 0);
    exits(&headroom(&["--set", "load=40/s", "--fail-on", "vulnerable"]), 1);
    exits(&headroom(&["--set", "load=40/s", "--fail-on", "overloaded"]), 1);
}

#[test]
fn warnings_are_errors_when_strict() {
    let storm = "examples/retry-storm.yaml";
    let bounded = "services.db.queue=150";
    exits(&["check", storm], 0);
    exits(&["check", storm, "--strict"], 1);
    exits(&["check", storm, "--strict", "--set", bounded], 0);
    exits(&["check", "crates/cli/tests/it/systems/broken.yaml"], 2);
    exits(&["check", "crates/cli/tests/it/systems/broken.yaml", "--strict"], 2);
}

#[test]
fn without_an_answer_it_is_neither_passed_nor_failed() {
    let storm = "examples/retry-storm.yaml";
    for command in ["headroom", "simulate", "check", "plan"] {
        exits(&[command], 2);
        exits(&[command, "no-such-file.yaml"], 2);
        exits(&[command, storm, "--set", "services.db.workers=many"], 2);
        exits(&[command, storm, "--no-such-option"], 2);
    }
    exits(&headroom(&["--set", "experiment.trigger=none", "--fail-on", "vulnerable"]), 2);
    exits(&headroom(&["--fail-on", "sometimes"]), 2);
    exits(&["headroom", storm, "--replications", "0"], 2);
    exits(&["simulate", storm, "--html", "no-such-folder/report.html"], 2);
    exits(&[], 2);
    exits(&["--help"], 0);
    exits(&["--version"], 0);
    exits(&["schema"], 0);
}

#[test]
fn every_example_is_valid() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let names = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
    let systems: Vec<String> =
        names.map(|n| n.into_string().unwrap()).filter(|n| n.ends_with(".yaml")).collect();
    assert!(systems.len() >= 6, "{systems:?}");
    for name in systems {
        exits(&["check", &format!("examples/{name}")], 0);
    }
}
