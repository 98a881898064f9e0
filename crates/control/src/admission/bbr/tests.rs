use super::*;
use crate::admission::Admission;
use crate::admission::plant::Plant;
use crate::testing::Zero;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn busy(inside: u32, utilisation: f64) -> Busy {
    Busy { working: inside, workers: 100, utilisation, ..Busy::default() }
}

fn bbr() -> Bbr {
    Bbr::try_new(80.0, 0.0, 0.0, 0, Nanos::ZERO).unwrap()
}

fn ends<A: AdmissionRule>(rule: &mut A, at: Nanos, n: u32, latency: Nanos) {
    for _ in 0..n {
        rule.settle(at, Who::of(0), latency, Some(Outcome::Success));
    }
}

fn asks<A: AdmissionRule>(rule: &mut A, at: Nanos, class: u8, busy: &Busy) -> bool {
    rule.admit(at, Who::of(class), busy, &mut Zero).is_ok()
}

/// 40 ends of 25 ms or more in half a second: 80/s × 25 ms = 2 inside.
#[test]
fn product_by_hand() {
    let mut b = bbr();
    assert_eq!(b.bound(), 10.0, "one end and 5000 ms stand where nothing was measured");
    ends(&mut b, MS(600), 39, MS(31));
    ends(&mut b, MS(700), 1, Nanos(25_900_000));
    assert_eq!(b.bound(), 2.0, "25 whole milliseconds");
    assert!(asks(&mut b, MS(800), 0, &busy(2, 0.81)), "2 is not more than 2");
    assert!(!asks(&mut b, MS(800), 0, &busy(3, 0.81)));
    assert!(asks(&mut b, MS(800), 0, &busy(3, 0.80)), "the load is not high");
    assert!(asks(&mut b, MS(1499), 0, &busy(2, 1.0)), "still the half second before");
    ends(&mut b, MS(1600), 10, MS(50));
    assert_eq!((b.bound(), b.lowest_ms()), (1.0, 50), "best and lowest now from 1000..2000");
    assert!(asks(&mut b, MS(1600), 0, &busy(1, 1.0)), "one is always allowed");
    assert!(!asks(&mut b, MS(1600), 0, &busy(2, 1.0)));
    assert!(asks(&mut b, MS(9000), 0, &busy(10, 1.0)), "all forgotten");
    assert_eq!(b.refused, 2);
}

#[test]
fn the_other_limits_by_hand() {
    let set = |cpu, qps, threads, rt| Bbr::try_new(100.0, cpu, qps, threads, rt).unwrap();
    let mut cpu = set(90.0, 0.0, 0, Nanos::ZERO);
    assert!(asks(&mut cpu, MS(0), 0, &busy(0, 0.9)) && !asks(&mut cpu, MS(0), 0, &busy(0, 0.91)));
    let mut qps = set(0.0, 2.0, 0, Nanos::ZERO);
    let passed = [0, 400, 900, 1400, 1500, 1501].map(|t| asks(&mut qps, MS(t), 0, &busy(0, 0.0)));
    assert_eq!(passed, [true, true, false, true, true, false]);
    let mut threads = set(0.0, 0.0, 5, Nanos::ZERO);
    assert!(asks(&mut threads, MS(0), 0, &busy(5, 0.0)));
    assert!(!asks(&mut threads, MS(0), 0, &busy(6, 0.0)));
    let mut rt = set(0.0, 0.0, 0, MS(20));
    ends(&mut rt, MS(0), 1, MS(10));
    ends(&mut rt, MS(0), 1, MS(30));
    assert!(asks(&mut rt, MS(1), 0, &busy(0, 0.0)), "20 ms on average");
    ends(&mut rt, MS(1), 1, MS(21));
    assert!(!asks(&mut rt, MS(1), 0, &busy(0, 0.0)));
}

#[test]
fn only_what_was_worked_on_is_measured() {
    let mut b = bbr();
    for outcome in [None, Some(Outcome::Rejected), Some(Outcome::Shed)] {
        b.settle(MS(0), Who::of(0), Nanos::ZERO, outcome);
    }
    assert_eq!(b.bound(), 10.0, "a refusal is fast, and no measure of the service");
    b.settle(MS(0), Who::of(0), MS(7), Some(Outcome::Failed));
    assert_eq!(b.lowest_ms(), 7);
}

/// Issue 3212 doubts the units. 2 workers at 10 ms end 200/s; rate × time is 2 attempts. With
/// 100 µs the units are right as well, but whole milliseconds make 20 of the 2.
#[test]
fn the_units_are_right_and_the_milliseconds_are_not() {
    for (ends_in_half, latency, theirs) in [(100, MS(10), 2.0), (10_000, Nanos(100_000), 20.0)] {
        let (mut faithful, mut ours) = (bbr(), BbrByClass::try_new(80.0, 4).unwrap());
        ends(&mut faithful, MS(0), ends_in_half, latency);
        ends(&mut ours, MS(0), ends_in_half, latency);
        assert_eq!(faithful.bound(), theirs);
        assert_eq!(ours.bound(), 2.0);
    }
}

/// sentinel-golang 436: a queue is there, everybody waits, and the lowest time is that of the
/// wait. The bound is then what is inside, and the queue stays.
#[test]
fn the_lowest_time_under_load_is_that_of_the_queue() {
    let queue_in_the_end = |mut rule: Admission| {
        let mut plant = Plant::at(0.5);
        plant.deadline = MS(60_000);
        let mut run = plant.run(&mut rule);
        run.until(MS(5_000));
        run.load(2.0);
        run.until(MS(30_000));
        run.waiting()
    };
    let faithful = queue_in_the_end(bbr().into());
    let ours = queue_in_the_end(BbrByClass::try_new(80.0, 4).unwrap().into());
    assert!(faithful > 50, "{faithful} wait for 10 workers");
    assert!(ours <= 10, "{ours}");
}

/// 100/s × 100 ms = 10: class 3 up to 10 inside, class 2 up to 13, class 1 up to 16, class 0 up
/// to 20.
#[test]
fn classes_by_hand() {
    let mut b = BbrByClass::try_new(80.0, 4).unwrap();
    assert!(asks(&mut b, MS(0), 3, &busy(1000, 1.0)), "nothing is known");
    ends(&mut b, MS(100), 50, MS(100));
    for (inside, admitted) in [
        (10, [true, true, true, true]),
        (11, [true, true, true, false]),
        (13, [true, true, true, false]),
        (14, [true, true, false, false]),
        (17, [true, false, false, false]),
        (20, [true, false, false, false]),
        (21, [false, false, false, false]),
    ] {
        let answers = [0, 1, 2, 3].map(|class| asks(&mut b, MS(200), class, &busy(inside, 0.9)));
        assert_eq!(answers, admitted, "{inside} inside");
        assert!(asks(&mut b, MS(200), 3, &busy(inside, 0.5)));
    }
}

#[test]
fn a_service_that_hangs_lets_nobody_in() {
    let mut b = BbrByClass::try_new(80.0, 4).unwrap();
    ends(&mut b, MS(100), 50, MS(100));
    assert_eq!(b.bound(), 10.0);
    assert!(!asks(&mut b, MS(2000), 0, &busy(2, 1.0)));
    assert_eq!(b.bound(), 0.2, "nothing has ended for a second: one end is assumed");
    assert!(asks(&mut b, MS(2000), 0, &busy(1, 1.0)));
}

#[test]
fn a_probe_by_hand() {
    let mut b = BbrByClass::try_new(80.0, 4).unwrap();
    ends(&mut b, MS(0), 1, MS(100));
    ends(&mut b, MS(9_900), 50, MS(300));
    assert!(asks(&mut b, MS(10_000), 0, &busy(2, 0.9)));
    let refused = b.admit(MS(10_001), Who::of(0), &busy(2, 0.9), &mut Zero);
    assert_eq!(refused, Err(Refusal::new(Reason::Shed, 0).until(MS(10_401))), "4 × 100 ms");
    assert!(
        asks(&mut b, MS(10_002), 3, &busy(1, 0.9)) && asks(&mut b, MS(10_003), 3, &busy(9, 0.1))
    );
    ends(&mut b, MS(10_300), 1, MS(250));
    ends(&mut b, MS(10_400), 1, MS(150));
    assert!(asks(&mut b, MS(10_401), 0, &busy(2, 0.9)));
    assert_eq!((b.lowest, b.measured, b.probes), (Some(MS(150)), MS(10_401), 1));
}

#[test]
fn refuses_impossible_settings() {
    let hour = Nanos::from_secs(3600);
    for (load, cpu, qps, rt) in [
        (101.0, 0.0, 0.0, Nanos::ZERO),
        (f64::NAN, 0.0, 0.0, Nanos::ZERO),
        (80.0, -1.0, 0.0, Nanos::ZERO),
        (80.0, 0.0, f64::INFINITY, Nanos::ZERO),
        (80.0, 0.0, 0.0, hour + Nanos(1)),
    ] {
        assert!(Bbr::try_new(load, cpu, qps, 0, rt).is_none());
    }
    for (load, classes) in [(-1.0, 4), (80.0, 1), (80.0, 17)] {
        assert!(BbrByClass::try_new(load, classes).is_none());
    }
}
