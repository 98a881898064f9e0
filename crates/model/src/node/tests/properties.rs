//! What must hold at any load, for every model.

use proptest::prelude::*;

use super::super::*;

fn node() -> impl Strategy<Value = Node> {
    let capacity = prop_oneof![Just(0.0), 1e-6..1e6_f64];
    let delay = prop_oneof![Just(0.0), 1e-6..1e3_f64];
    prop_oneof![
        capacity.clone().prop_map(|c| Node::Fluid(Fluid::try_new(c).unwrap())),
        (capacity.clone(), 1..50_u32, 0..200_u64)
            .prop_map(|(c, w, q)| Node::Finite(Finite::try_new(c, w, u64::from(w) + q).unwrap())),
        (capacity.clone(), 1..50_u32, 0..200_u64)
            .prop_map(|(c, w, q)| Node::Mixed(Mixed::try_new(c, w, u64::from(w) + q).unwrap())),
        (capacity, delay, 1.0..50.0_f64).prop_map(|(c, d, scv)| {
            let service = Service::Hyperexponential { scv };
            let delays = Delays::constant(d).unwrap();
            Node::Residual(Residual::try_new(c, 1.0, service, delays).unwrap())
        }),
    ]
}

fn load() -> impl Strategy<Value = Vec<(f64, u32)>> {
    let rate = prop_oneof![Just(0.0), 1e-9..1e9_f64, 0.1..10.0_f64];
    let limit = prop_oneof![0..12_u32, 0..2_000_u32];
    prop::collection::vec((rate, limit), 1..5)
}

proptest! {
    /// What is served is min(load, capacity) for the fluid, and successes and rejections add up
    /// to what arrived for all.
    #[test]
    fn nothing_is_lost(node in node(), load in load()) {
        let (rates, limits): (Vec<_>, Vec<_>) = load.into_iter().unzip();
        let at = node.rejection(&rates, &limits);
        let (mut served, mut total) = (0.0, 0.0);
        for (&rate, &limit) in rates.iter().zip(&limits) {
            let sum = node.served(at, limit) + node.failed(at, limit);
            prop_assert!((sum - 1.0).abs() < 1e-12, "{sum}");
            served += rate * node.served(at, limit);
            total += rate;
        }
        if let Node::Fluid(fluid) = node {
            let expected = total.min(fluid.capacity());
            prop_assert!((served - expected).abs() <= 1e-12 * expected, "{served} {expected}");
        }
        if let Node::Residual(model) = node {
            let expected = total.min(model.capacity());
            prop_assert!((served - expected).abs() <= 1e-9 * total.max(1e-6), "{served} {expected}");
        }
    }

    /// The queue's s̄ is the blocking of the load that it makes itself.
    #[test]
    fn a_queue_is_in_balance(c in 1e-3..1e3_f64, w in 1..40_u32, q in 0..100_u64, load in load()) {
        let queue = Finite::try_new(c, w, u64::from(w) + q).unwrap();
        let (rates, limits): (Vec<_>, Vec<_>) = load.into_iter().unzip();
        let at = queue.rejection(&rates, &limits);
        let load = rates.iter().zip(&limits).map(|(r, &k)| r * at.attempts(k)).sum();
        let again = queue.blocking(load);
        prop_assert!((again.probability() - at.probability()).abs() < 1e-9);
        prop_assert!((again.accepted() / at.accepted() - 1.0).abs() < 1e-6);
    }

    /// More retries never lower a class's own successes, nor raise another's.
    #[test]
    fn a_class_gains_by_its_own_limit(node in node(), load in load(), more in 1..20_u32) {
        let (rates, mut limits): (Vec<_>, Vec<_>) = load.into_iter().unzip();
        let before = node.rejection(&rates, &limits);
        let was: Vec<_> = limits.iter().map(|&k| node.served(before, k)).collect();
        limits[0] += more;
        let after = node.rejection(&rates, &limits);
        if rates[0] > 0.0 {
            prop_assert!(node.served(after, limits[0]) >= was[0] - 1e-9);
        }
        for p in 1..limits.len() {
            prop_assert!(node.served(after, limits[p]) <= was[p] + 1e-9);
        }
    }

    /// Neither does a hint change the answer.
    #[test]
    fn a_hint_only_hastens(node in node(), load in load(), near in 0.0..=1.0_f64) {
        let (rates, limits): (Vec<_>, Vec<_>) = load.into_iter().unzip();
        let plain = node.rejection(&rates, &limits);
        let near = Near::exact(Rejection::from_rejected(near));
        let hinted = node.rejection_near(&rates, &limits, near);
        prop_assert!((plain.accepted() - hinted.accepted()).abs() <= 1e-13 * plain.accepted());
    }

    /// With more places the queue comes to the fluid, and the mixed model with it.
    #[test]
    fn the_fluid_is_the_limit_of_long_queues(load in 0.1..3.0_f64, k in 0..6_u32, w in 1..9_u32) {
        prop_assume!((load - 1.0).abs() > 0.05);
        let (rates, limits) = ([load / 2.0; 2], [k, 1]);
        let fluid = Fluid::try_new(1.0).unwrap().rejection(&rates, &limits).probability();
        let mut last = f64::INFINITY;
        for places in [10, 100, 1_000, 100_000_000] {
            let queue = Finite::try_new(1.0, w, places).unwrap();
            let off = (queue.rejection(&rates, &limits).probability() - fluid).abs();
            prop_assert!(off <= last + 1e-12);
            last = off;
        }
        prop_assert!(last < 1e-7, "{last}");
    }

    /// No input gives anything but a probability, and attempts between 1 and k + 1.
    #[test]
    fn extremes_stay_in_range(
        node in node(),
        rates in prop::collection::vec(any::<f64>(), 0..4),
        limits in prop::collection::vec(prop_oneof![0..8_u32, Just(1_000_000)], 0..4),
    ) {
        let at = node.rejection(&rates, &limits);
        prop_assert!((0.0..=1.0).contains(&at.probability()));
        prop_assert!((0.0..=1.0).contains(&at.accepted()));
        for &k in limits.iter().chain(&[u32::MAX]) {
            if matches!(node, Node::Residual(_)) && k == u32::MAX {
                continue;
            }
            prop_assert!((0.0..=1.0).contains(&node.served(at, k)));
            prop_assert!((0.0..=1.0).contains(&node.failed(at, k)));
            let attempts = node.attempts(at, k);
            prop_assert!((1.0..=f64::from(k) + 1.0).contains(&attempts), "{attempts}");
        }
    }
}

#[test]
fn a_million_retries_are_solved_exactly() {
    let node = Fluid::try_new(100.0).unwrap();
    let at = node.rejection(&[60.0, 60.0], &[1_000_000, 0]);
    assert!((60.0 * (at.served(1_000_000) + at.served(0)) - 100.0).abs() < 1e-9);
    assert!(at.failed(1_000_000) < 1e-300);
    let at = node.rejection(&[60.0, 60.0], &[1_000_000, 1_000_000]);
    // s̄^(k+1) = 1/6.
    assert!((at.failed(1_000_000) - 1.0 / 6.0).abs() < 1e-9);
    assert!((at.served(1_000_000) - 5.0 / 6.0).abs() < 1e-14);
}

#[test]
fn no_load_and_no_capacity_have_plain_answers() {
    for places in [1, 20, u64::MAX] {
        let none = Finite::single(0.0, places).unwrap();
        assert_eq!(none.rejection(&[1.0], &[3]), Rejection::ALL);
        assert_eq!(none.rejection(&[0.0], &[3]), Rejection::NONE);
        assert_eq!(none.rejection(&[], &[]), Rejection::NONE);
    }
    let none = Fluid::try_new(0.0).unwrap();
    assert_eq!(none.rejection(&[1e-300], &[3]), Rejection::ALL);
    assert_eq!(none.rejection(&[0.0], &[3]), Rejection::NONE);
    assert_eq!(Rejection::ALL.attempts(3), 4.0);
    assert_eq!(Rejection::NONE.attempts(3), 1.0);
}
