//! The three reproductions of Huang et al. (OSDI '22) as files: where their boundaries are, and ours.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use damper_sim::{Conditions, Plan, State, run};
use damper_system::SystemFile;

fn state(name: &str, set: &[&str]) -> State {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/osdi22/{name}.yaml"));
    let mut file = SystemFile::read(&path).unwrap_or_else(|p| panic!("{p}"));
    for change in set {
        file.set(change).unwrap_or_else(|p| panic!("{p}"));
    }
    let plan = Plan::new(&file.lower().unwrap_or_else(|p| panic!("{p}")));
    run(&plan, &Conditions::of(&plan), 0, &AtomicBool::new(false)).verdict.state
}

/// Figure 5: size, length and load of the trigger, as published.
#[test]
fn the_replicated_store_has_the_published_boundary() {
    let limit = |share: u32, seconds: u32| {
        format!("triggers.limit=[{{capacity_loss: store, share: {share}%, for: {seconds}s}}]")
    };
    let at = |set: &[&str]| state("replicated-store", set);
    assert_eq!(at(&[]), State::Metastable, "10 s at -80 %");
    assert_eq!(at(&[&limit(78, 10)]), State::Stable, "10 s at -78 %");
    assert_eq!(at(&[&limit(80, 9)]), State::Stable, "9 s at -80 %");
    assert_eq!(at(&["load=262/s"]), State::Stable, "10 s at -80 % with 30 % less load");
}

/// Figure 6, as far as ours goes: any trigger is survived below the capacity of the store, and the
/// hit rate moves only what can be served.
#[test]
fn the_look_aside_cache_heals_below_the_capacity_of_its_store() {
    let at = |set: &[&str]| state("look-aside", set);
    for hit_rate in ["80%", "95%"] {
        let rate = format!("caches.pages.hit_rate={hit_rate}");
        assert_eq!(at(&[&rate, "load=150/s"]), State::Stable, "{hit_rate}");
        assert_eq!(at(&[&rate, "load=360/s"]), State::Metastable, "{hit_rate}");
    }
}

/// The longer the stall, the less load survives it.
#[test]
fn the_garbage_collection_loop_needs_load_and_a_stall() {
    let at = |load: u32, stall: u32| {
        let (load, stall) =
            (format!("load={load}/s"), format!("triggers.stall=[{{outage: jvm, for: {stall}ms}}]"));
        state("garbage-collection", &[&load, &stall])
    };
    assert_eq!(at(220, 2500), State::Metastable);
    assert_eq!(at(140, 2500), State::Stable);
    assert_eq!(at(220, 1000), State::Stable);
    assert_eq!(at(140, 5000), State::Metastable);
}
