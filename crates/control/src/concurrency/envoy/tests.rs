use super::super::plant::{any_sample, ms, success};
use super::*;
use crate::Outcome;
use crate::testing::Zero;
use proptest::prelude::*;
use rand_core::SeedableRng;

fn default() -> EnvoyGradient {
    EnvoyGradient::try_new(EnvoyGradientConfig::default()).unwrap()
}

/// `n` attempts, admitted and ended at `now`, with this latency.
fn feed(l: &mut EnvoyGradient, now: Nanos, latency: Nanos, n: u32) {
    for _ in 0..n {
        l.record(now, &Sample { started: now, ..success(latency, 3) }, &mut Zero);
    }
}

#[test]
fn published_vectors() {
    for (sample, gradient, limit) in [
        (5.0, 2.0, 214),
        (6.25, 2.0, 214),
        (10.0, 1.25, 136),
        (12.5, 1.0, 110),
        (15.0, 12.5 / 15.0, 92),
        (25.0, 0.5, 57),
        (50.0, 0.5, 57),
    ] {
        let (new, g, _) = next(100, 10.0, 0.25, sample);
        assert_eq!((new, g), (limit, gradient), "{sample} ms");
    }
    assert_eq!(next(100, 10.0, 0.25, 0.0).0, 214, "nothing to divide by");
    assert_eq!(next(100, 0.0, 0.25, 0.0).0, 214);
}

#[test]
fn state_after_each_step_by_hand() {
    let mut l = default();
    assert_eq!((l.limit(), l.deferred), (3, Some(3)), "begins with a measurement");
    feed(&mut l, ms(1_000), Nanos(100), 49);
    assert_eq!((l.limit(), l.deferred), (3, Some(3)));
    feed(&mut l, ms(1_000), Nanos(120), 1);
    assert_eq!((l.min_rtt_ns, l.deferred, l.windows), (100.0, None, 1));
    feed(&mut l, ms(1_099), Nanos(100), 1);
    assert_eq!(l.limit(), 3, "the update is due at 1100 ms");
    feed(&mut l, ms(1_100), Nanos(125), 1);
    // Gradient 1.25: x = 3.75, plus its root 1.94 is 5.69.
    assert_eq!((l.limit(), l.gradient, l.sample_rtt_ns), (5, 1.25, 100.0));
    feed(&mut l, ms(1_200), Nanos(100), 1);
    // The sample of 1100 ms: gradient 1, 5 + 2.24.
    assert_eq!((l.limit(), l.gradient), (7, 1.0));
    l.record(ms(5_000), &Sample { outcome: None, ..success(ms(1), 1) }, &mut Zero);
    assert_eq!(l.limit(), 11, "8.75 + 2.96 of the sample at 1200 ms");
}

#[test]
fn a_window_returns_to_the_limit_before_it_and_leaves_old_samples_out() {
    let mut l = default();
    feed(&mut l, ms(0), Nanos(100), 50);
    l.limit = 80;
    let due = Nanos::from_secs(60);
    let old = Sample { started: ms(59_999), ..success(Nanos(900), 80) };
    l.record(due, &old, &mut Zero);
    assert_eq!((l.limit(), l.deferred, l.windows), (3, Some(80), 2));
    for _ in 0..100 {
        l.record(due, &old, &mut Zero);
    }
    assert_eq!(l.deferred, Some(80), "admitted before the window: no sample");
    feed(&mut l, due, Nanos(110), 50);
    assert_eq!((l.limit(), l.deferred, l.min_rtt_ns), (80, None, 110.0));
    assert_eq!(l.next_window, Timer { set: due, after: due }, "no jitter drawn from zero");
}

#[test]
fn jitter_delays_by_up_to_its_share() {
    let mut l = default();
    let mut ones = rand_xoshiro::Xoshiro256StarStar::seed_from_u64(1);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        l.end_window(ms(0), 3, &mut ones);
        seen.insert(l.next_window.after);
    }
    let (first, last) = (*seen.first().unwrap(), *seen.last().unwrap());
    assert!(first >= Nanos::from_secs(60) && last < Nanos::from_secs(69), "{first} {last}");
    assert!(last.since(first) > Nanos::from_secs(8), "200 draws span 9 s");
}

#[test]
fn five_updates_at_the_smallest_limit_start_a_measurement() {
    let mut l = default();
    feed(&mut l, ms(0), Nanos(100), 50);
    feed(&mut l, ms(10), Nanos(100_000), 1);
    for i in 1..=4 {
        feed(&mut l, ms(100 * i), Nanos(100_000), 1);
        assert_eq!((l.limit(), l.at_floor, l.deferred), (3, i as u32, None));
    }
    feed(&mut l, ms(500), Nanos(100_000), 1);
    assert_eq!((l.deferred, l.windows), (Some(3), 2));
    // It measures the slow callee: what was overload is normal from now on.
    feed(&mut l, ms(501), Nanos(100_000), 50);
    assert!(l.min_rtt_ns > 99_000.0 && l.deferred.is_none(), "{l:?}");
}

#[test]
fn a_given_minimum_is_never_measured() {
    let mut l = EnvoyGradient::try_new(EnvoyGradientConfig {
        fixed_min_rtt: ms(10),
        ..EnvoyGradientConfig::default()
    })
    .unwrap();
    for i in 0..2_000 {
        feed(&mut l, ms(100 * i), ms(500), 1);
    }
    assert_eq!((l.limit(), l.windows, l.min_rtt_ns), (3, 0, 1e7));
}

#[test]
fn errors_and_rejections_are_samples_as_published() {
    let mut l = default();
    feed(&mut l, ms(0), Nanos(100), 50);
    let rejected = Sample { outcome: Some(Outcome::Rejected), ..success(Nanos(1), 1) };
    l.record(ms(50), &rejected, &mut Zero);
    l.record(ms(100), &rejected, &mut Zero);
    assert_eq!((l.gradient, l.limit()), (2.0, 8), "6 + 2.45");
}

#[test]
fn ranges() {
    let d = EnvoyGradientConfig::default();
    for bad in [
        EnvoyGradientConfig { percentile: 100.1, ..d },
        EnvoyGradientConfig { jitter: f64::NAN, ..d },
        EnvoyGradientConfig { buffer: -1.0, ..d },
        EnvoyGradientConfig { max: 2, ..d },
        EnvoyGradientConfig { max: 1_000_001, ..d },
        EnvoyGradientConfig { min_concurrency: 0, ..d },
        EnvoyGradientConfig { min_limit: 1_001, ..d },
        EnvoyGradientConfig { update_interval: Nanos(999_999), ..d },
        EnvoyGradientConfig { request_count: 0, ..d },
    ] {
        assert!(EnvoyGradient::try_new(bad).is_none(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn stays_in_range(
        samples in prop::collection::vec(any_sample(), 0..300), min_limit in 0u32..5,
    ) {
        let mut l = EnvoyGradient::try_new(EnvoyGradientConfig {
            max: 40, min_limit, request_count: 2, ..EnvoyGradientConfig::default()
        }).unwrap();
        for (now, sample) in samples {
            l.record(now, &sample, &mut Zero);
            prop_assert!((1..=40).contains(&l.limit()));
            l.observe(&mut |name, value| assert!(value.is_finite(), "{name}"));
        }
    }
}
