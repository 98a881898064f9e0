//! The published factors, and graphs worked by hand.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn reads(value: f64, expected: f64, digits: i32) {
    let off = (value - expected).abs();
    assert!(off <= 0.5 * libm::pow(10.0, f64::from(-digits)) * 1.000_001, "{value} for {expected}");
}

fn call(from: usize, to: usize, limit: u32) -> Call {
    Call { from, to, per_attempt: 1.0, limit }
}

#[test]
fn the_published_factors() {
    reads(tier(0.5, 3), 1.875, 12);
    reads(tier(0.3, 3), 1.417, 12);
    reads(chain([(0.3, 3); 3]), 2.845, 3);
    // The paper prints one digit less.
    reads(chain([(0.3, 3); 3]), 2.85, 2);
    assert_eq!(worst([2; 5]), 243.0);
    assert_eq!(tier(1.0, 3), 4.0);
    assert_eq!(tier(0.0, 3), 1.0);
    assert_eq!(tier(f64::NAN, 3), 1.0);
    assert_eq!(tier(7.0, 3), 4.0);
}

#[test]
fn retrying_at_one_layer_only_keeps_the_worst_case_at_one_layer() {
    let layers = |limits: [u32; 5]| {
        let calls = (0..5).map(|n| call(n, n + 1, limits[n])).collect();
        Calls::try_new(6, calls).unwrap().worst(&[1.0]).factor(5)
    };
    assert_eq!(layers([2; 5]), 243.0);
    assert_eq!(layers([2, 0, 0, 0, 0]), 3.0);
    assert_eq!(layers([0, 0, 0, 0, 2]), 3.0);
}

#[test]
fn a_diamond_adds_what_comes_by_both_ways() {
    // 0 calls 1 twice (limit 1) and 2 once (limit 2); both call 3 (limits 3 and 0).
    let calls = vec![
        Call { per_attempt: 2.0, ..call(0, 1, 1) },
        call(0, 2, 2),
        call(1, 3, 3),
        call(2, 3, 0),
    ];
    let graph = Calls::try_new(4, calls).unwrap();
    let worst = graph.worst(&[10.0]);
    assert_eq!(worst.attempts, [10.0, 40.0, 30.0, 190.0]);
    assert_eq!(worst.requests, [10.0, 20.0, 10.0, 30.0]);
    reads(worst.factor(3), 190.0 / 30.0, 12);
    assert_eq!(graph.worst_path(&[0, 2]), Some(8.0));
    assert_eq!(graph.worst_path(&[1, 3]), Some(3.0));
    assert_eq!(graph.worst_path(&[1, 2]), None);
    assert_eq!(graph.worst_path(&[9]), None);
    // Attempts at 3 fail half the time, those at 1 and 2 as the failures below make them.
    let failure = graph.failures(&[0.0, 0.0, 0.0, 0.5]);
    reads(failure[3], 0.5, 12);
    reads(failure[1], 0.0625, 12);
    reads(failure[2], 0.5, 12);
    // 0 succeeds when both calls to 1 and the one to 2 do, each within its retries.
    reads(failure[0], 1.0 - (1.0 - 0.0625_f64.powi(2)).powi(2) * (1.0 - 0.125), 12);
    let expected = graph.expected(&[10.0], &failure);
    reads(expected.attempts[1], 20.0 * 1.0625, 9);
    reads(expected.attempts[2], 10.0 * 1.75, 9);
    reads(expected.attempts[3], 20.0 * 1.0625 * 1.875 + 17.5, 9);
    reads(graph.path(&[0, 2], &failure).unwrap(), 1.0625 * 1.875, 12);
}

#[test]
fn mistakes_are_named() {
    let error = |calls| Calls::try_new(3, calls).unwrap_err();
    assert_eq!(error(vec![call(0, 3, 1)]), CallError::UnknownService { call: 0, services: 3 });
    let twice = Call { per_attempt: -2.0, ..call(0, 1, 1) };
    assert_eq!(error(vec![call(0, 2, 1), twice]), CallError::BadCount { call: 1, found: -2.0 });
    // 1 calls itself by way of 0, and 2 is only called.
    let found = error(vec![call(1, 0, 0), call(0, 1, 0), call(0, 2, 0)]);
    assert!(matches!(found, CallError::Loop { service: 0 | 1 }), "{found}");
    assert!(found.to_string().contains("simulate"));
}

proptest! {
    /// Expectations lie between no amplification and the worst, and rise with failures.
    #[test]
    fn factors_are_bounded_and_monotone(
        drawn in prop::collection::vec((0..5_usize, 1..4_usize, 0.0..3.0_f64, 0..5_u32), 0..10),
        own in prop::collection::vec(0.0..=1.0_f64, 8),
        more in 0.0..=1.0_f64,
    ) {
        let calls = drawn
            .into_iter()
            .map(|(from, ahead, per_attempt, limit)| {
                Call { from, to: from + ahead, per_attempt, limit }
            })
            .collect();
        let graph = Calls::try_new(8, calls).unwrap();
        let entry = [1.0; 8];
        let (low, high) = (graph.expected(&entry, &graph.failures(&own)), graph.worst(&entry));
        let worse: Vec<f64> = own.iter().map(|f| f + more * (1.0 - f)).collect();
        let raised = graph.expected(&entry, &graph.failures(&worse));
        for s in 0..8 {
            prop_assert!(low.factor(s) >= 1.0 - 1e-12);
            prop_assert!(raised.factor(s) >= low.factor(s) * (1.0 - 1e-12));
            prop_assert!(raised.factor(s) <= high.factor(s) * (1.0 + 1e-12));
        }
    }
}
