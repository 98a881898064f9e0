//! The same seed, the same bytes.

use std::sync::atomic::AtomicBool;

use damper_sim::{Conditions, Plan, run};
use damper_system::model::*;

use crate::build::*;

fn print(seed: u64, replication: u32) -> String {
    let s = Service {
        workers: Some(4),
        service_time: Dist::Lognormal { mean: MS(100), cv: 1.5 },
        failure: 0.05,
        ..service("s")
    };
    let mut system = single(s, 35.0, policy(Some(MS(700)), [2]));
    outage(&mut system, S(3));
    let plan = Plan::new(&system);
    let conditions = Conditions { seed, ..Conditions::of(&plan) };
    let o = run(&plan, &conditions, replication, &AtomicBool::new(false));
    format!(
        "{:?} {:?} {:?} {:?}",
        o.verdict, o.classes[0].ended, o.services[0].work, o.series.points
    )
}

#[test]
fn a_seed_replays_to_the_byte_also_on_other_threads() {
    let here = print(1, 0);
    let there = std::thread::spawn(|| print(1, 0)).join().unwrap();
    assert_eq!(here, there);
    assert_ne!(here, print(2, 0));
    assert_ne!(here, print(1, 1));
}

/// Three layers of a million retries each, all at the same instant: no clock would end this.
#[test]
fn a_run_can_be_stopped_within_an_instant_and_within_an_interval() {
    let mut storm = single(service("a"), 10.0, policy(None, [1_000_000]));
    storm.services = ["a", "b", "c"].map(service).to_vec();
    storm.services[2].failure = 1.0;
    let Work::Requests(types) = &mut storm.work else { panic!() };
    types[0].steps = vec![vec![call(0, vec![vec![call(1, vec![vec![call(2, vec![])]])]])]];
    for (caller, target) in [(0, 1), (1, 2)] {
        storm.policies.edges.push(Edge {
            caller: Caller::Service(ServiceId(caller)),
            target: Target::Service(ServiceId(target)),
            policy: policy(None, [1_000_000]),
        });
    }
    let mut long = single(service("a"), 1e6, policy(None, [0]));
    (long.experiment.interval, long.experiment.watch) = (S(100_000), S(100_000));
    for system in [storm, long] {
        let plan = Plan::new(&system);
        let conditions = Conditions::of(&plan);
        let stop = AtomicBool::new(false);
        let ending = std::thread::scope(|s| {
            let run = s.spawn(|| run(&plan, &conditions, 0, &stop).ending);
            std::thread::sleep(std::time::Duration::from_millis(50));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            run.join().unwrap()
        });
        assert_eq!(ending, damper_sim::Ending::Interrupted);
    }
}
