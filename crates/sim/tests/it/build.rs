//! Systems made by hand, without the file loader.

use damper_control::{Nanos, RetryLimits};
use damper_system::model::*;

pub(crate) const S: fn(u64) -> Nanos = Nanos::from_secs;
pub(crate) const MS: fn(u64) -> Nanos = Nanos::from_millis;

pub(crate) fn service(name: &str) -> Service {
    Service {
        name: name.to_owned(),
        workers: None,
        instances: 1,
        balance: Balance::RoundRobin,
        service_time: Dist::ZERO,
        rate_limit: None,
        queue: None,
        order: Spec::fifo(),
        drop: None,
        admission: None,
        concurrency: None,
        shares: None,
        overloaded: Some(Overloaded::default()),
        pushback: None,
        lever: vec![],
        failure: 0.0,
        error_cost: 1.0,
        on_abandon: OnAbandon::Finish,
        contention: Contention::default(),
        blocking: false,
        mechanisms: Mechanisms::default(),
    }
}

pub(crate) fn call(service: u32, steps: Vec<Step>) -> Call {
    Call { target: Target::Service(ServiceId(service)), times: 1, chance: 1.0, steps }
}

pub(crate) fn policy(timeout: Option<Nanos>, limits: impl Into<RetryLimits>) -> Policy {
    let mut p = Policy { timeout, ..Policy::default() };
    p.retry.limits = limits.into();
    p
}

/// One class, one service, one call.
pub(crate) fn single(s: Service, load: f64, p: Policy) -> System {
    let target = Target::Service(ServiceId(0));
    System {
        name: "test".to_owned(),
        classes: vec!["default".to_owned()],
        services: vec![s],
        caches: vec![],
        load: vec![Load::Constant(load)],
        arrivals: Arrivals::Poisson,
        users: vec![1000],
        work: Work::Requests(vec![RequestType {
            name: "r".to_owned(),
            share: vec![1.0],
            steps: vec![vec![call(0, vec![])]],
        }]),
        policies: Policies { edges: vec![Edge { caller: Caller::Client, target, policy: p }] },
        triggers: vec![],
        experiment: Experiment {
            warmup: S(30),
            trigger_at: S(60),
            trigger: None,
            watch: S(120),
            recovered_at: 0.95,
            hold: S(5),
            good_within: None,
            seed: 1,
            replications: 1,
            vary: None,
            interval: S(1),
        },
    }
}

pub(crate) fn outage(system: &mut System, lasts: Nanos) {
    let kind = ActionKind::Outage {
        services: vec![ServiceId(system.services.len() as u32 - 1)],
        refuse: false,
    };
    system.triggers = vec![Trigger {
        name: "blip".to_owned(),
        actions: vec![Action { kind, after: Nanos::ZERO, lasts }],
    }];
    system.experiment.trigger = Some(0);
}
