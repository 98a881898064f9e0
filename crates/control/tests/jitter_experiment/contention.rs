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

pub(crate) const TRIALS: u64 = 100;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) clients: usize,
    pub(crate) kind: &'static str,
    /// Mean time until the last client is done, in milliseconds.
    pub(crate) time: f64,
    /// Mean number of writes tried.
    pub(crate) calls: f64,
}

pub(crate) fn kinds() -> [(&'static str, Backoff); 5] {
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
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        let normal = radius * libm::cos(std::f64::consts::TAU * self.unit());
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

pub(crate) fn rows(clients: usize) -> Vec<Row> {
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
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = String::from("| clients | backoff | time | calls |\n|---|---|---|---|\n");
    for row in rows {
        let Row { clients, kind, time, calls } = row;
        text += &format!("| {clients} | {kind} | {time:.0} ms | {calls:.0} |\n");
    }
    text
}
