//! What controls hear of how attempts end, and what they must not.

use damper_control::observe::Observe as _;
use damper_sim::Outcome;

use crate::controls::{go, good, storm};

/// A reading, summed over all budgets.
fn of_budgets(o: &Outcome, reading: &str) -> f64 {
    let mut sum = 0.0;
    for budget in &o.open.budgets {
        budget.observe(&mut |name, value| sum += if name == reading { value } else { 0.0 });
    }
    sum
}

/// What a service knows of itself does not begin anew with the measurement.
#[test]
fn the_end_of_the_warm_up_changes_nothing() {
    let run = |warmup: &str| {
        let warmup = format!("experiment.warmup={warmup}");
        let o = storm(&[
            &warmup,
            "experiment.trigger=none",
            "policies.default.retry={limit: 2, budget: arb}",
            "services.db.overloaded={cpu: 70%}",
            "services.db.admission=bbr",
            "load={high: 100/s, low: 300/s}",
        ]);
        (o.events, of_budgets(&o, "cuts"))
    };
    let (long, short) = (run("30s"), run("1s"));
    assert_eq!(long, short);
    assert!(long.1 > 0.0);
}

const CACHED: &str = "
damper: 1
services:
  db: {workers: 1, service_time: 5ms, rate_limit: 20/s}
caches:
  c: {store: db, hit_rate: 100%, hot_keys: 3}
load: 100/s
requests:
  read: {calls: [c]}
policies:
  default: {throttle: {kind: aws-adaptive, max_wait: 30s}, retry: {limit: 3, backoff: {kind: constant, base: 50ms}, budget: ratio}}
triggers:
  flush: [{cache_flush: c}]
experiment: {warmup: 1s, trigger_at: 10s, watch: 100s, seed: 1}
";

/// A caller that waits to ask the store, and finds then that another has filled the cache.
#[test]
fn a_hit_after_a_wait_gives_the_pass_back() {
    let (_, o) = go(
        CACHED,
        &[
            "services.db={workers: 10, service_time: 1s, rate_limit: 5/s}",
            "load={steps: [{at: 0s, rate: 300/s}, {at: 20s, rate: 0/s}]}",
        ],
    );
    assert_eq!((o.open.attempts, o.open.calls), (0, 0));
    assert!(o.edges[0].attempts > 3, "some had to ask: {:?}", o.edges[0]);
    assert_eq!(o.open.controls, 0);
}

/// One instance of two has lost its worker, and cannot answer; the other is well, and says so.
#[test]
fn an_instance_speaks_for_itself() {
    let o = storm(&[
        "services.db={workers: 1, instances: 2, service_time: 100ms, queue: 1_000_000, overloaded: {queue: 0.001%, cpu: 100%}}",
        "load={high: 2/s, low: 4/s}",
        "triggers.blip=[{capacity_loss: db, share: 50%, for: 60s}]",
        "policies.default.retry={limit: 1, budget: arb}",
    ]);
    assert!(o.services[0].queue_max > 20, "{}", o.services[0].queue_max);
    assert_eq!(of_budgets(&o, "cuts"), 0.0);
}

#[test]
fn a_refused_connection_says_nothing() {
    let o = storm(&[
        "services.db={workers: 30, service_time: 100ms, queue: 60, pushback: stop}",
        "triggers.blip=[{outage: db, mode: refuse, for: 20s}]",
        "policies.default.retry={limit: 1, backoff: {kind: constant, base: 100ms}}",
        "load={high: 50/s, low: 100/s}",
    ]);
    assert!(o.edges[0].retries > 2000, "{:?}", o.edges[0]);
    assert_eq!(o.edges[0].refused_pushback, 0, "{:?}", o.edges[0]);
}

/// Of two that come together one waits for 20 ms, four times the target. But the queue gets empty
/// all the time: it does not stand, and nobody is to be dropped.
#[test]
fn a_drop_rule_hears_of_those_who_did_not_wait() {
    let dropped = |workers: &str| {
        let workers = format!("services.db.workers={workers}");
        let o = storm(&[
            "services.db={service_time: {dist: deterministic, mean: 20ms}, drop: codel-min-delay}",
            &workers,
            "requests.query.calls=[{parallel: [db, db]}]",
            "arrivals=deterministic",
            "load={high: 10/s, low: 0/s}",
            "experiment.trigger=none",
        ]);
        o.services[0].dropped_waiting
    };
    assert_eq!((dropped("1"), dropped("2")), (0, 0));
}

/// Work that is refused because it would end too late is what a limit is to learn from.
#[test]
fn a_limit_learns_of_what_came_too_late() {
    let o = storm(&[
        "services.db.concurrency={kind: aimd, max: 100_000}",
        "policies.default.deadline={total: 1s, travels: true}",
        "load={high: 200/s, low: 400/s}",
        "experiment.trigger=none",
    ]);
    assert!(o.services[0].dropped > 100, "{:?}", o.services[0]);
    assert!(o.services[0].refused_concurrency > 1000, "{:?}", o.services[0]);
}

/// A fetch is for the user who asked for it.
#[test]
fn a_fetch_belongs_to_a_user() {
    let (_, o) = go(
        CACHED,
        &[
            "users=10_000",
            "services.db={workers: 10, service_time: 100ms, order: {kind: fair, hand: 1, queue_length: 1}}",
            "caches.c={store: db, hit_rate: 0%, hot_keys: 3, mode: read-through}",
            "load=90/s",
            "policies.default={}",
            "experiment.trigger=none",
        ],
    );
    let rejected = o.services[0].rejected as f64 / o.services[0].attempts[0] as f64;
    assert!(rejected < 0.05, "{rejected}");
}

/// With `shares` a fair order has a level for each class: a flood of one takes no seats of the
/// other, and what the other does not need it may use.
#[test]
fn shares_are_those_of_a_fair_order() {
    let run = |shares: &str, load: &str| {
        let order = "order: {kind: fair, queue_length: 1, lendable: 50%}";
        let db = format!("services.db={{workers: 30, service_time: 100ms, {order}{shares}}}");
        let load = format!("load={load}");
        let o = storm(&[
            &db,
            &load,
            "users=1000",
            "experiment.trigger=none",
            "policies.default.retry.limit=0",
        ]);
        good(&o)
    };
    let flood = "{high: 150/s, low: 1500/s}";
    let (alike, shared) = (run("", flood), run(", shares: {high: 60%, low: 40%}", flood));
    assert!(alike[0] < 0.5, "{alike:?}");
    assert!(shared[0] > 0.97, "{shared:?}");
    assert!(shared[1] > 0.05, "{shared:?}");
    // Alone it may have nearly all seats, although only 12 of 30 are its own.
    let borrowed = run(", shares: {high: 60%, low: 40%}", "{high: 10/s, low: 180/s}");
    assert!(borrowed[1] > 0.98, "{borrowed:?}");
}
