//! Controls do in a run what they are for: their counters move, and what they cost shows.

use std::sync::atomic::AtomicBool;

use damper_control::observe::Observe as _;
use damper_sim::{Conditions, Outcome, Plan, State, run};
use damper_system::SystemFile;

/// The storm of `examples/retry-storm.yaml`, with some of its parts replaced.
const STORM: &str = "
damper: 1
classes: [high, low]
services:
  db: {workers: 30, service_time: 100ms}
load: {high: 90/s, low: 180/s}
requests:
  query: {calls: [db]}
policies:
  default: {timeout: 1s, retry: {limit: 1}}
triggers:
  blip: [{outage: db, for: 2s}]
experiment: {warmup: 30s, trigger_at: 60s, watch: 120s, seed: 1}
";

pub(crate) fn go(text: &str, set: &[&str]) -> (Plan, Outcome) {
    let mut file = SystemFile::parse("test.yaml", text).unwrap();
    for set in set {
        file.set(set).unwrap();
    }
    let plan = Plan::new(&file.lower().unwrap_or_else(|p| panic!("{p}")));
    let outcome = run(&plan, &Conditions::of(&plan), 0, &AtomicBool::new(false));
    (plan, outcome)
}

pub(crate) fn storm(set: &[&str]) -> Outcome {
    go(STORM, set).1
}

/// Good replies as a share of what was offered, by class.
pub(crate) fn good(o: &Outcome) -> Vec<f64> {
    o.classes.iter().map(|c| c.good() as f64 / c.offered as f64).collect()
}

#[test]
fn the_lever_ends_the_storm() {
    assert_eq!(storm(&[]).verdict.state, State::Metastable);
    // Seven thousand attempts wait by then, and nobody needs them: half a minute's work.
    let o = storm(&[
        "services.db.lever=[{pause: all, after: 30s}, {ramp: all, from: 10%, to: 100%, over: 20s, after: 62s}]",
    ]);
    assert_eq!(o.verdict.state, State::Stable, "{}", o.verdict.reason);
    assert!(o.services[0].refused_lever > 1000, "{}", o.services[0].refused_lever);
    // A pause of one class leaves the other to the storm.
    let o = storm(&["services.db.lever={pause: low, after: 30s}"]);
    assert_eq!(o.services[0].shed[0], 0);
    assert!(o.services[0].shed[1] > 1000);
    assert!(good(&o)[0] > 1.5 * good(&o)[1], "{:?}", good(&o));
}

/// A service that rejects half of what comes, and says when to come back.
#[test]
fn pushback_is_heeded_unless_it_is_not() {
    let limited = |pushback: &str, heed: &str| {
        let pushback = format!("services.db={{rate_limit: 100/s, pushback: {pushback}}}");
        let heed = format!("policies.default.retry={{limit: 3, pushback: {heed}}}");
        storm(&[&pushback, &heed, "experiment.trigger=none"])
    };
    let ignored = limited("stop", "ignore");
    assert!(ignored.edges[0].retries > 10_000 && ignored.edges[0].refused_pushback == 0);
    let stopped = limited("stop", "heed");
    assert_eq!(stopped.edges[0].retries, 0);
    assert!(stopped.edges[0].refused_pushback > 10_000);
    // Told to wait, they come back all the same, and later.
    let waited = limited("5s", "heed");
    assert!(waited.edges[0].retries > 10_000);
    let latency = |o: &Outcome| o.classes[0].latency_us.value_at_quantile(0.999);
    assert!(latency(&waited) >= 5_000_000 && latency(&ignored) < 1000, "{}", latency(&waited));
}

#[test]
fn a_call_that_must_not_be_made_twice_is_not_retried_after_a_timeout() {
    let o = storm(&["policies.default.idempotent=false"]);
    assert_eq!((o.edges[0].retries, o.verdict.state), (0, State::Stable));
    // Refused before any work, it is.
    let o = storm(&["policies.default.idempotent=false", "services.db={rate_limit: 100/s}"]);
    assert!(o.edges[0].retries > 10_000);
}

#[test]
fn an_attempt_that_cannot_end_in_time_is_not_sent() {
    let deadline = "policies.default.deadline=1500ms";
    let sent = storm(&[deadline]);
    let kept = storm(&[deadline, "policies.default.retry.needs=600ms"]);
    assert!(sent.edges[0].retries > 1000, "{:?}", sent.edges[0]);
    assert_eq!(kept.edges[0].retries, 0, "{:?}", kept.edges[0]);
    assert!(kept.edges[0].refused_deadline > 100);
}

/// The word OVERLOADED goes up tier by tier: the client never calls the tier that says it.
#[test]
fn overloaded_is_passed_on_to_the_top() {
    let chain = "
damper: 1
services:
  front: {}
  middle: {}
  back: {workers: 10, service_time: 100ms, queue: 100}
load: 50/s
requests:
  read: {calls: [{front: [{middle: [back]}]}]}
policies:
  default: {timeout: 2s, retry: {limit: 2, budget: arb}}
triggers:
  spike: [{slowdown: back, factor: 20, for: 10s}]
experiment: {warmup: 10s, trigger_at: 20s, watch: 30s}
";
    let cuts = |set: &[&str]| -> Vec<f64> {
        let (_, o) = go(chain, set);
        let of = |budget: &damper_control::Budget| {
            let mut cuts = 0.0;
            budget.observe(&mut |name, value| {
                if name == "cuts" {
                    cuts = value;
                }
            });
            cuts
        };
        o.open.budgets.iter().map(of).collect()
    };
    let all = cuts(&[]);
    assert!(all.len() == 3 && all.iter().all(|c| *c > 0.0), "{all:?}");
    // Without the word the tiers above only see failures; the one next to it hears nothing.
    let silent = cuts(&["services.back.overloaded=never"]);
    assert_eq!(silent[2], 0.0, "{silent:?}");
    assert!(all.iter().zip(&silent).all(|(told, silent)| told > silent), "{all:?} {silent:?}");
}

/// DAGOR's level is told to callers, who then do not send what would not be let in. The published
/// way up then finds nobody to stop at, and the load swings; ours does not.
#[test]
fn callers_apply_what_a_service_says_about_its_level() {
    let run = |rule: &str| {
        storm(&[
            &format!("services.db.admission={rule}"),
            "services.db.queue=60",
            "load={high: 90/s, low: 500/s}",
            "experiment.trigger=none",
        ])
    };
    let (published, told) = (run("dagor"), run("dagor-told"));
    for o in [&published, &told] {
        assert!(o.edges[0].refused_word > 10_000, "{:?}", o.edges[0]);
        assert_eq!(o.services[0].shed[0], 0, "only the lower class");
    }
    let (published, told) = (good(&published), good(&told));
    assert!(published[0] < 0.85, "{published:?}");
    assert!(told[0] > 0.95 && told[1] > 0.35, "{told:?}");
}

/// One user floods; a thousand others ask now and then.
#[test]
fn a_fair_order_protects_the_many_from_the_one() {
    let run = |order: &str| {
        let order = format!("services.db={{workers: 30, service_time: 100ms, {order}}}");
        let o = storm(&[
            "users={high: 1000, low: 1}",
            "load={high: 100/s, low: 900/s}",
            "experiment.trigger=none",
            "policies.default.retry.limit=0",
            &order,
        ]);
        good(&o)
    };
    let (fifo, fair) = (run("queue: 300"), run("order: {kind: fair, queue_length: 20}"));
    assert!(fifo[0] < 0.5, "{fifo:?}");
    assert!(fair[0] > 0.95, "{fair:?}");
    assert!(fair[1] > 0.15, "the one gets what is left: {fair:?}");
}

#[test]
fn a_client_rate_limiter_makes_callers_wait_instead() {
    let set = |throttle: &str| {
        let policy = format!("policies.default={{throttle: {throttle}}}");
        storm(&["services.db={rate_limit: 100/s}", "load={high: 60/s, low: 70/s}", &policy])
    };
    let (without, with) = (set("none"), set("{kind: aws-adaptive, max_wait: 1s}"));
    let rejected = |o: &Outcome| {
        o.services[0].rejected as f64 / o.services[0].attempts.iter().sum::<u64>() as f64
    };
    assert!(rejected(&without) > 0.2, "{}", rejected(&without));
    assert!(rejected(&with) < 0.5 * rejected(&without), "{}", rejected(&with));
    assert!(with.edges[0].refused_throttle > 100, "{:?}", with.edges[0]);
}

#[test]
fn a_breaker_stops_calling_what_does_not_answer() {
    let breaker = "policies.default.breaker={kind: breaker-time, wait: 5s, min_calls: 20}";
    let o = storm(&[breaker]);
    assert!(o.edges[0].refused_breaker > 500, "{:?}", o.edges[0]);
    // What it refuses is a failure for whoever asked.
    let shed: u64 = o.classes.iter().map(|c| c.ended[damper_control::Outcome::Shed.index()]).sum();
    assert!(shed > 500, "{shed}");
}

/// Limits keep the queue so short that whoever is let in is served in time.
#[test]
fn a_concurrency_limit_bounds_what_is_inside() {
    let o = storm(&["services.db.concurrency={kind: fixed, limit: 60}"]);
    assert_eq!(o.verdict.state, State::Stable);
    assert!(o.services[0].refused_concurrency > 100);
    // While the service is silent all 60 wait.
    assert!(o.services[0].queue_max <= 60, "{}", o.services[0].queue_max);
    // Partitions: the class with the larger share gets more when all is full.
    let shares =
        ["services.db.concurrency={kind: fixed, limit: 60}", "load={high: 400/s, low: 400/s}"];
    let with = storm(&[shares[0], shares[1], "services.db.shares={high: 80%, low: 20%}"]);
    let good = good(&with);
    assert!(good[0] > 1.5 * good[1], "{good:?}");
}

#[test]
fn naming_users_changes_nothing_else() {
    let (one, many) = (storm(&["users=1"]), storm(&["users=65_536"]));
    assert_eq!(one.events, many.events);
    assert_eq!(good(&one), good(&many));
}
