//! Shared controls, on one thread and on two: nanoseconds for one request.
//!
//! `cargo bench -p damper-control --bench shared`
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark of what is tested")]

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use damper_control::Nanos;
use damper_control::shared::{
    Concurrency, DepositBudget, RateLimit, RatioBudget, ShardedRatioBudget, TokenBucket,
};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const SHARDS: usize = 8;
const STEP: Nanos = Nanos(100);

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// What an adapter would know of itself: which worker it is, and what time it is.
    static WORKER: (usize, Cell<Nanos>) =
        (THREADS.fetch_add(1, Ordering::Relaxed), Cell::new(Nanos::ZERO));
}

/// Calls `request` as this worker, at its next instant.
fn as_worker<T>(request: impl FnOnce(usize, Nanos) -> T) -> T {
    WORKER.with(|(worker, now)| {
        now.set(now.get() + STEP);
        request(*worker, now.get())
    })
}

/// What all others cost besides.
#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn nothing(bencher: Bencher<'_, '_>) {
    bencher.bench(|| as_worker(|worker, now| black_box((worker, now))));
}

/// One word that all write: if this is not several times slower on two threads, then they did
/// not run at the same time, and the other numbers for two mean nothing.
#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn nothing_but_one_word(bencher: Bencher<'_, '_>) {
    let word = AtomicUsize::new(0);
    bencher.bench(|| as_worker(|_, _| word.fetch_add(1, Ordering::AcqRel)));
}

#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn concurrency_acquire_release(bencher: Bencher<'_, '_>) {
    let limit = Concurrency::try_new(100, SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, _| {
            let permit = black_box(limit.acquire(worker, 0)).unwrap();
            limit.release(worker, permit);
        });
    });
}

/// Work ends on another worker than it began on, and so the permits are always elsewhere.
#[divan::bench(threads = [1, 2], sample_size = 20_000, sample_count = 60)]
fn concurrency_acquire_here_release_there(bencher: Bencher<'_, '_>) {
    let limit = Concurrency::try_new(8, SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, _| {
            if let Ok(permit) = black_box(limit.acquire(worker, 0)) {
                limit.release(worker + 2, permit);
            }
        });
    });
}

#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn concurrency_refuse(bencher: Bencher<'_, '_>) {
    let limit = Concurrency::try_new(0, SHARDS).unwrap();
    bencher.bench(|| as_worker(|worker, _| black_box(limit.acquire(worker, 0)).is_ok()));
}

/// Every request pays in a fifth, one in five retries.
#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn deposit_budget_deposit(bencher: Bencher<'_, '_>) {
    let budget = DepositBudget::try_new(200, 10, Nanos::from_secs(10), SHARDS).unwrap();
    bencher.bench(|| as_worker(|worker, now| budget.deposit(worker, now)));
}

#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn deposit_budget_deposit_and_grant(bencher: Bencher<'_, '_>) {
    let budget = DepositBudget::try_new(1000, 10, Nanos::from_secs(10), SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, now| {
            budget.deposit(worker, now);
            black_box(budget.withdraw(worker, now))
        })
    });
}

/// Every request pays in a fifth and wants a retry: four of five are refused.
#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn deposit_budget_exhausted(bencher: Bencher<'_, '_>) {
    let budget = DepositBudget::try_new(200, 10, Nanos::from_secs(10), SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, now| {
            budget.deposit(worker, now);
            black_box(budget.withdraw(worker, now))
        })
    });
}

#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn token_bucket_success_when_full(bencher: Bencher<'_, '_>) {
    let bucket = TokenBucket::try_new(100, 0.1, SHARDS).unwrap();
    bencher.bench(|| as_worker(|_, _| bucket.success()));
}

/// The worst case: one word, written by all.
#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn token_bucket_failure_and_success(bencher: Bencher<'_, '_>) {
    let bucket = TokenBucket::try_new(100, 1.0, SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, _| {
            let allowed = bucket.failure(worker);
            bucket.success();
            black_box(allowed)
        })
    });
}

/// From a burst that does not end, as the clocks of two threads are not one here.
#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn rate_limit_admit(bencher: Bencher<'_, '_>) {
    let limit = RateLimit::try_new(1e9, 1_000_000_000, SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, _| {
            let admitted = black_box(limit.acquire(worker, Nanos::ZERO, 0)).is_ok();
            assert!(admitted);
        });
    });
}

#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn rate_limit_refuse(bencher: Bencher<'_, '_>) {
    let limit = RateLimit::try_new(1e-6, 1, SHARDS).unwrap();
    bencher.bench(|| as_worker(|worker, now| black_box(limit.acquire(worker, now, 0)).is_ok()));
}

/// A call without a retry.
#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn ratio_start_end(bencher: Bencher<'_, '_>) {
    let budget = RatioBudget::try_new(200, 3, SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|_, _| {
            budget.start();
            budget.end();
        });
    });
}

#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn ratio_grant_and_done(bencher: Bencher<'_, '_>) {
    let budget = RatioBudget::try_new(200, 3, SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, _| {
            if black_box(budget.withdraw(worker)) {
                budget.done();
            }
        });
    });
}

#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn sharded_ratio_start_end(bencher: Bencher<'_, '_>) {
    let budget = ShardedRatioBudget::try_new(200, 10, SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, _| {
            budget.start(worker);
            budget.end(worker);
        });
    });
}

#[divan::bench(threads = [1, 2], sample_size = 200_000, sample_count = 60)]
fn sharded_ratio_grant_and_done(bencher: Bencher<'_, '_>) {
    let budget = ShardedRatioBudget::try_new(200, 10, SHARDS).unwrap();
    bencher.bench(|| {
        as_worker(|worker, _| {
            if black_box(budget.withdraw(worker)) {
                budget.done(worker);
            }
        });
    });
}
