//! The contention experiment of "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
//!
//! One row with a version. N clients start at the same instant; each wants to write once. It
//! reads the version, and writes if the version is still the same; otherwise it backs off and
//! reads again. Every message takes |Normal(10, 2)|, base 5, cap 2000, in whatever unit of time:
//! milliseconds here. Neither server nor network has a limit: only conflicts matter.
//!
//! The article doubles before the first retry, so its exponential forms have twice the base.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use damper_control::{Backoff, Jitter, Nanos};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const TRIALS: u64 = 100;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    clients: usize,
    kind: &'static str,
    /// Mean time until the last client is done, in milliseconds.
    time: f64,
    /// Mean number of writes tried.
    calls: f64,
}

fn kinds() -> [(&'static str, Backoff); 5] {
    let (base, cap) = (Nanos::from_millis(5), Nanos::from_millis(2000));
    let doubled = |jitter| Backoff::exponential(base + base, 2.0, cap, jitter);
    [
        ("none", Backoff::NONE),
        ("exponential", doubled(Jitter::None)),
        ("equal", doubled(Jitter::Equal)),
        ("full", doubled(Jitter::Full)),
        ("decorrelated", Backoff::decorrelated(base, cap)),
    ]
}

/// What reaches the server, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: Nanos,
    client: usize,
    /// The version that a write found when it read; `None` is a read.
    write: Option<u64>,
}

struct Network(Xoshiro256PlusPlus);

impl Network {
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// |Normal(10, 2)| milliseconds, by Box and Muller.
    fn delay(&mut self) -> Nanos {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.unit()).cos();
        Nanos::from_secs_f64((10.0 + 2.0 * normal).abs() / 1e3)
    }
}

/// The time of the last success and the number of writes.
fn trial(clients: usize, backoff: Backoff, seed: u64) -> (Nanos, u64) {
    let mut network = Network(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut retries = vec![(0u32, None); clients];
    let mut arrivals = BinaryHeap::new();
    for client in 0..clients {
        arrivals.push(Reverse(Arrival { at: network.delay(), client, write: None }));
    }
    let (mut version, mut calls, mut end) = (0u64, 0, Nanos::ZERO);
    while let Some(Reverse(Arrival { at, client, write })) = arrivals.pop() {
        // Whatever the server answers needs its way back.
        let back = at + network.delay();
        match write {
            None => {
                let at = back + network.delay();
                arrivals.push(Reverse(Arrival { at, client, write: Some(version) }));
            }
            Some(read) => {
                calls += 1;
                if read == version {
                    version += 1;
                    end = end.max(back);
                    continue;
                }
                let (n, memory) = &mut retries[client];
                *n += 1;
                let drawn = backoff.draw(*n, *memory, &mut network.0);
                *memory = Some(drawn.memory);
                let at = back + drawn.delay + network.delay();
                arrivals.push(Reverse(Arrival { at, client, write: None }));
            }
        }
    }
    assert_eq!(version, clients as u64, "everybody has written once");
    (end, calls)
}

fn rows(clients: usize) -> Vec<Row> {
    kinds()
        .into_iter()
        .map(|(kind, backoff)| {
            let (mut time, mut calls) = (0.0, 0.0);
            for seed in 0..TRIALS {
                let (end, n) = trial(clients, backoff, seed);
                time += end.as_secs_f64() * 1e3;
                calls += n as f64;
            }
            let trials = TRIALS as f64;
            Row { clients, kind, time: time / trials, calls: calls / trials }
        })
        .collect()
}

/// The table as Markdown.
fn table(rows: &[Row]) -> String {
    let mut text = String::from("| clients | backoff | time | calls |\n|---|---|---|---|\n");
    for row in rows {
        let Row { clients, kind, time, calls } = row;
        text += &format!("| {clients} | {kind} | {time:.0} ms | {calls:.0} |\n");
    }
    text
}

/// Means of an independent run of the article's experiment, 100 trials: clients, kind, time
/// with the standard deviation of one trial, calls.
const REFERENCE: [(usize, &str, f64, f64, f64); 15] = [
    (10, "none", 383.0, 35.0, 51.0),
    (10, "exponential", 3415.0, 1385.0, 50.0),
    (10, "equal", 715.0, 204.0, 42.0),
    (10, "full", 479.0, 111.0, 39.0),
    (10, "decorrelated", 444.0, 78.0, 38.0),
    (50, "none", 1143.0, 42.0, 693.0),
    (50, "exponential", 36_237.0, 3443.0, 627.0),
    (50, "equal", 4308.0, 605.0, 347.0),
    (50, "full", 2859.0, 528.0, 333.0),
    (50, "decorrelated", 2254.0, 583.0, 377.0),
    (100, "none", 2031.0, 51.0, 2420.0),
    (100, "exponential", 63_963.0, 3909.0, 1856.0),
    (100, "equal", 6581.0, 618.0, 811.0),
    (100, "full", 4964.0, 580.0, 796.0),
    (100, "decorrelated", 4646.0, 684.0, 1003.0),
];

#[test]
fn the_experiment_of_2015_comes_out_again() {
    let all: Vec<Row> = [10, 50, 100].into_iter().flat_map(rows).collect();
    println!("{}", table(&all));
    let of = |clients, kind| *all.iter().find(|r| r.clients == clients && r.kind == kind).unwrap();

    for (clients, kind, time, deviation, calls) in REFERENCE {
        let row = of(clients, kind);
        // Two means of 100 trials differ by 1.41 tenths of the deviation of one trial; four times
        // that leaves one false alarm in 16 000.
        let tolerance = 4.0 * (2.0f64 / TRIALS as f64).sqrt() * deviation;
        assert!((row.time - time).abs() < tolerance, "{row:?}, not {time} ± {tolerance:.0}");
        // The deviation of the calls is not known; the table is rounded to one call.
        assert!((row.calls - calls).abs() < 0.5 + 0.03 * calls, "{row:?}, not {calls}");
    }

    let [none, exponential, equal, full, decorrelated] = kinds().map(|(kind, _)| of(100, kind));
    assert!(
        2.0 * full.calls < none.calls.min(exponential.calls),
        "the calls fall by more than half"
    );
    for other in [none, equal, full, decorrelated] {
        assert!(exponential.time > 5.0 * other.time, "without jitter it is slowest: {other:?}");
    }
    assert!(equal.time > 1.2 * full.time, "equal jitter is slower");
    assert!((equal.calls / full.calls - 1.0).abs() < 0.05, "for the same calls");
    assert!(decorrelated.calls > 1.15 * full.calls, "decorrelated jitter makes more calls");
    assert!(none.time < full.time, "conflicts cost this server nothing, so no backoff is fastest");
}
