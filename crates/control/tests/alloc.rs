//! No decision allocates: counted, for every control of the registry and every shared one.
#![cfg(not(loom))]
#![allow(missing_docs, clippy::panic, reason = "tests")]

use std::hint::black_box;

use allocation_counter::measure;
use damper_control::admission::{AdmissionRule as _, Busy};
use damper_control::budget::{Attempt, RetryBudget as _};
use damper_control::concurrency::Limiter;
use damper_control::entry::Build;
use damper_control::gate::Admit as _;
use damper_control::observe::Observe;
use damper_control::queue::{DropFrom as _, QueueOrder as _};
use damper_control::shared::{
    Concurrency, DepositBudget, RateLimit, RatioBudget, ShardedRatioBudget, TokenBucket,
};
use damper_control::{Entry, Nanos, Outcome, Who, registry};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

const REQUESTS: usize = 5_000;

/// A request at random: when it comes, whose it is, and how it ends.
#[derive(Clone, Copy)]
struct Request {
    now: Nanos,
    who: Who,
    latency: Nanos,
    outcome: Outcome,
}

/// Requests over some minutes, first calm, then failing and late, then calm again, with a clock
/// that at times stands still, goes back or jumps.
fn requests(rng: &mut Xoshiro256PlusPlus) -> Vec<Request> {
    let mut now = 0u64;
    (0..REQUESTS)
        .map(|i| {
            let draw = rng.next_u64();
            let bad = (REQUESTS / 3..REQUESTS * 2 / 3).contains(&i);
            now = match draw % 500 {
                0 => now.saturating_sub(20_000_000_000),
                1 => now + 100_000_000_000,
                n if n < 50 => now,
                _ => now + (draw >> 40) % 40_000_000,
            };
            let slow = if bad { 200_000_000 } else { 2_000_000 };
            let fails = (draw >> 12) % 10 < if bad { 9 } else { 1 };
            Request {
                now: Nanos(now),
                who: Who { class: (draw >> 20) as u8 % 5, flow: (draw >> 32) % 300, user: None },
                latency: Nanos(1 + (draw >> 24) % slow),
                outcome: if fails {
                    Outcome::ALL[1 + (draw >> 8) as usize % 5]
                } else {
                    Outcome::Success
                },
            }
        })
        .collect()
}

/// Allocations of `decide` over all requests.
fn count(mut decide: impl FnMut(Request, &mut Xoshiro256PlusPlus)) -> u64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let requests = requests(&mut rng);
    let counted = measure(|| {
        for request in &requests {
            decide(*request, &mut rng);
        }
    });
    counted.count_total
}

fn shows(control: &impl Observe) {
    control.observe(&mut |_, value| assert!(value.is_finite()));
}

/// Allocations of a control with these parameters; `None`: it decides nothing by itself.
fn allocations(entry: &Entry, parameters: &[f64]) -> Option<u64> {
    let retryable = |outcome| outcome != Outcome::Success;
    Some(match entry.build {
        Build::Backoff(make) => {
            let backoff = make(parameters)?;
            let (mut previous, mut retries) = (None, 0u32);
            count(|_, rng| {
                previous = Some(backoff.delay(retries % 8 + 1, previous, rng));
                retries += 1;
            })
        }
        Build::Budget(make) => {
            let mut budget = make(parameters)?;
            count(|Request { now, who, outcome, .. }, rng| {
                let first = Attempt::first(who.class);
                budget.start(now, first);
                budget.settle(now, first, outcome, retryable(outcome), rng);
                if outcome == Outcome::Shed {
                    budget.overloaded(now);
                }
                if retryable(outcome)
                    && let Some(paid) = budget.withdraw(now, first, outcome, rng)
                {
                    let retry = Attempt { retries: 1, paid, ..first };
                    if who.flow.is_multiple_of(5) {
                        budget.cancel(now, paid);
                    } else {
                        budget.start(now, retry);
                        budget.settle(now, retry, Outcome::Success, false, rng);
                    }
                }
                budget.passes_on(now);
                shows(&budget);
            })
        }
        Build::Gate(make) => {
            let mut gate = make(parameters)?;
            count(|Request { now, who, latency, outcome }, rng| {
                if let Ok(pass) = gate.admit(now, who.class, rng) {
                    if who.flow.is_multiple_of(10) {
                        gate.cancel(now, pass);
                    } else {
                        gate.settle(now + latency, pass, outcome, latency, rng);
                    }
                }
                shows(&gate);
            })
        }
        Build::Concurrency(make) => {
            let mut limiter = Limiter::try_new(make(parameters)?, None)?;
            // A place for each permit that may be out, made before anything is counted.
            let mut out = Vec::with_capacity(64);
            count(|Request { now, who, latency, outcome }, rng| {
                out.extend(limiter.acquire(now, who.class).ok());
                if (out.len() > 40 || who.flow.is_multiple_of(2))
                    && let Some(permit) = out.pop()
                {
                    limiter.release(now + latency, permit, Nanos(1), Some(outcome), rng);
                }
                shows(&limiter);
            })
        }
        Build::Order(make) => {
            let mut order = make(parameters)?;
            let mut waiting = vec![0u32; order.lists()];
            let mut sum = 0;
            count(|Request { now, who, latency, .. }, _| {
                if let Ok(list) = order.join(now, who, sum, 50) {
                    waiting[list] += 1;
                    sum += 1;
                }
                if who.flow.is_multiple_of(11)
                    && let Some(list) = waiting.iter().position(|waiting| *waiting > 0)
                {
                    order.left(now, list);
                    waiting[list] -= 1;
                    sum -= 1;
                }
                if (sum > 20 || who.flow.is_multiple_of(3))
                    && let Some((list, _)) = order.next(now)
                {
                    waiting[list] -= 1;
                    sum -= 1;
                    order.done(now + latency, list, latency);
                }
                shows(&order);
            })
        }
        Build::Drop(make) => {
            let mut rule = make(parameters)?;
            count(|Request { now, who, latency, .. }, _| {
                let waiting = who.flow as u32 % 50;
                rule.joined(now, waiting);
                rule.drops(now + latency, latency, waiting);
                shows(&rule);
            })
        }
        Build::Admission(make) => {
            let mut admission = make(parameters)?;
            count(|Request { now, who, latency, outcome }, rng| {
                let busy = Busy {
                    waiting: who.flow as u32,
                    queue_limit: 300,
                    working: 8,
                    workers: 8,
                    utilisation: if retryable(outcome) { 0.99 } else { 0.5 },
                };
                if admission.admit(now, who, &busy, rng).is_ok() {
                    admission.taken(now, who, latency, &busy);
                    let outcome = (who.flow % 10 > 0).then_some(outcome);
                    admission.settle(now + latency, who, latency, outcome);
                }
                admission.threshold();
                shows(&admission);
            })
        }
        Build::Section => return None,
        other => panic!("this test does not know how to use {other:?}"),
    })
}

/// With its defaults, and with each parameter at its ends where that can be built.
#[test]
fn no_control_of_the_registry_allocates() {
    let mut tried = 0;
    for entry in registry::all() {
        let defaults: Vec<f64> = entry.defaults().collect();
        let mut settings = vec![defaults.clone()];
        for (i, parameter) in entry.parameters.iter().enumerate() {
            for extreme in [parameter.min, parameter.max] {
                let mut setting = defaults.clone();
                setting[i] = extreme;
                settings.push(setting);
            }
        }
        for setting in settings {
            if let Some(count) = allocations(entry, &setting) {
                assert_eq!(count, 0, "{} with {setting:?}", entry.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 0);
}

#[test]
fn no_shared_control_allocates() {
    let concurrency = Concurrency::try_new(10, 4).unwrap();
    let deposits = DepositBudget::try_new(200, 10, Nanos::from_secs(10), 4).unwrap();
    let bucket = TokenBucket::try_new(10, 0.1, 4).unwrap();
    let ratio = RatioBudget::try_new(200, 3, 4).unwrap();
    let sharded = ShardedRatioBudget::try_new(200, 3, 4).unwrap();
    let rate = RateLimit::try_new(50.0, 100, 4).unwrap();
    let counted = count(|Request { now, who, outcome, .. }, _| {
        let shard = who.flow as usize;
        concurrency.set_limit(u32::from(who.class) * 3);
        // Those of odd shards are never given back.
        if let Ok(permit) = concurrency.acquire(shard, who.class)
            && shard.is_multiple_of(2)
        {
            concurrency.release(shard + 1, permit);
        }
        deposits.deposit(shard, now);
        if deposits.withdraw(shard + 1, now) && shard.is_multiple_of(5) {
            deposits.cancel(shard, now);
        }
        match outcome {
            Outcome::Success => bucket.success(),
            _ => drop(bucket.failure(shard)),
        }
        ratio.start();
        sharded.start(shard);
        if ratio.withdraw(shard) && shard.is_multiple_of(2) {
            ratio.done();
        }
        if sharded.withdraw(shard + 1) && shard.is_multiple_of(2) {
            sharded.done(shard);
        }
        ratio.end();
        sharded.end(shard);
        let _ = rate.acquire(shard, now, who.class);
        let all: [&dyn Observe; 6] = [&concurrency, &deposits, &bucket, &ratio, &sharded, &rate];
        for control in all {
            control.observe(&mut |_, value| assert!(value.is_finite()));
        }
    });
    assert_eq!(counted, 0);
}

/// The counter counts.
#[test]
fn an_allocation_would_be_seen() {
    // Behind a black box, or the compiler would see that nobody needs it.
    let counted = count(|request, _| drop(black_box(Box::new(request.now))));
    assert_eq!(counted, REQUESTS as u64);
}
