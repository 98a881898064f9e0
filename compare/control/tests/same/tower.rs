//! tower's retry budget, with its clock in our hand.

use std::time::Duration;

use ::tower::retry::budget::{Budget as _, TpsBudget};
use damper_control::budget::{Attempt, Budget, RetryBudget as _};
use damper_control::{Nanos, Outcome};
use rand_xoshiro::rand_core::Rng as _;

use crate::ours::{budget, rng};

/// Asks our budget for a retry after a first attempt that failed.
fn withdraw(budget: &mut Budget, now: Nanos) -> bool {
    budget.withdraw(now, Attempt::first(0), Outcome::Failed, &mut rng(0)).is_some()
}

/// tower's budget with its clock in our hand: deposits, withdrawals, and time that passes in
/// small steps, at the edges of its slots, and in leaps beyond all of them.
#[tokio::test(start_paused = true)]
async fn tower_budget() {
    let mut draws = rng(1);
    let mut answers = [0u32; 2];
    let settings = [
        (10, 10, 20.0),
        (10, 0, 30.0),
        (10, 1, 40.0),
        (1, 0, 60.0),
        (2, 2, 100.0),
        (5, 0, 0.0),
        (7, 1, 12.5),
        (10, 0, 250.0),
        (60, 0, 1000.0),
        (3, 1, 0.0),
    ];
    for (ttl, min_per_second, percent) in settings {
        let theirs =
            TpsBudget::new(Duration::from_secs(ttl), min_per_second, (percent / 100.0) as f32);
        let mut ours = budget("tower", &[percent, f64::from(min_per_second), ttl as f64]);
        let mut now = Nanos::ZERO;
        let slot = ttl * 100_000_000;
        for step in 0..5_000 {
            let draw = draws.next_u64();
            let pass = match draw % 40 {
                0 => slot,
                1 => slot - 1,
                2 => slot + 1,
                3 => (draw >> 8) % (3 * slot),
                4 => (draw >> 8) % (15 * slot) * u64::from(draw >> 32 & 7 == 0),
                5..12 => (draw >> 8) % (slot / 8),
                _ => 0,
            };
            tokio::time::advance(Duration::from_nanos(pass)).await;
            now = now + Nanos(pass);
            if draw >> 16 & 3 == 0 {
                theirs.deposit();
                ours.settle(now, Attempt::first(0), Outcome::Success, false, &mut draws);
            } else {
                let answer = theirs.withdraw();
                answers[usize::from(answer)] += 1;
                assert_eq!(
                    withdraw(&mut ours, now),
                    answer,
                    "{percent} % of {ttl} s and {min_per_second}/s, step {step} at {now}"
                );
            }
        }
    }
    assert!(answers.iter().all(|answers| *answers > 1000), "both answers: {answers:?}");
}
