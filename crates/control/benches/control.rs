//! Every control of the registry, with one owner: nanoseconds for one request.
//!
//! `cargo bench -p damper-control --bench control`
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark of what is tested")]

use damper_control::admission::{AdmissionRule as _, Busy};
use damper_control::budget::{Attempt, RetryBudget as _};
use damper_control::concurrency::Limiter;
use damper_control::entry::{Build, Kind};
use damper_control::gate::Admit as _;
use damper_control::queue::{DropFrom as _, QueueOrder as _};
use damper_control::{Nanos, Outcome, Who, registry};
use divan::{Bencher, black_box};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

fn main() {
    divan::main();
}

/// Time between two requests, and their latency: some of each, so that no rule rests.
const STEP: Nanos = Nanos(50_000);
const LATENCY: [Nanos; 4] = [Nanos(900_000), Nanos(1_000_000), Nanos(1_100_000), Nanos(9_000_000)];
const OUTCOME: [Outcome; 4] =
    [Outcome::Success, Outcome::Success, Outcome::Failed, Outcome::TimedOut];

/// A request: its number, when it comes, and whose it is.
struct Requests {
    rng: Xoshiro256PlusPlus,
    now: Nanos,
    number: usize,
}

impl Requests {
    fn new() -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(1), now: Nanos::ZERO, number: 0 }
    }

    fn next(&mut self) -> (Nanos, Who, usize) {
        self.number += 1;
        self.now = self.now + STEP;
        // Four classes, 64 flows.
        let who =
            Who { class: (self.number % 4) as u8, flow: (self.number % 64) as u64, user: None };
        (self.now, who, self.number / 3 % 4)
    }
}

fn names(kinds: &[Kind]) -> Vec<&'static str> {
    kinds.iter().flat_map(|kind| registry::of(*kind)).map(|entry| entry.name).collect()
}

fn build(name: &str) -> (Build, Vec<f64>) {
    let entry = registry::find(name).unwrap();
    (entry.build, entry.defaults().collect())
}

/// An attempt starts and ends; if it failed, a retry is asked for, and, if granted, made.
#[divan::bench(args = names(&[Kind::Budget]), sample_size = 1000)]
fn budget(bencher: Bencher<'_, '_>, name: &str) {
    let (Build::Budget(make), defaults) = build(name) else { return };
    let (mut budget, mut requests) = (make(&defaults).unwrap(), Requests::new());
    bencher.bench_local(|| {
        let (now, who, turn) = requests.next();
        let (rng, outcome) = (&mut requests.rng, OUTCOME[turn]);
        let first = Attempt::first(who.class);
        budget.start(now, first);
        budget.settle(now, first, outcome, outcome != Outcome::Success, rng);
        if outcome != Outcome::Success
            && let Some(paid) = budget.withdraw(now, first, outcome, rng)
        {
            let retry = Attempt { retries: 1, paid, ..first };
            budget.start(now, retry);
            budget.settle(now, retry, Outcome::Success, false, rng);
        }
    });
}

/// An attempt asks to be sent, and ends.
#[divan::bench(args = names(&[Kind::Throttle, Kind::Breaker]), sample_size = 1000)]
fn gate(bencher: Bencher<'_, '_>, name: &str) {
    let (Build::Gate(make), defaults) = build(name) else { return };
    let (mut gate, mut requests) = (make(&defaults).unwrap(), Requests::new());
    bencher.bench_local(|| {
        let (now, who, turn) = requests.next();
        let rng = &mut requests.rng;
        if let Ok(pass) = black_box(gate.admit(now, who.class, rng)) {
            gate.settle(now, pass, OUTCOME[turn], LATENCY[turn], rng);
        }
    });
}

/// An attempt takes a place and gives it back.
#[divan::bench(args = names(&[Kind::Concurrency]), sample_size = 1000)]
fn concurrency(bencher: Bencher<'_, '_>, name: &str) {
    let (Build::Concurrency(make), defaults) = build(name) else { return };
    let mut limiter = Limiter::try_new(make(&defaults).unwrap(), None).unwrap();
    let mut requests = Requests::new();
    bencher.bench_local(|| {
        let (now, who, turn) = requests.next();
        if let Ok(permit) = black_box(limiter.acquire(now, who.class)) {
            let end = now + LATENCY[turn];
            limiter.release(end, permit, Nanos::ZERO, Some(OUTCOME[turn]), &mut requests.rng);
        }
    });
}

/// An attempt joins a queue in which ten others wait, and the next is served.
#[divan::bench(args = names(&[Kind::Order]), sample_size = 1000)]
fn order(bencher: Bencher<'_, '_>, name: &str) {
    let (Build::Order(make), defaults) = build(name) else { return };
    let (mut order, mut requests) = (make(&defaults).unwrap(), Requests::new());
    let mut waiting = 0;
    bencher.bench_local(|| {
        let (now, who, turn) = requests.next();
        waiting += u32::from(black_box(order.join(now, who, waiting, 1000)).is_ok());
        if waiting > 10
            && let Some((list, _)) = black_box(order.next(now))
        {
            waiting -= 1;
            order.done(now, list, LATENCY[turn]);
        }
    });
}

/// An attempt joins, and a worker takes one.
#[divan::bench(args = names(&[Kind::Drop]), sample_size = 1000)]
fn drop_rule(bencher: Bencher<'_, '_>, name: &str) {
    let (Build::Drop(make), defaults) = build(name) else { return };
    let (mut rule, mut requests) = (make(&defaults).unwrap(), Requests::new());
    bencher.bench_local(|| {
        let (now, _, turn) = requests.next();
        rule.joined(now, 10);
        black_box(rule.drops(now, LATENCY[turn], 9))
    });
}

/// An attempt comes, is let in or not, is worked on, and ends.
#[divan::bench(args = names(&[Kind::Admission]), sample_size = 1000)]
fn admission(bencher: Bencher<'_, '_>, name: &str) {
    let (Build::Admission(make), defaults) = build(name) else { return };
    let (mut admission, mut requests) = (make(&defaults).unwrap(), Requests::new());
    let busy = Busy { waiting: 10, queue_limit: 1000, working: 8, workers: 8, utilisation: 0.95 };
    bencher.bench_local(|| {
        let (now, who, turn) = requests.next();
        if black_box(admission.admit(now, who, &busy, &mut requests.rng)).is_ok() {
            admission.taken(now, who, LATENCY[turn], &busy);
            admission.settle(now, who, LATENCY[turn], Some(OUTCOME[turn]));
        }
    });
}
