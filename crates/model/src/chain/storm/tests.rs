use proptest::prelude::*;

use super::tail::upper_gamma;
use super::*;
use crate::chain::mean;

fn storm(arrival_rate: f64, timeout: f64, retries: f64, room: usize) -> Storm {
    Storm {
        arrival_rate,
        service_rate: 10.0,
        workers: 1,
        spread: 1.0,
        timeout,
        pause: 0.0,
        retries,
        room,
    }
}

fn seconds(duration: Expected) -> f64 {
    duration.value().unwrap()
}

const NOWHERE: Point = Point { queue: 0.0, waiting: 0.0 };

#[test]
fn one_worker_is_late_as_an_erlang_is() {
    // Three services are expected within the time-out; q + 1 have to fit.
    let of = storm(5.0, 0.3, 2.0, 4);
    for (q, sum) in [1.0, 4.0, 8.5, 13.0, 16.375].into_iter().enumerate() {
        let found = of.late(q as f64);
        assert!((found - (-3.0_f64).exp() * sum).abs() < 1e-13, "{q}: {found}");
    }
    let far = storm(5.0, 30.0, 2.0, 2000);
    assert!(far.late(2000.0) > 1.0 - 1e-12 && far.late(0.0) < 1e-100);
}

#[test]
fn the_gamma_tail_meets_its_closed_forms() {
    // Q(1, x) = e^-x; Q(1/2, x) = erfc(sqrt x); Q(a, 0) = 1.
    for x in [0.01, 0.5, 1.9, 2.1, 30.0] {
        assert!((upper_gamma(1.0, x) - libm::exp(-x)).abs() < 1e-14, "{x}");
        assert!((upper_gamma(0.5, x) - libm::erfc(x.sqrt())).abs() < 1e-13, "{x}");
    }
    assert!((upper_gamma(7.0, 0.0) - 1.0).abs() < 1e-15);
}

#[test]
fn constant_services_are_late_from_one_queue_on() {
    // 100 ms each: nine before it and its own take 1 s and are not late, ten are.
    let of = Storm { spread: 0.0, ..storm(5.0, 1.000_001, 1.0, 40) };
    assert_eq!([of.late(9.0), of.late(10.0)], [0.0, 1.0]);
}

#[test]
fn retries_are_counted_once() {
    assert_eq!(brought(3.0), [(3, 1.0), (4, 0.0)]);
    assert_eq!(brought(1.25), [(1, 0.75), (2, 0.25)]);
    for retries in [0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 7.0] {
        let law = taken(retries);
        assert!((law.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-12, "{law:?}");
    }
    // The retries left are 0, 1 or 2 with equal chances.
    let third = taken(3.0).into_iter().map(|(less, p)| less as f64 * p).sum::<f64>();
    assert!((third - 2.0).abs() < 1e-12);
    assert_eq!(taken(1.0), [(1, 1.0)]);
}

#[test]
fn rates_leave_as_the_rules_say() {
    let of = storm(5.0, 1.0, 3.0, 40);
    let (chain, grid) = (of.chain().unwrap(), of.grid().unwrap());
    // Eight retries, each out after two time-outs; whatever becomes of it, it is one arrival.
    assert!((chain.exit(grid.state(12, 8)) - (5.0 + 4.0 + 10.0)).abs() < 1e-12);
    // Full: who arrives is refused for good, who tries again takes all his retries along.
    assert!((chain.exit(grid.state(40, 8)) - (10.0 + 4.0)).abs() < 1e-12);
    assert!((chain.exit(grid.state(0, 0)) - 5.0).abs() < 1e-12);
    // Far above the patience λ k retries come and n / 2 go each second.
    let (dq, dn) = grid.drift(&chain, grid.state(38, 20));
    assert!((dq - (5.0 + 10.0 - 10.0)).abs() < 1e-9 && (dn - (15.0 - 10.0)).abs() < 1e-9);
    let (smooth_q, smooth_n) = of.drift(Point { queue: 38.0, waiting: 20.0 });
    assert!((dq - smooth_q).abs() < 1e-9 && (dn - smooth_n).abs() < 1e-9);
}

#[test]
fn the_spread_of_services_changes_the_variance_and_nothing_else() {
    for spread in [0.0, 0.5, 1.0, 4.0] {
        let of = Storm { spread, ..storm(8.0, 1.0, 1.0, 40) };
        let (chain, grid) = (of.chain().unwrap(), of.grid().unwrap());
        let from = grid.state(30, 5);
        let steps = || chain.moves_of(from).map(|(to, rate)| (rate, grid.at(to).0 as f64 - 30.0));
        let drift: f64 = steps().map(|(rate, step)| rate * step).sum();
        let variance: f64 = steps().map(|(rate, step)| rate * step * step).sum();
        assert!((drift - (8.0 + 5.0 - 10.0)).abs() < 1e-9);
        assert!((variance - (13.0 + spread * 10.0)).abs() < 1e-9, "{spread}: {variance}");
    }
}

#[test]
fn without_retries_the_queue_is_the_plain_one() {
    let of = Storm { workers: 2, ..storm(15.0, 0.5, 0.0, 12) };
    let (chain, grid) = (of.chain().unwrap(), of.grid().unwrap());
    let law = chain.stationary().unwrap();
    assert!(chain.imbalance(&law) < 1e-13);
    let mut expected = vec![1.0];
    for q in 1..=12_usize {
        expected.push(expected[q - 1] * 15.0 / (10.0 * q.min(2) as f64));
    }
    let sum: f64 = expected.iter().sum();
    for (q, weight) in expected.iter().enumerate() {
        let found = mean(&law, |state| f64::from(u8::from(grid.at(state).0 == q)));
        assert!((found / (weight / sum) - 1.0).abs() < 1e-11, "{q}");
    }
}

#[test]
fn attempts_are_conserved_in_the_long_run() {
    let of = storm(5.0, 1.0, 2.0, 30);
    let (chain, grid) = (of.chain().unwrap(), of.grid().unwrap());
    let law = chain.stationary().unwrap();
    assert!(chain.imbalance(&law) < 1e-12);
    // What enters is finished: first attempts and retries that find room.
    let enters = mean(&law, |state| {
        let (q, n) = grid.at(state);
        if q < 30 { 5.0 + n as f64 * of.release() } else { 0.0 }
    });
    let finished = mean(&law, |state| if grid.at(state).0 > 0 { 10.0 } else { 0.0 });
    assert!((enters / finished - 1.0).abs() < 1e-9, "{enters} {finished}");
}

#[test]
fn the_saddle_stands_still_on_the_boundary() {
    let of = storm(7.0, 1.0, 1.0, 40);
    let saddle = of.tipping().unwrap();
    // Three per second are free, and each retry waits one time-out.
    assert!((saddle.waiting - 3.0).abs() < 1e-12);
    let (dq, dn) = of.drift(saddle);
    assert!(dq.abs() < 1e-6 && dn.abs() < 1e-6, "{dq} {dn}");
    let near = |by: f64| Point { queue: saddle.queue + by, ..saddle };
    assert!(of.recovers(near(-1.0)) && !of.recovers(near(1.0)));
    let boundary = of.basins().boundary;
    assert!(boundary.windows(2).all(|p| p[1].queue <= p[0].queue + 1e-6), "{boundary:?}");
    // Hidden capacity is 5, advertised 10: one basin below, none above.
    assert!(storm(4.9, 1.0, 1.0, 40).tipping().is_none());
    assert!(storm(4.9, 1.0, 1.0, 40).recovers(Point { queue: 40.0, waiting: 9.0 }));
    assert!(storm(10.1, 1.0, 1.0, 40).healthy().is_none());
}

#[test]
fn the_chain_and_the_drift_part_at_the_same_place() {
    // Where the odds are even lies the boundary, give or take the spread of a queue of ten.
    let of = storm(7.0, 1.0, 1.0, 40);
    let (grid, outlook) = (of.grid().unwrap(), of.outlook().unwrap());
    assert!(outlook.iter().all(|p| (0.0..=1.0).contains(p)));
    for point in of.basins().boundary.iter().take(20) {
        let n = point.waiting.round() as usize;
        let even = (0..=40).find(|&q| outlook[grid.state(q, n)] > 0.5).unwrap();
        assert!((even as f64 - point.queue).abs() < 4.0, "{point:?} {even}");
    }
}

#[test]
fn a_fluid_fills_and_drains_by_hand() {
    // Silent for 20 s at 12/s: 240 first attempts, and all but the last 0.6 s of them once more.
    // It then drains by 30 - 24 a second to the 18 that can be served in time.
    let of = Storm { service_rate: 30.0, ..storm(12.0, 0.6, 1.0, 1000) };
    let silent = Phase { seconds: 20.0, load: 1.0, capacity: 0.0, refuses: false };
    let left = of.after(&[silent], false, 1000.0);
    assert!((left.queue - (240.0 + 12.0 * 19.4)).abs() < 1.0, "{left:?}");
    // 0.6 s of first attempts still have their retry before them.
    assert!((left.waiting - 7.2).abs() < 0.5, "{left:?}");
    let drain = (left.queue - 18.0) / 6.0;
    let recovery = left.recovery.unwrap();
    assert!((recovery - drain).abs() < 1.5, "{recovery} {drain}");
    // And the chain, which knows chance, agrees.
    let start = Point { queue: left.queue, waiting: left.waiting };
    let by_chain = seconds(of.solve(start).unwrap().from_start);
    assert!((by_chain / recovery - 1.0).abs() < 0.03, "{by_chain} {recovery}");
    // Above hidden capacity it does not come back; what is refused leaves nothing behind.
    let more = Storm { arrival_rate: 16.0, ..of };
    assert_eq!(more.after(&[silent], false, 1000.0).recovery, None);
    let refused = of.after(&[Phase { refuses: true, ..silent }], false, 1000.0);
    assert!(refused.queue < 1e-9 && refused.recovery.unwrap() <= 0.6 + 1e-9, "{refused:?}");
}

#[test]
fn the_slowest_mode_is_escape_and_recovery() {
    // Between two basins, the slowest mode dies out at the sum of both rates; the times are longer
    // than that by the seconds that the way itself takes.
    let of = storm(6.0, 1.0, 2.0, 40);
    let answer = of.solve(NOWHERE).unwrap();
    let both = 1.0 / seconds(answer.escape) + 1.0 / seconds(answer.recovery);
    let chain = of.chain().unwrap();
    let mode = chain.slow_mode().unwrap();
    assert!((-mode.rate / both - 1.0).abs() < 0.1, "{mode:?} {both}");
    let share = 1.0 / seconds(answer.escape) / both;
    assert!((answer.collapsed - share).abs() < 0.02, "{answer:?}");
    assert!(answer.cut < 1e-6);
    // The next modes are those within a basin, far faster.
    let modes = chain.slow_modes(3).unwrap();
    assert!((modes[0].rate / mode.rate - 1.0).abs() < 1e-6 && modes[1].rate < 10.0 * mode.rate);
}

#[test]
fn load_and_retries_bring_collapse_nearer_and_keep_it() {
    let of_load = [5.5, 6.0, 7.0].map(|rate| storm(rate, 1.0, 3.0, 40));
    let of_retries = [1.0, 2.0, 3.0].map(|retries| storm(6.0, 1.0, retries, 40));
    for row in [&of_load[..], &of_retries[..]] {
        let answers: Vec<_> = row.iter().map(|of| of.solve(NOWHERE).unwrap()).collect();
        for pair in answers.windows(2) {
            assert!(seconds(pair[1].escape) < seconds(pair[0].escape));
            assert!(seconds(pair[1].recovery) > seconds(pair[0].recovery));
        }
    }
    let storms = storm(8.0, 3.0, 4.0, 100).solve(NOWHERE).unwrap();
    assert!(seconds(storms.recovery) > 1e15, "{:?}", storms.recovery);
}

#[test]
fn what_cannot_be_solved_is_said() {
    let good = storm(5.0, 1.0, 3.0, 40);
    for bad in [
        Storm { arrival_rate: f64::NAN, ..good },
        Storm { service_rate: f64::INFINITY, ..good },
        Storm { workers: 0, ..good },
        Storm { workers: 41, ..good },
        Storm { spread: -1.0, ..good },
        Storm { timeout: 0.0, ..good },
        Storm { pause: f64::NAN, ..good },
        Storm { retries: 1e9, ..good },
    ] {
        assert!(matches!(bad.solve(NOWHERE), Err(ChainError::Parameter { .. })), "{bad:?}");
    }
    for large in [
        Storm { arrival_rate: 1e9, ..good },
        Storm { room: 1_000_000, ..good },
        Storm { arrival_rate: 6200.0, workers: 100, timeout: 3.0, room: 400, ..good },
    ] {
        assert!(matches!(large.solve(NOWHERE), Err(ChainError::TooLarge { .. })), "{large:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_storm_has_numbers_for_answers(
        load in -2.0_f64..1.0, time in -2.0_f64..0.5, workers in 1_usize..4,
        retries in 0.0_f64..5.0, more in 1_usize..30, spread in 0.0_f64..3.0, pause in 0_u8..2
    ) {
        let of = Storm {
            arrival_rate: 10_f64.powf(load), service_rate: 1.0, workers, spread,
            timeout: 10_f64.powf(time), pause: f64::from(pause) * 0.5, retries, room: workers + more,
        };
        let answer = of.solve(NOWHERE).unwrap();
        for time in [answer.escape, answer.recovery, answer.from_start] {
            prop_assert!(time.value().is_none_or(|time| time >= 0.0));
        }
        prop_assert!((0.0..=1.0).contains(&answer.collapsed));
        let left = of.after(
            &[Phase { seconds: 2.0, load: 2.0, capacity: 0.3, refuses: false }], true, 100.0,
        );
        prop_assert!((0.0..=of.room as f64 + 1e-6).contains(&left.queue), "{left:?}");
        prop_assert!(left.waiting.is_finite() && left.waiting >= 0.0);
    }
}
