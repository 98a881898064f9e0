use super::*;
use crate::testing::Zero;
use proptest::prelude::*;

const FIRST: Attempt = Attempt::first(0);

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn tower(percent: f64, min: u32, ttl: u64) -> TpsBudget {
    TpsBudget::try_new(percent, min, Nanos::from_secs(ttl), Deposits::OnSuccess).unwrap()
}

impl TpsBudget {
    fn put(&mut self, now: Nanos) {
        self.settle(now, FIRST, Outcome::Success, true, &mut Zero);
    }

    fn ask(&mut self, now: Nanos) -> bool {
        self.withdraw(now, FIRST, Outcome::Failed, &mut Zero).is_some()
    }

    fn drain(&mut self, now: Nanos) -> u32 {
        (0..100_000).take_while(|_| self.ask(now)).count() as u32
    }
}

/// Section by section as published: 1 deposit, 5 withdrawn, 500 in reserve.
#[test]
fn default_vectors() {
    let mut b = tower(20.0, 10, 10);
    assert_eq!((b.deposit, b.withdraw, b.reserve, b.balance()), (1, 5, 500, 100));
    assert_eq!(b.drain(ms(0)), 100);
    assert!(!b.ask(ms(0)), "the 101st");
    for _ in 0..3 {
        for _ in 0..4 {
            b.put(ms(0));
            assert_eq!(b.balance(), 0);
        }
        b.put(ms(0));
        assert_eq!(b.balance(), 1);
        assert!(b.ask(ms(0)));
        assert!(!b.ask(ms(0)));
    }
    assert_eq!(b.drain(Nanos::from_secs(11)), 100, "after 11 s idle");
}

/// The four cases of tower's own test suite.
#[test]
fn upstream_cases() {
    assert!(!tower(100.0, 0, 1).ask(ms(0)), "nothing put in");
    let mut b = tower(100.0, 0, 1);
    b.put(ms(0));
    assert!(!b.ask(ms(3000)), "expired");
    let mut b = tower(50.0, 0, 1);
    b.put(ms(0));
    b.put(ms(0));
    assert!(b.ask(ms(901)), "still valid");
    b.put(ms(2902));
    b.put(ms(3203));
    b.put(ms(4004));
    assert!(b.ask(ms(4004)), "the first is gone; the second and the third make one");
    assert_eq!(tower(100.0, 5, 1).drain(ms(0)), 5, "reserve");
}

#[test]
fn slots_by_hand() {
    let mut b = tower(100.0, 0, 10);
    let state = |b: &TpsBudget| (b.index, b.writer, b.slots, b.time / 1_000_000);
    b.put(ms(0));
    b.put(ms(999));
    assert_eq!(state(&b), (0, 2, [0; 10], 0), "not over yet");
    b.put(ms(1000));
    assert_eq!(state(&b), (1, 1, [2, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1000));
    b.put(ms(2001));
    assert_eq!(state(&b), (3, 1, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0], 2001), "two slots for 1.001 s");
    b.put(ms(1500));
    assert_eq!(state(&b), (3, 2, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0], 2001), "time went back");
    b.put(ms(10_001));
    assert_eq!(state(&b), (1, 1, [0, 1, 0, 2, 0, 0, 0, 0, 0, 0], 10_001), "8 s: slots 4..=9 and 0");
    b.put(Nanos::MAX);
    assert_eq!(b.slots, [0; 10], "ten rounds and no more");
}

/// tower issue 857. Every deposit is worth `percent`, or should be.
#[test]
fn truncation_makes_another_percentage() {
    for (percent, thousand_deposits_buy) in [
        (10.0, 100),
        (20.0, 200),
        (25.0, 250),
        (30.0, 333),
        (33.0, 333),
        (40.0, 500),
        (50.0, 500),
        (60.0, 1000),
        (70.0, 1000),
        (80.0, 1000),
        (90.0, 1000),
        (100.0, 1000),
        (150.0, 1501),
        (200.0, 2000),
        (700.0, 7042),
    ] {
        let mut b = tower(percent, 0, 10);
        (0..1000).for_each(|_| b.put(ms(0)));
        assert_eq!(b.drain(ms(0)), thousand_deposits_buy, "{percent} %");
    }
}

/// A fault that busy budgets show: looked at every 7 ms, the ring is turned 1 to 6 ms after each
/// edge, which counts as two slots.
#[test]
fn a_busy_budget_forgets_after_half_its_ttl() {
    let mut b = tower(20.0, 10, 10);
    assert_eq!(b.drain(ms(0)), 100);
    let again = (1..).map(|i| ms(7 * i)).find(|&now| b.ask(now)).unwrap();
    assert_eq!(again, ms(6_006), "not after 10 s");
    // Asked only at exact edges, it keeps to its ttl.
    let mut b = tower(20.0, 10, 10);
    assert_eq!(b.drain(ms(0)), 100);
    let again = (1..).map(Nanos::from_secs).find(|&now| b.ask(now)).unwrap();
    assert_eq!(again, Nanos::from_secs(11), "and to a slot more");
}

#[test]
fn tower_and_linkerd_differ_in_what_deposits() {
    let linkerd =
        || TpsBudget::try_new(100.0, 0, TpsBudget::DEFAULT_TTL, Deposits::UnlessRetryable).unwrap();
    for (outcome, retryable, tower_deposits, linkerd_deposits) in [
        (Outcome::Success, true, true, true),
        (Outcome::Success, false, true, true),
        (Outcome::Failed, true, false, false),
        (Outcome::Failed, false, false, true),
        // No response: a timeout, or a caller that left.
        (Outcome::TimedOut, false, false, false),
    ] {
        for (mut b, deposits) in
            [(tower(100.0, 0, 10), tower_deposits), (linkerd(), linkerd_deposits)]
        {
            b.settle(ms(0), FIRST, outcome, retryable, &mut Zero);
            assert_eq!(b.ask(ms(0)), deposits, "{outcome:?} {retryable} {:?}", b.deposits);
        }
    }
}

#[test]
fn extreme_and_impossible_settings() {
    let mut b = tower(0.0, 10, 1);
    b.put(ms(0));
    assert_eq!((b.deposit, b.withdraw, b.drain(ms(0))), (0, 1, 10), "0 %: the reserve alone");
    let tiny = tower(1e-30, 1, 60);
    assert_eq!((tiny.withdraw, tiny.balance()), (i64::MAX, 1), "saturates");
    let try_new =
        |percent, min, ttl| TpsBudget::try_new(percent, min, ttl, Deposits::OnSuccess).is_some();
    assert!(try_new(100_000.0, 2_147_483_646, Nanos::from_secs(60)));
    for (percent, min, ttl) in [
        (-1.0, 10, ms(10_000)),
        (f64::NAN, 10, ms(10_000)),
        (100_001.0, 10, ms(10_000)),
        (20.0, i32::MAX as u32, ms(10_000)),
        (20.0, 10, ms(999)),
        (20.0, 10, ms(60_001)),
    ] {
        assert!(!try_new(percent, min, ttl), "{percent} {min} {ttl}");
    }
}

proptest! {
    /// All that was ever put in, and the reserve once for every 5 s begun and one.
    #[test]
    fn never_pays_out_more_than_was_put_in(
        percent in 1u32..=100, gaps in prop::collection::vec((0u64..300, any::<bool>()), 0..400),
    ) {
        let mut b = tower(f64::from(percent), 2, 10);
        let (mut now, mut put, mut granted) = (0, 0i64, 0i64);
        for (gap, ask) in gaps {
            now += gap;
            if ask {
                granted += i64::from(b.ask(ms(now)));
            } else {
                b.put(ms(now));
                put += 1;
            }
            let reserves = now as i64 / 4_500 + 2;
            prop_assert!(granted * b.withdraw <= put * b.deposit + b.reserve * reserves);
        }
    }

    #[test]
    fn any_times_are_fine(
        percent in 0.0f64..=100_000.0, times in prop::collection::vec((any::<u64>(), any::<bool>()), 0..200),
    ) {
        let mut b = tower(percent, u32::from(u16::MAX), 60);
        for (now, ask) in times {
            if ask { b.ask(Nanos(now)); } else { b.put(Nanos(now)); }
            prop_assert!(b.index < SLOTS);
        }
    }
}
