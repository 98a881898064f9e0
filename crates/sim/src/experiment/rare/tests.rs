use std::sync::atomic::AtomicBool;

use damper_system::SystemFile;

use super::summary::{log_interval, per_day};
use super::*;

/// One worker of 30/s behind callers who wait 600 ms and try once more.
const TWO_BASINS: &str = "{damper: 1, load: 24/s, requests: {query: {calls: [db]}},
services: {db: {workers: 1, service_time: {dist: exponential, mean: 33.333333ms}, queue: 59}},
policies: {'client -> db': {timeout: 600ms, retry: {limit: 1}}},
experiment: {warmup: 30s, watch: 200s, hold: 2s, seed: 1}}";

fn system(changes: &[&str]) -> System {
    let mut file = SystemFile::parse("x.yaml", TWO_BASINS).unwrap();
    changes.iter().for_each(|change| file.set(change).unwrap());
    file.lower().unwrap()
}

fn find(system: &System, replications: u32, effort: u32) -> Result<Rare, RareError> {
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_, _, _| {} };
    rare(system, &RareOptions { replications, effort }, &control)
}

/// Collapses per second by waiting for them, with its standard error.
fn waited(system: &System, collapses: u32) -> (f64, f64) {
    let plan = Plan::new(system);
    let usual = Conditions::of(&plan);
    let conditions =
        Conditions { trigger: None, trigger_at: u64::MAX, warmup: u64::MAX, ..usual.clone() };
    let mut time = 0;
    for replication in 0..collapses {
        let mut world = World::lean(&plan, &conditions, 70_000 + replication);
        // The window of `rare`: the hold time of two seconds.
        let mut window = Window::new(2);
        world.advance(&AtomicBool::new(false), |world, look| {
            let Look::Interval(pulse) = look else { return None };
            window.push(pulse);
            (world.now >= usual.warmup && window.collapsed()).then_some(())
        });
        time += world.now.saturating_sub(usual.warmup);
    }
    let rate = f64::from(collapses) / Nanos(time).as_secs_f64();
    (rate, rate / f64::from(collapses).sqrt())
}

/// Where collapses are frequent they can be waited for.
#[test]
fn it_agrees_with_waiting() {
    for load in ["load=24/s", "load=22/s"] {
        let system = system(&[load]);
        let found = find(&system, 8, 150).unwrap();
        let (rate, error) = waited(&system, 100);
        let off = (found.per_second - rate).abs();
        let own = (found.ci95[1] - found.ci95[0]) / 4.0;
        assert!(off < 4.0 * error.hypot(own), "{load}: {found:?} against {rate} ± {error}");
        assert!(found.levels.len() >= 2 && found.cut == 0, "{found:?}");
    }
}

#[test]
fn it_is_the_same_again_and_differs_by_seed() {
    let base = system(&[]);
    let first = find(&base, 3, 40).unwrap();
    assert_eq!(find(&base, 3, 40).unwrap(), first);
    let other = find(&system(&["experiment.seed=2"]), 3, 40).unwrap();
    assert_ne!(other.per_second, first.per_second);
}

/// The rarer, the further up the levels go, and the rate falls by orders of magnitude.
#[test]
fn a_lower_load_collapses_more_rarely() {
    let often = find(&system(&["load=22/s"]), 4, 80).unwrap();
    let seldom = find(&system(&["load=18/s"]), 4, 80).unwrap();
    assert!(seldom.ci95[1] < often.ci95[0] / 5.0, "{seldom:?} and {often:?}");
    assert!(seldom.levels.len() > often.levels.len());
    assert!(seldom.lasting.is_some_and(|share| share > 0.0));
}

#[test]
fn what_cannot_be_answered_says_why() {
    assert!(
        find(&system(&["load=40/s"]), 2, 20).is_err_and(|why| why.contains("no healthy state"))
    );
    let mut silent = system(&[]);
    silent.load.iter_mut().for_each(|load| *load = load.scaled(0.0));
    assert!(find(&silent, 2, 20).is_err_and(|why| why.contains("zero")));
}

#[test]
fn interrupted_it_says_so() {
    let stop = AtomicBool::new(true);
    let control = Control { stop: &stop, progress: &|_, _, _| {} };
    let found = rare(&system(&[]), &RareOptions { replications: 3, effort: 20 }, &control).unwrap();
    assert!(found.partial && found.replications == 0);
}

#[test]
fn intervals_multiply() {
    // 1, 2, 3: mean 2, s = 1, half width 4.303 / √3 of it.
    let (mean, [low, high]) = log_interval(&[1.0, 2.0, 3.0]);
    let half = 4.303 / 3_f64.sqrt() / 2.0;
    assert!((mean - 2.0).abs() < 1e-12);
    assert!((low - 2.0 * (-half).exp()).abs() < 1e-9 && (high - 2.0 * half.exp()).abs() < 1e-9);
    assert_eq!(log_interval(&[0.0, 0.0]).0, 0.0);
    assert!((per_day(1e-12) / 8.64e-8 - 1.0).abs() < 1e-6);
    assert!((per_day(1.0) - 1.0).abs() < 1e-12);
}
