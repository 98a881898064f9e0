//! What holds for every system, whatever it is: nothing is lost, nothing leaks, no bound is
//! broken, and the same seed gives the same run.

use std::sync::atomic::AtomicBool;

use damper_control::observe::Observe as _;
use damper_control::{Budget, RetryLimits};
use damper_sim::{Conditions, Ending, Outcome, Plan, run};
use damper_system::model::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::build::*;
use crate::random::{LOAD_ENDS, system, tangled_system};

fn go(system: &System, replication: u32) -> (Plan, Outcome) {
    let plan = Plan::new(system);
    let conditions = Conditions::of(&plan);
    let outcome = run(&plan, &conditions, replication, &AtomicBool::new(false));
    (plan, outcome)
}

/// As `proptest!` does it, but with a number of cases of its own.
fn check(cases: u32, strategy: impl Strategy<Value = System>, property: fn(&System) -> Checked) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&strategy, |s| property(&s));
    if let Err(e) = result {
        panic!("{e}");
    }
}

type Checked = Result<(), TestCaseError>;

/// The most attempts per request at each service: every attempt fails and is repeated.
fn worst(system: &System, limit: bool) -> Vec<f64> {
    let mut worst = vec![0.0; system.services.len()];
    let tries = |caller, target| {
        1.0 + if limit { f64::from(system.policy(caller, target).retry.limits.max()) } else { 0.0 }
    };
    match &system.work {
        Work::Requests(types) => {
            for request in types {
                // Not all of them at once, but the bound need not be tight.
                add(system, Caller::Client, &request.steps, 1.0, &tries, &mut worst);
            }
        }
        Work::Routes(routes) => {
            worst[0] = tries(Caller::Client, Target::Service(ServiceId(0)));
            for (from, row) in routes.rows[0].iter().enumerate() {
                for (to, _) in row {
                    let tries =
                        tries(Caller::Service(ServiceId(from as u32)), Target::Service(*to));
                    worst[to.0 as usize] += worst[from] * tries;
                }
            }
        }
    }
    worst
}

fn add(
    system: &System,
    caller: Caller,
    steps: &[Step],
    weight: f64,
    tries: &dyn Fn(Caller, Target) -> f64,
    worst: &mut [f64],
) {
    for Call { target, times, steps, .. } in steps.iter().flatten() {
        let server = system.server_of(*target);
        let mut weight = weight * f64::from(*times) * tries(caller, *target);
        if let Target::Cache(c) = target
            && system.caches[c.0 as usize].mode == CacheMode::ReadThrough
        {
            weight *= tries(Caller::Cache(*c), Target::Service(server));
        }
        worst[server.0 as usize] += weight;
        add(system, Caller::Service(server), steps, weight, tries, worst);
    }
}

/// The load has stopped and everything has drained: nothing is left, and every end was counted.
fn drains(system: &System) -> Checked {
    let (_, o) = go(system, 0);
    prop_assume!(o.ending == Ending::TimeOver);
    let open = &o.open;
    prop_assert_eq!((open.attempts, open.calls, open.fetches), (0, 0, 0), "{:?}", open);
    prop_assert_eq!(open.controls, 0, "{:?}", open);
    prop_assert_eq!((open.backlog, open.backing_off), (0, 0), "{:?}", open);
    prop_assert!(open.stations.iter().all(|s| *s == (0, 0)), "{:?}", open);
    let switches =
        if matches!(system.arrivals, Arrivals::Bursty { .. }) { system.classes.len() } else { 0 };
    prop_assert_eq!(open.timers, switches);
    for (edge, budget) in system.policies.edges.iter().zip(&open.budgets) {
        // Budgets that count what is in flight have got it all back; windows forget by time.
        let counts = ["envoy", "ratio", "failsafe"].contains(&edge.policy.budget.kind);
        budget.observe(&mut |name, value| {
            let held = ["active", "retries"].contains(&name);
            assert!(!(counts && held) || value == 0.0, "{name} {value} still held: {budget:?}");
        });
    }
    for order in &open.orders {
        order.observe(&mut |name, value| {
            let held = ["waiting", "executing"].contains(&name);
            assert!(!held || value == 0.0, "{name} {value} still held: {order:?}");
        });
    }
    for c in &o.classes {
        prop_assert_eq!(c.offered, c.ended_all());
    }
    let offered: u64 = o.classes.iter().map(|c| c.offered).sum();
    prop_assert_eq!(offered, o.requests);
    prop_assert_eq!(offered, o.series.points.iter().map(|p| p.offered).sum::<u64>());
    for s in &o.services {
        let received: u64 = s.attempts.iter().sum();
        let shed: u64 = s.shed.iter().sum();
        let ended =
            s.rejected + shed + s.served + s.abandoned + s.dropped + s.failed + s.failed_below;
        prop_assert_eq!(received, ended, "{:?}", s);
    }
    bounds(system, &o)
}

fn bounds(system: &System, o: &Outcome) -> Checked {
    let offered: u64 = o.classes.iter().map(|c| c.offered).sum();
    let span = o.measured as f64;
    let worst = worst(system, true);
    for ((s, stats), worst) in system.services.iter().zip(&o.services).zip(&worst) {
        let received: u64 = stats.attempts.iter().sum();
        prop_assert!(received as f64 <= offered as f64 * worst * (1.0 + 1e-9), "amplification");
        if let Some(w) = s.workers {
            let most = f64::from(w) * f64::from(s.instances) * span;
            prop_assert!(stats.busy <= most * (1.0 + 1e-9), "busier than it has workers");
            if let Some(queue) = s.queue {
                prop_assert!(stats.queue_max <= queue);
            }
        }
        if let Some(l) = s.rate_limit {
            let most = l.burst + l.rate * span / 1e9 + 1e-6;
            prop_assert!(
                (received - stats.rejected - stats.shed.iter().sum::<u64>()) as f64 <= most,
                "above its rate"
            );
        }
        prop_assert!(stats.wasted <= stats.work && stats.work >= 0.0);
    }
    for (edge, stats) in system.policies.edges.iter().zip(&o.edges) {
        let first = stats.attempts - stats.retries;
        let limit = u64::from(edge.policy.retry.limits.max());
        prop_assert!(stats.retries <= limit * first, "{:?}", stats);
        match &edge.policy.budget.initial {
            Budget::GrpcTokenBucket(b) => {
                let ratio = edge.policy.budget.parameters[1];
                let most = b.tokens() / 2.0 + ratio * first as f64 + 1e-6;
                prop_assert!(stats.retries as f64 <= most, "{:?} of {:?}", stats, b);
            }
            Budget::EnvoyRetryBudget(b) if edge.policy.budget.parameters == [0.0, 0.0] => {
                prop_assert_eq!(stats.retries, 0, "{:?}", b);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Cut off anywhere: what is not counted as ended is open.
fn cut_off(system: &System) -> Checked {
    let plan = Plan::new(system);
    let mut conditions = Conditions::of(&plan);
    conditions.end = LOAD_ENDS.0 / 2 + system.experiment.seed % LOAD_ENDS.0;
    let o = run(&plan, &conditions, 0, &AtomicBool::new(false));
    let (offered, ended) =
        o.classes.iter().fold((0, 0), |s, c| (s.0 + c.offered, s.1 + c.ended_all()));
    prop_assert!(ended <= offered && (offered - ended) as usize <= o.open.attempts);
    let mut open = 0;
    for s in &o.services {
        let received: u64 = s.attempts.iter().sum();
        let shed: u64 = s.shed.iter().sum();
        let ended =
            s.rejected + shed + s.served + s.abandoned + s.dropped + s.failed + s.failed_below;
        prop_assert!(ended <= received, "{:?}", s);
        open += (received - ended) as usize;
    }
    prop_assert!(open + (offered - ended) as usize <= o.open.attempts, "{:?}", o.open);
    if matches!(system.work, Work::Routes(_)) {
        return Ok(()); // ways through a matrix have no bound
    }
    bounds(system, &o)
}

/// Without retries, with warm caches that hold everything: no service gets more than its calls.
fn no_retries(system: &System) -> Checked {
    let mut system = system.clone();
    system.triggers[0].actions.retain(|a| !matches!(a.kind, ActionKind::CacheFlush { .. }));
    system.caches.iter_mut().for_each(|c| c.hit_rate = 1.0);
    for edge in &mut system.policies.edges {
        edge.policy.retry.limits = RetryLimits::uniform(0);
    }
    let (_, o) = go(&system, 0);
    let offered: u64 = o.classes.iter().map(|c| c.offered).sum();
    for ((s, most), edges) in o.services.iter().zip(worst(&system, false)).zip(&o.edges) {
        let received: u64 = s.attempts.iter().sum();
        prop_assert!(received as f64 <= offered as f64 * most);
        prop_assert_eq!((edges.retries, edges.hot_misses), (0, 0));
    }
    Ok(())
}

fn print(o: &Outcome) -> String {
    format!("{:?} {:?} {:?} {:?}", o.verdict, o.edges, o.series.points, o.events)
}

/// Replications in any order, on any thread, over a plan that was used before or not.
fn repeats(system: &System) -> Checked {
    let mut short = system.clone();
    short.experiment.watch = S(10);
    let plan = Plan::new(&short);
    let conditions = Conditions::of(&plan);
    let one = |replication| print(&run(&plan, &conditions, replication, &AtomicBool::new(false)));
    let forwards: Vec<String> = (0..3).map(one).collect();
    let mut backwards: Vec<String> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..3).rev().map(|r| s.spawn(move || one(r))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    backwards.reverse();
    prop_assert_eq!(forwards, backwards);
    Ok(())
}

#[test]
fn nothing_is_left_when_the_load_has_stopped() {
    check(150, system(), drains);
}

#[test]
fn what_has_not_ended_is_open() {
    check(100, system(), cut_off);
    check(100, tangled_system(), cut_off);
}

#[test]
fn without_retries_and_with_warm_caches_nothing_is_amplified() {
    check(60, system(), no_retries);
}

#[test]
fn a_replication_does_not_depend_on_order_or_thread() {
    check(40, system(), repeats);
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn all_of_it_on_thousands_of_systems() {
    for property in [drains, cut_off, no_retries, repeats] {
        check(1_000, system(), property);
    }
    check(2_000, tangled_system(), cut_off);
}

/// Ten times the length: no more records, and a series within its bound.
#[test]
fn memory_does_not_grow_with_the_length_of_a_run() {
    let s = Service { workers: Some(4), service_time: Dist::Exponential(MS(10)), ..service("s") };
    let run_for = |seconds| {
        let mut system = single(s.clone(), 300.0, policy(Some(MS(100)), RetryLimits::uniform(1)));
        system.experiment.trigger_at = S(30);
        system.experiment.watch = S(seconds);
        system.experiment.interval = MS(100);
        go(&system, 0).1
    };
    let (short, long) = (run_for(100), run_for(1_000));
    assert!(long.requests > 7 * short.requests);
    assert!(long.open.most.0 < 2 * short.open.most.0 + 50, "{:?} {:?}", short.open, long.open);
    assert!(long.open.most.1 < 2 * short.open.most.1 + 50, "{:?} {:?}", short.open, long.open);
    assert!(long.series.points.len() <= 2048, "{}", long.series.points.len());
    let bytes = |o: &Outcome| o.classes[0].latency_us.distinct_values();
    assert_eq!(bytes(&short), bytes(&long), "the histogram has a fixed size");
}

/// A route that goes on and on, and a client that gives up when it is 100,000 calls deep.
#[test]
fn a_long_way_is_cancelled_without_recursion() {
    let s = Service {
        on_abandon: OnAbandon::Cancel,
        service_time: Dist::Deterministic(MS(1)),
        ..service("s")
    };
    let mut system = single(s, 1.0, policy(Some(S(100)), RetryLimits::uniform(0)));
    system.arrivals = Arrivals::Deterministic;
    system.load = vec![Load::Profile(vec![(S(0), 1.0), (MS(1500), 1.0), (MS(1500), 0.0)])];
    system.work = Work::Routes(Routes {
        entry: vec![vec![(ServiceId(0), 1.0)]],
        rows: vec![vec![vec![(ServiceId(0), 1.0)]]],
    });
    system.experiment.warmup = S(0);
    system.experiment.watch = S(100);
    let o = go(&system, 0).1;
    assert_eq!((o.requests, o.open.attempts, o.open.calls, o.open.timers), (1, 0, 0, 0));
    assert!(o.open.most.0 > 99_000);
}
