//! The same system as call trees and as a routing chain.

use proptest::prelude::*;

use super::{example, near, solved};
use crate::system::{AsRoutes, Solved};

fn reading(solved: &Solved) -> &AsRoutes {
    solved.as_routes.as_ref().unwrap()
}

/// The figures of the reference for the chain, out of the trees. They send half of the percent
/// that ask `user` on to `reservation`, which the chain of the reference does not.
#[test]
fn the_trees_of_hotel_reservation_imply_the_chain_of_the_reference() {
    let split = example("hotel-reservation.yaml", &[]);
    let chain = reading(&split);
    near(chain.classes[0].rejection, 0.161, 1e-3);
    near(chain.classes[1].rejection, 0.608, 1e-3);
    near(chain.calls_per_request, 3.40, 0.01);
    // Each hop retries its own callee's rejections only: the trees say the same.
    assert!(!chain.differs_from(&split), "{chain:?}");
    let alike = example("hotel-reservation.yaml", &["policies.default.retry.limit=5"]);
    near(reading(&alike).classes[1].rejection, 0.533, 1e-3);
    near(reading(&alike).calls_per_request, 6.45, 0.01);
}

/// With `downstream` a hop repeats what failed further down, which no chain does.
#[test]
fn what_failed_below_is_repeated_in_the_trees_only() {
    let below = "policies.default.retry.on=[rejected, downstream]";
    let split = example("hotel-reservation.yaml", &[below]);
    let chain = reading(&split);
    assert!(chain.differs_from(&split));
    near(chain.classes[0].rejection, 0.161, 1e-3);
    near(chain.classes[1].rejection, 0.608, 1e-3);
    near(chain.calls_per_request, 3.40, 0.01);
    assert!(split.classes[0].rejection < 0.05, "{:?}", split.classes);
    assert!(split.calls_per_request > 5.0, "{}", split.calls_per_request);
}

/// By hand: 200/s into a limit of 150/s, a quarter is rejected; of the 150/s a limit of 100/s
/// rejects a third; 100/s come to the end, half of the requests.
#[test]
fn a_tree_without_retries_is_its_chain() {
    let s = solved(
        "
damper: 1
services: {top: {}, a: {rate_limit: 150/s}, b: {rate_limit: 100/s}, c: {rate_limit: 500/s}}
load: 200/s
requests: {r: {calls: [{top: [{a: [b]}, c]}]}}
",
    );
    let chain = reading(&s);
    for rejection in [s.classes[0].rejection, chain.classes[0].rejection] {
        near(rejection, 0.5, 1e-12);
    }
    for (service, by_hand) in [(0, 0.0), (1, 0.25), (2, 1.0 / 3.0), (3, 0.0)] {
        near(s.services[service].s, by_hand, 1e-12);
        near(chain.s[service], by_hand, 1e-12);
    }
    near(chain.calls_per_request, (200.0 + 150.0 + 100.0) / 200.0, 1e-12);
    near(s.calls_per_request, chain.calls_per_request, 1e-12);
    near(chain.calls_per_success.unwrap(), 4.5, 1e-12);
    assert!(!chain.differs_from(&s));
}

/// Both calls of the step are made, whatever becomes of the other; a chain loses the second with
/// the first.
#[test]
fn parallel_calls_are_put_in_a_row_and_that_is_said() {
    let s = solved(
        "
damper: 1
services: {top: {}, a: {rate_limit: 50/s}, b: {rate_limit: 200/s}}
load: 100/s
requests: {r: {calls: [{top: [{parallel: [a, b]}]}]}}
",
    );
    let chain = reading(&s);
    near(s.services[2].attempts_rps[0], 100.0, 1e-9);
    near(chain.attempts_rps[2][0], 50.0, 1e-9);
    assert!(chain.differs_from(&s));
    assert!(chain.remarks.iter().any(|r| r.contains("one after another")), "{:?}", chain.remarks);
}

/// A cache that is asked three times in a row: 0.2 of the calls come to the store, and a chance of
/// one half stands before all three.
#[test]
fn caches_chances_and_rows_of_calls_have_the_same_visits() {
    let s = solved(
        "
damper: 1
services: {top: {}, a: {rate_limit: 9000/s}, store: {rate_limit: 9000/s}}
caches: {c: {store: store, hit_rate: 80%, hot_keys: 100}}
load: 100/s
requests: {r: {calls: [{top: {times: 2, calls: [{c: {times: 3, chance: 50%, calls: [a]}}, a]}}]}}
",
    );
    let chain = reading(&s);
    near(chain.attempts_rps[0][0], 200.0, 1e-9);
    near(chain.attempts_rps[2][0], 200.0 * 0.5 * 3.0 * 0.2, 1e-9);
    near(chain.attempts_rps[1][0], 200.0 + 60.0, 1e-9);
    for (i, service) in s.services.iter().enumerate() {
        near(service.attempts_rps[0], chain.attempts_rps[i][0], 1e-9);
    }
}

#[test]
fn a_routing_matrix_has_no_trees_to_read() {
    assert_eq!(example("hotel-reservation-routes.yaml", &[]).as_routes, None);
}

/// Call trees over four services, as text of a system file.
fn steps() -> impl Strategy<Value = String> {
    let call = |steps: Option<String>| {
        (0..4_u32, 1..4_u32, 1..=10_u32).prop_map(move |(service, times, tenths)| {
            let calls = steps.as_ref().map_or(String::new(), |s| format!(", calls: {s}"));
            format!("{{s{service}: {{times: {times}, chance: {}%{calls}}}}}", tenths * 10)
        })
    };
    let list = |calls: Vec<String>| format!("[{}]", calls.join(", "));
    let leaf = prop::collection::vec(call(None), 1..3).prop_map(list);
    leaf.prop_recursive(3, 24, 3, move |below| {
        let node = below.prop_flat_map(move |steps| call(Some(steps)));
        prop::collection::vec(node, 1..3).prop_map(list)
    })
}

proptest! {
    /// Without rejections both have the visits of γ (I - F)⁻¹.
    #[test]
    fn without_rejections_both_readings_agree(one in steps(), other in steps()) {
        let s = solved(&format!(
            "
damper: 1
classes: [high, low]
services: {{s0: {{rate_limit: 1000000000/s}}, s1: {{}}, s2: {{rate_limit: 1000000000/s}}, s3: {{}}}}
load: {{high: 10/s, low: 20/s}}
requests:
  one: {{share: {{high: 30%, low: 60%}}, calls: {one}}}
  other: {{calls: {other}}}
policies: {{default: {{retry: {{limit: 2, on: [rejected, downstream]}}}}}}
"
        ));
        let chain = reading(&s);
        prop_assert!(!chain.differs_from(&s), "{s:?}");
        for (i, service) in s.services.iter().enumerate() {
            for (a, b) in service.attempts_rps.iter().zip(&chain.attempts_rps[i]) {
                prop_assert!((a - b).abs() <= 1e-9 * a.max(1.0), "s{i}: {a} and {b}");
            }
        }
        for class in &chain.classes {
            // Completion of a loop is iterated until a round moves it by less than 1e-13.
            prop_assert!(class.rejection.abs() < 1e-10, "{class:?}");
        }
    }
}
