//! All budgets of the registry in the same outage.

use super::*;
use crate::entry::Build;
use crate::registry;
use crate::testing::Zero;
use crate::{Kind, RetryState};
use std::collections::BinaryHeap;
use std::vec::Vec;

use core::cmp::Reverse;

const EVERY: u64 = 10_000_000;
const ATTEMPT: u64 = 10_000_000;
const BACKOFF: u64 = 100_000_000;

fn reading(budget: &Budget, name: &str) -> f64 {
    let mut found = None;
    budget.observe(&mut |n, value| {
        if n == name {
            found = Some(value);
        }
    });
    found.unwrap()
}

fn budgets() -> impl Iterator<Item = (&'static str, Budget)> {
    registry::of(Kind::Budget).map(|entry| {
        let Build::Budget(build) = entry.build else { panic!("{} is no budget", entry.name) };
        let defaults: Vec<f64> = entry.defaults().collect();
        (entry.name, build(&defaults).unwrap())
    })
}

struct Run {
    calls: u64,
    retries: u64,
    asked: u64,
}

/// 100 calls per second between two seconds, each attempt 10 ms long and each retry 100 ms after the
/// failure before it. All attempts end one way; when the time is over nobody asks any more.
fn run(budget: &mut Budget, seconds: core::ops::Range<u64>, outcome: Outcome, limit: u32) -> Run {
    let span = seconds.start * 1_000_000_000..seconds.end * 1_000_000_000;
    let end = span.end;
    let mut states: Vec<RetryState> = Vec::new();
    // (when, order, call, whether it starts or ends)
    let mut events = BinaryHeap::new();
    for (call, at) in span.step_by(EVERY as usize).enumerate() {
        states.push(RetryState::default());
        events.push(Reverse((at, 0, call, true)));
    }
    let mut run = Run { calls: states.len() as u64, retries: 0, asked: 0 };
    while let Some(Reverse((at, order, call, starts))) = events.pop() {
        let (now, state) = (Nanos(at), &mut states[call]);
        let attempt = state.attempt(0);
        if starts {
            budget.start(now, attempt);
            run.retries += u64::from(attempt.is_retry());
            events.push(Reverse((at + ATTEMPT, order, call, false)));
            continue;
        }
        budget.settle(now, attempt, outcome, true, &mut Zero);
        if outcome == Outcome::Success || state.retries == limit || at >= end {
            continue;
        }
        run.asked += 1;
        if let Some(paid) = budget.withdraw(now, attempt, outcome, &mut Zero) {
            *state = RetryState { retries: state.retries + 1, paid, ..*state };
            events.push(Reverse((at + BACKOFF, order + 1, call, true)));
        }
    }
    run
}

/// Retries of 6000 calls in an outage of a minute, worked out for each: from and to.
const RETRIES: &[(&str, u64, u64)] = &[
    // Two for each: those who fail before the minute is over are 5999, and 5988 for the second.
    ("none", 11_987, 11_987),
    // 9, 8, 7, 6 tokens; not at 5.
    ("token-bucket", 4, 4),
    // Three slots, each held for two retries of 110 ms and until the next call fails 10 ms later.
    ("envoy", 1560, 1570),
    ("ratio", 1560, 1570),
    ("failsafe", 1560, 1570),
    // 500 / 5, and 500 / 14.
    ("aws-standard", 100, 100),
    ("aws-2026", 35, 35),
    // The reserve of 100 once per window: at 0, 10, …, 50 s, and at 0, 11, …, 55 s.
    ("finagle", 600, 600),
    ("tower", 600, 600),
    ("linkerd", 600, 600),
    // 20 % of 6000, and the reserve of 100 six times.
    ("deposit", 1790, 1800),
    // r / (6000 + r) = 10 %.
    ("google", 666, 667),
    ("per-minute", 60, 60),
    // 1 % of 6000, the three in stock, and what there was before the average had moved:
    // 19 % of 100 × the sum of keep^2k, which is 5.517, make 104.8.
    ("arb", 162, 168),
    // Twenty have come back after 270 ms; until then 27 first and 15 second retries were granted,
    // and then one per second from 1.27 s.
    ("retry-guard", 101, 101),
];

#[test]
fn an_outage_meets_the_bound_of_each_budget() {
    let (mut seen, mut wrong) = (Vec::new(), Vec::new());
    for (name, mut budget) in budgets() {
        let &(_, from, to) = RETRIES.iter().find(|row| row.0 == name).expect(name);
        let Run { calls, retries, .. } = run(&mut budget, 0..60, Outcome::Failed, 2);
        assert_eq!(calls, 6000);
        if !(from..=to).contains(&retries) {
            wrong.push((name, retries));
        }
        assert_eq!(reading(&budget, "granted"), retries as f64, "{name}");
        seen.push(name);
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(seen.len(), RETRIES.len(), "a row for each: {seen:?}");
}

/// grpc-java issue 11274: a budget that is configured and inert. Whatever the limit of a call
/// is, each budget must be seen to deny, and what it denies and grants adds up.
#[test]
fn every_budget_denies() {
    for (name, mut budget) in budgets() {
        if name == "none" {
            continue;
        }
        let run = run(&mut budget, 0..10, Outcome::Failed, u32::MAX);
        let (granted, denied) = (reading(&budget, "granted"), reading(&budget, "denied"));
        assert!(denied > 0.0, "{name} is inert");
        assert_eq!(
            (granted, denied),
            (run.retries as f64, (run.asked - run.retries) as f64),
            "{name}"
        );
        assert!(run.retries * 2 < run.calls, "{name}: {granted} retries of {} calls", run.calls);
    }
}

/// A minute of success after a minute of outage, and every budget grants again.
#[test]
fn every_budget_recovers() {
    for (name, mut budget) in budgets() {
        run(&mut budget, 0..60, Outcome::Failed, 2);
        run(&mut budget, 61..121, Outcome::Success, 2);
        let denied = reading(&budget, "denied");
        let now = Nanos::from_secs(121);
        budget.start(now, Attempt::first(0));
        budget.settle(now, Attempt::first(0), Outcome::Failed, true, &mut Zero);
        let granted = budget.withdraw(now, Attempt::first(0), Outcome::Failed, &mut Zero);
        assert!(granted.is_some(), "{name}");
        assert_eq!(reading(&budget, "denied"), denied, "{name}");
    }
}
