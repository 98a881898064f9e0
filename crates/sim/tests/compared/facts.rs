//! What theory and the publications say about these tables, as far as it is true in them.

use damper_control::entry::Kind;

use crate::contention::Row;
use crate::measure::BOUNDS;
use crate::{chain, deadlines, storm};

/// What does nothing is worth nothing, backoff is a schedule, budgets and limits bound.
pub(crate) fn of_the_storm(lines: &[storm::Line]) {
    let plain = &lines[0];
    let named =
        |name: &str| lines.iter().find(|l| l.control() == name).unwrap_or_else(|| panic!("{name}"));
    assert!((145.0..160.0).contains(&plain.hidden()), "one half of 300: {}", plain.hidden());
    assert!(plain.recovery.seen.is_empty() && plain.last < 0.01);
    let no_retry = &lines[1];
    assert!(no_retry.bounds() && (-0.011..-0.009).contains(&no_retry.price), "one per cent");

    // What stands for nothing leaves every number as it is.
    let nothing = ["immediate", "none", "no-throttle", "no-breaker", "everybody", "fifo", "keep"];
    for name in nothing {
        let line = named(name);
        assert_eq!(line.headroom.hidden, plain.headroom.hidden, "{name}");
        assert_eq!((line.last, line.price), (plain.last, plain.price), "{name}");
    }
    // A schedule is not a bound. A delay longer than the trigger lets part of the queue drain
    // before the retries come.
    for line in lines.iter().filter(|l| l.entry.is_some_and(|e| e.kind == Kind::Backoff)) {
        let gained = line.hidden() / plain.hidden();
        assert!(gained < 1.2 && !line.bounds(), "{}: {gained}", line.control());
        assert!(line.recovery.seen.is_empty() && line.last < 0.01, "{}", line.control());
        assert!(line.amplification > 1.9, "{}: as many attempts", line.control());
    }
    let bound = [
        "token-bucket",
        "aws-standard",
        "aws-2026",
        "per-minute",
        "finagle",
        "arb",
        "retry-guard",
        "fixed",
        "aimd",
        "vegas",
        "gradient2",
        "queue-delay",
        "guarded",
        "lifo",
        "max-wait",
        "hbase-codel",
        "codel",
        "cinnamon",
        "priority-by-queue",
        "polly-breaker",
        "lever",
    ];
    for name in bound {
        let line = named(name);
        assert_eq!(line.verdict, BOUNDS, "{name}: {:?}", line.headroom.hidden);
        assert_eq!(line.recovery.seen.len(), storm::RUNS as usize, "{name}");
        assert!(line.last > 0.98, "{name}: {}", line.last);
        assert!(name == "lifo" || line.refused > Some(0.0), "{name} has done nothing");
    }
    // A share of what is in flight: r / (1 + r) = 0.2 are 1.25 attempts per request, and at 0.9
    // of the capacity that is too much. failsafe-go counts a call that retries twice, and it is
    // open for as long as its retry: r / (1 + 2 r) = 0.2 are 1.33.
    for (name, attempts) in [("envoy", 1.25), ("ratio", 1.25), ("failsafe", 4.0 / 3.0)] {
        let line = named(name);
        assert!((line.hidden() / (300.0 / attempts) - 1.0).abs() < 0.03, "{name}");
        assert!((line.amplification - attempts).abs() < 0.02, "{name}: {}", line.amplification);
        assert!(line.recovery.seen.is_empty(), "{name}");
    }
    // A tenth of them, on top: 300 / 1.1.
    assert!((named("google").hidden() / (300.0 / 1.1) - 1.0).abs() < 0.03);
    // In a queue without an end nobody is rejected, and these look at nothing else.
    for name in ["finagle-nack", "aws-adaptive", "envoy-admission"] {
        assert_eq!(named(name).refused, Some(0.0), "{name}");
        assert_eq!(named(name).headroom.hidden, plain.headroom.hidden, "{name}");
    }
    // All of them end it; what differs is how long they refuse.
    for (name, from, to) in [
        ("breaker", 55.0, 65.0),
        ("breaker-time", 80.0, 100.0),
        ("breaker-consecutive", 0.0, 10.0),
        ("polly-breaker", 0.0, 10.0),
    ] {
        let line = named(name);
        assert!(line.bounds(), "{name}: {:?}", line.headroom.hidden);
        let seen = &line.recovery.seen;
        assert!(seen.iter().all(|s| (from..to).contains(s)), "{name}: {seen:?}");
        assert_eq!(seen.len(), storm::RUNS as usize, "{name}");
    }
    let google = named("google-adaptive");
    assert!(google.recovery.seen.is_empty() && google.last < 0.01 && google.amplification < 1.0);
    // At the rate of the capacity a queue that is there never becomes shorter.
    for name in ["rate-limit", "gcra"] {
        assert!(named(name).last < 0.01 && named(name).refused > Some(0.0), "{name}");
    }
    // Who is told apart: the high class is served although the whole is not well.
    for name in ["priority", "bbr-by-class", "criticality", "cinnamon"] {
        let line = named(name);
        assert!(line.high > 0.99 && line.high > line.last, "{name}: {} {}", line.high, line.last);
    }
    // Two thirds of the requests give up their retry: two thirds of one per cent.
    assert!((named("class-limits").price + 0.0066).abs() < 0.001);
}

/// A deadline that is kept does nothing for a budget, one that travels does it all.
pub(crate) fn of_the_deadlines(lines: &[deadlines::Line]) {
    let bare = lines.iter().find(|l| l.budget == "none").unwrap();
    for line in lines {
        let [none, kept, travels] = line.cells.as_slice() else { unreachable!("three deadlines") };
        let name = line.budget;
        assert!((kept.hidden() / none.hidden() - 1.0).abs() < 0.05, "{name}: {}", kept.hidden());
        assert!(travels.headroom.heals_everywhere, "{name}: {:?}", travels.headroom.hidden);
        assert!(travels.storm > 0.99, "{name}: {}", travels.storm);
        assert!(none.hidden() >= 0.99 * bare.cells[0].hidden(), "{name} is worth something");
        assert!(name == "per-minute" || travels.errors > 0.999, "{name}: {}", travels.errors);
    }
}

/// R8 of the publication.
pub(crate) fn of_the_chain(lines: &[chain::Line]) {
    let named = |name: &str| lines.iter().find(|l| l.strategy == name).unwrap();
    let (none, standard, correlated) = (named("no retry"), named("standard"), 2);
    for (i, scenario) in chain::SCENARIOS.iter().enumerate() {
        for line in lines.iter().filter(|l| !l.strategy.starts_with("standard")) {
            let (its, last) = (line.success[i], standard.success[i]);
            assert!(its.ci95[0] > last.ci95[1], "{scenario}: {} {its:?}", line.strategy);
        }
    }
    let gap = none.success[correlated].mean - standard.success[correlated].mean;
    assert!(gap > 0.1, "well below: {gap}");
    assert!((none.success[correlated].mean - 0.554).abs() < 0.02);
    assert!((standard.success[correlated].mean - 0.415).abs() < 0.04);
    for name in ["breaker", "arb", "token-bucket", "aws-2026", "per-minute", "retry-guard"] {
        let line = named(name);
        for i in 0..chain::SCENARIOS.len() {
            let away = line.success[i].mean - none.success[i].mean;
            assert!(away.abs() < 0.01, "{name} in {}: {away}", chain::SCENARIOS[i]);
            assert!((0.85..1.15).contains(&line.amplification[i]), "{name}");
        }
    }
    for name in ["arb", "breaker"] {
        assert_eq!(named(name).success, none.success, "{name} has sent a retry");
    }
    for line in lines.iter().filter(|l| l.budget.is_some()) {
        assert!(line.errors.1 < 1.05, "{}: {}", line.strategy, line.errors.1);
        assert!(
            line.errors.0 > 0.999 || line.strategy == "per-minute",
            "{} recovers transient faults: {}",
            line.strategy,
            line.errors.0
        );
    }
}

/// The jitter experiment, whose numbers damper-control tests.
pub(crate) fn of_the_contention(rows: &[Row]) {
    let calls =
        |kind: &str| rows.iter().find(|r| r.clients == 100 && r.kind == kind).unwrap().calls;
    assert!(2.0 * calls("full") < calls("none").min(calls("exponential")));
}
