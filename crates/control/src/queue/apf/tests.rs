use super::*;
use proptest::prelude::*;
use std::vec::Vec;

const MS: fn(u64) -> Nanos = Nanos::from_millis;
const S: fn(u64) -> Nanos = Nanos::from_secs;
const NONE: u32 = u32::MAX;

fn level(shares: f64, lendable_percent: f64) -> LevelConfig {
    LevelConfig { shares, lendable_percent, borrowing_percent: None, excess: Excess::Queue }
}

fn apf(seats: u32, levels: &[LevelConfig]) -> Apf {
    let config = ApfConfig {
        seats,
        queues: 8,
        hand: 2,
        queue_length: 50,
        levels,
        required: Required::Nominal,
    };
    Apf::try_new(&config).unwrap()
}

fn who(class: u8, flow: u64) -> Who {
    Who { class, flow, user: None }
}

impl Apf {
    fn seats_of(&self) -> Vec<u32> {
        self.levels.iter().map(|l| l.queues.limit()).collect()
    }

    fn executing_of(&self) -> Vec<u32> {
        self.levels.iter().map(|l| l.queues.executing()).collect()
    }

    fn reading(&self, name: &str) -> f64 {
        let mut found = None;
        self.observe(&mut |n, value| {
            if n == name {
                found = Some(value);
            }
        });
        found.unwrap()
    }

    /// Takes as many as there are seats for; their lists.
    fn take_all(&mut self, now: Nanos) -> Vec<usize> {
        core::iter::from_fn(|| self.next(now)).map(|(list, _)| list).collect()
    }

    /// `n` attempts of different flows join a class.
    fn join_many(&mut self, now: Nanos, class: u8, n: u64) {
        for flow in 0..n {
            self.join(now, who(class, flow), 0, NONE).unwrap();
        }
    }
}

/// 10.3: the default levels of Kubernetes have all of their seats when nobody wants any.
#[test]
fn default_levels() {
    let levels = [
        level(30.0, 33.0),
        level(40.0, 25.0),
        level(10.0, 0.0),
        level(40.0, 50.0),
        level(100.0, 90.0),
        level(20.0, 50.0),
        level(5.0, 0.0),
    ];
    let mut order = apf(600, &levels);
    assert_eq!(order.lists(), 56);
    let nominal: Vec<u32> = order.levels.iter().map(|l| l.claim.bounds.nominal).collect();
    assert_eq!(nominal, [74, 98, 25, 98, 245, 49, 13]);
    let seats = order.seats_of();
    // 602 seats for targets of Min, 258 in all: 2.3333 times as many each.
    assert_eq!(seats, [117, 170, 58, 114, 56, 56, 30]);
    assert!(order.holds_back());
    assert_eq!(order.next(MS(0)), None);
}

/// An attempt has a seat from `next` to `done`; who leaves gives up a place.
#[test]
fn seats_by_hand() {
    let mut order = apf(2, &[level(1.0, 0.0)]);
    for flow in 0..4 {
        order.join(MS(0), who(5, flow), 0, NONE).unwrap();
    }
    let lists = order.take_all(MS(0));
    assert_eq!(lists.len(), 2);
    assert_eq!((order.reading("waiting"), order.reading("executing")), (2.0, 2.0));
    assert_eq!(order.next(MS(1)), None, "a free worker, but no free seat");
    order.done(MS(1), lists[0], MS(1));
    assert!(matches!(order.next(MS(1)), Some((_, Side::Oldest))));
    assert_eq!(order.reading("dispatched"), 3.0);
    let last = (0..8).find(|list| order.levels[0].queues.clone().left(MS(1), *list)).unwrap();
    order.left(MS(1), last);
    assert_eq!((order.reading("waiting"), order.reading("left")), (0.0, 1.0));
    order.left(MS(1), last);
    order.left(MS(1), 999);
    order.done(MS(1), 999, MS(1));
    assert_eq!(order.reading("left"), 1.0, "nobody waits there");
}

/// The newest of a flow that fills its hand is refused, with the Retry-After of its level.
#[test]
fn refusals_say_when_to_come_back() {
    let mut order = apf(1, &[level(1.0, 0.0), level(1.0, 0.0)]);
    for _ in 0..100 {
        order.join(S(1), who(1, 7), 0, NONE).unwrap();
    }
    let refused = Refusal::new(Reason::QueueFull, 1);
    for _ in 0..3 {
        assert_eq!(order.join(S(1), who(1, 7), 0, NONE), Err(refused.until(S(2))));
    }
    // Three in the last second: two seconds from now on.
    assert_eq!(order.join(S(2), who(1, 7), 0, NONE), Err(refused.until(S(4))));
    // The level above has drops of its own, and room; but the service as a whole is full.
    let full = order.join(S(2), who(0, 7), 100, 100);
    assert_eq!(full, Err(Refusal::new(Reason::QueueFull, 0).until(S(3))));
    assert_eq!((order.reading("rejected"), order.reading("retry_after_s")), (5.0, 2.0));
}

#[test]
fn a_level_that_does_not_queue_refuses_without_a_seat() {
    let reject = LevelConfig { excess: Excess::Reject, ..level(1.0, 0.0) };
    let mut order = apf(4, &[level(1.0, 0.0), reject]);
    order.join_many(MS(0), 1, 2);
    let refused = Refusal::new(Reason::ConcurrencyLimited, 1).until(S(1));
    assert_eq!(order.join(MS(0), who(1, 9), 0, NONE), Err(refused));
    assert_eq!(order.take_all(MS(0)).len(), 2);
    assert_eq!(order.join(MS(0), who(1, 9), 0, NONE), Err(refused));
    assert_eq!(order.reading("no_seat"), 2.0);
}

#[test]
fn an_exempt_level_has_no_limit_and_comes_first() {
    let exempt = LevelConfig { excess: Excess::Exempt, ..level(0.0, 0.0) };
    let mut order = apf(4, &[exempt, level(1.0, 0.0)]);
    order.join_many(MS(0), 1, 9);
    order.join_many(MS(0), 0, 9);
    let lists = order.take_all(MS(0));
    assert_eq!(order.executing_of(), [9, 4]);
    assert!(lists[..9].iter().all(|list| *list < 8));
}

/// One level has all the demand and borrows; when the other wants its own again it gets it with
/// the next period. Meanwhile attempts of the first run on in the seats they have.
#[test]
fn lent_seats_come_back() {
    let mut order = apf(20, &[level(1.0, 100.0), level(1.0, 50.0)]);
    assert_eq!(order.seats_of(), [0, 20], "no demand: in proportion to Min, 0 and 5");
    order.join_many(S(1), 0, 60);
    assert_eq!(order.take_all(S(1)).len(), 1, "a level that lent everything has one seat");
    order.join_many(S(11), 0, 1);
    assert_eq!(order.seats_of(), [15, 5]);
    let held = order.take_all(S(11));
    assert_eq!(order.executing_of(), [15, 0]);
    assert_eq!(order.reading("borrowed"), 5.0);
    order.join_many(S(12), 1, 30);
    order.take_all(S(12));
    assert_eq!(order.executing_of(), [15, 5]);
    // Both want 10 and more: both have their own.
    order.join_many(S(21), 1, 1);
    assert_eq!(order.seats_of(), [10, 10]);
    assert_eq!(order.take_all(S(21)).len(), 5);
    // The trap: for as long as the borrower's attempts last, more seats are in use than there are.
    assert_eq!(order.executing_of(), [15, 10]);
    for list in held.into_iter().take(5) {
        order.done(S(22), list, S(11));
    }
    assert_eq!(order.take_all(S(22)), [], "the borrower gets none of them back");
    assert_eq!(order.executing_of(), [10, 10]);
    assert_eq!(order.reading("borrowed"), 0.0);
}

/// Ten seats for the first half of a period: mean 5, deviation 5, and ten at most. The second
/// period has none.
#[test]
fn demand_is_that_of_the_period() {
    let mut order = apf(20, &[level(1.0, 50.0)]);
    order.join_many(S(100), 0, 10);
    let lists = order.take_all(S(100));
    for list in lists {
        order.done(S(105), list, S(5));
    }
    order.turn(S(109));
    assert_eq!(order.levels[0].claim.high, 0.0, "the period is not over");
    order.turn(S(110));
    assert_eq!((order.levels[0].claim.high, order.levels[0].claim.smooth), (10.0, 10.0));
    order.turn(S(120));
    assert_eq!((order.levels[0].claim.high, order.levels[0].claim.smooth), (0.0, 9.77));
}

/// A server that was idle for a year lends by what it was asked for last.
#[test]
fn a_long_silence_is_many_periods() {
    let mut order = apf(20, &[level(1.0, 50.0), level(1.0, 50.0)]);
    order.join_many(S(0), 0, 30);
    let year = S(365 * 86_400);
    order.turn(year);
    assert_eq!(order.seats_of(), [15, 5], "they still wait");
    assert_eq!(order.period, Some(year));
    order.turn(S(5));
    assert_eq!(order.period, Some(S(5)), "a clock that went back begins a period");
    order.turn(Nanos::MAX);
    assert_eq!(order.seats_of(), [15, 5]);
}

/// Fewer workers than seats: levels are served by the part of their seats that they use, in
/// turn if that is equal.
#[test]
fn workers_are_shared_as_seats_are() {
    let mut order = apf(40, &[level(3.0, 0.0), level(1.0, 0.0)]);
    order.join_many(MS(0), 0, 40);
    order.join_many(MS(0), 1, 40);
    for _ in 0..12 {
        order.next(MS(0)).unwrap();
    }
    assert_eq!(order.executing_of(), [9, 3]);
    let mut one = apf(40, &[level(3.0, 0.0), level(1.0, 0.0)]);
    one.join_many(MS(0), 0, 40);
    one.join_many(MS(0), 1, 40);
    let mut served = [0, 0];
    for t in 0..40 {
        let (list, _) = one.next(MS(t)).unwrap();
        served[list / 8] += 1;
        one.done(MS(t + 1), list, MS(1));
    }
    assert_eq!(served, [20, 20], "one worker: in turn");
}

#[test]
fn other_shares() {
    let order = apf(40, &[level(1.0, 0.0), level(1.0, 0.0)]);
    assert_eq!(order.seats_of(), [20, 20]);
    assert_eq!(order.with_shares(&[3.0, 1.0]).unwrap().seats_of(), [30, 10]);
    for bad in [&[1.0][..], &[1.0; 3], &[0.0, 0.0], &[1.0, -1.0], &[1.0, f64::NAN]] {
        assert!(order.with_shares(bad).is_none(), "{bad:?}");
    }
}

#[test]
fn refuses_impossible_settings() {
    let one = [level(1.0, 0.0)];
    let good = ApfConfig {
        seats: 600,
        queues: 64,
        hand: 6,
        queue_length: 50,
        levels: &one,
        required: Required::Nominal,
    };
    assert!(Apf::try_new(&good).is_some());
    for bad in [
        ApfConfig { seats: 0, ..good },
        ApfConfig { seats: 1_000_001, ..good },
        ApfConfig { queues: 5, ..good },
        ApfConfig { queues: 4097, ..good },
        ApfConfig { queues: 4096, hand: 2, queue_length: 1025, ..good },
        ApfConfig { hand: 0, ..good },
        ApfConfig { hand: 11, ..good },
        ApfConfig { queue_length: 0, ..good },
        ApfConfig { queue_length: 65_537, queues: 6, ..good },
        ApfConfig { levels: &[], ..good },
        ApfConfig { levels: &[level(1.0, 0.0); 17], ..good },
        ApfConfig { levels: &[level(0.0, 0.0)], ..good },
        ApfConfig { levels: &[level(1.0, 101.0)], ..good },
    ] {
        assert!(Apf::try_new(&bad).is_none(), "{bad:?}");
    }
}

proptest! {
    /// Whatever happens: no level starts beyond its seats, no level has more or fewer than its
    /// bounds, all seats together are those there are but for rounding, and who waits while no
    /// other event comes is served sooner or later.
    #[test]
    fn seats_are_never_exceeded(
        levels in prop::collection::vec((1u32..5, 0u32..=100), 1..5),
        seats in 1u32..40,
        ops in prop::collection::vec((0u8..8, 0u8..6, any::<u64>()), 0..500),
    ) {
        let configs: Vec<LevelConfig> =
            levels.iter().map(|(s, l)| level(f64::from(*s), f64::from(*l))).collect();
        let mut order = apf(seats, &configs);
        let nominal: u32 = order.levels.iter().map(|l| l.claim.bounds.nominal).sum();
        prop_assert!(nominal < seats + levels.len() as u32);
        let mut now = Nanos::ZERO;
        let mut busy = Vec::new();
        for (op, class, x) in ops {
            now = match op {
                0 => Nanos(x),
                1 => now + Nanos(x % 20_000_000_000),
                _ => now + Nanos(x % 5_000_000),
            };
            match op % 4 {
                0 | 1 => {
                    let _ = order.join(now, who(class, x % 9), 0, NONE);
                }
                2 => {
                    let before = order.executing_of();
                    if let Some((list, _)) = order.next(now) {
                        let limit = order.levels[list / 8].queues.limit().max(1);
                        prop_assert!(before[list / 8] < limit);
                        busy.push(list);
                    }
                }
                _ if busy.is_empty() => {}
                _ => {
                    let list = busy.swap_remove((x % busy.len() as u64) as usize);
                    order.done(now, list, Nanos(x));
                }
            }
            let sum: u32 = order.seats_of().iter().sum();
            prop_assert!(sum.abs_diff(nominal) as usize * 2 <= levels.len());
            for l in &order.levels {
                prop_assert!((l.claim.bounds.min..=l.claim.bounds.max).contains(&l.queues.limit()));
            }
        }
        // With one worker and nobody who joins, all are served.
        for list in busy {
            order.done(now, list, MS(1));
        }
        let waiting = order.reading("waiting") as usize;
        for _ in 0..waiting {
            let (list, _) = order.next(now).unwrap();
            now = now + MS(3);
            order.done(now, list, MS(3));
        }
        prop_assert_eq!(order.reading("waiting"), 0.0);
        prop_assert_eq!(order.next(now), None);
    }
}
