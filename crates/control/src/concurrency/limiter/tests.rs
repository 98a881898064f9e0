use super::*;
use crate::concurrency::{Aimd, Fixed};
use crate::testing::Zero;
use proptest::prelude::*;
use std::vec::Vec;

fn fixed(limit: u32, shares: Option<&[f64]>) -> Limiter {
    let shares = shares.map(|given| {
        let mut all = [0.0; CLASSES];
        all[..given.len()].copy_from_slice(given);
        all
    });
    Limiter::try_new(Fixed::try_new(limit).unwrap().into(), shares).unwrap()
}

/// Takes places for a class until it is refused.
fn fill(l: &mut Limiter, class: u8) -> Vec<Permit> {
    core::iter::from_fn(|| l.acquire(Nanos::ZERO, class).ok()).take(1_000).collect()
}

fn give_back(l: &mut Limiter, permit: Permit) {
    l.release(Nanos::ZERO, permit, Nanos::ZERO, Some(Outcome::Success), &mut Zero);
}

#[test]
fn without_shares_classes_are_not_told_apart() {
    let mut l = fixed(3, None);
    let permits: Vec<_> = (0..3).map(|class| l.acquire(Nanos::ZERO, class).unwrap()).collect();
    assert_eq!(permits.iter().map(|p| p.in_flight).collect::<Vec<_>>(), [1, 2, 3]);
    let refusal = l.acquire(Nanos::ZERO, 1).unwrap_err();
    assert_eq!((refusal.reason, refusal.class), (Reason::ConcurrencyLimited, 1));
    assert_eq!(refusal.earliest, None, "it depends on when the others end");
    give_back(&mut l, permits[1]);
    assert!(l.acquire(Nanos::ZERO, 1).is_ok());
    assert_eq!((l.in_flight(), l.refused), (3, 1));
}

#[test]
fn a_class_without_a_share_has_one_place() {
    let mut l = fixed(10, Some(&[0.9, 0.1]));
    assert_eq!(fill(&mut l, 0).len(), 10, "all that the others leave");
    assert_eq!(fill(&mut l, 2).len(), 1, "max(1, 0)");
    assert_eq!(fill(&mut l, 200).len(), 1, "an unknown class is the lowest");
    assert_eq!((l.in_flight(), l.refused), (12, 3));
}

#[test]
fn a_class_may_use_what_the_others_leave() {
    let mut l = fixed(10, Some(&[0.5, 0.5]));
    let low = fill(&mut l, 1);
    assert_eq!(low.len(), 10, "twice its share, while the whole is not full");
    give_back(&mut l, low[0]);
    assert_eq!(fill(&mut l, 1).len(), 1);
}

#[test]
fn a_lower_class_cannot_take_the_share_of_a_higher_one() {
    let mut l = fixed(10, Some(&[0.7, 0.3]));
    assert_eq!(fill(&mut l, 1).len(), 10);
    assert_eq!(fill(&mut l, 0).len(), 7, "its share, on top of the limit as published");
    assert_eq!(l.in_flight(), 17);
    let mut l = fixed(10, Some(&[0.7, 0.3]));
    assert_eq!((fill(&mut l, 0).len(), fill(&mut l, 1).len()), (10, 3), "nor the other way round");
}

#[test]
fn shares_are_rounded_up_and_sum_to_one_at_most() {
    assert_eq!([0.0, 0.01, 0.1, 0.11, 0.5, 1.0].map(|s| share(10, s)), [1, 1, 1, 2, 5, 10]);
    assert_eq!(share(1, 0.3), 1);
    let made = |given: [f64; 2]| {
        let mut all = [0.0; CLASSES];
        all[..2].copy_from_slice(&given);
        Limiter::try_new(Fixed::try_new(1).unwrap().into(), Some(all)).is_some()
    };
    assert!(made([0.7, 0.3]) && made([1.0, 0.0]) && made([0.1, 0.2]));
    assert!(!made([0.7, 0.31]) && !made([-0.1, 0.2]) && !made([f64::NAN, 0.2]));
}

#[test]
fn what_is_in_flight_survives_a_smaller_limit() {
    let aimd = Aimd::try_new(10, 1, 10, 0.5, Nanos::from_secs(5)).unwrap();
    let mut l = Limiter::try_new(aimd.into(), None).unwrap();
    let permits = fill(&mut l, 0);
    l.release(Nanos(9), permits[9], Nanos::ZERO, Some(Outcome::TimedOut), &mut Zero);
    assert_eq!((l.limit().limit(), l.in_flight()), (5, 9));
    assert!(l.acquire(Nanos(9), 0).is_err());
    for permit in &permits[..5] {
        l.release(Nanos(9), *permit, Nanos::ZERO, None, &mut Zero);
    }
    assert_eq!((l.limit().limit(), l.in_flight()), (5, 4), "an end that says nothing");
    assert!(l.acquire(Nanos(9), 0).is_ok());
}

#[test]
fn shows_the_limit_and_its_own_counters() {
    let mut l = fixed(2, None);
    fill(&mut l, 0);
    let mut seen = Vec::new();
    l.observe(&mut |name, value| seen.push((name, value)));
    assert_eq!(seen, [("limit", 2.0), ("in_flight", 2.0), ("refused", 1.0)]);
}

proptest! {
    #[test]
    fn never_more_than_the_limit_and_the_shares(
        limit in 1u32..40,
        shares in prop::option::of(prop::collection::vec(0.0f64..0.25, 4)),
        ops in prop::collection::vec((any::<bool>(), 0u8..5), 0..400),
    ) {
        let mut l = fixed(limit, shares.as_deref());
        let mut held: Vec<Permit> = Vec::new();
        for (acquire, class) in ops {
            if acquire {
                held.extend(l.acquire(Nanos::ZERO, class).ok());
            } else if let Some(permit) = held.pop() {
                give_back(&mut l, permit);
            }
            prop_assert_eq!(l.in_flight() as usize, held.len());
            prop_assert_eq!(l.by_class.iter().sum::<u32>(), l.in_flight());
            let over = l.shares.map_or(0, |s| s.iter().map(|x| share(limit, *x)).sum::<u32>());
            prop_assert!(l.in_flight() <= limit + over);
        }
    }

    #[test]
    fn time_may_go_back(started in any::<u64>(), ended in any::<u64>()) {
        let aimd = Aimd::try_new(10, 1, 10, 0.5, Nanos::from_secs(5)).unwrap();
        let mut l = Limiter::try_new(aimd.into(), None).unwrap();
        let permit = l.acquire(Nanos(started), 0).unwrap();
        l.release(Nanos(ended), permit, Nanos::ZERO, Some(Outcome::Success), &mut Zero);
        prop_assert_eq!(l.in_flight(), 0);
    }
}
