//! governor's cell rate algorithm, with its fake clock.

use std::num::NonZeroU32;
use std::time::Duration;

use ::governor::clock::FakeRelativeClock;
use ::governor::{Quota, RateLimiter};
use damper_control::admission::{Admission, AdmissionRule as _, Busy};
use damper_control::shared::RateLimit;
use damper_control::{Nanos, Who};
use rand_xoshiro::rand_core::Rng as _;

use crate::ours::{admission, rng};

/// Ours for one owner, as Linkerd has it.
#[test]
fn governor_cell_rate() {
    let mut draws = rng(2);
    let mut answers = [0u32; 2];
    for (rate, burst) in [(1, 1), (4, 4), (3, 7), (7, 1), (100, 20), (999, 3), (50_000, 1000)] {
        let [per_second, at_once] = [rate, burst].map(|n| NonZeroU32::new(n).unwrap());
        let clock = FakeRelativeClock::default();
        let quota = Quota::per_second(per_second).allow_burst(at_once);
        let theirs = RateLimiter::direct_with_clock(quota, clock.clone());
        let mut ours = admission("gcra", &[f64::from(rate), f64::from(burst)]);
        let interval = 1_000_000_000 / u64::from(rate);
        let mut now = Nanos::ZERO;
        for step in 0..20_000 {
            let pass = pass(draws.next_u64(), interval, burst);
            clock.advance(Duration::from_nanos(pass));
            now = now + Nanos(pass);
            let answer = theirs.check().is_ok();
            answers[usize::from(answer)] += 1;
            assert_eq!(
                ask(&mut ours, now),
                answer,
                "{rate}/s with a burst of {burst}, step {step} at {now}"
            );
        }
    }
    assert!(answers.iter().all(|answers| *answers > 1000), "both answers: {answers:?}");
}

/// Ours for many threads, with a burst of one: there are no batches then. The rates are such
/// that a token comes after a whole number of nanoseconds (governor cuts what is left, we round
/// it up).
#[test]
fn governor_shared_rate_limit() {
    let mut draws = rng(3);
    let mut admitted = 0;
    for rate in [1, 4, 100, 50_000, 1_000_000] {
        let clock = FakeRelativeClock::default();
        let quota = Quota::per_second(NonZeroU32::new(rate).unwrap())
            .allow_burst(NonZeroU32::new(1).unwrap());
        let theirs = RateLimiter::direct_with_clock(quota, clock.clone());
        let ours = RateLimit::try_new(f64::from(rate), 1, 4).unwrap();
        let interval = 1_000_000_000 / u64::from(rate);
        let mut now = Nanos::ZERO;
        for step in 0..20_000 {
            let draw = draws.next_u64();
            let pass = pass(draw, interval, 1);
            clock.advance(Duration::from_nanos(pass));
            now = now + Nanos(pass);
            let answer = theirs.check().is_ok();
            admitted += u32::from(answer);
            let ours = ours.acquire((draw >> 40) as usize, now, 0).is_ok();
            assert_eq!(ours, answer, "{rate}/s, step {step} at {now}");
        }
    }
    assert!((1000..99_000).contains(&admitted), "both answers: {admitted}");
}

/// How long until the next: often nothing, often about the time of a token, at times a long rest.
fn pass(draw: u64, interval: u64, burst: u32) -> u64 {
    match draw % 20 {
        0 => interval,
        1 => interval - 1,
        2 => interval + 1,
        3..8 => (draw >> 8) % interval,
        8 => (draw >> 8) % (interval * u64::from(burst) * 2 + 1),
        _ => 0,
    }
}

fn ask(ours: &mut Admission, now: Nanos) -> bool {
    ours.admit(now, Who::of(0), &Busy::default(), &mut rng(0)).is_ok()
}
