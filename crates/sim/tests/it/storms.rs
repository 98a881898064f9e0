//! The sustaining loop, in miniature.

use std::sync::atomic::AtomicBool;

use damper_control::RetryLimits;
use damper_sim::{Conditions, Outcome, Plan, State, run};
use damper_system::model::*;

use crate::build::*;

/// One service of 300/s behind one retry after 1 s, silent for 2 s.
fn retry_storm(load: f64) -> System {
    let s =
        Service { workers: Some(30), service_time: Dist::Deterministic(MS(100)), ..service("db") };
    let mut system = single(s, load, policy(Some(S(1)), RetryLimits::uniform(1)));
    outage(&mut system, S(2));
    system
}

fn simulate(system: &System, early: bool) -> Outcome {
    let plan = Plan::new(system);
    let mut conditions = Conditions::of(&plan);
    conditions.early = early;
    run(&plan, &conditions, 0, &AtomicBool::new(false))
}

#[test]
fn below_half_of_its_capacity_it_heals() {
    let o = simulate(&retry_storm(140.0), false);
    assert_eq!(o.verdict.state, State::Stable, "{}", o.verdict.reason);
    assert!(o.verdict.recovery.unwrap() < S(60));
}

#[test]
fn above_it_stays_down_and_wastes_its_work() {
    let o = simulate(&retry_storm(270.0), false);
    assert_eq!(o.verdict.state, State::Metastable, "{}", o.verdict.reason);
    let after: Vec<_> = o.series.points[65..125].iter().collect();
    let offered: u64 = after.iter().map(|p| p.offered).sum();
    let good: u64 = after.iter().map(|p| p.good).sum();
    assert!(good * 20 < offered, "goodput {good} of {offered}");
    let wasted: f64 = after.iter().map(|p| p.services[0].wasted).sum();
    let work: f64 = after.iter().map(|p| p.services[0].work).sum();
    assert!(wasted > 0.9 * work, "{wasted} of {work}");
}

#[test]
fn an_early_verdict_is_the_same_verdict() {
    for load in [100.0, 140.0, 165.0, 200.0, 290.0] {
        let (early, late) =
            (simulate(&retry_storm(load), true), simulate(&retry_storm(load), false));
        assert_eq!(early.verdict.state, late.verdict.state, "at {load}/s");
        assert!(early.events <= late.events);
    }
}

/// Each cure alone, at 0.9 of the capacity.
#[test]
fn what_ends_the_loop_and_what_does_not() {
    use damper_control::budget::{EnvoyRetryBudget, GrpcTokenBucket};
    use damper_control::{Backoff, Jitter};
    let base = retry_storm(270.0);
    let state = |change: &dyn Fn(&mut System)| {
        let mut system = base.clone();
        change(&mut system);
        simulate(&system, false).verdict.state
    };
    let edge = |s: &mut System, f: &dyn Fn(&mut Policy)| f(&mut s.policies.edges[0].policy);
    let no_retry = state(&|s| edge(s, &|p| p.retry.limits = RetryLimits::uniform(0)));
    let travels = state(&|s| edge(s, &|p| p.deadline_travels = true));
    let bounded = state(&|s| s.services[0].queue = Some(150));
    let bucket = state(&|s| {
        edge(s, &|p| p.budget.initial = GrpcTokenBucket::try_new(10, 0.1).unwrap().into());
    });
    for (name, healed) in [
        ("no retry", no_retry),
        ("travels", travels),
        ("bounded queue", bounded),
        ("token bucket", bucket),
    ] {
        assert_eq!(healed, State::Stable, "{name}");
    }
    // A full queue served in order always hands out the attempt that is about to lose its
    // caller: to notice those that already have lost it is too late by one service time.
    for on_abandon in [OnAbandon::Skip, OnAbandon::Cancel] {
        let only_noticed = state(&|s| s.services[0].on_abandon = on_abandon);
        assert_eq!(only_noticed, State::Metastable, "{on_abandon:?}");
    }
    let backoff = state(&|s| {
        edge(s, &|p| p.retry.backoff = Backoff::exponential(MS(100), 2.0, S(10), Jitter::Full));
    });
    assert_eq!(backoff, State::Metastable, "backoff only reschedules");
    // 1.2 × 270 = 324 > 300: a ratio budget lowers the multiplier, here not far enough.
    let ratio = state(&|s| {
        edge(s, &|p| p.budget.initial = EnvoyRetryBudget::try_new(20.0, 3).unwrap().into());
    });
    assert_eq!(ratio, State::Metastable, "a 20 % budget at 0.9 of capacity");
}

/// The worst case of five layers of three attempts, with callers that retry after they were given up.
#[test]
fn layers_multiply() {
    let mut system = single(service("l1"), 10.0, policy(Some(S(1)), RetryLimits::uniform(2)));
    system.services = (1..5).map(|i| service(&format!("l{i}"))).collect();
    system.services.push(Service {
        workers: Some(30),
        service_time: Dist::Deterministic(MS(10)),
        ..service("store")
    });
    let tree = (0..5).rev().fold(vec![], |below, i| vec![vec![call(i, below)]]);
    let Work::Requests(types) = &mut system.work else { panic!() };
    types[0].steps = tree;
    let callers =
        std::iter::once(Caller::Client).chain((0..4).map(|i| Caller::Service(ServiceId(i))));
    system.policies.edges = callers
        .enumerate()
        .map(|(i, caller)| Edge {
            caller,
            target: Target::Service(ServiceId(i as u32)),
            policy: policy(Some(S(1)), RetryLimits::uniform(2)),
        })
        .collect();
    outage(&mut system, S(600));
    system.experiment.watch = S(1);
    let o = simulate(&system, false);
    let late: Vec<_> = o.series.points[200..600].iter().collect();
    let attempts: u64 = late.iter().map(|p| p.services[0].attempts).sum();
    let offered: u64 = late.iter().map(|p| p.offered).sum();
    let raf = attempts as f64 / offered as f64;
    assert!((raf / 243.0 - 1.0).abs() < 0.05, "{raf}");
}
