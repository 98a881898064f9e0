//! What triggers do, alone and where they overlap.

use std::sync::atomic::AtomicBool;

use damper_control::{Nanos, RetryLimits};
use damper_sim::{Conditions, Ending, Outcome, Plan, run};
use damper_system::model::*;

use crate::build::*;

fn simulate(mut system: System, actions: Vec<Action>) -> Outcome {
    system.triggers = vec![Trigger { name: "t".to_owned(), actions }];
    let e = &mut system.experiment;
    (e.trigger, e.warmup, e.trigger_at, e.watch) = (Some(0), S(0), S(10), S(40));
    let plan = Plan::new(&system);
    run(&plan, &Conditions::of(&plan), 0, &AtomicBool::new(false))
}

fn action(kind: ActionKind, after: u64, lasts: u64) -> Action {
    Action { kind, after: S(after), lasts: S(lasts) }
}

fn spike(class: Option<ClassId>, height: Spike) -> ActionKind {
    ActionKind::LoadSpike { class, height }
}

/// Evenly spaced arrivals at a service that takes all of them.
fn even(load: Vec<Load>) -> System {
    let mut system = single(service("s"), 1.0, policy(None, RetryLimits::uniform(0)));
    system.arrivals = Arrivals::Deterministic;
    system.classes = (0..load.len()).map(|c| format!("c{c}")).collect();
    let Work::Requests(types) = &mut system.work else { panic!() };
    types[0].share = vec![1.0; load.len()];
    system.load = load;
    system
}

fn offered(o: &Outcome, from: usize, to: usize) -> u64 {
    o.series.points[from..to].iter().map(|p| p.offered).sum()
}

#[track_caller]
fn about(got: u64, expected: u64) {
    assert!(got.abs_diff(expected) <= 2, "{got}, not {expected}");
}

/// "Instead of the load": two at a time do not multiply, and the higher one stands.
#[test]
fn spikes_to_a_rate_that_overlap_do_not_multiply() {
    let o = simulate(
        even(vec![Load::Constant(10.0)]),
        vec![
            action(spike(None, Spike::Rate(30.0)), 0, 10),
            action(spike(None, Spike::Rate(40.0)), 5, 10),
            action(spike(None, Spike::Factor(2.0)), 20, 10),
        ],
    );
    about(offered(&o, 0, 10), 100);
    about(offered(&o, 10, 15), 150);
    about(offered(&o, 15, 25), 400);
    about(offered(&o, 25, 30), 50);
    about(offered(&o, 30, 40), 200);
    about(offered(&o, 40, 50), 100);
}

#[test]
fn a_spike_to_a_rate_does_not_need_a_load() {
    let load = || vec![Load::Constant(0.0), Load::Constant(3.0)];
    let o = simulate(even(load()), vec![action(spike(Some(0), Spike::Rate(20.0)), 0, 10)]);
    about(o.classes[0].offered, 200);
    let o = simulate(even(load()), vec![action(spike(None, Spike::Rate(20.0)), 0, 10)]);
    about(o.classes[0].offered, 0);
    about(offered(&o, 10, 20), 200);
    let o = simulate(
        even(vec![Load::Constant(0.0); 2]),
        vec![action(spike(None, Spike::Rate(20.0)), 0, 10)],
    );
    about(o.classes[0].offered, 100);
    about(o.classes[1].offered, 100);
}

/// The load of the file moves meanwhile; the spike does not.
#[test]
fn a_spike_to_a_rate_holds_while_the_load_changes() {
    let ramp = Load::Profile(vec![(S(0), 0.0), (S(100), 100.0)]);
    let o = simulate(even(vec![ramp]), vec![action(spike(None, Spike::Rate(50.0)), 0, 20)]);
    about(offered(&o, 10, 30), 1000);
}

/// Half of ten instances with one worker each are five workers, not ten.
#[test]
fn a_loss_of_capacity_takes_its_share_of_all_instances() {
    for (instances, workers, share, left) in [(10, 1, 0.5, 5), (3, 2, 0.5, 3), (4, 1, 0.9, 0)] {
        let s = Service {
            workers: Some(workers),
            instances,
            balance: Balance::LeastLoaded,
            service_time: Dist::Deterministic(MS(100)),
            queue: Some(5),
            ..service("s")
        };
        let system = single(s, 400.0, policy(None, RetryLimits::uniform(0)));
        let services = vec![ServiceId(0)];
        let o = simulate(system, vec![action(ActionKind::CapacityLoss { services, share }, 0, 20)]);
        let done: f64 = o.series.points[12..28].iter().map(|p| p.services[0].work).sum();
        let busy = done / 16e9;
        assert!((busy - f64::from(left)).abs() < 0.1, "{instances} × {workers}: {busy}");
    }
}

/// Overlapping actions on one service leave it as it was, in whatever order they end.
#[test]
fn actions_that_overlap_all_end() {
    let s = Service {
        workers: Some(2),
        service_time: Dist::Deterministic(MS(10)),
        queue: Some(5),
        ..service("s")
    };
    let system = single(s, 50.0, policy(Some(S(1)), RetryLimits::uniform(0)));
    let on = || vec![ServiceId(0)];
    let o = simulate(
        system,
        vec![
            action(ActionKind::Outage { services: on(), refuse: false }, 0, 6),
            action(ActionKind::Outage { services: on(), refuse: true }, 2, 2),
            action(ActionKind::Slowdown { services: on(), factor: 50.0 }, 3, 9),
            action(ActionKind::Slowdown { services: on(), factor: 2.0 }, 5, 2),
            action(ActionKind::ErrorRate { services: on(), rate: 1.0 }, 1, 12),
            action(ActionKind::AddedLatency { services: on(), latency: S(2) }, 1, 3),
            action(ActionKind::CapacityLoss { services: on(), share: 1.0 }, 4, 4),
        ],
    );
    assert_eq!(o.ending, Ending::TimeOver);
    let good =
        |from: usize, to: usize| o.series.points[from..to].iter().map(|p| p.good).sum::<u64>();
    assert_eq!(good(11, 23), 0);
    assert_eq!(good(26, 50), offered(&o, 26, 50), "back to what it was");
    assert_eq!(o.verdict.recovery.map(|r| r < Nanos::from_secs(5)), Some(true));
}
