//! Each example of a mechanism shows its loop, heals where there is too little load for it, and is
//! ended by the cure that is on record.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use damper_sim::{Conditions, Control, MechanismCounts, Outcome, Plan, State, run};
use damper_system::SystemFile;

/// The example, less load, the cure, and a counter that must have moved while the loop ran.
type Case = (&'static str, &'static str, &'static [&'static str], fn(&MechanismCounts) -> u64);

const CASES: &[Case] = &[
    ("health", "load=60/s", &["services.web.health.panic=50%"], |c| c.removed),
    ("autoscale", "load=60/s", &["services.web.autoscale.at_once=2"], |c| c.added),
    ("pauses", "load=120/s", &["services.app.queue=200"], |c| c.pauses),
    (
        "start",
        "services.front.start.calls=1",
        &["triggers.deploy=[{restart: front, rate: 1/s}]"],
        |c| c.starts,
    ),
    (
        "lease",
        "load.launches=3/s",
        &["services.manager.lever=[{pause: launches, after: 120s}, {open: launches, after: 300s}]"],
        |c| c.leases_lost,
    ),
    ("election", "load=60/s", &["services.store.election.timeout=15s"], |c| c.elections),
    ("failover", "load=160/s", &["services.east.failover=none"], |c| c.failovers),
    ("pool", "load=60/s", &["services.links.pool.order=lru"], |c| c.connections),
    ("error-log", "load=130/s", &["services.app.error_log.lines=1"], |c| c.logged),
];

fn simulate(name: &str, set: &[&str]) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../examples/mechanisms/{name}.yaml"));
    let mut file = SystemFile::read(&path).unwrap_or_else(|p| panic!("{p}"));
    for change in set {
        file.set(change).unwrap_or_else(|p| panic!("{p}"));
    }
    let system = file.lower().unwrap_or_else(|p| panic!("{p}"));
    let plan = Plan::new(&system);
    run(&plan, &Conditions::of(&plan), 0, &AtomicBool::new(false))
}

#[test]
fn the_loop_holds_and_the_cure_ends_it() {
    let mut wrong = Vec::new();
    for (name, less, cure, counter) in CASES {
        let cases =
            [(&[][..], State::Metastable), (&[*less][..], State::Stable), (*cure, State::Stable)];
        for (set, wanted) in cases {
            let o = simulate(name, set);
            let moved: u64 = o.services.iter().map(|s| counter(&s.mechanisms)).sum();
            if o.verdict.state != wanted {
                wrong.push(format!("{name} {set:?}: {:?}: {}", o.verdict.state, o.verdict.reason));
            }
            if wanted == State::Metastable && moved == 0 {
                wrong.push(format!("{name}: its counter did not move"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Priority that is lost over a hop: the high class fares as badly as the low one.
#[test]
fn priority_that_is_not_carried_over_is_no_priority() {
    let good = |set: &[&str]| {
        let o = simulate("priority-inversion", set);
        let late = &o.series.points[90..150];
        let sum = |f: fn(&(u64, u64)) -> u64| late.iter().map(|p| f(&p.classes[0])).sum::<u64>();
        sum(|c| c.1) as f64 / sum(|c| c.0).max(1) as f64
    };
    let (lost, carried) = (good(&[]), good(&["services.reports.calls_as=low"]));
    assert!(lost < 0.2, "{lost}");
    assert!(carried > 0.95, "{carried}");
}

/// Two runs of the same file and seed are the same to the last count.
#[test]
fn mechanisms_are_deterministic() {
    for (name, ..) in CASES {
        let (a, b) = (simulate(name, &[]), simulate(name, &[]));
        assert_eq!(a.events, b.events, "{name}");
        let counts = |o: &Outcome| o.services.iter().map(|s| s.mechanisms).collect::<Vec<_>>();
        assert_eq!(counts(&a), counts(&b), "{name}");
    }
}

/// A run of a file that is written here.
fn run_text(text: &str) -> (Plan, Outcome) {
    let system = SystemFile::parse("t.yaml", text)
        .and_then(|file| file.lower())
        .unwrap_or_else(|p| panic!("{p}"));
    let plan = Plan::new(&system);
    let outcome = run(&plan, &Conditions::of(&plan), 0, &AtomicBool::new(false));
    (plan, outcome)
}

/// An instance renews its lease once per period, however often it has been restarted.
#[test]
fn a_restart_does_not_begin_a_second_chain_of_renewals() {
    let renewals = |restarts: u32| {
        let each: Vec<String> =
            (0..restarts).map(|i| format!("{{restart: hosts, after: {}s}}", 3 * i)).collect();
        let (_, o) = run_text(&format!(
            "damper: 1\nname: leases\nservices:\n  manager: {{workers: 10, service_time: 1ms}}\n  \
             hosts: {{workers: 1, service_time: 1ms, instances: 10, lease: {{from: manager, every: \
             10s, lasts: 60s}}}}\nload: 1/s\nrequests: {{r: {{calls: [hosts]}}}}\n\
             triggers: {{deploys: [{{slowdown: hosts, factor: 1, for: 1s}}{}{}]}}\n\
             experiment: {{warmup: 10s, trigger_at: 20s, trigger: deploys, watch: 400s}}\n",
            if each.is_empty() { "" } else { ", " },
            each.join(", "),
        ));
        o.services[0].attempts.iter().sum::<u64>()
    };
    let (never, often) = (renewals(0), renewals(8));
    assert!((380..=450).contains(&never), "{never}");
    // Each restart renews at once, and begins the period anew.
    assert!(often <= never + 8 * 10, "{often} after restarts, {never} without");
}

/// A health check does not ask who is starting, so that a slow start comes to its end.
#[test]
fn who_starts_is_not_checked() {
    let (_, o) = run_text(
        "damper: 1\nname: slow\nservices:\n  web: {workers: 1, service_time: 10ms, instances: 4, \
         health: {interval: 2s, timeout: 1s, unhealthy: 2, restart: true}, start: {takes: 30s}}\n\
         load: 40/s\nrequests: {r: {calls: [web]}}\n\
         triggers: {deploy: [{restart: web}]}\n\
         experiment: {warmup: 10s, trigger_at: 20s, trigger: deploy, watch: 200s}\n",
    );
    let counts = o.services[0].mechanisms;
    assert_eq!((counts.removed, counts.starts, counts.started), (0, 4, 4));
    assert_eq!(o.verdict.state, State::Stable, "{}", o.verdict.reason);
}

/// A service that has grown: what it may grow to is neither what it has, nor what is lost of it.
const GROWN: &str = "damper: 1\nname: grown\nservices:\n  web: {workers: 1, service_time: 10ms, \
    instances: 4, autoscale: {min: 4, max: 400, target: 60%, interval: 5s, provision: 5s}}\n\
    load: 240/s\nrequests: {r: {calls: [web]}}\n";

#[test]
fn a_share_of_the_capacity_is_lost_of_what_is_there() {
    // Half of four is two: 200/s are too few. Half of four hundred would have been all of them.
    let (_, o) = run_text(&format!(
        "{GROWN}policies: {{default: {{timeout: 1s}}}}\n\
         triggers: {{loss: [{{capacity_loss: web, share: 50%, for: 4s}}]}}\n\
         experiment: {{warmup: 10s, trigger_at: 20s, trigger: loss, watch: 60s}}\n"
    ));
    let busiest = o.services[0].queue_max;
    assert!(busiest > 10, "a queue of {busiest}: nothing was lost");
}

#[test]
fn all_who_are_there_are_restarted_and_no_others() {
    let text = format!(
        "{GROWN}triggers: {{deploy: [{{restart: web, rate: 1/s}}]}}\n\
         experiment: {{warmup: 10s, trigger_at: 20s, trigger: deploy, watch: 60s}}\n"
    );
    let (plan, o) = run_text(&text);
    assert!(o.services[0].mechanisms.starts >= 4);
    // As long as it would take if it had grown to the end by then.
    let (from, to) = Conditions::of(&plan).trigger_span(&plan).unwrap();
    assert_eq!((to - from) / 1_000_000_000, 399);
}

/// Utilisation is of what was there: a fleet that has grown tenfold is not busy to 600 %.
#[test]
fn utilisation_is_a_share_of_the_instances_that_were_there() {
    let text = format!(
        "{}experiment: {{warmup: 60s, trigger_at: 60s, watch: 300s}}\n",
        GROWN.replace("240/s", "2400/s")
    );
    let system = SystemFile::parse("t.yaml", &text).unwrap().lower().unwrap();
    let plan = Plan::new(&system);
    let never = AtomicBool::new(false);
    let control = Control { progress: &|_, _, _| {}, stop: &never };
    let all = damper_sim::simulate(&plan, &Conditions::of(&plan), 1, &control);
    let used = all.utilisation(&plan, 0);
    assert!((0.3..=1.0).contains(&used), "{used}");
}
