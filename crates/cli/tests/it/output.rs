//! Everything that is printed for people.
//!
//! A result depends on nothing but the file and the seed, so the numbers are held, too.

use crate::program::{QUICK, damper};

/// Holds the exit code and both outputs.
#[track_caller]
pub(crate) fn holds(name: &str, args: &[&str]) {
    let ran = damper(args);
    let shown: Vec<String> = args.iter().map(|a| quoted(a)).collect();
    let code = ran.code.map_or("none".to_owned(), |c| c.to_string());
    let mut text = format!("$ damper {}\nexit code {code}\n", shown.join(" "));
    for (name, content) in [("standard output", &ran.out), ("standard error", &ran.err)] {
        if !content.is_empty() {
            text.push_str(&format!("\n--- {name}\n{content}"));
        }
    }
    assert!(!text.contains('\u{1b}'), "colours where there is no terminal");
    // (clap and miette leave spaces at the ends of lines; what they print is theirs.)
    if !args.iter().any(|a| ["-h", "--help"].contains(a)) {
        for line in ran.out.lines() {
            assert_eq!(line, line.trim_end(), "spaces at the end of a line");
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    // Neither a new version nor a cheaper way to the same result is a change of what is said.
    settings.add_filter(r"damper \d+\.\d+\.\d+\S*", "damper VERSION");
    settings.add_filter(r"[\d,]+ events", "N events");
    settings.add_filter(r"[\d,]+ requests simulated", "N requests simulated");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn quoted(arg: &str) -> String {
    if arg.contains([' ', '"', '{', '[']) { format!("'{arg}'") } else { arg.to_owned() }
}

fn quick(name: &str, command: &str, more: &[&str]) {
    holds(name, &[&[command], QUICK, more].concat());
}

#[test]
fn help() {
    holds("help", &["--help"]);
    holds("help-short", &["-h"]);
    holds("help-version", &["--version"]);
    for command in [
        "headroom",
        "simulate",
        "solve",
        "plan",
        "price",
        "scan",
        "check",
        "controls",
        "schema",
        "rules",
        "explain",
        "learn",
        "emulate",
        "load",
        "proxy",
        "lab",
        "incidents",
    ] {
        holds(&format!("help-{command}"), &[command, "--help"]);
    }
    holds("help-no-command", &[]);
    holds("help-unknown-command", &["headrom", "examples/retry-storm.yaml"]);
}

#[test]
fn simulate() {
    quick("simulate-metastable", "simulate", &[]);
    quick("simulate-recovers", "simulate", &["--set", "load=10/s"]);
    quick("simulate-overloaded", "simulate", &["--set", "load=40/s"]);
    quick("simulate-no-trigger", "simulate", &["--set", "experiment.trigger=none"]);
    let hotel = ["simulate", "examples/hotel-reservation.yaml", "--replications", "1"];
    let short = ["--set", "experiment.watch=30s"];
    holds("simulate-two-classes", &[hotel.as_slice(), &short].concat());
}

#[test]
fn headroom() {
    quick("headroom-vulnerable", "headroom", &[]);
    quick("headroom-no-remedies", "headroom", &["--no-remedies"]);
    quick("headroom-cost", "headroom", &["--cost", "0.05 EUR/h"]);
    quick("headroom-cost-wrong", "headroom", &["--cost", "0.05"]);
    quick("headroom-gate", "headroom", &["--no-remedies", "--fail-on", "vulnerable"]);
}

#[test]
fn headroom_of_other_states() {
    quick("headroom-stable", "headroom", &["--no-remedies", "--set", "load=10/s"]);
    quick("headroom-heals-everywhere", "headroom", &["--set", "services.db.queue=15"]);
    quick("headroom-overloaded", "headroom", &["--no-remedies", "--set", "load=40/s"]);
}

#[test]
fn headroom_that_cannot_answer() {
    for (name, set) in [
        ("no-trigger", "experiment.trigger=none"),
        ("no-load", "load=0/s"),
        ("no-capacity", "services.db={}"),
        ("no-watch", "experiment.watch=0s"),
    ] {
        quick(&format!("headroom-{name}"), "headroom", &["--set", set]);
    }
}

#[test]
fn check() {
    let storm = "examples/retry-storm.yaml";
    holds("check-warnings", &["check", storm]);
    holds("check-strict", &["check", storm, "--strict"]);
    holds("check-clean", &["check", storm, "--set", "services.db.queue=150"]);
    holds("check-errors", &["check", "crates/cli/tests/it/systems/broken.yaml"]);
}

#[test]
fn files_that_cannot_be_read() {
    holds("file-missing", &["check", "no-such-file.yaml"]);
    holds("file-folder", &["headroom", "examples"]);
    holds("file-other", &["simulate", "Cargo.toml"]);
}

#[test]
fn changes_that_cannot_be_made() {
    for (name, set) in [
        ("no-value", "services.db.queue"),
        ("wrong-value", "services.db.workers=many"),
        ("negative", "services.db.queue=-1"),
        ("unknown-field", "services.db.worker=3"),
        ("unknown-trigger", "experiment.trigger=blib"),
        ("unknown-call", r#"policies."client -> bd".timeout=1s"#),
    ] {
        holds(&format!("set-{name}"), &["simulate", "examples/retry-storm.yaml", "--set", set]);
    }
}

#[test]
fn controls() {
    holds("controls-one", &["controls", "token-bucket"]);
    holds("controls-one-json", &["controls", "envoy", "--json"]);
    holds("controls-unknown", &["controls", "tokenbucket"]);
    holds("controls-part", &["controls", "token"]);
    let listed = damper(&["controls"]).out;
    for text in ["policies.NAME.retry.budget", "token-bucket", "class-limits", "lever"] {
        assert!(listed.contains(text), "{text}\n{listed}");
    }
}

#[test]
fn rules() {
    holds("rules", &["rules"]);
    holds("rules-json", &["rules", "--json"]);
    holds("explain", &["explain", "mru-pool"]);
    holds("explain-unknown", &["explain", "no-bakoff"]);
    holds("explain-part", &["explain", "jitter"]);
    holds("explain-nothing", &["explain", "zzzzzzzz"]);
}

#[test]
fn solve() {
    let routes = "examples/hotel-reservation-routes.yaml";
    holds("solve-routes", &["solve", routes]);
    holds("solve-storm", &["solve", "examples/retry-storm.yaml"]);
    holds(
        "solve-sweep",
        &[
            "solve",
            routes,
            "--sweep",
            "load.low=50..250:100",
            "--vary",
            "policies.default.retry.limit={high: 5, low: 1},5",
        ],
    );
    let trees = "examples/hotel-reservation.yaml";
    let again = "policies.default.retry.on=[rejected, downstream]";
    holds("solve-two-readings", &["solve", trees, "--set", again]);
    let two = "crates/cli/tests/it/systems/two-solutions.yaml";
    holds("solve-restarts", &["solve", two, "--restarts", "40"]);
    let few = ["--set", "experiment.replications=2", "--set", "experiment.watch=60s"];
    holds(
        "solve-sweep-against-sim",
        &[
            &["solve", routes, "--sweep", "load.low=50..250:200", "--against-sim", "--quiet"],
            &few[..],
        ]
        .concat(),
    );
    holds("solve-sweep-wrong", &["solve", routes, "--sweep", "load.low=50"]);
    holds("solve-sweep-nowhere", &["solve", routes, "--sweep", "load.lou=50..250:100"]);
    holds(
        "solve-radius",
        &[
            "solve",
            routes,
            "--set",
            "routes.all.profile={search: 100%}",
            "--set",
            "routes.all.frontend={search: 100%}",
        ],
    );
    holds(
        "solve-no-load",
        &["solve", "examples/retry-storm.yaml", "--set", "load={steps: [{at: 0s, rate: 0/s}]}"],
    );
}

#[test]
fn plan() {
    let (layers, storm) = ("examples/five-layers.yaml", "examples/retry-storm.yaml");
    let hotel = "examples/hotel-reservation.yaml";
    holds("plan-one-layer", &["plan", layers]);
    holds("plan-budget", &["plan", storm, "--hide", "99%", "--amplification", "1.5"]);
    holds("plan-classes", &["plan", hotel, "--reject", "high=10%"]);
    let not = ["plan", "examples/single-node.yaml", "--reject", "high=2%", "--at", "load.low=x3"];
    holds("plan-not-met", &[not.as_slice(), &["--amplified", "1.1"]].concat());
}

#[test]
fn plans_that_cannot_be_made() {
    let hotel = "examples/hotel-reservation.yaml";
    for (name, more) in [
        ("unknown-class", ["--reject", "hihg=2%"]),
        ("no-sign", ["--reject", "high=0.02"]),
        ("unknown-path", ["--at", "laod.low=x3"]),
        ("no-unit", ["--at", "load.low=3"]),
        ("unknown-call", ["--keep", "frontend -> serch"]),
        ("hide-all", ["--hide", "100%"]),
        ("less-than-one", ["--amplification", "0.5"]),
        ("no-load", ["--at", "load=x0"]),
        ("other-calls", ["--at", "requests.login.calls=[user]"]),
    ] {
        holds(&format!("plan-{name}"), &[["plan", hotel].as_slice(), &more].concat());
    }
    holds("plan-nothing", &["plan", "examples/retry-storm.yaml", "--keep", "db"]);
}
