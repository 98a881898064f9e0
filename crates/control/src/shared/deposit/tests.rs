use super::*;
use proptest::prelude::*;

const WINDOW: Nanos = Nanos::from_secs(10);

fn at(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn budget(per_mille: u32, reserve: u32, shards: usize) -> DepositBudget {
    DepositBudget::try_new(per_mille, reserve, WINDOW, shards).unwrap()
}

fn granted(budget: &DepositBudget, now: Nanos, asked: usize) -> usize {
    (0..asked).filter(|worker| budget.withdraw(*worker, now)).count()
}

/// tower turns 30 % into a third, 40 % into a half, and 60 % into all (tower#857).
#[test]
fn the_ratio_is_the_one_configured() {
    for per_mille in [0u32, 1, 200, 300, 333, 400, 600, 999, 1000, 2000] {
        let budget = budget(per_mille, 0, 1);
        for _ in 0..1000 {
            budget.deposit(0, at(1));
        }
        assert_eq!(granted(&budget, at(2), 3000), per_mille as usize);
        assert_eq!(budget.denied(), 3000 - u64::from(per_mille));
    }
}

#[test]
fn what_is_not_spent_is_lost_after_a_window() {
    // Paid in at 4 s, in the first slot of five seconds: good until 10 s.
    for (asked_at, spent) in [(4_000, 2), (5_001, 2), (9_999, 2), (10_001, 0), (50_000, 0)] {
        let budget = budget(1000, 0, 2);
        budget.deposit(0, at(4_000));
        budget.deposit(1, at(4_000));
        assert_eq!(granted(&budget, at(asked_at), 5), spent, "{asked_at} ms");
    }
}

#[test]
fn the_reserve_is_renewed_with_the_window() {
    let budget = budget(200, 3, 4);
    assert_eq!(granted(&budget, at(0), 9), 3);
    assert_eq!(granted(&budget, at(9_999), 9), 0);
    assert_eq!(granted(&budget, at(10_001), 9), 3);
    assert_eq!(granted(&budget, at(10_002), 9), 0);
    assert_eq!(granted(&budget, at(1_000_000), 9), 3);
}

#[test]
fn a_shard_lives_on_what_others_were_paid() {
    let budget = budget(200, 0, 4);
    for worker in 0..5 {
        budget.deposit(worker % 3, at(1));
    }
    assert!(budget.withdraw(3, at(2)), "400, 400 and 200 thousandths");
    assert!(!budget.withdraw(3, at(3)));
    for _ in 0..5_000 {
        budget.deposit(0, at(4));
    }
    assert!((budget.tokens(at(4)) - 1000.0).abs() < 1e-9);
    assert_eq!((0..2000).filter(|_| budget.withdraw(2, at(5))).count(), 1000);
}

#[test]
fn a_shard_that_found_nothing_looks_again_after_a_millisecond() {
    let budget = budget(1000, 0, 2);
    assert!(!budget.withdraw(0, at(1)));
    budget.deposit(1, at(1));
    assert!(!budget.withdraw(0, Nanos(1_999_999)));
    assert!(budget.withdraw(0, at(2)));
}

#[test]
fn a_retry_that_was_never_sent_gives_its_token_back() {
    let budget = budget(1000, 0, 2);
    budget.deposit(0, at(1));
    assert!(budget.withdraw(0, at(2)));
    budget.cancel(1, at(3));
    assert!(budget.withdraw(0, at(4)) && !budget.withdraw(0, at(5)));
}

#[test]
fn time_may_do_what_it_wants() {
    let budget = budget(1000, 1, 2);
    let order = [at(20_000), at(0), Nanos::MAX, Nanos::ZERO, Nanos::MAX];
    let spent = order
        .into_iter()
        .filter(|now| {
            budget.deposit(0, *now);
            budget.withdraw(0, *now)
        })
        .count();
    assert_eq!(spent, 5, "a clock that goes back stands still");
}

#[test]
fn refuses_impossible_settings() {
    for (per_mille, window, shards) in [
        (10_001, WINDOW, 1),
        (200, Nanos(999_999_999), 1),
        (200, Nanos::from_secs(3601), 1),
        (200, WINDOW, 0),
        (200, WINDOW, 65),
    ] {
        assert!(DepositBudget::try_new(per_mille, 0, window, shards).is_none());
    }
}

proptest! {
    /// Over any run of windows: what was spent in it, against what was paid in during it and
    /// during the half before.
    #[test]
    fn no_window_spends_more_than_its_share_and_reserve(
        per_mille in 0u32..3000, reserve in 0u32..4, shards in 1usize..=4,
        ops in prop::collection::vec((any::<bool>(), 0usize..8, 0u64..3_000), 1..300),
    ) {
        let budget = budget(per_mille, reserve, shards);
        let mut now = 0;
        let (mut paid, mut spent) = ([0u64; 256], [0u64; 256]);
        for (pay, shard, step) in ops {
            // The numbers of slots are those of the budget, whose slots are a trifle longer.
            now = (now + step).min(1_200_000);
            let slot = budget.number(at(now)) as usize;
            if pay {
                budget.deposit(shard, at(now));
                paid[slot] += u64::from(per_mille);
            } else {
                spent[slot] += u64::from(budget.withdraw(shard, at(now)));
            }
        }
        for first in (1..256usize).step_by(2) {
            for last in (first + 1..256).step_by(2) {
                let paid: u64 = paid[first - 1..=last].iter().sum();
                let spent: u64 = spent[first..=last].iter().sum();
                let windows = (last - first).div_ceil(2) as u64;
                prop_assert!(spent * 1000 <= paid + windows * u64::from(reserve) * 1000);
            }
        }
    }

    /// While nothing expires and time moves on, all shards together are one number.
    #[test]
    fn spends_what_one_number_would(
        per_mille in 0u32..3000, shards in 1usize..=4,
        ops in prop::collection::vec((any::<bool>(), 0usize..8), 1..500),
    ) {
        let budget = budget(per_mille, 0, shards);
        let mut sum = 0;
        for (i, (pay, shard)) in ops.into_iter().enumerate() {
            let now = at(i as u64);
            if pay {
                budget.deposit(shard, now);
                sum += per_mille;
            } else {
                prop_assert_eq!(budget.withdraw(shard, now), sum >= TOKEN, "{} at {:?}", sum, now);
                sum -= if sum >= TOKEN { TOKEN } else { 0 };
            }
        }
    }
}
