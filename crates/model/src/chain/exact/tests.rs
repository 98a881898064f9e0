use super::*;

fn class(arrival_rate: f64, limit: u32, delay: f64) -> ExactClass {
    ExactClass { arrival_rate, limit, delay }
}

fn service(workers: usize, room: usize, classes: &[ExactClass]) -> Exact {
    Exact { service_rate: 1.0, workers, room, classes: classes.to_vec() }
}

/// The probability that M/M/c/K with one job per second and worker is full.
fn full(load: f64, workers: usize, room: usize) -> f64 {
    let mut weight = 1.0;
    let mut sum = 1.0;
    for jobs in 1..=room {
        weight *= load / jobs.min(workers) as f64;
        sum += weight;
    }
    weight / sum
}

/// Rejection of an attempt if each met a service that had forgotten the ones before.
fn independent(workers: usize, room: usize, classes: &[ExactClass]) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let s: f64 = 0.5 * (low + high);
        let load: f64 = classes
            .iter()
            .map(|c| c.arrival_rate * (0..=c.limit).map(|i| s.powi(i as i32)).sum::<f64>())
            .sum();
        if full(load, workers, room) > s { low = s } else { high = s }
    }
    low
}

/// The same service, request by request: each retrier is a caller of its own.
fn simulated(of: &Exact, requests: u32, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut unit = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut jobs = 0_usize;
    let mut waiting: Vec<(usize, u32)> = Vec::new();
    let mut arrived = vec![0_u32; of.classes.len()];
    let mut lost = arrived.clone();
    while arrived.iter().sum::<u32>() < requests {
        let services = jobs.min(of.workers) as f64 * of.service_rate;
        let arrivals: f64 = of.classes.iter().map(|c| c.arrival_rate).sum();
        let retries: f64 = waiting.iter().map(|&(c, _)| 1.0 / of.classes[c].delay).sum();
        let mut pick = unit() * (services + arrivals + retries);
        if pick < services {
            jobs -= 1;
            continue;
        }
        pick -= services;
        let (who, used) = if pick < arrivals {
            let mut who = 0;
            while who + 1 < of.classes.len() && pick >= of.classes[who].arrival_rate {
                pick -= of.classes[who].arrival_rate;
                who += 1;
            }
            arrived[who] += 1;
            (who, 0)
        } else {
            pick -= arrivals;
            let mut index = 0;
            while index + 1 < waiting.len() && pick >= 1.0 / of.classes[waiting[index].0].delay {
                pick -= 1.0 / of.classes[waiting[index].0].delay;
                index += 1;
            }
            waiting.swap_remove(index)
        };
        if jobs < of.room {
            jobs += 1;
        } else if used < of.classes[who].limit {
            waiting.push((who, used + 1));
        } else {
            lost[who] += 1;
        }
    }
    lost.iter().zip(&arrived).map(|(&l, &a)| f64::from(l) / f64::from(a)).collect()
}

#[test]
fn without_retries_it_is_the_plain_queue() {
    for (workers, room, rate) in [(1, 5, 0.95), (3, 3, 2.0), (4, 20, 5.0)] {
        let answer = service(workers, room, &[class(rate, 0, 1.0)]).solve(8).unwrap();
        let expected = full(rate, workers, room);
        assert!((answer.rejection[0] / expected - 1.0).abs() < 1e-12);
        assert!((answer.blocking / expected - 1.0).abs() < 1e-12);
        assert_eq!((answer.states, answer.cut[0].to_bits()), (room + 1, 0.0_f64.to_bits()));
    }
}

#[test]
fn one_worker_and_one_retrier_are_as_worked_by_hand() {
    // All rates 1; states (jobs, waiting). 00 to 10; 10 to 00 and 11; 01 to 11 and, by the retry,
    // to 10; 11 to 01 and, the retry giving up, to 10. So p00 = p10, 2 p01 = p11 and
    // 2 p11 = p10 + p01: 3, 3, 1 and 2 of 9.
    let answer = service(1, 1, &[class(1.0, 1, 1.0)]).solve(1).unwrap();
    assert!((answer.mean_jobs - 5.0 / 9.0).abs() < 1e-14);
    assert!((answer.mean_waiting - 3.0 / 9.0).abs() < 1e-14);
    assert!((answer.throughput - 5.0 / 9.0).abs() < 1e-14);
    // In 11 the retry gives up, and so does the arrival, for which there is no place.
    assert!((answer.rejection[0] - 4.0 / 9.0).abs() < 1e-14);
    assert!((answer.cut[0] - 2.0 / 9.0).abs() < 1e-14);
    assert!((answer.attempts[0] - 12.0 / 9.0).abs() < 1e-14);
    assert!((answer.blocking - (3.0 + 2.0 + 2.0) / 12.0).abs() < 1e-14);
}

#[test]
fn what_is_not_served_is_rejected() {
    let of = service(2, 4, &[class(1.5, 3, 0.5), class(1.5, 1, 2.0), class(0.0, 2, 1.0)]);
    let answer = of.solve(9).unwrap();
    let served: f64 = answer.rejection.iter().map(|r| 1.5 * (1.0 - r)).take(2).sum();
    assert!((served - answer.throughput).abs() < 1e-10, "{served} {answer:?}");
    assert!(answer.rejection[0] < answer.rejection[1]);
}

#[test]
fn requests_one_by_one_fare_alike() {
    for (of, seed) in [
        (service(1, 20, &[class(1.0, 5, 0.2), class(1.0, 1, 0.2)]), 1),
        (service(2, 3, &[class(1.0, 2, 1.0), class(2.0, 1, 3.0)]), 2),
        (service(3, 3, &[class(4.0, 3, 0.5), class(1.0, 0, 0.5)]), 3),
    ] {
        let answer = of.solve_within(1e-4).unwrap();
        for (exact, found) in answer.rejection.iter().zip(simulated(&of, 1_000_000, seed)) {
            assert!((exact - found).abs() < 0.003, "{exact} {found} {of:?}");
        }
    }
}

#[test]
fn short_delays_repeat_the_rejection_and_long_ones_forget_it() {
    let rate = 1.2;
    let at = |delay| {
        let answer = service(1, 3, &[class(rate, 1, delay)]).solve_within(1e-9).unwrap();
        answer.rejection[0]
    };
    // At once: the retry finds what the attempt before it found.
    let at_once = full(rate, 1, 3);
    assert!((at(1e-5) - at_once).abs() < 1e-4);
    let forgotten = independent(1, 3, &[class(rate, 1, 1.0)]).powi(2);
    let off: Vec<f64> = [1.0, 3.0, 10.0, 30.0].map(|d| (at(d) - forgotten).abs()).to_vec();
    assert!(off.windows(2).all(|pair| pair[1] < 0.6 * pair[0]), "{off:?}");
    // As the inverse of the delay.
    assert!(off[3] * 30.0 < 0.1, "{off:?}");
}

#[test]
fn the_cut_is_bounded_as_said() {
    for (limits, delay) in [((3, 1), 0.5), ((2, 2), 2.0), ((5, 0), 1.0)] {
        let of = service(1, 4, &[class(0.9, limits.0, delay), class(0.6, limits.1, delay)]);
        let best = of.solve_within(1e-7).unwrap();
        for waiting in [0, 1, 2, 4, 6] {
            let answer = of.solve(waiting).unwrap();
            for index in 0..2 {
                let off = (answer.rejection[index] - best.rejection[index]).abs();
                let bound = answer.cut[index] + best.cut[index];
                assert!(off <= bound, "{limits:?} {waiting} {index}: {off} > {bound}");
            }
        }
    }
}

#[test]
fn equal_classes_are_one() {
    let apart = service(1, 4, &[class(0.5, 2, 1.0), class(0.7, 2, 1.0)]).solve(8).unwrap();
    let one = service(1, 4, &[class(1.2, 2, 1.0)]).solve(8).unwrap();
    assert_eq!(apart.states, one.states);
    assert!((apart.rejection[0] - one.rejection[0]).abs() < 1e-14);
    assert!((apart.rejection[1] - one.rejection[0]).abs() < 1e-14);
}

#[test]
fn a_higher_limit_never_harms_its_class() {
    let at = |limit| {
        let of = service(1, 4, &[class(0.8, limit, 1.0), class(0.8, 1, 1.0)]);
        of.solve_within(1e-6).unwrap().rejection
    };
    let by_limit: Vec<_> = (0..4).map(at).collect();
    for pair in by_limit.windows(2) {
        assert!(pair[1][0] < pair[0][0], "{by_limit:?}");
        assert!(pair[1][1] > pair[0][1], "{by_limit:?}");
    }
}

#[test]
fn both_ways_to_solve_agree() {
    let of = service(1, 4, &[class(1.0, 3, 0.5), class(1.0, 1, 0.5)]);
    let (groups, _) = of.groups().unwrap();
    let orbits = orbits(4, 6, 4).unwrap();
    let chain = of.chain(&groups, &orbits, 6).unwrap();
    let (swept, eliminated) = (chain.swept().unwrap(), chain.stationary().unwrap());
    for (a, b) in swept.iter().zip(&eliminated) {
        assert!((a - b).abs() < 1e-12);
    }
}

#[test]
fn what_is_too_large_or_wrong_is_said() {
    let of = service(1, 20, &[class(1.0, 5, 10.0), class(1.0, 1, 10.0)]);
    assert!(matches!(of.solve(200), Err(ChainError::TooLarge { .. })));
    assert!(matches!(of.solve(256), Err(ChainError::TooLarge { .. })));
    for bad in [
        service(0, 4, &[class(1.0, 1, 1.0)]),
        service(5, 4, &[class(1.0, 1, 1.0)]),
        service(1, 4, &[class(f64::NAN, 1, 1.0)]),
        service(1, 4, &[class(1.0, 17, 1.0)]),
        service(1, 4, &[class(1.0, 1, 0.0)]),
    ] {
        assert!(matches!(bad.solve(4), Err(ChainError::Parameter { .. })), "{bad:?}");
    }
    assert!(matches!(service(1, 4, &[]).solve(4), Err(ChainError::Empty { .. })));
    assert!(matches!(of.solve_within(f64::NAN), Err(ChainError::Parameter { .. })));
}
