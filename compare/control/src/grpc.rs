//! Calls whose attempts end at random, and how many of them our throttle lets be made, for
//! `compare/grpc/throttle.py` to repeat with gRPC's own client.

use damper_control::budget::{Attempt, GrpcTokenBucket, RetryBudget as _};
use damper_control::shared::TokenBucket;
use damper_control::{Nanos, Outcome};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

const CALLS: usize = 300;

/// One object for each setting of the throttle.
pub fn expected() -> impl Iterator<Item = Value> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    // gRPC allows at most five attempts, and three decimals of a ratio.
    [(10, 0.1, 5), (10, 0.5, 3), (3, 1.0, 4), (50, 0.125, 5), (1, 0.3, 2)].into_iter().map(
        move |(max_tokens, token_ratio, max_attempts)| {
            let mut bucket = GrpcTokenBucket::try_new(max_tokens, token_ratio).expect("valid");
            let shared = TokenBucket::try_new(max_tokens, token_ratio, 1).expect("valid");
            let calls: Vec<Value> = (0..CALLS)
                .map(|call| {
                    // Bad times and good times.
                    let bad = if call / 20 % 2 == 0 { 40 } else { 4 };
                    let fails: Vec<bool> =
                        (0..max_attempts).map(|_| rng.next_u64() % 100 < bad).collect();
                    let attempts = attempts(&mut bucket, &shared, &fails, &mut rng);
                    json!({ "fails": fails, "attempts": attempts })
                })
                .collect();
            json!({
                "max_tokens": max_tokens,
                "token_ratio": token_ratio,
                "max_attempts": max_attempts,
                "calls": calls,
            })
        },
    )
}

/// How many attempts are made of a call whose attempts would fail so.
fn attempts(
    bucket: &mut GrpcTokenBucket,
    shared: &TokenBucket,
    fails: &[bool],
    rng: &mut Xoshiro256PlusPlus,
) -> usize {
    let mut attempt = Attempt::first(0);
    for (made, fails) in (1..).zip(fails) {
        let outcome = if *fails { Outcome::Failed } else { Outcome::Success };
        bucket.settle(Nanos::ZERO, attempt, outcome, *fails, rng);
        if !fails {
            shared.success();
            return made;
        }
        let granted = bucket.withdraw(Nanos::ZERO, attempt, outcome, rng).is_some();
        assert_eq!(shared.failure(0), granted, "the shared throttle is the same");
        if !granted {
            return made;
        }
        attempt = Attempt { retries: attempt.retries + 1, paid: 1, ..attempt };
    }
    fails.len()
}
