//! The decision, step by step.

use super::*;
use crate::budget::GrpcTokenBucket;
use crate::conditions::{Answer, Conditions, Reply, Reset, Sent};
use crate::observe::Observe;
use crate::testing::Zero;
use crate::{Budget, Growth, Jitter};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::vec::Vec;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn policy() -> Retry {
    Retry {
        limits: [2, 1].into(),
        on: RetryOn::REJECTED,
        backoff: Backoff::constant(Nanos(10), Jitter::None),
    }
}

fn ask(
    state: &mut RetryState,
    budget: &mut Budget,
    class: u8,
    outcome: Outcome,
    deadline: Option<Nanos>,
) -> Result<Nanos, Reason> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
    policy()
        .decide(state, budget, class, outcome, Nanos(100), deadline, &mut rng)
        .map_err(|r| r.reason)
}

#[test]
fn class_limits_count_retries_after_the_first_attempt() {
    for (class, limit) in [(0, 2), (1, 1)] {
        let (mut state, mut budget) = (RetryState::default(), Budget::NONE);
        for _ in 0..limit {
            assert_eq!(ask(&mut state, &mut budget, class, Outcome::Rejected, None), Ok(Nanos(10)));
        }
        assert_eq!(
            ask(&mut state, &mut budget, class, Outcome::Rejected, None),
            Err(Reason::LimitReached)
        );
    }
}

#[test]
fn each_refusal_names_its_reason_and_spends_nothing() {
    let mut state = RetryState::default();
    let mut budget = Budget::from(GrpcTokenBucket::try_new(1, 0.1).unwrap());
    let ask_ = |s: &mut _, b: &mut _, o, d| ask(s, b, 0, o, d);
    assert_eq!(ask_(&mut state, &mut budget, Outcome::Failed, None), Err(Reason::NotRetryable));
    let close = Some(Nanos(110));
    assert_eq!(
        ask_(&mut state, &mut budget, Outcome::Rejected, close),
        Err(Reason::DeadlineTooClose)
    );
    budget.settle(Nanos::ZERO, Attempt::first(0), Outcome::Rejected, true, &mut Zero);
    assert_eq!(
        ask_(&mut state, &mut budget, Outcome::Rejected, None),
        Err(Reason::BudgetExhausted)
    );
    assert_eq!(state, RetryState::default());
}

/// 25, 50, 100, … ms without chance, five retries, of every outcome.
fn doubling() -> Retry {
    Retry {
        limits: RetryLimits::uniform(5),
        on: RetryOn::ALL,
        backoff: Backoff::exponential(MS(25), 2.0, MS(250), Jitter::None),
    }
}

/// The delays that follow one failure after another; `None` has no push-back.
fn delays(retry: &Retry, pushbacks: &[Option<Pushback>]) -> Vec<Nanos> {
    let (mut state, mut budget) = (RetryState::default(), Budget::NONE);
    pushbacks
        .iter()
        .map(|pushback| {
            let failure = Failure::new(0, Outcome::Failed).pushed_back(*pushback);
            retry
                .decide_with(&mut state, &mut budget, failure, MS(1), None, &mut Zero)
                .expect("nothing refuses")
        })
        .collect()
}

fn readings(budget: &Budget) -> Vec<f64> {
    let mut values = Vec::new();
    budget.observe(&mut |_, value| values.push(value));
    values
}

#[test]
fn grpc_waits_as_told_and_then_starts_again_at_its_base() {
    let told = Some(Pushback::After(MS(700)));
    let waits = delays(&doubling(), &[None, None, told, None, None]);
    assert_eq!(waits, [MS(25), MS(50), MS(700), MS(25), MS(50)]);
    let jitter = Retry { backoff: Backoff::grpc(MS(25), 2.0, MS(250)), ..doubling() };
    assert_eq!(delays(&jitter, &[None, told]), [MS(20), MS(700)], "no jitter on what was told");
    let decorrelated = Retry { backoff: Backoff::decorrelated(MS(5), MS(900)), ..doubling() };
    let (mut state, mut budget) =
        (RetryState { previous: Some(MS(300)), ..Default::default() }, Budget::NONE);
    let failure = Failure::new(0, Outcome::Failed).pushed_back(told);
    let _ = decorrelated.decide_with(&mut state, &mut budget, failure, MS(0), None, &mut Zero);
    assert_eq!((state.previous, state.drawn, state.retries), (None, 0, 1));
}

#[test]
fn envoy_waits_as_told_once_and_goes_on_where_it_was() {
    let told = Some(Pushback::Once(MS(700)));
    let waits = delays(&doubling(), &[None, told, None, told, None]);
    assert_eq!(waits, [MS(25), MS(700), MS(50), MS(700), MS(100)]);
}

#[test]
fn aws_takes_a_hint_within_five_seconds_of_its_own_delay() {
    let hint = |ms| Some(Pushback::Hint { wait: MS(ms), above: crate::pushback::AWS_ABOVE });
    let waits = delays(&doubling(), &[hint(10), hint(2000), hint(60_000), None]);
    assert_eq!(waits, [MS(25), MS(2000), MS(5100), MS(200)]);
    let forever = Some(Pushback::Hint { wait: Nanos::MAX, above: Nanos::MAX });
    assert_eq!(delays(&doubling(), &[forever]), [Nanos::MAX]);
}

#[test]
fn a_stop_is_obeyed_spends_nothing_and_counts_as_a_failure() {
    let retry = Retry { on: RetryOn::REJECTED, ..doubling() };
    let mut budget = Budget::from(GrpcTokenBucket::try_new(10, 0.1).unwrap());
    let before = readings(&budget);
    let mut state = RetryState::default();
    for outcome in [Outcome::Rejected, Outcome::Failed] {
        let failure = Failure::new(3, outcome).pushed_back(Some(Pushback::Stop));
        let refusal = retry
            .decide_with(&mut state, &mut budget, failure, MS(1), None, &mut Zero)
            .unwrap_err();
        assert_eq!(refusal, Refusal::new(Reason::PushedBack, 3));
        assert!(failure.counts(retry.on), "even if the policy does not retry it: {outcome:?}");
    }
    assert_eq!((state, readings(&budget)), (RetryState::default(), before));
    assert!(!Failure::new(0, Outcome::Failed).counts(retry.on));
    assert!(Failure::new(0, Outcome::Rejected).counts(retry.on));
    let good = Failure::new(0, Outcome::Success).pushed_back(Some(Pushback::Stop));
    assert!(!good.counts(RetryOn::ALL), "a success is none");

    let failure = Failure::new(0, Outcome::Failed).pushed_back(Some(Pushback::Stop));
    let counts = failure.counts(retry.on);
    budget.settle(MS(1), Attempt::first(0), failure.outcome, counts, &mut Zero);
    assert_eq!(readings(&budget)[0], 9.0);
}

/// Everything is wrong at first; one reason after the other is taken away.
#[test]
fn reasons_come_in_the_order_of_a6_and_none_of_them_spends() {
    let mut drained = GrpcTokenBucket::try_new(1, 0.1).unwrap();
    drained.settle(MS(0), Attempt::first(0), Outcome::Failed, true, &mut Zero);
    let empty = Budget::from(drained);
    let full = Budget::from(GrpcTokenBucket::try_new(1, 0.1).unwrap());
    let stop = Some(Pushback::Stop);
    let used_up = RetryState { retries: 5, ..Default::default() };
    let fresh = RetryState::default();
    let (far, close) = (None, Some(MS(26)));
    let never = Retry { on: RetryOn::NONE, ..doubling() };
    let always = doubling();
    for (retry, pushback, state, deadline, budget, reason) in [
        (&never, stop, used_up, close, &empty, Some(Reason::PushedBack)),
        (&never, None, used_up, close, &empty, Some(Reason::NotRetryable)),
        (&always, None, used_up, close, &empty, Some(Reason::LimitReached)),
        (&always, None, fresh, close, &empty, Some(Reason::DeadlineTooClose)),
        (&always, None, fresh, far, &empty, Some(Reason::BudgetExhausted)),
        (&always, None, fresh, far, &full, None),
    ] {
        let (mut state_after, mut budget_after) = (state, budget.clone());
        let failure = Failure::new(0, Outcome::Failed).pushed_back(pushback);
        let decision = retry.decide_with(
            &mut state_after,
            &mut budget_after,
            failure,
            MS(1),
            deadline,
            &mut Zero,
        );
        assert_eq!(decision.err().map(|r| r.reason), reason);
        let asked = matches!(reason, None | Some(Reason::BudgetExhausted));
        assert_eq!(readings(&budget_after) != readings(budget), asked, "{reason:?}");
        assert_eq!(readings(&budget_after)[0], readings(budget)[0], "tokens: {reason:?}");
        assert_eq!(state_after != state, reason.is_none(), "{reason:?}");
    }
}

#[test]
fn pushback_overrides_no_limit_no_budget_and_no_condition() {
    let told = Some(Pushback::After(MS(700)));
    let failure = Failure::new(2, Outcome::Failed).pushed_back(told);
    let mut drained = GrpcTokenBucket::try_new(1, 0.1).unwrap();
    drained.settle(MS(0), Attempt::first(0), Outcome::Failed, true, &mut Zero);
    let none = Retry { limits: RetryLimits::uniform(0), ..doubling() };
    let other = Retry { on: RetryOn::REJECTED, ..doubling() };
    for (retry, deadline, budget, reason) in [
        (&other, None, Budget::NONE, Reason::NotRetryable),
        (&none, None, Budget::NONE, Reason::LimitReached),
        (&doubling(), Some(MS(701)), Budget::NONE, Reason::DeadlineTooClose),
        (&doubling(), None, Budget::from(drained), Reason::BudgetExhausted),
    ] {
        let mut budget = budget;
        let mut state = RetryState::default();
        let refusal = retry
            .decide_with(&mut state, &mut budget, failure, MS(1), deadline, &mut Zero)
            .unwrap_err();
        // Whoever called can be told when it makes sense to come back.
        assert_eq!(refusal, Refusal::new(reason, 2).until(MS(701)));
        assert_eq!(state, RetryState::default());
    }
}

#[test]
fn an_attempt_that_cannot_finish_is_not_sent() {
    let decide = |needs, deadline| {
        let failure = Failure::new(0, Outcome::Rejected).needing(Nanos(needs));
        let mut state = RetryState::default();
        policy().decide_with(
            &mut state,
            &mut Budget::NONE.clone(),
            failure,
            Nanos(100),
            deadline,
            &mut Zero,
        )
    };
    let deadline = Some(Nanos(130));
    assert_eq!(decide(19, deadline), Ok(Nanos(10)), "100 + 10 + 19 < 130");
    assert_eq!(decide(20, deadline), Err(Refusal::new(Reason::DeadlineTooClose, 0)));
    assert_eq!(decide(u64::MAX, deadline).unwrap_err().reason, Reason::DeadlineTooClose);
    assert_eq!(decide(u64::MAX, None), Ok(Nanos(10)));
}

#[test]
fn the_cause_of_the_failure_chooses_the_scale() {
    let backoff =
        Backoff { jitter: Jitter::None, ..Backoff::aws_2026(MS(50), MS(1000), MS(20_000)) };
    let retry = Retry { backoff, ..doubling() };
    let (mut state, mut budget) = (RetryState::default(), Budget::NONE);
    let mut after = |outcome| {
        retry.decide(&mut state, &mut budget, 0, outcome, MS(0), None, &mut Zero).unwrap()
    };
    assert_eq!(after(Outcome::Failed), MS(50));
    assert_eq!(after(Outcome::Rejected), MS(2000), "the second retry, whatever the first was");
    assert_eq!(after(Outcome::TimedOut), MS(200));
    assert_eq!(after(Outcome::Shed), MS(8000));
}

#[test]
fn an_unsafe_call_is_retried_only_before_work() {
    let retry = doubling().for_unsafe_calls();
    for outcome in Outcome::ALL {
        let mut state = RetryState::default();
        let decision =
            retry.decide(&mut state, &mut Budget::NONE.clone(), 0, outcome, MS(0), None, &mut Zero);
        assert_eq!(decision.is_ok(), matches!(outcome, Outcome::Rejected | Outcome::Shed));
    }
}

#[test]
fn conditions_forbid_and_never_allow() {
    let on = Conditions::CONNECT_FAILURE;
    let refused = Failure::of(1, &Reply::lost(Reset::ConnectFailure, Sent::Nothing), &on);
    assert_eq!(refused, Failure::new(1, Outcome::Rejected));
    let closed = Failure::of(1, &Reply::lost(Reset::Closed, Sent::Something), &on);
    assert_eq!((closed.outcome, closed.eligible), (Outcome::Failed, false));
    assert!(!closed.is_retryable(RetryOn::ALL) && !closed.counts(RetryOn::ALL));
    assert!(refused.is_retryable(RetryOn::ALL) && !refused.is_retryable(RetryOn::FAILED));
    let matched = Answer { header_matches: true, ..Answer::http(200) };
    let good = Failure::of(0, &Reply::Answer(matched), &Conditions::RETRIABLE_HEADERS);
    assert_eq!(good, Failure::new(0, Outcome::Failed), "a good reply that is to be retried");
    let good = Failure::of(0, &Reply::Answer(Answer::http(200)), &Conditions::FIVE_XX);
    assert_eq!((good.outcome, good.eligible), (Outcome::Success, false));
}

proptest! {
    #[test]
    fn no_call_has_more_retries_than_its_limit_and_no_refusal_changes_it(
        limit in 0u32..6,
        ends in prop::collection::vec((0usize..6, 0u8..5, any::<u64>(), any::<u64>(), any::<u64>()), 0..40),
        deadline: Option<u64>, seed: u64, huge: bool,
    ) {
        let growth = if huge { Growth::Exponential(1e300) } else { Growth::Linear };
        let backoff = Backoff { growth, base: MS(5), cap: Nanos::MAX, jitter: Jitter::Full };
        let retry = Retry { limits: RetryLimits::uniform(limit), on: RetryOn::ALL, backoff };
        let mut budget = Budget::from(GrpcTokenBucket::try_new(1000, 0.1).unwrap());
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut state = RetryState::default();
        let deadline = deadline.map(Nanos);
        for (end, pushback, wait, now, needs) in ends {
            let pushback = match pushback {
                0 => None,
                1 => Some(Pushback::Stop),
                2 => Some(Pushback::After(Nanos(wait))),
                3 => Some(Pushback::Once(Nanos(wait))),
                _ => Some(Pushback::Hint { wait: Nanos(wait), above: Nanos(wait / 2) }),
            };
            let failure = Failure::new(0, Outcome::ALL[end]).pushed_back(pushback).needing(Nanos(needs));
            let before = state;
            let now = Nanos(now);
            match retry.decide_with(&mut state, &mut budget, failure, now, deadline, &mut rng) {
                Ok(delay) => {
                    prop_assert_eq!(state.retries, before.retries + 1);
                    prop_assert!(pushback != Some(Pushback::Stop));
                    prop_assert!(deadline.is_none_or(|d| now + delay + Nanos(needs) < d));
                }
                Err(_) => prop_assert_eq!(state, before),
            }
            prop_assert!(state.retries <= limit && state.drawn <= state.retries);
        }
    }
}
