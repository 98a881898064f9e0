use super::*;
use crate::testing::Zero;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::vec::Vec;

const FIRST: Attempt = Attempt::first(0);
const AGAIN: Attempt = Attempt { class: 0, retries: 1, paid: 1 };

/// Always the largest draw.
struct Ones;

impl rand_core::TryRng for Ones {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(u32::MAX)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(u64::MAX)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.fill(u8::MAX);
        Ok(())
    }
}

fn s(s: u64) -> Nanos {
    Nanos::from_secs(s)
}

fn arb() -> AdaptiveBudget {
    AdaptiveBudget::try_new(20.0, 1.0, s(10), s(1), s(5)).unwrap()
}

/// An average loses exactly half in an interval.
fn halving() -> AdaptiveBudget {
    let mut b = arb();
    b.keep = 0.5;
    b
}

fn end(b: &mut AdaptiveBudget, now: Nanos, outcome: Outcome) {
    b.settle(now, FIRST, outcome, true, &mut Zero);
}

fn ask<R: Rng>(b: &mut AdaptiveBudget, now: Nanos, rng: &mut R) -> bool {
    b.withdraw(now, FIRST, Outcome::Failed, rng).is_some()
}

/// First attempts at 1000/s, each with up to two retries at once: (first attempts, retries).
fn drive(b: &mut AdaptiveBudget, seconds: core::ops::Range<u64>, failing: f64) -> (u64, u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seconds.start);
    let before = b.granted;
    for i in seconds.start * 1000..seconds.end * 1000 {
        let now = Nanos::from_millis(i);
        b.start(now, FIRST);
        let mut attempt = FIRST;
        loop {
            let failed = chance::unit(&mut rng) < failing;
            let outcome = if failed { Outcome::Failed } else { Outcome::Success };
            b.settle(now, attempt, outcome, true, &mut rng);
            if !failed || attempt.retries == 2 {
                break;
            }
            let Some(paid) = b.withdraw(now, attempt, outcome, &mut rng) else { break };
            attempt = Attempt { retries: attempt.retries + 1, paid, ..attempt };
            b.start(now, attempt);
        }
    }
    ((seconds.end - seconds.start) * 1000, b.granted - before)
}

#[test]
fn adjustment_by_hand() {
    let mut b = halving();
    assert_eq!((b.ratio, b.level, b.stock), (200_000, LEAST, LEAST));
    for _ in 0..100 {
        b.start(Nanos::ZERO, FIRST);
        end(&mut b, Nanos::ZERO, Outcome::Failed);
    }
    assert_eq!(b.stock, LEAST, "nothing goes beyond the level");
    b.start(s(1), FIRST);
    // base 50, failing 0.5, ratio 1 + 19 / 4 = 5.75 %, level 2.875 and so 3.
    assert_eq!((b.base, b.failing, b.ratio, b.level), (50.0, 0.5, 57_500, LEAST));
    b.start(s(2), FIRST);
    // base 25.5, failing 0.25, ratio 1 + 19 × 9/16 = 11.6875 %.
    assert_eq!((b.base, b.failing, b.ratio, b.level), (25.5, 0.25, 116_875, LEAST));
    b.start(s(5), FIRST);
    // Three intervals: (25.5 + 1) / 2 / 4, 0.25 / 8.
    assert_eq!((b.base, b.failing), (3.3125, 0.031_25));
    for _ in 0..9_999 {
        b.start(s(5), FIRST);
    }
    b.start(s(6), FIRST);
    assert_eq!(b.base, 5_001.656_25);
    assert_eq!(b.ratio, 194_109);
    assert_eq!(b.level, (b.ratio as f64 * 5_001.656_25) as u64, "one interval's budget");
}

#[test]
fn passes_on_from_half_of_the_span() {
    let mut b = arb();
    for (failing, passes_on) in [(0.0, false), (0.29, false), (0.30, true), (1.0, true)] {
        b.failing = failing;
        assert_eq!(b.passes_on(Nanos::ZERO), passes_on, "{failing}");
    }
}

#[test]
fn the_last_interval_never_ends() {
    let mut b = halving();
    b.start(Nanos::MAX, FIRST);
    (b.failing, b.base) = (0.5, 8.0);
    (0..9).for_each(|_| b.start(Nanos::MAX, FIRST));
    assert_eq!((b.failing, b.base, b.firsts), (0.5, 8.0, 10));
}

#[test]
fn only_what_the_policy_retries_is_a_failure() {
    let mut b = halving();
    end(&mut b, Nanos::ZERO, Outcome::Failed);
    end(&mut b, Nanos::ZERO, Outcome::Success);
    (0..2).for_each(|_| b.settle(Nanos::ZERO, FIRST, Outcome::Failed, false, &mut Zero));
    b.start(s(1), FIRST);
    assert_eq!(b.failing(), 0.125, "half of 1 of 4");
}

#[test]
fn draw_and_decrement_by_hand() {
    let mut b = halving();
    assert_eq!(b.level, 3 * RETRY);
    assert!(ask(&mut b, Nanos::ZERO, &mut Ones), "3 of 3");
    assert!(ask(&mut b, Nanos::ZERO, &mut Ones), "2 of 3: still half or more");
    assert!(!ask(&mut b, Nanos::ZERO, &mut Ones), "1 of 3: probability 2/3, a high draw");
    assert!(ask(&mut b, Nanos::ZERO, &mut Zero), "the same, a low draw");
    assert!(!ask(&mut b, Nanos::ZERO, &mut Zero), "nothing left, whatever the draw");
    assert_eq!((b.stock, b.granted, b.denied), (0, 3, 2));
    (0..4).for_each(|_| b.start(Nanos::ZERO, FIRST));
    assert!(!ask(&mut b, Nanos::ZERO, &mut Zero), "0.8");
    b.start(Nanos::ZERO, FIRST);
    b.start(Nanos::ZERO, AGAIN);
    assert!(ask(&mut b, Nanos::ZERO, &mut Zero), "5 × 20 %; a retry adds nothing");
    b.cancel(Nanos::ZERO, 1);
    assert_eq!(b.stock, RETRY);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let granted = (0..30_000)
        .filter(|_| {
            b.stock = RETRY;
            ask(&mut b, Nanos::ZERO, &mut rng)
        })
        .count();
    // 20,000 expected, with a standard deviation of 82.
    assert!((19_700..=20_300).contains(&granted), "{granted}");
}

#[test]
fn transient_faults_are_retried_and_an_outage_is_not() {
    let mut b = arb();
    drive(&mut b, 0..10, 0.01);
    assert!(b.denied <= 2, "while base is still unknown, the stock runs behind its level");
    let denied = b.denied;
    let (_, retries) = drive(&mut b, 10..70, 0.01);
    assert!(retries > 500, "{retries}");
    assert_eq!(b.denied, denied, "1 % failures: every retry");
    // An outage: the first second meets the full budget, the end of it the floor.
    let (firsts, retries) = drive(&mut b, 70..71, 1.0);
    assert!(retries <= firsts / 5 + 200, "{retries}");
    drive(&mut b, 71..130, 1.0);
    let (firsts, retries) = drive(&mut b, 130..190, 1.0);
    assert!((firsts / 100..=firsts / 100 + 3).contains(&retries), "{retries}: 1 %");
    assert!(b.passes_on(s(190)));
    // It is over: by itself, in a few times its memory.
    let denied = b.denied;
    drive(&mut b, 190..230, 0.01);
    assert!(b.denied - denied <= 100 && !b.passes_on(s(230)));
    let denied = b.denied;
    drive(&mut b, 230..290, 0.01);
    assert_eq!(b.denied, denied, "all as before");
}

#[test]
fn overloaded_from_below_cuts_at_once_and_is_passed_on_for_a_while() {
    let mut b = arb();
    drive(&mut b, 0..60, 0.0);
    assert!(b.stock > 190 * RETRY && !b.passes_on(s(60)));
    b.overloaded(s(60));
    assert_eq!((b.stock, b.ratio, b.cuts), (0, 10_000, 1));
    assert!(b.passes_on(s(60)) && b.passes_on(Nanos(s(65).0 - 1)) && !b.passes_on(s(65)));
    assert!(!ask(&mut b, s(60), &mut Zero));
    let (_, retries) = drive(&mut b, 60..65, 0.5);
    assert!(retries <= 50, "1 % of 5000: {retries}");
    b.start(s(65), FIRST);
    assert!(b.ratio > 10_000, "the cut is over");
}

/// Four tiers, each asking the one below every 100 ms; the lowest says OVERLOADED for a second.
#[test]
fn it_goes_upward_tier_by_tier_and_ends() {
    let mut tiers = [arb(), arb(), arb()];
    let mut last = [0; 3];
    for t in 0..400 {
        let now = Nanos::from_millis(t * 100);
        let mut told = t < 10;
        for (i, tier) in tiers.iter_mut().enumerate() {
            if told {
                tier.overloaded(now);
                assert_eq!((tier.stock, tier.ratio), (0, 10_000));
            }
            told = tier.passes_on(now);
            if told {
                last[i] = t;
            }
        }
        assert!(told || t > 0, "the top knows in the same instant");
    }
    // Told last at 0.9 s; each holds it for 5 s after it was last told.
    assert_eq!(last, [58, 107, 156]);
    assert!(tiers.iter().all(|tier| !tier.passes_on(s(40))));
}

#[test]
fn an_idle_tier_forgets() {
    let mut b = arb();
    drive(&mut b, 0..30, 1.0);
    assert!(b.passes_on(s(30)));
    assert!(!b.passes_on(s(60)), "nobody calls, and it still knows that time went by");
    b.start(s(3600), FIRST);
    assert!(b.failing < 1e-9 && b.base < 1e-9);
    assert_eq!(b.ratio, 200_000);
}

#[test]
fn refuses_impossible_settings() {
    let build = |max, min, memory, interval, hold| {
        AdaptiveBudget::try_new(max, min, memory, interval, hold).is_some()
    };
    assert!(build(0.0, 0.0, s(10), s(1), s(0)));
    for (max, min) in [(20.0, 21.0), (-1.0, -1.0), (1001.0, 1.0), (f64::NAN, 1.0), (20.0, f64::NAN)]
    {
        assert!(!build(max, min, s(10), s(1), s(5)), "{max} {min}");
    }
    assert!(!build(20.0, 1.0, s(0), s(1), s(5)));
    assert!(!build(20.0, 1.0, s(10), Nanos(999_999), s(5)));
    assert!(!build(20.0, 1.0, s(10), s(1), s(86_401)));
}

/// Ten of each second fail, and the callers of a hundred others leave in the middle: of those who
/// saw an end, all failed.
#[test]
fn callers_that_leave_do_not_hide_an_outage() {
    let mut b = arb();
    for second in 0..60 {
        for i in 0..110 {
            b.start(s(second), FIRST);
            let (outcome, retryable) =
                if i < 10 { (Outcome::Failed, true) } else { (Outcome::TimedOut, false) };
            b.settle(s(second), FIRST, outcome, retryable, &mut Zero);
        }
    }
    // 59 intervals have ended: 1 - exp(-59 / 10).
    assert!((b.failing() - (1.0 - libm::exp(-5.9))).abs() < 1e-12, "{}", b.failing());
}

proptest! {
    /// The promise in the module's documentation, for every span that ends now.
    #[test]
    fn no_span_has_more_than_its_share_and_a_constant(
        seed in any::<u64>(), max in 0u32..100,
        ops in prop::collection::vec((0u64..300, 0u8..20), 0..300),
    ) {
        let mut b = AdaptiveBudget::try_new(f64::from(max), 0.0, s(1), s(1), s(1)).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // What every event adds to retries × RETRY - max × first attempts × RETRY.
        let (mut now, mut sums, mut total) = (0, Vec::from([0i64]), 0i64);
        let (mut busiest, mut this, mut second) = (0, 0, 0);
        for (gap, op) in ops {
            now += gap / 4;
            let at = Nanos::from_millis(now);
            if now / 1000 != second {
                (second, this) = (now / 1000, 0);
            }
            match op {
                0..10 => {
                    b.start(at, FIRST);
                    this += 1;
                    busiest = busiest.max(this);
                    total -= i64::from(max) * 10_000;
                }
                10 => end(&mut b, at, Outcome::Failed),
                11 => end(&mut b, at, Outcome::Success),
                12 if b.granted > 0 => { b.cancel(at, 1); total -= RETRY as i64; }
                13 => b.overloaded(at),
                _ => if ask(&mut b, at, &mut rng) { total += RETRY as i64; },
            }
            sums.push(total);
            let least = sums.iter().copied().min().unwrap();
            let constant = (LEAST as i64).max(i64::from(max) * 10_000 * busiest);
            prop_assert!(total - least <= constant, "{} > {}", total - least, constant);
            prop_assert!(b.stock <= b.level);
            prop_assert!((0.0..=1.0).contains(&b.failing));
        }
    }

    #[test]
    fn any_times_and_settings_are_fine(
        max in 0.0f64..=1000.0, interval in 1_000_000u64..1_000_000_000, memory in 1_000_000u64..1_000_000_000,
        times in prop::collection::vec((any::<u64>(), 0u8..5), 0..200),
    ) {
        let mut b = AdaptiveBudget::try_new(max, max / 2.0, Nanos(memory), Nanos(interval), s(5)).unwrap();
        for (now, op) in times {
            let now = Nanos(now);
            match op {
                0 => b.start(now, FIRST),
                1 => end(&mut b, now, Outcome::Failed),
                2 => b.cancel(now, 1),
                3 => b.overloaded(now),
                _ => { ask(&mut b, now, &mut Zero); }
            }
            let _ = b.passes_on(now);
            prop_assert!(b.stock <= b.level && b.base.is_finite() && (0.0..=1.0).contains(&b.failing));
        }
    }
}
