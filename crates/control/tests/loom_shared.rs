//! Every interleaving (within a bound of preemptions) of two or three threads on each shared
//! control.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p damper-control --release --test loom_shared`
#![cfg(loom)]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use damper_control::Nanos;
use damper_control::shared::{
    Concurrency, DepositBudget, RateLimit, RatioBudget, ShardedRatioBudget, TokenBucket,
};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;

const NOW: Nanos = Nanos::from_millis(1);

/// All interleavings with at most `preemptions` switches away from a thread that could go on.
fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(test);
}

/// Runs `work` on as many threads, the last of them this one, and gives what each returned.
fn threads<C: Send + Sync + 'static>(
    control: C,
    count: usize,
    work: fn(&C, usize) -> usize,
) -> (Arc<C>, usize) {
    let control = Arc::new(control);
    let others: Vec<_> = (1..count)
        .map(|index| {
            let control = Arc::clone(&control);
            thread::spawn(move || work(&control, index))
        })
        .collect();
    let own = work(&control, 0);
    let sum = others.into_iter().map(|other| other.join().unwrap()).sum::<usize>();
    (control, own + sum)
}

#[test]
fn concurrency_never_exceeds_its_limit_and_strands_nothing() {
    struct Watched(Concurrency, AtomicUsize);
    for (limit, shards, count) in [(1, 2, 2), (2, 2, 3), (1, 1, 3)] {
        model(2, move || {
            let control = Concurrency::try_new(limit, shards).unwrap();
            let watched = Watched(control, AtomicUsize::new(0));
            let (watched, _) = threads(watched, count, |Watched(control, working), index| {
                let Ok(permit) = control.acquire(index, 0) else { return 0 };
                let others = working.fetch_add(1, SeqCst);
                assert!(others < control.limit() as usize, "{others} others");
                working.fetch_sub(1, SeqCst);
                // To the other shard: permits wander.
                control.release(index + 1, permit);
                1
            });
            let free = (0..9).filter(|i| watched.0.acquire(*i, 0).is_ok());
            assert_eq!(free.count(), limit as usize);
        });
    }
}

/// One permit is always free, but in another place each time that one looks.
#[test]
fn concurrency_refuses_only_when_all_are_in_use() {
    model(3, || {
        let control = Concurrency::try_new(2, 2).unwrap();
        let permits = [control.acquire(0, 0).unwrap(), control.acquire(1, 0).unwrap()];
        for permit in permits {
            control.release(1, permit);
        }
        threads(control, 2, |control, index| {
            for _ in 0..=index {
                let permit = control.acquire(index, 0).expect("one of two is free");
                control.release(0, permit);
            }
            0
        });
    });
}

#[test]
fn a_lowered_limit_is_in_force_when_all_has_settled() {
    for to in [0, 1, 3] {
        model(3, move || {
            struct Watched(Concurrency, u32);
            let watched = Watched(Concurrency::try_new(2, 2).unwrap(), to);
            let (watched, _) = threads(watched, 3, |Watched(control, to), index| {
                match index {
                    0 => control.set_limit(*to),
                    _ => {
                        if let Ok(permit) = control.acquire(index, 0) {
                            control.release(index + 1, permit);
                        }
                    }
                }
                0
            });
            assert_eq!(watched.0.in_flight(), 0);
            let free = (0..9).filter(|i| watched.0.acquire(*i, 0).is_ok());
            assert_eq!(free.count(), to as usize);
        });
    }
}

/// What peers get wrong: check, then subtract.
#[test]
fn a_ratio_is_not_overspent() {
    model(3, || {
        let budget = RatioBudget::try_new(500, 0, 1).unwrap();
        budget.start();
        budget.start();
        let (budget, granted) = threads(budget, 3, |budget, _| usize::from(budget.withdraw(0)));
        assert_eq!(granted, 1);
        assert_eq!(budget.open_and_retries(), (2, 1));
        assert_eq!(budget.denied(), 2);
    });
}

#[test]
fn a_ratio_holds_while_calls_come_and_go() {
    model(3, || {
        let (budget, _) = threads(RatioBudget::try_new(500, 0, 1).unwrap(), 2, |budget, _| {
            budget.start();
            let granted = budget.withdraw(0);
            if granted {
                let (open, retries) = budget.open_and_retries();
                assert!(retries <= 1 && open >= 1);
                budget.done();
            }
            budget.end();
            usize::from(granted)
        });
        assert_eq!(budget.open_and_retries(), (0, 0));
    });
}

#[test]
fn a_sharded_ratio_is_not_overspent() {
    // Two open calls at 50 %, in two shards: one retry, which must be gathered from both.
    model(2, || {
        let budget = ShardedRatioBudget::try_new(500, 0, 2).unwrap();
        budget.start(0);
        budget.start(1);
        let (budget, granted) =
            threads(budget, 3, |budget, index| usize::from(budget.withdraw(index)));
        assert!(granted <= 1);
        assert_eq!(granted + usize::from(budget.withdraw(0)), 1, "nothing is lost");
    });
}

#[test]
fn a_sharded_ratio_is_settled_when_calls_end_first() {
    model(2, || {
        let budget = ShardedRatioBudget::try_new(1000, 0, 2).unwrap();
        budget.start(0);
        budget.start(1);
        assert!(budget.withdraw(0));
        let (budget, granted) = threads(budget, 2, |budget, index| {
            budget.end(index);
            usize::from(budget.withdraw(index))
        });
        assert_eq!(granted, 0, "one retry is out and at most one call is open");
        budget.done(1);
        assert!(!budget.withdraw(0));
        budget.start(0);
        assert!(budget.withdraw(1));
    });
}

#[test]
fn deposits_are_spent_once() {
    // Each pays in half a token and asks for one, 1 ms after the other so that both may look at
    // the other's shard.
    model(2, || {
        let budget = DepositBudget::try_new(500, 0, Nanos::from_secs(10), 2).unwrap();
        let (budget, granted) = threads(budget, 2, |budget, index| {
            budget.deposit(index, NOW);
            usize::from(budget.withdraw(index, Nanos::from_millis(2 + index as u64)))
        });
        assert!(granted <= 1);
        let late = Nanos::from_millis(10);
        assert_eq!(granted + usize::from(budget.withdraw(0, late)), 1, "nothing is lost");
        assert!(!budget.withdraw(1, late));
    });
}

#[test]
fn a_pool_is_spent_once() {
    model(2, || {
        let budget = DepositBudget::try_new(10_000, 0, Nanos::from_secs(10), 2).unwrap();
        // 40 tokens: the fourth payment brings 16 to the pool.
        for _ in 0..3 {
            budget.deposit(0, NOW);
        }
        let (budget, granted) = threads(budget, 2, |budget, index| {
            if index == 0 {
                budget.deposit(0, NOW);
                return 0;
            }
            (0..2).filter(|_| budget.withdraw(index, NOW)).count()
        });
        let rest = (0..100).filter(|i| budget.withdraw(0, Nanos::from_millis(2 * i + 2))).count();
        assert_eq!(granted + rest, 40);
    });
}

#[test]
fn a_slot_that_ends_takes_nothing_along_twice() {
    model(2, || {
        let budget = DepositBudget::try_new(1000, 1, Nanos::from_secs(10), 2).unwrap();
        budget.deposit(0, Nanos::ZERO);
        // One lives in the first window; for the other, what was paid in has expired.
        let (budget, granted) = threads(budget, 2, |budget, index| {
            let now = Nanos::from_secs(if index == 0 { 9 } else { 11 });
            if index == 1 {
                budget.deposit(0, now);
            }
            (0..3).filter(|_| budget.withdraw(index, now)).count()
        });
        // Two payments, and the reserves of two windows.
        assert!(granted <= 4, "{granted}");
        assert!(!budget.withdraw(0, Nanos::from_secs(14)) || granted < 4);
    });
}

#[test]
fn a_reserve_is_spent_once() {
    model(3, || {
        let budget = DepositBudget::try_new(0, 2, Nanos::from_secs(10), 2).unwrap();
        let (_, granted) =
            threads(budget, 3, |budget, index| usize::from(budget.withdraw(index, NOW)));
        assert_eq!(granted, 2);
    });
}

#[test]
fn a_rate_limit_admits_its_burst_and_no_more() {
    // 1: no batches. 8 on two shards: batches of 3, of which a shard keeps 2.
    for (burst, shards, ask) in [(1, 1, 1), (8, 2, 4)] {
        model(2, move || {
            struct Asked(RateLimit, usize);
            let limit = RateLimit::try_new(1.0, burst, shards).unwrap();
            // Two threads on one shard, one on the other.
            let (asked, admitted) = threads(Asked(limit, ask), 3, |Asked(limit, ask), index| {
                (0..*ask).filter(|_| limit.acquire(index & 1, NOW, 0).is_ok()).count()
            });
            let left = (0..20).filter(|i| asked.0.acquire(i & 1, NOW, 0).is_ok()).count();
            assert_eq!(admitted + left, burst as usize, "no more, and none is lost");
        });
    }
}

#[test]
fn tokens_are_clamped_and_none_is_lost() {
    model(3, || {
        let bucket = TokenBucket::try_new(2, 0.5, 1).unwrap();
        let (bucket, _) = threads(bucket, 3, |bucket, index| {
            if index == 0 {
                bucket.success();
            } else {
                bucket.failure(0);
            }
            assert!(bucket.tokens() <= 2.0);
            0
        });
        // First: the success is cut off. Otherwise it counts; in no order is more lost.
        assert!([0.0, 0.5].contains(&bucket.tokens()), "{}", bucket.tokens());
    });
}
