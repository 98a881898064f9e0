use super::*;
use crate::gate::testing::reading;
use crate::testing::Zero;
use proptest::prelude::*;
use std::vec::Vec;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn gate() -> AwsAdaptive {
    AwsAdaptive::try_new(0.5, Nanos::ZERO).unwrap()
}

impl AwsAdaptive {
    fn end(&mut self, now: Nanos, outcome: Outcome) {
        self.settle(now, Pass::default(), outcome, Nanos::ZERO, &mut Zero);
    }

    fn ask(&mut self, now: Nanos) -> Nanos {
        self.admit(now, 0, &mut Zero).unwrap().wait
    }
}

/// Switched on at zero with this rate at the last throttling.
fn throttled_at(w_max: f64) -> AwsAdaptive {
    let mut g = gate();
    g.start(Nanos::ZERO);
    g.measured = w_max;
    g.end(Nanos::ZERO, Outcome::Rejected);
    g
}

/// The vectors derived from the rule, before the bound of twice the measured rate; four or five
/// digits are given, so half a unit of the last is allowed.
#[test]
fn cubic_vectors() {
    for (w_max, k, points) in [
        (
            10.0,
            1.9574,
            [(0, 7.0, 0.05), (1, 9.649, 5e-4), (2, 10.0, 5e-4), (5, 21.27, 5e-3)].as_slice(),
        ),
        (
            100.0,
            4.2172,
            [
                (0, 70.0, 0.05),
                (1, 86.68, 5e-3),
                (2, 95.64, 5e-3),
                (5, 100.19, 5e-3),
                (10, 177.35, 5e-3),
            ]
            .as_slice(),
        ),
    ] {
        let g = throttled_at(w_max);
        assert!((g.k - k).abs() < 5e-5, "{}", g.k);
        assert!((g.fill() - 0.7 * w_max).abs() < 1e-9, "{}", g.fill());
        for (t, rate, digit) in points {
            let got = g.cubic(Nanos::from_secs(*t));
            assert!((got - rate).abs() < *digit, "w_max {w_max}, {t} s: {got}, not {rate}");
        }
    }
}

/// Eleven answers until the first half second closes make 22 a second, smoothed from zero: 17.6.
/// Ten in the next make 20: 19.52. Then 2 s with one answer: 0.8 × 0.5 + 0.2 × 19.52.
#[test]
fn measures_once_per_half_second() {
    let mut g = gate();
    for i in 0..10 {
        g.end(ms(i * 50), Outcome::Success);
    }
    assert_eq!(g.measured(), 0.0);
    g.end(ms(500), Outcome::Success);
    assert!((g.measured() - 0.8 * 22.0).abs() < 1e-12, "the eleventh closes the half second");
    for i in 1..10 {
        g.end(ms(500 + i * 50), Outcome::Success);
    }
    g.end(ms(1000), Outcome::Success);
    assert!((g.measured() - (16.0 + 0.2 * 17.6)).abs() < 1e-12, "{}", g.measured());
    g.end(ms(3000), Outcome::Success);
    assert!((g.measured() - (0.8 * 0.5 + 0.2 * 19.52)).abs() < 1e-12);
}

/// K seconds after it was throttled the rate is back at where that happened, whenever it was.
#[test]
fn the_cubic_starts_at_the_last_throttling() {
    let mut g = throttled_at(10.0);
    g.half_seconds = 2000;
    g.end(Nanos::from_secs(1000), Outcome::Rejected);
    assert!((g.w_max - 7.0).abs() < 1e-9);
    let k = Nanos::from_secs_f64(libm::cbrt(7.0 * 0.3 / 0.4));
    assert!((g.cubic(Nanos::from_secs(1000) + k) - 7.0).abs() < 1e-9);
}

#[test]
fn does_nothing_until_the_callee_throttles() {
    let mut g = gate();
    for i in 0..1000 {
        assert_eq!(g.ask(ms(i)), Nanos::ZERO);
        g.end(ms(i), if i % 2 == 0 { Outcome::TimedOut } else { Outcome::Failed });
    }
    assert_eq!(reading(&g, "enabled"), 0.0);
}

#[test]
fn the_rate_is_held_between_half_an_attempt_and_twice_what_is_measured() {
    let mut g = throttled_at(10.0);
    g.measured = 4.0;
    g.half_seconds = 200;
    g.end(Nanos::from_secs(100), Outcome::Success);
    assert_eq!(g.fill(), 8.0, "an idle client cannot bank the cubic of 100 s");
    let mut g = gate();
    g.end(Nanos::ZERO, Outcome::Rejected);
    assert_eq!((g.fill(), g.capacity), (0.5, 1.0), "nothing measured");
}

#[test]
fn throttled_again_it_starts_from_the_smaller_of_rate_and_measurement() {
    let mut g = throttled_at(10.0);
    g.end(ms(100), Outcome::Shed);
    assert!((g.w_max - 7.0).abs() < 1e-9 && (g.fill() - 4.9).abs() < 1e-9);
    g.measured = 2.0;
    g.end(ms(200), Outcome::Rejected);
    assert!((g.w_max - 2.0).abs() < 1e-9 && (g.fill() - 1.4).abs() < 1e-9);
    assert_eq!(reading(&g, "throttled"), 3.0);
}

/// Empty bucket, 7 tokens a second: the callers go out a seventh of a second apart.
#[test]
fn callers_that_wait_together_go_out_one_after_another() {
    let mut g = throttled_at(10.0);
    for i in 1..=5u32 {
        let expected = Nanos::from_secs_f64(f64::from(i) / 7.0);
        assert!(g.ask(Nanos::ZERO).since(expected).0 <= 1, "{i}");
    }
    assert!((reading(&g, "tokens") - -5.0).abs() < 1e-9);
    assert_eq!(reading(&g, "delayed"), 5.0);
    // Later callers queue behind them.
    let wait = g.ask(ms(500));
    assert!((wait.as_secs_f64() - (6.0 / 7.0 - 0.5)).abs() < 1e-8, "{wait}");
}

/// The fault of aws-sdk-go-v2 3550 is a client that, once drained, stays so.
#[test]
fn tokens_come_back_with_time() {
    let mut g = throttled_at(10.0);
    for _ in 0..20 {
        g.ask(Nanos::ZERO);
    }
    assert!(g.ask(Nanos::ZERO) > Nanos::from_secs(2));
    assert_eq!(g.ask(Nanos::from_secs(10)), Nanos::ZERO);
    assert!((reading(&g, "tokens") - 6.0).abs() < 1e-9, "full at its capacity of 7, less one");
}

/// 20 answers a second for 10 s, K = 0: the rate is twice the measured 20, and so is the capacity.
#[test]
fn the_bucket_fills_while_it_is_switched_off() {
    let mut g = gate();
    for i in 0..200 {
        assert_eq!(g.ask(ms(50 * i)), Nanos::ZERO);
        g.end(ms(50 * i), Outcome::Success);
    }
    assert!((g.measured() - 20.0).abs() < 1e-3, "{}", g.measured());
    assert!((g.tokens - 40.0).abs() < 1e-2, "{}", g.tokens);
    g.end(ms(10_000), Outcome::Rejected);
    assert!((g.tokens - 14.0).abs() < 1e-2, "cut to 0.7 × 20: {}", g.tokens);
    let at_once = (0..20).filter(|_| g.ask(ms(10_000)) == Nanos::ZERO).count();
    assert_eq!(at_once, 14);
}

#[test]
fn whoever_gives_up_before_its_turn_hands_its_token_back() {
    let mut g = throttled_at(10.0);
    let first = g.admit(Nanos::ZERO, 0, &mut Zero).unwrap();
    let second = g.admit(Nanos::ZERO, 0, &mut Zero).unwrap();
    g.cancel(ms(10), second);
    let third = g.admit(Nanos::ZERO, 0, &mut Zero).unwrap();
    assert_eq!(third.wait, second.wait, "its place is free");
    let before = g.tokens;
    g.cancel(ms(500), first);
    assert_eq!(g.tokens, before, "it had been sent");
    g.cancel(Nanos::ZERO, Pass::default());
    assert_eq!(g.tokens, before, "so had one that did not wait");
    assert_eq!(reading(&g, "gave_up"), 1.0);
}

#[test]
fn a_bound_on_the_wait_refuses_and_says_when_to_come_back() {
    let mut g = AwsAdaptive::try_new(0.5, Nanos::from_secs(3)).unwrap();
    g.end(Nanos::ZERO, Outcome::Rejected);
    assert_eq!(g.ask(Nanos::ZERO), Nanos::from_secs(2));
    let refusal = g.admit(Nanos::ZERO, 4, &mut Zero).unwrap_err();
    assert_eq!((refusal.reason, refusal.class), (Reason::Throttled, 4));
    assert_eq!(refusal.earliest, Some(Nanos::from_secs(1)), "4 s less the 3 s one may wait");
    assert_eq!(reading(&g, "refused"), 1.0);
    assert_eq!(g.ask(Nanos::from_secs(1)), Nanos::from_secs(3), "then it may");
}

/// The trap of the page: a callee that times out is pushed harder and harder.
#[test]
fn timeouts_let_the_rate_grow() {
    let mut g = throttled_at(10.0);
    let mut last = g.fill();
    for i in 1..=20u64 {
        for j in 0..50 {
            g.end(ms(i * 500 + j * 10), Outcome::TimedOut);
        }
        assert!(g.fill() >= last);
        last = g.fill();
    }
    assert!(last > 100.0, "{last}");
}

/// From a clock that went back it goes on from there, and does not wait for the old time.
#[test]
fn a_clock_that_goes_back_stops_neither_the_refill_nor_the_measurement() {
    let mut g = throttled_at(10.0);
    let late = Nanos::from_secs(1_000_000);
    for _ in 0..7 {
        assert_eq!(g.ask(late), Nanos::ZERO, "the bucket is full: 7");
    }
    assert!(g.ask(ms(0)) > Nanos::ZERO, "going back earns nothing");
    assert_eq!(g.ask(Nanos::from_secs(10)), Nanos::ZERO);
    g.end(late, Outcome::Success);
    g.end(ms(0), Outcome::Success);
    let before = g.measured();
    g.end(ms(500), Outcome::Success);
    assert!((g.measured() - (0.8 * 4.0 + 0.2 * before)).abs() < 1e-9, "two in half a second");
}

#[test]
fn refuses_impossible_settings() {
    for fill in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e6] {
        assert!(AwsAdaptive::try_new(fill, Nanos::ZERO).is_none(), "{fill}");
    }
    assert!(AwsAdaptive::try_new(0.5, Nanos::MAX).is_none());
}

proptest! {
    /// Sent over any span: what was kept plus what came in, one more for the grain.
    #[test]
    fn lets_out_no_more_than_the_rate(
        w_max in 1.0f64..1000.0, steps in prop::collection::vec(0u64..50_000_000, 1..300),
    ) {
        let mut g = throttled_at(w_max);
        let (mut now, mut out) = (Nanos::ZERO, Vec::new());
        for step in steps {
            now = now + Nanos(step);
            out.push(now + g.ask(now));
        }
        out.sort_unstable();
        for i in 0..out.len() {
            for j in i..out.len() {
                let bound = g.capacity + g.fill() * (out[j] - out[i]).as_secs_f64();
                prop_assert!((j - i + 1) as f64 <= bound + 1e-6);
            }
        }
    }

    #[test]
    fn the_rate_stays_in_range_whatever_the_clock_does(
        steps in prop::collection::vec((any::<u64>(), 0usize..8), 0..300),
    ) {
        let mut g = gate();
        let mut pass = Pass::default();
        for (now, what) in steps {
            let now = Nanos(now >> (now % 64));
            match Outcome::ALL.get(what) {
                Some(outcome) => g.end(now, *outcome),
                None if what == 6 => pass = g.admit(now, 0, &mut Zero).unwrap(),
                None => g.cancel(now, pass),
            }
            prop_assert!(g.measured.is_finite() && g.measured >= 0.0);
            prop_assert!(g.tokens.is_finite() && g.tokens <= g.capacity);
            if g.throttled > 0 {
                prop_assert!(g.fill >= 0.5 && g.fill <= (2.0 * g.measured).max(0.5));
            }
        }
    }
}
