//! Values at the ends of their ranges: beyond what a file may say, and no panic.

use std::sync::atomic::AtomicBool;

use damper_control::{Backoff, Growth, Jitter, Nanos, RetryLimits};
use damper_sim::{Conditions, Ending, Outcome, Plan, run};
use damper_system::model::*;

use crate::build::*;

fn base() -> System {
    let s = Service {
        workers: Some(2),
        service_time: Dist::Exponential(MS(10)),
        queue: Some(50),
        ..service("s")
    };
    let mut system = single(s, 100.0, policy(Some(MS(100)), RetryLimits::uniform(2)));
    outage(&mut system, S(2));
    let e = &mut system.experiment;
    (e.warmup, e.trigger_at, e.watch) = (S(1), S(2), S(20));
    system
}

fn survives(what: &str, change: impl Fn(&mut System)) -> Outcome {
    let mut system = base();
    change(&mut system);
    let plan = Plan::new(&system);
    let o = run(&plan, &Conditions::of(&plan), 0, &AtomicBool::new(false));
    assert!(matches!(o.ending, Ending::TimeOver | Ending::TooManyOpen), "{what}");
    let ended: u64 = o.classes.iter().map(damper_sim::ClassStats::ended_all).sum();
    assert!(ended <= o.classes[0].offered, "{what}");
    assert!(o.services[0].busy.is_finite() && o.services[0].work.is_finite(), "{what}");
    o
}

const NEARLY: Nanos = Nanos(u64::MAX - 1);

fn edge(system: &mut System) -> &mut Policy {
    &mut system.policies.edges[0].policy
}

#[test]
fn spans_without_end() {
    for span in [Nanos::MAX, NEARLY, Nanos(u64::MAX / 2 + 1)] {
        survives("timeout", |s| edge(s).timeout = Some(span));
        survives("deadline", |s| {
            (edge(s).deadline, edge(s).deadline_travels) = (Some(span), true);
        });
        for jitter in [Jitter::None, Jitter::Full, Jitter::Decorrelated, Jitter::Exponential] {
            survives("backoff", |s| {
                edge(s).retry.backoff =
                    Backoff { growth: Growth::Exponential(2.0), base: span, cap: span, jitter };
            });
        }
        survives("latency", |s| {
            let kind = ActionKind::AddedLatency { services: vec![ServiceId(0)], latency: span };
            let action = Action { kind, after: Nanos::ZERO, lasts: S(5) };
            s.triggers[0].actions.extend([action.clone(), action]);
        });
        survives("hold", |s| s.experiment.hold = span);
        survives("good_within", |s| s.experiment.good_within = Some(span));
    }
    for span in [Nanos::ZERO, Nanos(1)] {
        survives("timeout", |s| edge(s).timeout = Some(span));
        survives("deadline", |s| edge(s).deadline = Some(span));
    }
}

#[test]
fn service_times_without_measure() {
    let times = [
        Dist::Deterministic(NEARLY),
        Dist::Deterministic(Nanos(1)),
        Dist::Exponential(NEARLY),
        Dist::Erlang { mean: NEARLY, stages: 10_000 },
        Dist::Lognormal { mean: MS(1), cv: 1e9 },
        Dist::Lognormal { mean: Nanos::ZERO, cv: 1.0 },
        Dist::Hyperexponential { mean: MS(1), cv: 1e6 },
        Dist::Pareto { mean: MS(10), alpha: 1.000_001 },
        Dist::Pareto { mean: NEARLY, alpha: 1e9 },
        Dist::Empirical(vec![(NEARLY, 1.0), (Nanos::ZERO, 1e-300)]),
    ];
    for time in times {
        for on_abandon in [OnAbandon::Finish, OnAbandon::Cancel] {
            survives(&format!("{time:?}"), |s| {
                let service = &mut s.services[0];
                (service.service_time, service.on_abandon) = (time.clone(), on_abandon);
            });
        }
    }
    survives("costly errors", |s| {
        (s.services[0].failure, s.services[0].error_cost) = (0.5, 1e300);
    });
    survives("contention", |s| {
        s.services[0].workers = Some(u32::MAX - 1);
        s.services[0].contention = Contention { alpha: 1e300, beta: 1e300 };
    });
    survives("slowdown", |s| {
        let kind = ActionKind::Slowdown { services: vec![ServiceId(0)], factor: f64::MAX };
        let action = Action { kind, after: Nanos::ZERO, lasts: S(5) };
        s.triggers[0].actions.extend([action.clone(), action]);
    });
}

#[test]
fn limits_of_a_million_and_of_nothing() {
    survives("a million immediate retries of what is refused at once", |s| {
        edge(s).retry.limits = RetryLimits::uniform(1_000_000);
        edge(s).deadline = Some(S(1));
        s.load = vec![Load::Constant(1.0)];
        s.triggers[0].actions[0].kind =
            ActionKind::Outage { services: vec![ServiceId(0)], refuse: true };
    });
    survives("as many as there are numbers", |s| {
        edge(s).retry.limits = RetryLimits::uniform(u32::MAX);
        edge(s).retry.backoff = Backoff::constant(MS(10), Jitter::Full);
    });
    let o = survives("no workers for good", |s| {
        let kind = ActionKind::CapacityLoss { services: vec![ServiceId(0)], share: 1.0 };
        s.triggers[0].actions[0] = Action { kind, after: Nanos::ZERO, lasts: S(100) };
    });
    assert_eq!(o.series.points[3..102].iter().map(|p| p.good).sum::<u64>(), 0);
    survives("no queue", |s| s.services[0].queue = Some(0));
    survives("no load", |s| s.load = vec![Load::Constant(0.0)]);
}
