use super::*;
use crate::admission::Admission;
use crate::admission::plant::Plant;
use crate::testing::Zero;
use crate::who::COHORTS;
use proptest::prelude::*;
use std::vec::Vec;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn published() -> Cinnamon {
    Cinnamon::try_new(MS(500), 0.1, 1.4).unwrap()
}

fn by_arrivals() -> Cinnamon {
    Cinnamon::by_arrivals(MS(500), 0.1, 1.4).unwrap()
}

fn flow(arrived: u32, joined: u32, left: u32) -> Flow {
    Flow { arrived, joined, left }
}

fn busy(working: u32, workers: u32) -> Busy {
    Busy { working, workers, ..Busy::default() }
}

impl Cinnamon {
    fn ask(&mut self, now: Nanos, class: u8, busy: &Busy) -> bool {
        self.admit(now, Who::of(class), busy, &mut Zero).is_ok()
    }

    /// A step of the controller; gives integral and ratio to six digits.
    fn after(&mut self, flow: Flow, free: f64, limit: f64) -> (f64, f64) {
        self.step(flow, free, limit);
        let six = |x: f64| (x * 1e6).round() / 1e6;
        (six(self.integral), six(self.ratio))
    }
}

#[test]
fn controller_by_hand() {
    let mut c = published();
    // e = (150 - 100) / 100 = 0.5.
    assert_eq!(c.after(flow(150, 150, 100), 0.0, 10.0), (0.7, 0.75));
    // e = (70 - 100 - 2) / 100 = -0.32.
    assert_eq!(c.after(flow(150, 70, 100), 2.0, 10.0), (0.252, 0.22));
    // Nothing left: e = (3 - 0 - 1) / 10 = 0.2.
    assert_eq!(c.after(flow(9, 3, 0), 1.0, 10.0), (0.532, 0.552));
    // e = 2, of which no more than 1 is kept.
    assert_eq!(c.after(flow(20, 20, 0), 0.0, 10.0), (1.0, 1.0));
    assert_eq!(c.after(flow(20, 20, 0), 0.0, 10.0), (1.0, 1.0));
    // e = -0.5: without the bound this would be 4.6 - 0.7.
    assert_eq!(c.after(flow(20, 5, 10), 0.0, 10.0), (0.3, 0.25));
    // Free places are room: e = (100 - 100 - 10) / 100 = -0.1.
    assert_eq!(c.after(flow(100, 100, 100), 10.0, 20.0), (0.16, 0.15));
    assert_eq!(c.after(flow(100, 100, 100), 20.0, 20.0), (0.0, 0.0));
}

#[test]
fn controller_by_arrivals_by_hand() {
    let mut c = by_arrivals();
    // e = (150 - 100) / 150 = 1/3.
    assert_eq!(c.after(flow(150, 150, 100), 0.0, 10.0), (0.466_667, 0.5));
    // e = (75 - 100) / 150 = -1/6.
    assert_eq!(c.after(flow(150, 75, 100), 0.0, 10.0), (0.233_333, 0.216_667));
    // Nobody came: e = -10 / 10.
    assert_eq!(c.after(flow(0, 0, 0), 10.0, 10.0), (0.0, 0.0));
}

/// If `in` were all arrivals: once everybody is refused nothing leaves, and the error stays.
#[test]
fn with_all_arrivals_in_it_would_refuse_everybody_for_ever() {
    let mut c = published();
    assert_eq!(c.after(flow(1000, 1000, 500), 0.0, 10.0).1, 1.0);
    for _ in 0..100 {
        assert_eq!(c.after(flow(1000, 1000, 0), 10.0, 10.0).1, 1.0, "e = 990 / 10");
    }
    let mut c = published();
    assert_eq!(c.after(flow(1000, 1000, 500), 0.0, 10.0).1, 1.0);
    assert_eq!(c.after(flow(1000, 0, 500), 0.0, 10.0).1, 0.0, "what joined, as it is here");
}

#[test]
fn intervals_by_hand() {
    let mut c = published();
    let full = busy(10, 10);
    for ms in [100, 200, 300, 599] {
        assert!(c.ask(MS(ms), 3, &full), "the first interval is from 100 to 600");
    }
    // in 4, out 0, limit 10: e = 0.4, ratio 0.6; all four had the same rank, which stays.
    let class_3 = 3 * COHORTS;
    assert!(c.ask(MS(600), 3, &full));
    assert_eq!((c.threshold, c.next), (class_3 + 1, Some(MS(1100))));
    assert!((c.ratio - 0.6).abs() < 1e-12);
    // in 1: e = 0.1, integral 0.7, ratio 0.71; 1600 is the end of a second interval without
    // anything: e = 0.
    assert!(c.ask(MS(1650), 3, &full));
    assert!((c.integral - 0.7).abs() < 1e-12);
    assert_eq!(c.next, Some(MS(2100)));
    // in 1: e = 0.1; Ki × e = 0.14. Five idle intervals with all places free: -5.
    assert!(c.ask(MS(4600), 3, &busy(0, 10)));
    assert_eq!((c.ratio, c.threshold, c.next), (0.0, Ranks::BEYOND, Some(MS(5100))));
    c.ask(MS(5), 3, &full);
    assert_eq!(c.next, Some(MS(505)), "a clock that went back");
}

#[test]
fn a_refusal_says_when_the_threshold_moves() {
    let mut c = published();
    let full = busy(10, 10);
    (0..100).for_each(|_| assert!(c.ask(MS(0), 3, &full)));
    let refused = c.admit(MS(501), Who::of(3), &full, &mut Zero);
    assert_eq!(refused, Err(Refusal::new(Reason::Shed, 3).until(MS(1000))));
    assert_eq!((c.refused, c.ratio), (1, 1.0));
}

/// Without a number of workers the tuner's limit of 20 counts: 30 in flight are 10 too many.
#[test]
fn without_workers_the_tuner_is_the_limit() {
    let mut c = published();
    let crowded = busy(30, u32::MAX);
    for _ in 0..100 {
        assert!(c.ask(MS(0), 0, &crowded));
        c.taken(MS(0), Who::of(0), Nanos::ZERO, &crowded);
    }
    c.ask(MS(500), 0, &crowded);
    // e = (100 - 100 + 10) / 100 = 0.1.
    assert!((c.ratio - 0.15).abs() < 1e-12, "{}", c.ratio);
    assert_eq!(c.tuner.limit(), 20);
}

/// The share to be refused after the first 20 s, every half second.
fn ratios(rule: Cinnamon, load: f64) -> Vec<f64> {
    let mut rule = Admission::from(rule);
    let mut run = Plant::at(load).run(&mut rule);
    run.until(MS(20_000));
    (1..20)
        .map(|i| {
            run.until(MS(20_000 + 500 * i));
            let Admission::Cinnamon(c) = run.rule() else { panic!() };
            c.ratio()
        })
        .collect()
}

fn spread(ratios: &[f64]) -> f64 {
    let most = ratios.iter().copied().fold(0.0, f64::max);
    most - ratios.iter().copied().fold(1.0, f64::min)
}

/// Ki × load is the gain of the loop: at 1.2 it is 1.68, at 2 it is 2.8, and 2 is the edge.
#[test]
fn the_published_gain_swings_under_heavy_overload_and_ours_does_not() {
    assert!(spread(&ratios(published(), 1.2)) < 0.4);
    assert_eq!(spread(&ratios(published(), 2.0)), 1.0, "all, nobody, all, nobody");
    for load in [1.2, 2.0, 3.0, 6.0] {
        let ratios = ratios(by_arrivals(), load);
        assert!(spread(&ratios) < 0.25, "{load}: {ratios:?}");
        let excess = 1.0 - 1.0 / load;
        assert!(ratios.iter().all(|r| (r - excess).abs() < 0.15), "{load}: {ratios:?}");
    }
}

/// Rung 5 of the guide: at three times the capacity the highest class is served as before. It
/// fills three quarters of the capacity; the next class gets what is left.
#[test]
fn the_highest_class_keeps_its_goodput_at_three_times_the_capacity() {
    let mut rule = Admission::from(by_arrivals());
    let mut run = Plant::at(3.0).run(&mut rule);
    run.until(MS(20_000));
    let seen = run.until(MS(60_000));
    let share = |n: u32| f64::from(n) / f64::from(seen.offered[0]);
    assert!(share(seen.refused[0]) < 0.02 && share(seen.good[0]) > 0.98, "{seen:?}");
    assert!(seen.good.iter().sum::<u32>() > 36_000, "nine tenths of the capacity: {seen:?}");
    assert_eq!(seen.queue_full, [0; 4]);
}

#[test]
fn refuses_impossible_settings() {
    for (interval, kp, ki) in [
        (Nanos::ZERO, 0.1, 1.4),
        (Nanos::from_secs(3601), 0.1, 1.4),
        (MS(500), -0.1, 1.4),
        (MS(500), 0.1, f64::NAN),
        (MS(500), 0.1, 1001.0),
    ] {
        assert!(Cinnamon::try_new(interval, kp, ki).is_none());
        assert!(Cinnamon::by_arrivals(interval, kp, ki).is_none());
    }
}

proptest! {
    #[test]
    fn ratio_and_integral_stay_in_range(
        steps in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), -1e9f64..1e9), 1..200),
    ) {
        for mut c in [published(), by_arrivals()] {
            for (arrived, joined, left, free) in &steps {
                c.step(flow(*arrived, *joined, *left), *free, 10.0);
                prop_assert!((0.0..=1.0).contains(&c.ratio) && (0.0..=1.0).contains(&c.integral));
            }
        }
    }
}
