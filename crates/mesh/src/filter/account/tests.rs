use damper_control::Outcome;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::*;
use crate::filter::config::Budget as Written;

const RATIO: Written = Written::Ratio { percent: Some(20.0), min_per_s: Some(0) };
const BUCKET: Written = Written::TokenBucket { max_tokens: Some(10), token_ratio: Some(0.1) };
const ARB: Written = Written::Arb {
    max_percent: Some(20.0),
    min_percent: Some(1.0),
    memory_ms: None,
    hold_ms: None,
};

fn account(written: &Written) -> Account {
    Account::new(budget(written).unwrap())
}

fn rng() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(7)
}

/// 20 %: five requests pay for a retry. A request is allowed what there is, and no more.
#[test]
fn a_share_of_requests() {
    let (mut a, mut rng, now) = (account(&RATIO), rng(), Nanos::from_secs(1));
    let granted: Vec<u32> = (0..10).map(|_| a.start(now, 0, 5, &mut rng)).collect();
    assert_eq!(granted, [0, 0, 0, 0, 1, 1, 1, 1, 1, 2]);
    // Three of them made use of it: one more than there was.
    for attempts in [2, 2, 2] {
        a.settle(now, 0, attempts, Outcome::Success, false, &mut rng);
    }
    assert_eq!(a.owed, 1);
    let granted: Vec<u32> = (0..10).map(|_| a.start(now, 0, 5, &mut rng)).collect();
    assert_eq!(granted, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "what is owed is paid first");
}

#[test]
fn failures_drain_a_bucket_and_successes_fill_it() {
    let (mut a, mut rng, now) = (account(&BUCKET), rng(), Nanos::from_secs(1));
    assert_eq!(a.start(now, 0, 5, &mut rng), 5);
    // Three attempts failed, the fourth succeeded: 10 - 3 + 0.1.
    a.settle(now, 0, 4, Outcome::Success, false, &mut rng);
    assert_eq!(a.start(now, 0, 5, &mut rng), 5);
    a.settle(now, 0, 3, Outcome::Failed, true, &mut rng);
    assert_eq!(a.start(now, 0, 5, &mut rng), 0, "4.1 is less than half");
    for _ in 0..11 {
        a.settle(now, 0, 1, Outcome::Success, false, &mut rng);
    }
    assert_eq!(a.start(now, 0, 5, &mut rng), 5);
}

#[test]
fn overloaded_cuts_adaptive_budgets() {
    let (mut a, mut rng, now) = (account(&ARB), rng(), Nanos::from_secs(1));
    assert_eq!(a.start(now, 0, 2, &mut rng), 2);
    a.overloaded(now);
    assert!(a.passes_on(now));
    assert_eq!(a.start(now, 0, 2, &mut rng), 0);
}

/// A request: on which worker, after how many others are in flight it ends, and whether all its
/// attempts fail.
#[derive(Clone, Copy, Debug)]
struct Ask {
    worker: usize,
    limit: u32,
    in_flight: usize,
    used: u32,
}

fn asks() -> impl Strategy<Value = (usize, Vec<Ask>)> {
    (1usize..=4).prop_flat_map(|workers| {
        let ask = (0..workers, 0u32..=5, 0usize..20, 0u32..=5)
            .prop_map(|(worker, limit, in_flight, used)| Ask { worker, limit, in_flight, used });
        (Just(workers), prop::collection::vec(ask, 1..400))
    })
}

proptest! {
    /// Any number of workers, any interleaving: retries are at most the share of all requests, and
    /// once the retries that were allowed to requests in flight.
    #[test]
    fn workers_together_keep_to_the_share((workers, asks) in asks()) {
        let now = Nanos::from_secs(1);
        let mut rng = rng();
        let mut accounts = vec![account(&RATIO); workers];
        let mut flying: Vec<(usize, u32)> = Vec::new();
        let mut out = vec![0; workers];
        let mut most_out = vec![0; workers];
        let (mut retries, mut requests) = (0, 0);
        for ask in asks {
            let granted = accounts[ask.worker].start(now, 0, ask.limit, &mut rng);
            requests += 1;
            out[ask.worker] += granted;
            most_out[ask.worker] = most_out[ask.worker].max(out[ask.worker]);
            flying.push((ask.worker, granted));
            while flying.len() > ask.in_flight {
                let (worker, granted) = flying.remove(0);
                let used = granted.min(ask.used);
                out[worker] -= granted;
                retries += used;
                accounts[worker].settle(now, 0, used + 1, Outcome::Success, false, &mut rng);
            }
        }
        let bound = f64::from(requests) * 0.2 + f64::from(most_out.iter().sum::<u32>());
        prop_assert!(f64::from(retries) <= bound, "{} of {} requests, bound {}", retries, requests, bound);
    }

    /// The same in numbers of requests in flight: what is owed never exceeds what they were allowed.
    #[test]
    fn debt_is_what_requests_in_flight_were_allowed((workers, asks) in asks()) {
        let now = Nanos::from_secs(1);
        let mut rng = rng();
        let mut accounts = vec![account(&RATIO); workers];
        let mut flying: Vec<(usize, u32)> = Vec::new();
        for ask in asks {
            let granted = accounts[ask.worker].start(now, 0, ask.limit, &mut rng);
            flying.push((ask.worker, granted));
            while flying.len() > ask.in_flight {
                let (worker, granted) = flying.remove(0);
                accounts[worker].settle(now, 0, granted + 1, Outcome::Success, false, &mut rng);
                prop_assert!(accounts[worker].owed <= 20 * 5, "{}", accounts[worker].owed);
            }
        }
    }

    /// gRPC's throttle, split: after it has run dry, each worker has let at most half of its tokens
    /// and what was in flight through.
    #[test]
    fn a_bucket_for_each_worker((workers, asks) in asks()) {
        let now = Nanos::from_secs(1);
        let mut rng = rng();
        let mut accounts = vec![account(&BUCKET); workers];
        let mut flying: Vec<(usize, u32)> = Vec::new();
        let mut most = 0;
        let mut retries = 0;
        for ask in asks {
            let granted = accounts[ask.worker].start(now, 0, ask.limit, &mut rng);
            flying.push((ask.worker, granted));
            most = most.max(flying.len() as u32);
            while flying.len() > ask.in_flight {
                let (worker, granted) = flying.remove(0);
                retries += granted;
                // Everything fails, so that nothing is ever put back.
                accounts[worker].settle(now, 0, granted + 1, Outcome::Failed, true, &mut rng);
            }
        }
        // 10 tokens, 5 of them above half; a request more may be allowed 5 at the edge.
        prop_assert!(retries <= workers as u32 * (5 + 5) + most * 5, "{}", retries);
    }

    #[test]
    fn nothing_panics(attempts in any::<u32>(), limit in 0u32..=100, class in any::<u8>(), now in any::<u64>()) {
        let mut rng = rng();
        for written in [RATIO, BUCKET, ARB] {
            let mut a = account(&written);
            prop_assert!(a.start(Nanos(now), class, limit, &mut rng) <= limit);
            a.settle(Nanos(now), class, attempts, Outcome::Failed, true, &mut rng);
        }
    }
}
