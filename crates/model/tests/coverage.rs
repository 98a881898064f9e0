//! The table of what `solve` leaves out says the truth: what it calls left out changes no number, and
//! what it calls taken does.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use damper_model::system::{Solved, solve};
use damper_system::coverage::{Command, PARTS, Takes, left_out};
use damper_system::{System, SystemFile};

/// Some load beyond what `db` can serve, so that rejections and retries show.
const BASE: &str = r#"
damper: 1
classes: [high, low]
services:
  web: {workers: 8, service_time: 10ms, queue: 100}
  db: {workers: 2, service_time: 10ms, queue: 100}
  other: {workers: 2, service_time: 10ms, queue: 20}
load: {high: 100/s, low: 110/s}
requests: {read: {calls: [{web: [db]}]}}
policies:
  "client -> web": {timeout: 1s, retry: {limit: 1}}
  "web -> db": {timeout: 200ms, retry: {limit: {high: 2, low: 0}}}
"#;

/// How a file comes to have each part.
const MADE: &[(&str, &[&str])] = &[
    (
        "caches",
        &[
            "caches={warm: {store: db, hit_rate: 50%, hot_keys: 10}}",
            "requests={read: {calls: [{web: [warm]}]}}",
        ],
    ),
    (
        "load",
        &["load={high: 100/s, low: {burst: {base: 110/s, peak: 200/s, every: 10s, for: 1s}}}"],
    ),
    ("arrivals", &["arrivals=deterministic"]),
    ("services.*.instances", &["services.db.instances=2"]),
    ("services.*.order", &["services.db.order=lifo"]),
    ("services.*.drop", &["services.db.drop=codel"]),
    ("services.*.admission", &["services.db.admission=gcra"]),
    ("services.*.concurrency", &["services.db.concurrency=vegas"]),
    ("services.*.pushback", &["services.db.pushback=stop"]),
    ("services.*.lever", &["services.db.lever=[{pause: all, after: 10s}]"]),
    ("services.*.failure", &["services.db.failure=10%"]),
    ("services.*.error_cost", &["services.db.error_cost=3x"]),
    ("services.*.on_abandon", &["services.db.on_abandon=skip"]),
    ("services.*.contention", &["services.db.contention={alpha: 10%}"]),
    ("services.*.blocking", &["services.web.blocking=true"]),
    ("services.*.health", &["services.db.health={interval: 1s}"]),
    ("services.*.autoscale", &["services.db.autoscale={max: 4}"]),
    ("services.*.pauses", &["services.db.pauses={heap: 100, base: 5ms, per_live: 1ms}"]),
    ("services.*.start", &["services.db.start={takes: 5s}"]),
    ("services.*.lease", &["services.db.lease={from: other, every: 1s, lasts: 5s}"]),
    ("services.*.election", &["services.db.election={heartbeat: 1s, timeout: 2s, takes: 5s}"]),
    ("services.*.failover", &["services.db.failover={to: other}"]),
    ("services.*.pool", &["services.db.pool={order: mru}"]),
    ("services.*.error_log", &["services.db.error_log={to: other}"]),
    ("services.*.calls_as", &["services.web.calls_as=low"]),
    ("policies.*.deadline", &["policies.\"web -> db\".deadline=300ms"]),
    (
        "policies.*.deadline.travels",
        &["policies.\"web -> db\".deadline={total: 300ms, travels: true}"],
    ),
    ("policies.*.retry.budget", &["policies.\"web -> db\".retry.budget=ratio"]),
    ("policies.*.throttle", &["policies.\"web -> db\".throttle=google-adaptive"]),
    ("policies.*.breaker", &["policies.\"web -> db\".breaker=breaker"]),
    (
        "policies.*.retry.needs",
        &["policies.\"web -> db\".deadline=300ms", "policies.\"web -> db\".retry.needs=20ms"],
    ),
    (
        "triggers.*.cache_flush",
        &[
            "caches={cold: {store: db, hit_rate: 50%, hot_keys: 10}}",
            "triggers={flush: {cache_flush: cold}}",
        ],
    ),
    ("triggers.*.restart", &["triggers={deploy: {restart: db}}"]),
];

fn system(changes: &[&str]) -> System {
    let mut file = SystemFile::parse("base.yaml", BASE).unwrap();
    for change in changes {
        file.set(change).unwrap_or_else(|why| panic!("{change}: {why}"));
    }
    file.lower().unwrap_or_else(|why| panic!("{changes:?}: {why}"))
}

/// All numbers, without words.
fn numbers(system: &System) -> String {
    let Solved { classes, services, calls_per_request, hidden_rps, .. } = solve(system).unwrap();
    format!("{classes:?} {services:?} {calls_per_request} {hidden_rps:?}")
}

#[test]
fn what_solve_leaves_out_changes_nothing_and_what_it_takes_does() {
    let base = numbers(&system(&[]));
    assert_eq!(left_out(Command::Solve, &system(&[])), []);
    for part in PARTS {
        let key = part.key;
        let made = MADE.iter().find(|(name, _)| *name == key);
        let with = system(made.unwrap_or_else(|| panic!("no file with `{key}` here")).1);
        assert!(!(part.find)(&with).is_empty(), "`{key}` is not found in its own file");
        let told = left_out(Command::Solve, &with).iter().any(|left| left.key == key);
        let same = numbers(&with) == base;
        // What goes wrong is in no solution; flushes and restarts are all over in the end.
        let trigger = key.starts_with("triggers.");
        match part.by(Command::Solve) {
            Takes::Not(_) => assert!(told && same, "`{key}` is left out: {told}, {same}"),
            Takes::Less(_) => assert!(told && !same, "`{key}` is taken in part: {told}, {same}"),
            Takes::Whole | Takes::Tells => assert!(!told && (trigger || !same), "`{key}` is taken"),
        }
    }
    assert_eq!(MADE.len(), PARTS.len());
}
