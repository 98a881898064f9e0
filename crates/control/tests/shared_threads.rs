//! Shared controls under real threads, at full speed.
#![cfg(not(loom))]
#![allow(missing_docs, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use damper_control::Nanos;
use damper_control::shared::{
    Concurrency, DepositBudget, RateLimit, RatioBudget, ShardedRatioBudget, TokenBucket,
};

const THREADS: usize = 8;
/// tower's `TpsBudget` overspends in about every eighth of as many runs.
const RUNS: usize = 2000;

/// Lets eight threads that start together ask a new budget until it refuses, 2000 times over.
/// Then one thread asks for what they may have left to each other. What was granted in each run
/// must be what `expected` says.
fn race<B: Sync>(make: impl Fn() -> B + Sync, ask: fn(&B, usize) -> bool, expected: usize) {
    let budgets: Vec<B> = (0..RUNS).map(|_| make()).collect();
    let granted: Vec<AtomicUsize> = (0..RUNS).map(|_| AtomicUsize::new(0)).collect();
    let arrived = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (budgets, granted, arrived) = (&budgets, &granted, &arrived);
            scope.spawn(move || {
                for (run, (budget, granted)) in budgets.iter().zip(granted).enumerate() {
                    // A barrier of the system wakes threads one after another: too late.
                    arrived.fetch_add(1, SeqCst);
                    for spin in 1.. {
                        match arrived.load(SeqCst) >= (run + 1) * THREADS {
                            true => break,
                            false if spin % 200 == 0 => std::thread::yield_now(),
                            false => std::hint::spin_loop(),
                        }
                    }
                    while ask(budget, thread) {
                        granted.fetch_add(1, SeqCst);
                    }
                }
            });
        }
    });
    for (budget, granted) in budgets.iter().zip(&granted) {
        while ask(budget, THREADS) {
            granted.fetch_add(1, SeqCst);
        }
    }
    let wrong: Vec<usize> =
        granted.iter().map(|run| run.load(SeqCst)).filter(|run| *run != expected).collect();
    assert!(wrong.is_empty(), "{} of {RUNS} runs granted {wrong:?}", wrong.len());
}

#[test]
fn eight_threads_do_not_overspend_a_ratio() {
    let make = || {
        let budget = RatioBudget::try_new(200, 0, THREADS).unwrap();
        (0..100).for_each(|_| budget.start());
        budget
    };
    race(make, RatioBudget::withdraw, 20);
}

#[test]
fn eight_threads_do_not_overspend_a_sharded_ratio() {
    let make = || {
        let budget = ShardedRatioBudget::try_new(200, 0, 4).unwrap();
        (0..100).for_each(|call| budget.start(call));
        budget
    };
    race(make, ShardedRatioBudget::withdraw, 20);
}

#[test]
fn eight_threads_do_not_overspend_deposits() {
    let make = || {
        let budget = DepositBudget::try_new(150, 5, Nanos::from_secs(10), 4).unwrap();
        (0..100).for_each(|call| budget.deposit(call, Nanos::ZERO));
        budget
    };
    // Whoever asks last comes later, and so looks at all shards.
    const fn at(thread: usize) -> Nanos {
        Nanos::from_millis(if thread < THREADS { 1 } else { 9 })
    }
    race(make, |budget, thread| budget.withdraw(thread, at(thread)), 20);
}

#[test]
fn eight_threads_do_not_exceed_a_limit() {
    let make = || Concurrency::try_new(20, 4).unwrap();
    let ask = |limit: &Concurrency, thread: usize| limit.acquire(thread, 0).is_ok();
    race(make, ask, 20);
}

#[test]
fn eight_threads_do_not_exceed_a_burst() {
    let make = || RateLimit::try_new(1.0, 20, 1).unwrap();
    race(make, |limit, thread| limit.acquire(thread, Nanos::ZERO, 0).is_ok(), 20);
}

#[test]
fn eight_threads_do_not_overdraw_a_token_bucket() {
    // The 21st failure leaves 20 of 41 tokens, less than half.
    let make = || TokenBucket::try_new(41, 0.1, THREADS).unwrap();
    race(make, TokenBucket::failure, 20);
}

/// Work is in flight, permits wander between shards, and the limit moves.
#[test]
fn a_limit_holds_while_it_moves() {
    const MOST: u32 = 6;
    let limit = Concurrency::try_new(MOST, 4).unwrap();
    let working = AtomicUsize::new(0);
    let admitted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (limit, working, admitted) = (&limit, &working, &admitted);
            scope.spawn(move || {
                for round in 0..20_000 {
                    if thread == 0 && round % 16 == 0 {
                        limit.set_limit([MOST, 1, 3][round / 16 % 3]);
                    }
                    if let Ok(permit) = limit.acquire(thread, 0) {
                        assert!(working.fetch_add(1, SeqCst) < MOST as usize);
                        admitted.fetch_add(1, SeqCst);
                        working.fetch_sub(1, SeqCst);
                        limit.release(thread + round, permit);
                    }
                }
            });
        }
    });
    assert!(admitted.load(SeqCst) > 20_000);
    limit.set_limit(MOST);
    assert_eq!(limit.in_flight(), 0);
    let free = (0..100).filter(|shard| limit.acquire(*shard, 0).is_ok());
    assert_eq!(free.count(), MOST as usize);
}

/// Every grant is the last that there is.
#[test]
fn one_retry_is_never_granted_twice() {
    let exact = RatioBudget::try_new(0, 1, THREADS).unwrap();
    let sharded = ShardedRatioBudget::try_new(0, 1, 4).unwrap();
    let (of_exact, of_sharded) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (exact, sharded) = (&exact, &sharded);
            let (of_exact, of_sharded) = (&of_exact, &of_sharded);
            scope.spawn(move || {
                for _ in 0..50_000 {
                    if exact.withdraw(thread) {
                        assert_eq!(of_exact.fetch_add(1, SeqCst), 0);
                        of_exact.fetch_sub(1, SeqCst);
                        exact.done();
                    }
                    if sharded.withdraw(thread) {
                        assert_eq!(of_sharded.fetch_add(1, SeqCst), 0);
                        of_sharded.fetch_sub(1, SeqCst);
                        sharded.done(thread);
                    }
                }
            });
        }
    });
}

#[test]
fn calls_and_retries_come_out_even() {
    let exact = RatioBudget::try_new(300, 1, THREADS).unwrap();
    let sharded = ShardedRatioBudget::try_new(300, 1, 4).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (exact, sharded) = (&exact, &sharded);
            scope.spawn(move || {
                for round in 0..20_000 {
                    exact.start();
                    sharded.start(thread);
                    let granted = (exact.withdraw(thread), sharded.withdraw(thread));
                    exact.end();
                    sharded.end(thread + round);
                    if granted.0 {
                        exact.done();
                    }
                    if granted.1 {
                        sharded.done(thread);
                    }
                }
            });
        }
    });
    assert_eq!(exact.open_and_retries(), (0, 0));
    assert!(sharded.withdraw(0) && !sharded.withdraw(1), "the reserve, and nothing else");
}

/// Over many windows: never more than the share of what was paid in, and the reserves.
#[test]
fn deposits_bound_retries_over_many_windows() {
    let budget = DepositBudget::try_new(300, 2, Nanos::from_secs(1), 4).unwrap();
    let (paid, spent) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (budget, paid, spent) = (&budget, &paid, &spent);
            scope.spawn(move || {
                // 100 windows.
                for round in 0..50_000u64 {
                    let now = Nanos(round * 2_000_000);
                    budget.deposit(thread, now);
                    paid.fetch_add(300, SeqCst);
                    spent.fetch_add(1000 * usize::from(budget.withdraw(thread, now)), SeqCst);
                }
            });
        }
    });
    let (paid, spent) = (paid.into_inner(), spent.into_inner());
    assert!(spent <= paid + 100 * 2 * 1000, "{spent} of {paid}");
    assert!(spent >= paid * 9 / 10, "{spent} of {paid}");
}
