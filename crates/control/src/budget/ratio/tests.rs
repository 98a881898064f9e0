use super::*;
use crate::budget::EnvoyRetryBudget;
use crate::testing::Zero;
use proptest::prelude::*;

const FIRST: Attempt = Attempt::first(0);
const RETRY: Attempt = Attempt { class: 0, retries: 1, paid: 1 };
const NOW: Nanos = Nanos(7);

fn fail(b: &mut impl RetryBudget, now: Nanos, attempt: Attempt) {
    b.settle(now, attempt, Outcome::Failed, true, &mut Zero);
}

fn ask(b: &mut impl RetryBudget, now: Nanos) -> bool {
    b.withdraw(now, FIRST, Outcome::Failed, &mut Zero).is_some()
}

fn open(b: &mut impl RetryBudget, calls: u32) {
    for _ in 0..calls {
        b.start(Nanos::ZERO, FIRST);
    }
}

/// All end, then all ask.
fn together(b: &mut impl RetryBudget, calls: u32) -> usize {
    (0..calls).for_each(|_| fail(b, NOW, FIRST));
    (0..calls).filter(|_| ask(b, NOW)).count()
}

/// Each asks as it ends, all at one instant or one after the other.
fn in_turn(b: &mut impl RetryBudget, calls: u32, apart: u64) -> usize {
    let mut now = NOW;
    (0..calls)
        .filter(|_| {
            now = now + Nanos(apart);
            fail(b, now, FIRST);
            ask(b, now)
        })
        .count()
}

fn ratio(percent: f64, floor: u32) -> RatioBudget {
    RatioBudget::try_new(percent, floor).unwrap()
}

/// Envoy issue 30205, in both orders: Envoy's answer depends on the order, this one's does not.
#[test]
fn a_hundred_that_fail_at_once() {
    type Order = fn(&mut RatioBudget, u32) -> usize;
    let orders: [Order; 3] = [together, |b, n| in_turn(b, n, 0), |b, n| in_turn(b, n, 1)];
    for (percent, granted) in [(20.0, 20), (30.0, 30), (60.0, 60), (58.0, 58), (100.0, 100)] {
        for order in orders {
            let mut b = ratio(percent, 3);
            open(&mut b, 100);
            assert_eq!(order(&mut b, 100), granted, "{percent} %");
            assert_eq!((b.granted, b.denied), (granted as u64, 100 - granted as u64));
        }
    }
    let envoy = || {
        let mut b = EnvoyRetryBudget::try_new(20.0, 3).unwrap();
        open(&mut b, 100);
        b
    };
    assert_eq!(together(&mut envoy(), 100), 3);
    // The base shrinks while the retries that wait stay out of it: 16 wait when 84 are active.
    assert_eq!(in_turn(&mut envoy(), 100, 0), 16);
}

/// The other fault that 30205 discusses: base and numerator without the calls that wait. An outage
/// in which every call fails must not plan a retry for each.
#[test]
fn an_outage_does_not_let_everybody_through() {
    let mut b = ratio(20.0, 3);
    let mut granted = 0;
    for i in 0..1000 {
        b.start(Nanos(i), FIRST);
        fail(&mut b, Nanos(i), FIRST);
        granted += u32::from(ask(&mut b, Nanos(i)));
    }
    assert_eq!((granted, b.retries()), (3, 3), "one call at a time: the floor");
    let mut b = ratio(20.0, 3);
    open(&mut b, 1000);
    assert_eq!(in_turn(&mut b, 1000, 1), 200);
}

/// 58 / 100 × 50 is 28.999… in floating point.
#[test]
fn is_exact_where_envoy_rounds_down() {
    let mut envoy = EnvoyRetryBudget::try_new(58.0, 0).unwrap();
    open(&mut envoy, 50);
    assert_eq!(envoy.limit(), 28);
    let mut b = ratio(58.0, 0);
    open(&mut b, 50);
    assert_eq!(b.limit(), 29);
}

#[test]
fn states_of_a_call_by_hand() {
    let mut b = ratio(50.0, 0);
    let state = |b: &RatioBudget| (b.calls.firsts, b.calls.retries, b.calls.undecided, b.limit());
    open(&mut b, 4);
    assert_eq!(state(&b), (4, 0, 0, 2));
    fail(&mut b, NOW, FIRST);
    assert_eq!(state(&b), (3, 0, 1, 2), "still open: it may ask");
    assert!(ask(&mut b, NOW));
    assert_eq!(state(&b), (3, 1, 0, 2), "waits");
    b.start(NOW, RETRY);
    assert_eq!(state(&b), (3, 1, 0, 2), "in flight: the same call");
    fail(&mut b, NOW, RETRY);
    assert_eq!(state(&b), (3, 0, 1, 2));
    assert!(ask(&mut b, NOW), "its second retry");
    fail(&mut b, NOW, FIRST);
    assert!(ask(&mut b, NOW));
    assert_eq!(state(&b), (2, 2, 0, 2));
    fail(&mut b, NOW, FIRST);
    assert!(!ask(&mut b, NOW));
    assert_eq!(state(&b), (1, 2, 0, 1), "denied: closed");
    b.cancel(NOW, 1);
    assert_eq!(state(&b), (1, 1, 0, 1), "left during its backoff: closed");
    b.settle(NOW, RETRY, Outcome::Success, true, &mut Zero);
    b.settle(NOW, FIRST, Outcome::Failed, false, &mut Zero);
    assert_eq!(state(&b), (0, 0, 0, 0), "success, and a failure that is not retried");
}

#[test]
fn a_call_that_does_not_ask_is_closed_at_the_next_instant() {
    let mut b = ratio(50.0, 0);
    open(&mut b, 10);
    for _ in 0..10 {
        fail(&mut b, NOW, FIRST);
    }
    assert_eq!(b.open(), 10);
    b.start(Nanos(8), FIRST);
    assert_eq!(b.open(), 1);
}

#[test]
fn recovers_at_once() {
    let mut b = ratio(20.0, 0);
    open(&mut b, 10);
    assert_eq!(together(&mut b, 10), 2);
    b.settle(NOW, RETRY, Outcome::Success, true, &mut Zero);
    b.settle(NOW, RETRY, Outcome::Success, true, &mut Zero);
    open(&mut b, 10);
    assert_eq!(together(&mut b, 10), 2);
}

#[test]
fn refuses_impossible_settings() {
    for percent in [-1.0, 100.5, f64::NAN, f64::INFINITY] {
        assert!(RatioBudget::try_new(percent, 3).is_none());
    }
}

proptest! {
    #[test]
    fn a_grant_keeps_to_the_share_of_open_calls(
        percent in 0u32..=100, floor in 0u32..10,
        ops in prop::collection::vec((0u8..6, 0u64..2), 0..500),
    ) {
        let mut b = ratio(f64::from(percent), floor);
        let (mut firsts, mut retries, mut now) = (0u32, 0u32, 0);
        for (op, gap) in ops {
            now += gap;
            let at = Nanos(now);
            match op {
                0 | 1 => { b.start(at, FIRST); firsts += 1; }
                2 if firsts > 0 => { b.settle(at, FIRST, Outcome::Success, true, &mut Zero); firsts -= 1; }
                3 if retries > 0 => { b.cancel(at, 1); retries -= 1; }
                4 | 5 if firsts + retries > 0 => {
                    let first = firsts > 0 && (op == 4 || retries == 0);
                    let base = u64::from(firsts + retries);
                    if first { firsts -= 1 } else { retries -= 1 }
                    fail(&mut b, at, if first { FIRST } else { RETRY });
                    if ask(&mut b, at) {
                        retries += 1;
                        let share = u64::from(percent) * base / 100;
                        prop_assert!(u64::from(retries) <= share.max(u64::from(floor)));
                    }
                }
                _ => {}
            }
            prop_assert_eq!((b.calls.firsts, b.calls.retries, b.calls.undecided), (firsts, retries, 0));
        }
    }

    #[test]
    fn any_events_at_any_time_are_fine(
        ops in prop::collection::vec((0u8..5, any::<u64>()), 0..300),
    ) {
        let mut b = ratio(20.0, 3);
        for (op, now) in ops {
            match op {
                0 => b.start(Nanos(now), FIRST),
                1 => fail(&mut b, Nanos(now), FIRST),
                2 => fail(&mut b, Nanos(now), RETRY),
                3 => b.cancel(Nanos(now), 1),
                _ => { ask(&mut b, Nanos(now)); }
            }
        }
    }
}
