//! The published closed forms.

use super::*;

#[track_caller]
fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-12, "{value} for {expected}");
}

fn service(capacity: f64, calls: &[Bound], waste: Waste) -> Service {
    let paths = vec![Path { visits: 1.0, calls: calls.to_vec() }];
    Service { capacity, paths, waste }
}

#[test]
fn one_retry_halves_and_five_layers_leave_one_in_243() {
    close(behind(300.0, &[Bound::Limit(1)]), 150.0);
    close(behind(1.0, &[Bound::Limit(2); 5]), 1.0 / 243.0);
    close(behind(300.0, &[]), 300.0);
}

#[test]
fn budgets_replace_the_limit() {
    close(behind(300.0, &[Bound::Ratio { limit: 3, ratio: 0.2 }]), 250.0);
    // A budget above the limit changes nothing, one that permits nothing leaves first attempts.
    assert_eq!(Bound::Ratio { limit: 1, ratio: 5.0 }.attempts(), 2.0);
    assert_eq!(Bound::Ratio { limit: 3, ratio: f64::NAN }.attempts(), 1.0);
    assert_eq!(Bound::Ratio { limit: 3, ratio: -1.0 }.attempts(), 1.0);
    close(behind(300.0, &[Bound::Bucket, Bound::Limit(2)]), 100.0);
    close(behind(300.0, &[Bound::Bucket]), 300.0);
}

#[test]
fn a_bounded_queue_removes_the_loop() {
    let with = |places| Waste::Bounded { places, timeout_s: 1.0 };
    let calls = [Bound::Limit(1)];
    assert_eq!(service(300.0, &calls, with(300.0)).hidden(), None);
    assert_eq!(service(300.0, &calls, with(301.0)).hidden(), Some(150.0));
    assert_eq!(service(300.0, &calls, Waste::Cancelled).hidden(), None);
    assert_eq!(service(300.0, &calls, Waste::Unbounded).hidden(), Some(150.0));
    close(largest_safe_queue(0.5, 300.0), 150.0);
}

#[test]
fn a_system_is_as_strong_as_its_weakest_service_that_can_time_out() {
    let services = [
        service(1_000.0, &[Bound::Limit(1)], Waste::Unbounded),
        service(900.0, &[Bound::Limit(1), Bound::Limit(2)], Waste::Unbounded),
        service(10.0, &[Bound::Limit(9)], Waste::Cancelled),
    ];
    assert_eq!(of_system(&services), Some(Weakest { service: 1, hidden: 150.0 }));
    assert_eq!(of_system(&services[2..]), None);
    assert_eq!(of_system(&[]), None);
}

#[test]
fn paths_add_up_by_their_visits() {
    let db = Service {
        capacity: 600.0,
        paths: vec![
            Path { visits: 0.5, calls: vec![Bound::Limit(2)] },
            Path { visits: 1.0, calls: vec![Bound::Limit(1), Bound::Bucket] },
        ],
        waste: Waste::Unbounded,
    };
    close(db.advertised(), 400.0);
    close(db.hidden().unwrap(), 600.0 / 3.5);
    let idle = Service { paths: Vec::new(), ..db };
    assert_eq!(idle.advertised(), f64::INFINITY);
}

#[test]
fn a_look_aside_cache_hides_nine_tenths() {
    let found = look_aside(300.0, 0.9).unwrap();
    close(found.advertised, 3_000.0);
    close(found.hidden, 300.0);
    assert_eq!(look_aside(300.0, 1.0).unwrap().advertised, f64::INFINITY);
    for (store, hit_rate) in [(300.0, 1.1), (300.0, -0.1), (300.0, f64::NAN), (f64::NAN, 0.5)] {
        assert_eq!(look_aside(store, hit_rate), None);
    }
}
