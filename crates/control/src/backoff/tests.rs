//! Schedules against numbers worked by hand.

use core::convert::Infallible;

use super::*;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::vec::Vec;

/// Chance that always gives the same: a uniform draw of 0, 1/2 or just below 1.
struct Same(u64);

const LEAST: u64 = 0;
const HALF: u64 = 1 << 63;
const MOST: u64 = u64::MAX;

impl rand_core::TryRng for Same {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0 >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(self.0 as u8);
        Ok(())
    }
}

/// The delays of the first retries in milliseconds where every draw is the same.
fn drawn(b: Backoff, draw: u64) -> Vec<f64> {
    let mut memory = None;
    (1..=6)
        .map(|n| {
            let drawn = b.draw(n, memory, &mut Same(draw));
            memory = Some(drawn.memory);
            drawn.delay.0 as f64 / 1e6
        })
        .collect()
}

fn mean_ms(b: Backoff, n: u32) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    (0..20_000).map(|_| b.delay(n, None, &mut rng).as_secs_f64() * 1e3).sum::<f64>() / 20_000.0
}

/// Rounded to a thousandth of a millisecond.
fn rounded(delays: Vec<f64>) -> Vec<f64> {
    delays.into_iter().map(|d| (d * 1e3).round() / 1e3).collect()
}

fn named(name: &str, values: &[f64]) -> Option<Backoff> {
    let entry = ENTRIES.iter().find(|e| e.name == name).unwrap();
    let crate::entry::Build::Backoff(build) = entry.build else { panic!("{name}") };
    build(values)
}

fn by_default(name: &str) -> Backoff {
    let entry = ENTRIES.iter().find(|e| e.name == name).unwrap();
    named(name, &entry.defaults().collect::<Vec<_>>()).unwrap()
}

/// Of the first release.
const PRINT: u64 = 5_223_809_672_211_065_970;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn nominals(b: Backoff) -> Vec<u64> {
    (1..=6).map(|n| b.nominal(n).0 / 1_000_000).collect()
}

#[test]
fn schedules_by_hand() {
    let exponential = Backoff::exponential(MS(25), 2.0, MS(250), Jitter::None);
    assert_eq!(nominals(exponential), [25, 50, 100, 200, 250, 250]);
    let linear = Backoff::linear(MS(10), MS(35), Jitter::None);
    assert_eq!(nominals(linear), [10, 20, 30, 35, 35, 35]);
    assert_eq!(nominals(Backoff::constant(MS(7), Jitter::None)), [7; 6]);
    assert_eq!(nominals(Backoff::NONE), [0; 6]);
}

#[test]
fn extreme_settings_end_and_saturate() {
    let huge = Backoff::exponential(Nanos(1), 1e300, Nanos::MAX, Jitter::None);
    assert_eq!(huge.nominal(u32::MAX), Nanos::MAX);
    let flat = Backoff::exponential(MS(1), 1.0, MS(9), Jitter::None);
    assert_eq!(flat.nominal(u32::MAX), MS(1));
    let zero = Backoff::exponential(Nanos::ZERO, 2.0, MS(9), Jitter::Full);
    assert_eq!(zero.nominal(u32::MAX), Nanos::ZERO);
}

#[test]
fn decorrelated_first_draw_is_between_base_and_three_bases() {
    let b = Backoff { jitter: Jitter::Decorrelated, ..Backoff::constant(MS(5), Jitter::None) };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for _ in 0..1000 {
        let d = b.delay(1, None, &mut rng);
        assert!(d >= MS(5) && d < MS(15), "{d}");
    }
}

#[test]
fn jitter_has_the_published_mean() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    for (jitter, mean_ms) in [(Jitter::None, 100.0), (Jitter::Equal, 75.0), (Jitter::Full, 50.0)] {
        let b = Backoff::constant(MS(100), jitter);
        let sum: f64 = (0..20_000).map(|_| b.delay(1, None, &mut rng).as_secs_f64() * 1e3).sum();
        assert!((sum / 20_000.0 - mean_ms).abs() < 1.0, "{jitter:?}: {}", sum / 20_000.0);
    }
}

#[test]
fn grpc_spreads_by_a_fifth_after_the_cap() {
    let b = by_default("grpc-backoff");
    assert_eq!(nominals(b), [25, 50, 100, 200, 250, 250]);
    assert_eq!(drawn(b, LEAST), [20.0, 40.0, 80.0, 160.0, 200.0, 200.0]);
    assert_eq!(drawn(b, HALF), [25.0, 50.0, 100.0, 200.0, 250.0, 250.0]);
    assert_eq!(rounded(drawn(b, MOST)), [30.0, 60.0, 120.0, 240.0, 300.0, 300.0]);
    assert_eq!(b.longest(6), MS(300), "a fifth above maxBackoff");
    assert!((mean_ms(b, 3) - 100.0).abs() < 0.5);
    let shrinking = named("grpc-backoff", &[0.1, 0.5, 0.25]).unwrap();
    assert_eq!(nominals(shrinking)[..3], [100, 50, 25], "any positive multiplier");
}

#[test]
fn grpc_drew_from_zero_before() {
    let b = by_default("grpc-legacy-backoff");
    assert_eq!(drawn(b, LEAST), [0.0; 6]);
    assert_eq!(drawn(b, HALF), [12.5, 25.0, 50.0, 100.0, 125.0, 125.0]);
    assert!((mean_ms(b, 3) - 50.0).abs() < 1.0);
}

#[test]
fn aws_doubles_from_one_second_to_twenty() {
    let b = by_default("aws-backoff");
    let seconds: Vec<u64> = (1..=7).map(|n| b.longest(n).0 / 1_000_000_000).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 20, 20]);
    assert_eq!(drawn(b, HALF)[..2], [500.0, 1000.0]);
    let legacy = named("aws-backoff", &[1.0, 0.0]).unwrap();
    assert_eq!(legacy.longest(11), Nanos::from_secs(1024), "legacy mode has no bound");
}

#[test]
fn aws_2026_starts_from_another_scale_after_throttling() {
    let b = by_default("aws-2026-backoff");
    let other = b.for_cause(Outcome::Failed);
    assert_eq!(nominals(other), [50, 100, 200, 400, 800, 1600]);
    assert_eq!(nominals(b.for_cause(Outcome::TimedOut)), nominals(other));
    for refused in [Outcome::Rejected, Outcome::Shed] {
        let throttled = b.for_cause(refused);
        assert_eq!(nominals(throttled), [1000, 2000, 4000, 8000, 16_000, 20_000]);
        assert_eq!(drawn(throttled, HALF)[1], 1000.0);
    }
    assert_eq!(b.longest(1), MS(1000), "the longer of both");
    assert_eq!(b.longest(9), MS(20_000));
    let grpc = by_default("grpc-backoff");
    assert_eq!(grpc.for_cause(Outcome::Rejected), grpc, "no other schedule looks");
}

/// The ranges of the code, not those of the documentation.
#[test]
fn envoy_draws_whole_milliseconds_below_an_interval_that_doubles() {
    let b = by_default("envoy-backoff");
    assert_eq!(drawn(b, LEAST), [0.0; 6]);
    assert_eq!(drawn(b, MOST), [24.0, 49.0, 99.0, 199.0, 249.0, 249.0]);
    let documented = [24.0, 74.0, 174.0];
    assert_ne!(drawn(b, MOST)[..3], documented);
    assert!((mean_ms(b, 2) - 24.5).abs() < 0.4);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    assert!((0..1000).all(|_| b.delay(3, None, &mut rng).0.is_multiple_of(1_000_000)));
    // 2 is not below 5 / 2 in whole numbers, so it goes to 5 and not to 4.
    assert_eq!(nominals(named("envoy-backoff", &[0.001, 0.005]).unwrap()), [1, 2, 5, 5, 5, 5]);
    assert_eq!(drawn(named("envoy-backoff", &[0.001, 0.001]).unwrap(), MOST), [0.0; 6]);
    assert!(named("envoy-backoff", &[0.02, 0.01]).is_none(), "max below base");
}

#[test]
fn linkerd_has_no_jitter_left_at_its_bound() {
    let b = by_default("linkerd-backoff");
    assert_eq!(drawn(b, LEAST), [25.0, 50.0, 100.0, 200.0, 250.0, 250.0]);
    assert_eq!(drawn(b, HALF), [37.5, 75.0, 150.0, 250.0, 250.0, 250.0]);
    assert_eq!(rounded(drawn(b, MOST)), [50.0, 100.0, 200.0, 250.0, 250.0, 250.0]);
    assert!(named("linkerd-backoff", &[0.02, 0.01, 100.0]).is_none(), "max below base");
    assert!(named("linkerd-backoff", &[0.02, 0.04, 100.5]).is_none(), "whole percent");
}

#[test]
fn resilience4j_cuts_to_milliseconds_and_caps_after_the_jitter() {
    let b = by_default("resilience4j-backoff");
    assert_eq!(nominals(b), [500, 750, 1125, 1687, 2530, 3795]);
    assert_eq!(drawn(b, LEAST), [250.0, 375.0, 562.0, 843.0, 1265.0, 1897.0]);
    // 250 + (750 - 250 + 1) / 2 = 500.5, cut.
    assert_eq!(drawn(b, HALF)[0], 500.0);
    assert_eq!(drawn(b, MOST)[..2], [750.0, 1125.0]);
    // 250 + 0.999 × 501 = 750.499: without the millisecond added it would be 749.
    assert_eq!(drawn(b, (0.999 * 2f64.powi(64)) as u64)[0], 750.0);
    assert_eq!(b.longest(1), MS(750));
    let bounded = named("resilience4j-backoff", &[0.5, 1.5, 1.0, 50.0]).unwrap();
    assert_eq!(drawn(bounded, LEAST), [250.0, 375.0, 562.0, 843.0, 1000.0, 1000.0]);
    let wide = named("resilience4j-backoff", &[0.5, 1.5, 0.0, 100.0]).unwrap();
    assert_eq!(drawn(wide, LEAST), [1.0; 6], "never less than a millisecond");
    let stuck = named("resilience4j-backoff", &[0.001, 1.5, 0.0, 0.0]).unwrap();
    assert_eq!(nominals(stuck), [1; 6], "1.5 ms is cut to 1 ms, for ever");
}

/// f(t) = 2^t tanh(sqrt(4 t)): f(1/2) = 1.256367, f(3/2) = 2.786572; f(0) = 0, f(1) = 1.928055.
#[test]
fn polly_goes_along_its_curve() {
    let b = by_default("polly-backoff");
    let half = rounded(drawn(b, HALF));
    assert_eq!(half[..2], [1794.81, 2186.007]);
    let least = rounded(drawn(b, LEAST));
    assert_eq!(least[..2], [0.0, 2754.365], "f(1) 2 s / 1.4");
    // The memory is the place on the curve, so what `max` cuts off is not made up for later.
    let bounded = named("polly-backoff", &[2.0, 1.0]).unwrap();
    assert_eq!(drawn(bounded, HALF), [1000.0; 6]);
    let last = bounded.draw(2, Some(b.draw(1, None, &mut Same(HALF)).memory), &mut Same(LEAST));
    assert_eq!((last.delay.0 + 500) / 1000, 959_555, "f(1) - f(1/2), below max");
    assert_eq!(b.draw(2000, None, &mut Same(HALF)).delay, Nanos::MAX, "beyond the end of time");
    assert_eq!(bounded.draw(2000, None, &mut Same(HALF)).delay, MS(1000));
}

#[test]
fn decorrelated_triples_at_most() {
    let b = by_default("decorrelated");
    assert_eq!(drawn(b, LEAST), [5.0; 6]);
    assert_eq!(drawn(b, HALF)[..3], [10.0, 17.5, 28.75]);
    assert_eq!(rounded(drawn(b, MOST)), [15.0, 45.0, 135.0, 405.0, 1215.0, 2000.0]);
}

/// Of a thousand callers at their eighth retry: how many wait for a time of their own.
fn apart(b: Backoff) -> usize {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let delays = (0..1000).map(|_| {
        let mut memory = None;
        let eight = (1..=8).map(|n| {
            let drawn = b.draw(n, memory, &mut rng);
            memory = Some(drawn.memory);
            drawn.delay
        });
        eight.last().unwrap()
    });
    delays.collect::<std::collections::HashSet<_>>().len()
}

/// Three ways to come back in step, and what does not.
#[test]
fn a_bound_after_the_jitter_brings_callers_back_in_step() {
    assert_eq!(apart(Backoff::exponential(MS(25), 2.0, MS(250), Jitter::None)), 1);
    assert_eq!(apart(by_default("linkerd-backoff")), 1, "no room above the bound");
    let bounded = named("resilience4j-backoff", &[0.5, 1.5, 1.0, 50.0]).unwrap();
    assert_eq!(apart(bounded), 1, "everything is above the bound");
    assert!(apart(by_default("envoy-backoff")) > 200, "as many as there are milliseconds");
    for b in [
        Backoff::exponential(MS(25), 2.0, MS(250), Jitter::Full),
        by_default("grpc-backoff"),
        by_default("grpc-legacy-backoff"),
        by_default("aws-backoff"),
        by_default("polly-backoff"),
        by_default("decorrelated"),
    ] {
        assert!(apart(b) > 600, "{b:?}");
    }
}

/// A simulation with a seed must give what it gave before a schedule was added.
#[test]
fn the_plain_kinds_draw_what_they_always_drew() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut print = 0u64;
    for growth in [Growth::None, Growth::Constant, Growth::Linear, Growth::Exponential(1.7)] {
        for jitter in
            [Jitter::None, Jitter::Equal, Jitter::Full, Jitter::Decorrelated, Jitter::Exponential]
        {
            let b = Backoff { growth, base: MS(3), cap: MS(900), jitter };
            let mut previous = None;
            for n in 1..=20 {
                let delay = b.delay(n, previous, &mut rng);
                print = print.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(delay.0);
                previous = Some(delay);
            }
        }
    }
    assert_eq!(print, PRINT);
}

#[test]
fn growth_takes_a_bounded_number_of_steps() {
    let slow = Backoff::exponential(MS(1), 1.000_001, Nanos::MAX, Jitter::None);
    let late = slow.nominal(2_000_001).as_secs_f64();
    assert!((late / (1e-3 * libm::exp(2.0)) - 1.0).abs() < 1e-5, "{late}");
    assert_eq!(slow.nominal(u32::MAX), Nanos::MAX);
    for b in ENTRIES.iter().map(|e| by_default(e.name)) {
        let _ = (b.nominal(u32::MAX), b.longest(u32::MAX));
    }
}

proptest! {
    #[test]
    fn a_delay_never_exceeds_its_longest(
        base in 0u64..10_000_000_000, factor in 0.1f64..10.0, cap in 1u64..20_000_000_000,
        n in 1u32..40, kind in 0usize..5, seed: u64,
    ) {
        let jitter = [Jitter::None, Jitter::Equal, Jitter::Full, Jitter::Decorrelated, Jitter::Exponential][kind];
        let b = Backoff::exponential(Nanos(base), factor, Nanos(cap), jitter);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut previous = None;
        for i in 1..=n {
            let d = b.delay(i, previous, &mut rng);
            prop_assert!(d <= b.longest(i));
            prop_assert!(d <= Nanos(cap));
            previous = Some(d);
        }
    }

    #[test]
    fn every_schedule_stays_below_its_longest(
        which in 0usize..13, base in 1e-9f64..1e9, other in 1e-9f64..1e9, n in 1u32..80, seed: u64,
    ) {
        let entry = ENTRIES[which];
        let values: Vec<f64> = entry
            .parameters
            .iter()
            .map(|p| match p.name {
                "base" => base,
                "max" | "throttling_base" => other,
                _ => p.default,
            })
            .collect();
        let Some(b) = named(entry.name, &values) else { return Ok(()) };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut memory = None;
        for i in 1..=n {
            let drawn = b.draw(i, memory, &mut rng);
            prop_assert!(drawn.delay <= b.longest(i), "{} {i}: {} {}", entry.name, drawn.delay, b.longest(i));
            if entry.name != "grpc-backoff" {
                prop_assert!(drawn.delay <= b.cap);
            }
            memory = Some(drawn.memory);
        }
        let _ = b.draw(u32::MAX, Some(Nanos::MAX), &mut rng);
        let _ = b.draw(0, Some(Nanos::ZERO), &mut rng);
    }
}
