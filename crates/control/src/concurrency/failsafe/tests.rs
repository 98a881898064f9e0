use super::super::plant::{any_sample, dropped, ms, success};
use super::*;
use crate::testing::Zero;
use proptest::prelude::*;

fn default() -> FailsafeAdaptive {
    FailsafeAdaptive::try_new(FailsafeAdaptiveConfig::default()).unwrap()
}

/// A window of 50 attempts that all take this long.
fn window(l: &mut FailsafeAdaptive, latency: Nanos, in_flight: u32) -> u32 {
    let now = l.next_update + Nanos(1);
    for _ in 0..50 {
        l.record(now, &success(latency, in_flight), &mut Zero);
    }
    l.limit()
}

#[test]
fn state_after_each_step_by_hand() {
    let mut l = default();
    assert_eq!(window(&mut l, Nanos(100), 20), 21, "no queue: one up");
    assert_eq!(l.next_update, Nanos(1_000_000_001), "1 s after 1 ns");
    assert_eq!(window(&mut l, Nanos(100), 20), 22);
    // r = mean(100, 100, 120) = 106.67; base = mean(100, 100, 106.67) = 102.22;
    // q = ceil(22 × (1 − 0.9583)) = ceil(0.917).
    assert_eq!((window(&mut l, Nanos(120), 20), l.signs.queue), (23, 1.0));
    // A limit above 5 × 4 in flight is taken down by a step, one below it is held at it.
    assert_eq!(window(&mut l, Nanos(100), 4), 22);
    assert_eq!([window(&mut l, Nanos(100), 4), window(&mut l, Nanos(100), 4)], [21, 20]);
    assert_eq!(window(&mut l, Nanos(100), 4), 20);
}

#[test]
fn a_window_waits_for_fifty_successes_and_drops_are_none() {
    let mut l = default();
    for _ in 0..49 {
        l.record(ms(5), &success(ms(10), 20), &mut Zero);
    }
    l.record(ms(9_000), &dropped(ms(1), 20), &mut Zero);
    assert_eq!((l.limit(), l.dropped), (20, 1));
    l.record(ms(9_000), &success(ms(600), 20), &mut Zero);
    assert_eq!((l.limit(), l.next_update), (21, ms(10_000)), "max(2 × 10 ms, 1 s)");
    for _ in 0..50 {
        l.record(ms(10_000), &success(ms(600), 20), &mut Zero);
    }
    assert_eq!(l.limit(), 21, "not after next_update");
    l.record(ms(10_001), &dropped(ms(1), 20), &mut Zero);
    // A drop may trigger the update. r = mean(10, 600) = 305, base = mean(10, 305) = 157.5:
    // q = ceil(21 × 0.48) = 11 is above 6. The next window is 2 × 600 ms.
    assert_eq!((l.limit(), l.next_update), (20, ms(11_201)));
}

#[test]
fn every_sign_by_hand() {
    let calm = Signs::default();
    let crowded = Signs { full: true, ..calm };
    for (signs, want) in [
        (Signs { queue: 2.0, ..calm }, 1),
        (Signs { queue: 3.0, ..calm }, 0),
        (Signs { queue: 6.0, ..calm }, 0),
        (Signs { queue: 7.0, ..calm }, -1),
        (Signs { throughput: -0.1, ..crowded }, -1),
        (Signs { throughput: -0.1, ..calm }, 1),
        (Signs { throughput: 0.29, latency: 0.51, throughput_cv: 1.0, ..crowded }, -1),
        (Signs { throughput: 0.3, latency: 0.51, throughput_cv: 1.0, ..crowded }, 1),
        (Signs { throughput: 0.3, latency: 0.51, throughput_cv: 0.19, ..crowded }, -1),
        (Signs { throughput: 0.3, latency: 0.5, throughput_cv: 0.19, ..crowded }, 1),
        (crowded, 1),
    ] {
        assert_eq!(direction(signs, 1.0), want, "{signs:?}");
    }
    assert_eq!(direction(Signs { queue: 5.0, ..calm }, 2.0), 1, "thresholds grow with the limit");
    assert_eq!(direction(Signs { queue: 12.0, ..calm }, 2.0), 0);
}

#[test]
fn medians() {
    let mut m = Median::default();
    let got = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 100.0].map(|x| m.add(x));
    assert_eq!(got, [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 7.0]);
}

#[test]
fn correlations() {
    let mut p = Pairs::new(50);
    for i in 1..=9 {
        p.push([f64::from(i), f64::from(2 * i), f64::from(100 - i)]);
    }
    assert_eq!(p.correlation(1), (0.0, 0.0), "nine windows");
    p.push([10.0, 20.0, 90.0]);
    let ((up, cv), (down, _)) = (p.correlation(1), p.correlation(2));
    assert!((up - 1.0).abs() < 1e-12 && (down + 1.0).abs() < 1e-12, "{up} {down}");
    // The numbers 1 to 10 have variance 8.25 and mean 5.5.
    assert!((cv - libm::sqrt(8.25) / 5.5).abs() < 1e-12, "{cv}");
    let mut flat = Pairs::new(50);
    for i in 0..20 {
        flat.push([100.0, f64::from(i), 100.0]);
    }
    assert_eq!(flat.correlation(1).0, 0.0, "less than 1 % of variation");
}

#[test]
fn ranges() {
    let d = FailsafeAdaptiveConfig::default();
    for bad in [
        FailsafeAdaptiveConfig { initial: 201, ..d },
        FailsafeAdaptiveConfig { max_factor: 0.9, ..d },
        FailsafeAdaptiveConfig { min_window: Nanos::from_secs(31), ..d },
        FailsafeAdaptiveConfig { percentile: f64::NAN, ..d },
        FailsafeAdaptiveConfig { correlation: 1, ..d },
        FailsafeAdaptiveConfig { correlation: 1001, ..d },
    ] {
        assert!(FailsafeAdaptive::try_new(bad).is_none(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn stays_in_range(samples in prop::collection::vec(any_sample(), 0..300)) {
        let mut l = FailsafeAdaptive::try_new(FailsafeAdaptiveConfig {
            initial: 7, min: 3, max: 11, samples: 1, ..FailsafeAdaptiveConfig::default()
        }).unwrap();
        for (now, sample) in samples {
            l.record(now, &sample, &mut Zero);
            prop_assert!((3..=11).contains(&l.limit()));
            l.observe(&mut |name, value| assert!(value.is_finite(), "{name}"));
        }
    }
}
