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
