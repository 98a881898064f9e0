//! The event engine: whole runs, with events per second.
//!
//! `cargo bench -p damper-sim`
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark of files that are tested")]

use std::sync::atomic::AtomicBool;

use damper_sim::{Conditions, Outcome, Plan, run};
use damper_system::SystemFile;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// Reads an example and lets it run for `seconds` of simulated time.
fn plan(name: &str, changes: &[&str]) -> Plan {
    let path = format!("{}/../../examples/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let mut file = SystemFile::read(path.as_ref()).unwrap();
    for change in changes {
        file.set(change).unwrap();
    }
    Plan::new(&file.lower().unwrap())
}

fn once(plan: &Plan) -> Outcome {
    run(plan, &Conditions::of(plan), 0, &AtomicBool::new(false))
}

fn bench(bencher: divan::Bencher<'_, '_>, plan: &Plan) {
    let events = once(plan).events;
    bencher.counter(ItemsCount::new(events)).bench_local(|| once(plan));
}

/// M/M/1 at 90 %: arrivals and departures, nothing else.
#[divan::bench]
fn mm1(bencher: divan::Bencher<'_, '_>) {
    let calm = [
        "load=9/s",
        "policies.\"client -> server\"={}",
        "experiment.trigger=none",
        "experiment.watch=20000s",
    ];
    bench(bencher, &plan("mm1-storm", &calm));
}

/// The whole life of a request: timeouts, rejections, retries, orphans.
#[divan::bench]
fn mm1_storm(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, &plan("mm1-storm", &["experiment.watch=20000s"]));
}

/// Two classes, class limits, exponential retry delays, a rejecting queue.
#[divan::bench]
fn single_node(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, &plan("single-node", &[]));
}

/// Call trees over eight services with rate limits and backoff.
#[divan::bench]
fn hotel_reservation(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, &plan("hotel-reservation", &[]));
}

/// A cache with 100,000 keys that fills.
#[divan::bench]
fn read_through_cache(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, &plan("lookaside-cache", &["caches.users.mode=read-through"]));
}
