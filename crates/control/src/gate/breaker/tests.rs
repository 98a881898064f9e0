use super::*;
use crate::entry::Build;
use crate::gate::Gate;
use crate::gate::testing::reading;
use crate::testing::Zero;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::vec::Vec;

const fn s(s: u64) -> Nanos {
    Nanos::from_secs(s)
}

/// The defaults of an entry with some of them changed.
fn with(entry: &crate::Entry, changes: &[(&str, f64)]) -> Breaker {
    let mut values: Vec<f64> = entry.defaults().collect();
    for (name, value) in changes {
        let at = entry.parameters.iter().position(|p| p.name == *name).expect("no such parameter");
        values[at] = *value;
    }
    let Build::Gate(build) = entry.build else { panic!("not a gate") };
    match build(&values) {
        Some(Gate::Breaker(breaker)) => breaker,
        _ => panic!("refused {values:?}"),
    }
}

impl Breaker {
    fn ask(&mut self, now: Nanos) -> Result<Pass, Refusal> {
        self.admit(now, 0, &mut Zero)
    }

    fn end(&mut self, now: Nanos, pass: Pass, outcome: Outcome) {
        self.settle(now, pass, outcome, Nanos::ZERO, &mut Zero);
    }

    /// Lets one through and ends it at once.
    fn call(&mut self, now: Nanos, outcome: Outcome) {
        let pass = self.ask(now).unwrap();
        self.end(now, pass, outcome);
    }

    fn calls(&mut self, now: Nanos, outcome: Outcome, n: u32) {
        for _ in 0..n {
            self.call(now, outcome);
        }
    }
}

#[test]
fn resilience4j_opens_at_half_of_a_hundred_and_not_before_the_hundredth() {
    let mut b = with(&page::BY_CALLS, &[]);
    b.calls(s(0), Outcome::Failed, 50);
    b.calls(s(0), Outcome::Success, 49);
    assert_eq!((b.state(), reading(&b, "failure_rate")), (BreakerState::Closed, -1.0));
    b.call(s(0), Outcome::Success);
    assert_eq!(b.state(), BreakerState::Open, "the hundredth completes the minimum: 50 % >= 50 %");
    assert_eq!(reading(&b, "failure_rate"), 50.0);
    let refusal = b.admit(s(1), 7, &mut Zero).unwrap_err();
    assert_eq!(refusal, Refusal::new(Reason::BreakerOpen, 7).until(s(60)));
    assert_eq!((reading(&b, "opened"), reading(&b, "refused")), (1.0, 1.0));
}

#[test]
fn forty_nine_of_a_hundred_are_let_through_and_the_window_slides() {
    let mut b = with(&page::BY_CALLS, &[]);
    b.calls(s(0), Outcome::Failed, 49);
    b.calls(s(0), Outcome::Success, 51);
    assert_eq!((b.state(), reading(&b, "failure_rate")), (BreakerState::Closed, 49.0));
    b.calls(s(0), Outcome::Success, 49);
    assert_eq!(reading(&b, "failure_rate"), 0.0, "the failures have left");
    assert_eq!(reading(&b, "calls"), 100.0);
}

#[test]
fn the_minimum_is_clipped_to_a_window_of_calls_but_not_to_one_of_time() {
    let mut calls = with(&page::BY_CALLS, &[("window", 10.0)]);
    calls.calls(s(0), Outcome::Failed, 10);
    assert_eq!(calls.state(), BreakerState::Open);
    let mut time = with(&page::BY_TIME, &[("window", 10.0)]);
    time.calls(s(0), Outcome::Failed, 99);
    assert_eq!(time.state(), BreakerState::Closed);
    time.call(s(0), Outcome::Failed);
    assert_eq!(time.state(), BreakerState::Open);
}

#[test]
fn a_window_of_time_forgets_by_the_second() {
    let mut b = with(&page::BY_TIME, &[("window", 10.0)]);
    b.calls(s(0), Outcome::Failed, 90);
    b.calls(s(9), Outcome::Success, 9);
    b.call(s(10), Outcome::Failed);
    assert_eq!((b.state(), reading(&b, "calls")), (BreakerState::Closed, 10.0));
}

#[test]
fn slow_calls_trip_it_and_slow_means_longer_than() {
    let mut b = with(&page::BY_CALLS, &[("window", 2.0), ("slow", 1.0)]);
    for latency in [s(1), s(1) + Nanos(1)] {
        let pass = b.ask(s(0)).unwrap();
        b.settle(s(0), pass, Outcome::Success, latency, &mut Zero);
    }
    assert_eq!((b.state(), reading(&b, "slow_rate")), (BreakerState::Closed, 50.0));
    let pass = b.ask(s(0)).unwrap();
    b.settle(s(0), pass, Outcome::Success, s(2), &mut Zero);
    assert_eq!((b.state(), reading(&b, "slow_rate")), (BreakerState::Open, 100.0));
}

/// Opened at zero; half-opens at 60 s.
fn opened(changes: &[(&str, f64)]) -> Breaker {
    let mut all = std::vec![("window", 1.0)];
    all.extend_from_slice(changes);
    let mut b = with(&page::BY_CALLS, &all);
    b.call(s(0), Outcome::Failed);
    assert_eq!(b.state(), BreakerState::Open);
    b
}

#[test]
fn half_open_it_lets_exactly_its_probes_through_and_decides_when_all_have_ended() {
    let mut b = opened(&[("min_calls", 100.0)]);
    assert!(b.ask(Nanos(s(60).0 - 1)).is_err());
    let passes: Vec<Pass> = (0..10).map(|_| b.ask(s(60)).unwrap()).collect();
    assert_eq!(b.state(), BreakerState::HalfOpen);
    for _ in 0..100 {
        assert_eq!(b.ask(s(61)), Err(Refusal::new(Reason::BreakerOpen, 0)));
    }
    for (i, pass) in passes.iter().enumerate() {
        assert_eq!(b.state(), BreakerState::HalfOpen, "{i}");
        b.end(s(62), *pass, if i < 4 { Outcome::Failed } else { Outcome::Success });
    }
    assert_eq!(b.state(), BreakerState::Closed, "40 % failed");
    assert_eq!((reading(&b, "probes"), reading(&b, "calls")), (10.0, 0.0), "the window is empty");
    assert_eq!((reading(&b, "half_opened"), reading(&b, "closed")), (1.0, 1.0));
}

#[test]
fn half_of_the_probes_failing_opens_it_again() {
    let mut b = opened(&[("min_calls", 100.0)]);
    for i in 0..10 {
        b.call(s(60), if i < 5 { Outcome::TimedOut } else { Outcome::Success });
    }
    assert_eq!((b.state(), reading(&b, "reopened")), (BreakerState::Open, 1.0));
    assert_eq!(b.ask(s(61)).unwrap_err().earliest, Some(s(120)));
}

/// resilience4j clips the minimum to the probes, but does not raise it to them.
#[test]
fn a_minimum_below_the_number_of_probes_decides_earlier() {
    let mut b = opened(&[("min_calls", 2.0)]);
    b.calls(s(60), Outcome::Success, 2);
    assert_eq!(b.state(), BreakerState::Closed);
}

#[test]
fn what_ends_late_can_be_ignored() {
    let mut b = with(&page::BY_CALLS, &[("window", 2.0), ("probes", 1.0), ("late", 0.0)]);
    let old: Vec<Pass> = (0..4).map(|_| b.ask(s(0)).unwrap()).collect();
    b.end(s(1), old[0], Outcome::Failed);
    b.end(s(1), old[1], Outcome::Failed);
    assert_eq!(b.state(), BreakerState::Open);
    b.end(s(2), old[2], Outcome::Success);
    assert_eq!(b.state(), BreakerState::Open, "sent while closed, ended while open");
    let probe = b.ask(s(61)).unwrap();
    b.end(s(62), old[3], Outcome::Success);
    assert_eq!(b.state(), BreakerState::HalfOpen, "old news is no probe");
    b.end(s(63), probe, Outcome::Failed);
    assert_eq!(b.state(), BreakerState::Open);
    let second = b.ask(s(123)).unwrap();
    b.end(s(124), probe, Outcome::Success);
    assert_eq!(b.state(), BreakerState::HalfOpen, "nor is a probe of the time before");
    b.end(s(124), second, Outcome::Success);
    assert_eq!(b.state(), BreakerState::Closed);
    b.end(s(125), old[3], Outcome::Failed);
    assert_eq!((reading(&b, "calls"), reading(&b, "late")), (0.0, 4.0));
}

/// The same as published: the breaker is closed by an attempt that was sent before it opened,
/// while the probe is still under way. (Linkerd's probation takes the next class that comes over
/// the channel of the endpoint, whatever sent it.)
#[test]
fn old_news_decides_over_a_half_open_breaker_as_published() {
    for (entry, changes, closes) in [
        (&page::BY_CALLS, [("window", 1.0), ("probes", 1.0)].as_slice(), true),
        (&page::BY_TIME, &[("min_calls", 1.0), ("probes", 1.0)], true),
        (&page::POLLY, &[("min_throughput", 2.0)], true),
        (&page::POLLY, &[("min_throughput", 2.0), ("late", 0.0)], false),
        (&page::CONSECUTIVE, &[("failures", 1.0)], true),
        (&page::CONSECUTIVE, &[("failures", 1.0), ("late", 0.0)], false),
    ] {
        let mut b = with(entry, changes);
        let old = b.ask(s(0)).unwrap();
        b.call(s(0), Outcome::Success);
        let mut probe = b.ask(s(0)).unwrap();
        b.end(s(0), probe, Outcome::Failed);
        assert_eq!(b.state(), BreakerState::Open, "{}", entry.name);
        probe = b.ask(s(60)).unwrap();
        b.end(s(61), old, Outcome::Success);
        assert_eq!(b.state() == BreakerState::Closed, closes, "{}", entry.name);
        assert_eq!(reading(&b, "late"), 1.0);
        b.end(s(62), probe, Outcome::Success);
        assert_eq!(b.state(), BreakerState::Closed);
    }
}

#[test]
fn a_hung_probe_blocks_for_ever_as_published_unless_a_bound_is_set() {
    let mut b = opened(&[("probes", 1.0)]);
    b.ask(s(60)).unwrap();
    for at in [61, 1_000_000, u64::MAX / 1_000_000_000] {
        assert!(b.ask(s(at)).is_err(), "{at}");
    }
    let mut b = opened(&[("probes", 1.0), ("max_half_open", 5.0)]);
    let hung = b.ask(s(60)).unwrap();
    assert!(b.ask(s(64)).is_err());
    assert_eq!(b.ask(s(65)).unwrap_err().earliest, Some(s(125)), "open again since 65 s");
    b.end(s(66), hung, Outcome::Success);
    assert_eq!((b.state(), reading(&b, "late")), (BreakerState::Open, 1.0), "only time opens it");
    b.call(s(125), Outcome::Success);
    assert_eq!(b.state(), BreakerState::Closed);
}

#[test]
fn a_cancelled_probe_gives_its_place_back() {
    let mut b = opened(&[("probes", 2.0)]);
    let (first, second) = (b.ask(s(60)).unwrap(), b.ask(s(60)).unwrap());
    assert!(b.ask(s(60)).is_err());
    b.cancel(s(60), second);
    let third = b.ask(s(60)).unwrap();
    assert!(b.ask(s(60)).is_err(), "one place, not two");
    b.end(s(60), first, Outcome::Success);
    b.end(s(60), third, Outcome::Success);
    assert_eq!(b.state(), BreakerState::Closed);
    b.cancel(s(60), third);
    assert!(b.ask(s(60)).is_ok());
}

#[test]
fn what_counts_as_a_failure() {
    for (outcome, failure) in [
        (Outcome::Success, [false, false]),
        (Outcome::Rejected, [true, false]),
        (Outcome::TimedOut, [true, true]),
        (Outcome::Failed, [true, true]),
        (Outcome::FailedBelow, [true, true]),
        (Outcome::Shed, [true, false]),
    ] {
        for (rejections, failure) in [1.0, 0.0].into_iter().zip(failure) {
            let mut b = with(&page::BY_CALLS, &[("window", 1.0), ("rejections", rejections)]);
            b.call(s(0), outcome);
            assert_eq!(b.state() == BreakerState::Open, failure, "{outcome:?} {rejections}");
        }
    }
}

/// Base 10 s, doubling to at most 50 s: 10, 20, 40, 50, 50; closed, it starts again at 10.
#[test]
fn waits_grow_and_start_again_once_closed() {
    let wait = [("wait", 10.0), ("factor", 2.0), ("max_wait", 50.0), ("probes", 1.0)];
    let mut b = opened(&wait);
    let mut at = s(0);
    for expected in [10, 20, 40, 50, 50] {
        let earliest = b.ask(at).unwrap_err().earliest.unwrap();
        assert_eq!(earliest.since(at), s(expected));
        at = earliest;
        b.call(at, Outcome::Failed);
    }
    at = b.ask(at).unwrap_err().earliest.unwrap();
    b.call(at, Outcome::Success);
    b.call(at, Outcome::Failed);
    assert_eq!(b.ask(at).unwrap_err().earliest.unwrap().since(at), s(10));
}

/// Uniform over ±30 % of 60 s: all within, both halves used.
#[test]
fn jitter_spreads_the_wait_around_it() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let b = with(&page::BY_CALLS, &[("jitter", 30.0)]);
    let waits: Vec<f64> = (0..1000).map(|_| b.next_wait(&mut rng).as_secs_f64()).collect();
    assert!(waits.iter().all(|w| (42.0..78.0).contains(w)));
    // The mean of 1000 uniform draws over 36 s has a deviation of 36 / √12 / √1000 = 0.33 s.
    let mean = waits.iter().sum::<f64>() / 1000.0;
    assert!((mean - 60.0).abs() < 4.0 * 0.33, "{mean}");
    assert_eq!(b.next_wait(&mut Zero), s(42));
}

#[test]
fn linkerd_opens_at_the_seventh_in_a_row() {
    let mut b = with(&page::CONSECUTIVE, &[("jitter", 0.0)]);
    b.calls(s(0), Outcome::Failed, 6);
    b.call(s(0), Outcome::Success);
    b.calls(s(0), Outcome::Failed, 6);
    assert_eq!((b.state(), reading(&b, "in_a_row")), (BreakerState::Closed, 6.0));
    b.call(s(0), Outcome::TimedOut);
    assert_eq!(b.state(), BreakerState::Open);
    // 1, 2, 4, 8, 16, 32, 60, 60: exactly one probe each.
    let mut at = s(0);
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        let earliest = b.ask(at).unwrap_err().earliest.unwrap();
        assert_eq!(earliest.since(at), s(wait));
        at = earliest;
        let probe = b.ask(at).unwrap();
        assert!(b.ask(at).is_err(), "exactly one");
        b.end(at, probe, Outcome::Failed);
    }
    let at = b.ask(at).unwrap_err().earliest.unwrap();
    b.call(at, Outcome::Success);
    assert_eq!(b.state(), BreakerState::Closed);
    b.calls(at, Outcome::Failed, 7);
    assert_eq!(b.ask(at).unwrap_err().earliest.unwrap().since(at), s(1), "the penalty is reset");
}

#[test]
fn linkerd_jitter_only_lengthens_and_stays_below_the_longest() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut b = with(&page::CONSECUTIVE, &[]);
    for _ in 0..1000 {
        assert!((1.0..1.5).contains(&b.next_wait(&mut rng).as_secs_f64()));
    }
    b.openings = 5;
    assert_eq!(b.next_wait(&mut Zero), s(32));
    b.openings = 100;
    assert_eq!(b.next_wait(&mut rng), s(60));
}

#[test]
fn linkerd_takes_a_rejection_for_an_answer_unless_told_otherwise() {
    let mut b = with(&page::CONSECUTIVE, &[]);
    b.calls(s(0), Outcome::Failed, 6);
    b.call(s(0), Outcome::Rejected);
    assert_eq!(reading(&b, "in_a_row"), 0.0);
    let mut b = with(&page::CONSECUTIVE, &[("rejections", 1.0)]);
    b.calls(s(0), Outcome::Rejected, 7);
    assert_eq!(b.state(), BreakerState::Open);
}

#[test]
fn polly_opens_at_a_tenth_of_a_hundred_and_only_when_a_failure_ends() {
    let mut b = with(&page::POLLY, &[]);
    b.calls(s(0), Outcome::Failed, 10);
    b.calls(s(0), Outcome::Success, 90);
    assert_eq!((b.state(), reading(&b, "failure_rate")), (BreakerState::Closed, 10.0));
    b.call(s(0), Outcome::Failed);
    assert_eq!(b.state(), BreakerState::Open);
    assert_eq!(b.ask(s(1)).unwrap_err().earliest, Some(s(5)));
    // The ten slices of 3 s forget: at 30 s nothing of the first is left.
    let mut b = with(&page::POLLY, &[]);
    b.calls(s(0), Outcome::Failed, 99);
    b.call(s(30), Outcome::Failed);
    assert_eq!((b.state(), reading(&b, "calls")), (BreakerState::Closed, 1.0));
}

/// As of its commit 173d6d1 (August 2026); `CircuitStateController` permits a probe only while open.
#[test]
fn polly_probes_one_at_a_time_and_a_hung_one_blocks_it_as_published() {
    let mut b = with(&page::POLLY, &[]);
    b.calls(s(0), Outcome::Failed, 100);
    let hung = b.ask(s(5)).unwrap();
    for at in [6, 10, 1_000_000] {
        assert_eq!(b.ask(s(at)).unwrap_err().earliest, None, "at {at} s");
    }
    b.end(s(1_000_001), hung, Outcome::Success);
    assert_eq!((b.state(), reading(&b, "probes")), (BreakerState::Closed, 1.0));
}

#[test]
fn another_probe_frees_it_from_a_hung_one() {
    let mut b = with(&page::POLLY, &[("another_probe", 1.0)]);
    b.calls(s(0), Outcome::Failed, 100);
    let hung = b.ask(s(5)).unwrap();
    assert_eq!(b.ask(s(6)).unwrap_err().earliest, Some(s(10)));
    let second = b.ask(s(10)).unwrap();
    assert!(b.ask(s(14)).is_err());
    b.end(s(14), second, Outcome::Failed);
    assert_eq!((b.state(), reading(&b, "probes")), (BreakerState::Open, 2.0));
    b.end(s(15), hung, Outcome::Success);
    assert_eq!(b.state(), BreakerState::Open, "too late");
    b.call(s(19), Outcome::Success);
    assert_eq!((b.state(), reading(&b, "calls")), (BreakerState::Closed, 0.0));
}

/// The breaker of the simulation with five tiers: half of the calls fail, half a minute open.
#[test]
fn the_plain_breaker_of_the_paper_is_one_of_these() {
    let mut b = with(
        &page::BY_TIME,
        &[
            ("failure_rate", 50.0),
            ("window", 10.0),
            ("min_calls", 20.0),
            ("wait", 30.0),
            ("probes", 1.0),
        ],
    );
    b.calls(s(0), Outcome::Success, 10);
    b.calls(s(0), Outcome::Failed, 10);
    assert_eq!(b.ask(s(0)).unwrap_err().earliest, Some(s(30)));
    b.call(s(30), Outcome::Success);
    assert_eq!(b.state(), BreakerState::Closed);
}

#[test]
fn a_clock_that_goes_back_restarts_the_wait_and_no_more() {
    let mut b = opened(&[("wait", 10.0)]);
    b.openings = 0;
    b.enter(Phase::Open { since: s(1_000_000), wait: s(10) });
    assert_eq!(b.ask(s(50)).unwrap_err().earliest, Some(s(60)));
    assert!(b.ask(s(60)).is_ok());
    // Half-open, it restarts the time that the probes have.
    let mut b = opened(&[("probes", 1.0), ("max_half_open", 5.0)]);
    b.ask(s(1_000_000)).unwrap();
    assert!(b.ask(s(50)).is_err());
    assert_eq!(b.state(), BreakerState::HalfOpen);
    assert_eq!(b.ask(s(55)).unwrap_err().earliest, Some(s(115)));
}

#[test]
fn refuses_impossible_settings() {
    let rule = with(&page::BY_CALLS, &[]).rule;
    assert!(Breaker::try_new(rule).is_some());
    for wrong in [
        BreakerRule { trip: Trip::Calls(0), ..rule },
        BreakerRule { trip: Trip::Calls(10_001), ..rule },
        BreakerRule { trip: Trip::Time(Nanos::ZERO, 10), ..rule },
        BreakerRule { trip: Trip::Time(s(1), 0), ..rule },
        BreakerRule { trip: Trip::InARow(0), ..rule },
        BreakerRule { failure_rate: 0.0, ..rule },
        BreakerRule { failure_rate: f64::NAN, ..rule },
        BreakerRule { slow_rate: 100.1, ..rule },
        BreakerRule { slow: Nanos::ZERO, ..rule },
        BreakerRule { min_calls: 0, ..rule },
        BreakerRule { probes: 0, ..rule },
        BreakerRule { hung: Hung::Reopens(Nanos::ZERO), ..rule },
        BreakerRule { wait: Nanos::ZERO, ..rule },
        BreakerRule { factor: 0.5, ..rule },
        BreakerRule { max_wait: s(1), ..rule },
        BreakerRule { jitter: -1.0, ..rule },
        BreakerRule { jitter: f64::INFINITY, ..rule },
    ] {
        assert!(Breaker::try_new(wrong).is_none(), "{wrong:?}");
    }
}

proptest! {
    /// Whatever happens: while half-open no more than the probes are under way, its counts add
    /// up, and it never waits longer than its longest wait.
    #[test]
    fn stays_within_its_rules_whatever_happens(
        which in 0usize..4,
        ops in prop::collection::vec((0u8..8, any::<u64>(), any::<bool>()), 0..400),
        seed in any::<u64>(),
    ) {
        let mut b = match which {
            0 => with(&page::BY_CALLS, &[("window", 3.0), ("probes", 2.0), ("max_half_open", 7.0), ("late", f64::from(u8::from(seed % 2 == 0)))]),
            1 => with(&page::BY_TIME, &[("window", 3.0), ("min_calls", 3.0), ("jitter", 50.0), ("max_wait", 60.0)]),
            2 => with(&page::CONSECUTIVE, &[("failures", 2.0)]),
            _ => with(&page::POLLY, &[("min_throughput", 2.0)]),
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut now, mut out) = (Nanos::ZERO, Vec::new());
        for (op, step, back) in ops {
            let step = Nanos(step >> (step % 64));
            now = if back { now - step } else { now + step };
            match op {
                0..=2 => match b.admit(now, 0, &mut rng) {
                    Ok(pass) => out.push(pass),
                    Err(refusal) => {
                        let longest = b.rule.max_wait.max(b.rule.wait);
                        prop_assert!(refusal.earliest.is_none_or(|e| e >= now && e.since(now) <= longest));
                    }
                },
                3 => { if let Some(pass) = out.pop() { b.cancel(now, pass); } }
                _ => if let Some(pass) = out.pop() {
                    let outcome = Outcome::ALL[usize::from(op) % 6];
                    b.settle(now, pass, outcome, step, &mut rng);
                }
            }
            if let Phase::HalfOpen(probing) = &b.phase
                && b.rule.hung != Hung::Another
            {
                let probes = out.iter().filter(|p| p.ticket == b.generation).count();
                let ended = if b.rule.late { 0 } else { probing.ended as usize };
                prop_assert!(probes + ended <= b.rule.probes as usize);
            }
            let changes = ["opened", "half_opened", "reopened", "closed"].map(|n| reading(&b, n));
            prop_assert_eq!(changes.iter().sum::<f64>(), f64::from(b.generation));
            let open = changes[0] + changes[2] - changes[1];
            prop_assert_eq!(open, f64::from(u8::from(b.state() == BreakerState::Open)));
        }
    }
}
