//! The layers of a client and of a server, with hyper between them, over a network that delays,
//! cuts, resets and forgets, under a clock that jumps: one seed is one run, and the same each time.
//!
//! `DAMPER_SEED=N` runs one seed and prints what happened; `DAMPER_SEEDS=N` is how many the slow test
//! tries.
#![cfg(feature = "system")]
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod net;
mod world;

use std::collections::BTreeSet;

use world::{Run, run};

/// Seeds that found something once.
const KEPT: [u64; 0] = [];

/// What must be true of every run, whatever the network did.
fn check(run: &Run) {
    let seed = run.seed;
    for call in &run.calls {
        let (id, attempts) = (call.id, run.attempts(call.id));
        assert!(call.ended, "seed {seed}: call {id} has no end");
        assert!(
            call.took_ms <= world::DEADLINE_MS + run.jumped_ms + 20,
            "seed {seed}: call {id} took {} ms",
            call.took_ms
        );
        // One more may follow a connection that could not be made, which no limit counts.
        assert!(attempts <= call.limit + 2, "seed {seed}: call {id} made {attempts} attempts");
        let worked = run.worked(id);
        assert!(worked <= attempts, "seed {seed}: call {id} was worked on {worked} times");
        if call.once {
            assert!(worked <= 1, "seed {seed}: call {id} may be done once, and was {worked} times");
        }
        if call.good {
            assert!(worked >= 1, "seed {seed}: call {id} succeeded without any work");
        }
    }
    assert_eq!(run.left, [0; 2], "seed {seed}: places of the door that nobody gave back");
    assert!(
        run.retries as f64 <= world::most_retries(run.good_attempts),
        "seed {seed}: {} retries after {} good attempts",
        run.retries,
        run.good_attempts
    );
}

#[test]
fn whatever_the_network_does() {
    if let Ok(seed) = std::env::var("DAMPER_SEED") {
        let run = run(seed.parse().unwrap());
        run.events.iter().for_each(|event| println!("{event}"));
        return check(&run);
    }
    let mut ends = BTreeSet::new();
    let (mut retries, mut jumps) = (0, 0);
    for seed in KEPT.into_iter().chain(0..60) {
        let run = run(seed);
        check(&run);
        ends.extend(run.calls.iter().map(|call| call.end.clone()));
        retries += run.retries;
        jumps += u64::from(run.jumped_ms > 0);
    }
    // A network in which nothing happens would show nothing.
    assert!(retries > 100 && jumps > 10, "{retries} retries, {jumps} runs with jumps");
    for end in ["200", "500", "503", "timed out", "lost", "nobody there"] {
        assert!(ends.contains(end), "nothing ended with {end}: {ends:?}");
    }
}

#[test]
fn a_seed_is_the_same_run_each_time() {
    for seed in [3, 4] {
        let (one, two) = (run(seed), run(seed));
        assert!(one.events.len() > 100);
        for (index, (one, two)) in one.events.iter().zip(&two.events).enumerate() {
            assert_eq!(one, two, "seed {seed}, event {index}");
        }
        assert_eq!(one.events.len(), two.events.len());
    }
}

#[test]
#[ignore = "slow: five hundred seeds"]
fn whatever_the_network_does_many_times() {
    let count = std::env::var("DAMPER_SEEDS").map_or(500, |count| count.parse().unwrap());
    for seed in 1000..1000 + count {
        check(&run(seed));
    }
}
