use proptest::prelude::*;

use super::*;

fn single(arrival_rate: f64, timeout: f64, retries: f64) -> Metafor {
    let class = MetaforClass { arrival_rate, service_rate: 10.0, timeout, retries };
    Metafor::new(class, 1, 100, 20)
}

/// Holds a value to a reference printed with `digits` significant digits.
fn holds(name: &str, found: f64, reference: f64, digits: i32) {
    let unit = 10_f64.powi(reference.abs().log10().floor() as i32 + 1 - digits);
    assert!((found - reference).abs() <= 0.500_001 * unit, "{name}: {found}, not {reference}");
}

fn seconds(duration: Expected) -> f64 {
    duration.value().unwrap()
}

struct Row {
    model: [f64; 3],
    stationary: [f64; 3],
    slow: [f64; 2],
    /// (99, 19) to (0, 0), (99, 19) to q < 30, (0, 0) to q >= 90: plain elimination of the same
    /// equations with 60 decimal digits.
    times: [f64; 3],
    /// The same times in the table of references. It was computed in doubles, with plain
    /// elimination, and so its drains of 2.955e12 and 9.34e13 are wrong in the third and first digit.
    printed: [f64; 3],
}

const ROWS: [Row; 8] = [
    Row {
        model: [8.0, 3.0, 4.0],
        stationary: [95.744, 11.627, 0.2344],
        slow: [-0.001_465_7, 4533.0],
        times: [4.816_662_093_6e9, 2.154_587_427_8e8, 708.952_712_05],
        printed: [4.817e9, 2.155e8, 709.0],
    },
    Row {
        model: [8.5, 3.0, 4.0],
        stationary: [96.220, 11.239, 0.2643],
        slow: [-0.004_630_7, 1435.0],
        times: [1.132_507_467_7e11, 2.530_929_268_5e9, 240.324_183_30],
        printed: [1.132e11, 2.531e9, 240.3],
    },
    Row {
        model: [9.0, 3.0, 4.0],
        stationary: [96.581, 10.892, 0.2923],
        slow: [-0.011_664, 569.6],
        times: [2.947_532_662_3e12, 2.933_190_364_9e10, 107.989_056_38],
        printed: [2.955e12, 2.933e10, 108.0],
    },
    Row {
        model: [9.5, 3.0, 4.0],
        stationary: [96.863, 10.582, 0.3187],
        slow: [-0.024_451, 271.7],
        times: [8.541_240_884_8e13, 3.315_125_447_6e11, 61.168_775_987],
        printed: [9.34e13, 3.314e11, 61.17],
    },
    Row {
        model: [9.5, 3.0, 1.0],
        stationary: [95.972, 8.575, 0.2482],
        slow: [-0.022_611, 293.8],
        times: [3.118_824_098_8e10, 5.651_730_886_9e8, 69.049_727_544],
        printed: [3.119e10, 5.652e8, 69.05],
    },
    Row {
        model: [9.5, 5.0, 4.0],
        stationary: [96.346, 15.779, 0.2795],
        slow: [-0.006_319_4, 1051.0],
        times: [1.849_691_620_7e9, 4.342_095_720_0e8, 191.096_797_81],
        printed: [1.850e9, 4.342e8, 191.1],
    },
    Row {
        model: [9.5, 9.0, 4.0],
        stationary: [75.763, 13.890, 0.1254],
        slow: [-0.001_079_5, 6154.0],
        times: [4_613.648_244_7, 4_050.175_192_9, 1_277.806_058_7],
        printed: [4614.0, 4050.0, 1278.0],
    },
    Row {
        model: [9.5, 9.0, 3.0],
        stationary: [73.350, 13.248, 0.1193],
        slow: [-0.001_110_1, 5985.0],
        times: [3_964.668_852_4, 3_480.957_593_9, 1_295.264_526_7],
        printed: [3965.0, 3481.0, 1295.0],
    },
];

#[test]
fn the_reference_rows_are_met() {
    for row in &ROWS {
        let model = single(row.model[0], row.model[1], row.model[2]);
        let name = |what: &str| format!("{what} at {:?}", row.model);
        let chain = model.chain().unwrap();
        let grid = model.grid();
        let law = chain.stationary().unwrap();
        assert!(chain.imbalance(&law) < 1e-13);
        let summary = model.summary(&law);
        holds(&name("E[q]"), summary.mean_queue, row.stationary[0], 5);
        holds(&name("E[n]"), summary.mean_orbit, row.stationary[1], 4);
        holds(&name("P(full)"), summary.full, row.stationary[2], 4);
        let mode = chain.slow_mode().unwrap();
        holds(&name("rate"), mode.rate, row.slow[0], 5);
        holds(&name("mixing"), mode.mixing_time(), row.slow[1], 4);
        let corner = grid.state(99, 19);
        let drain = chain.hitting_times(|state| state == 0).unwrap().from(corner).unwrap();
        let below = chain.hitting_times(|state| grid.at(state).0 < 30).unwrap();
        let above = chain.hitting_times(|state| grid.at(state).0 >= 90).unwrap();
        let found = [drain, below.from(corner).unwrap(), above.from(0).unwrap()].map(seconds);
        for ((found, exact), printed) in found.into_iter().zip(row.times).zip(row.printed) {
            assert!((found / exact - 1.0).abs() < 1e-10, "{} {found} {exact}", name("time"));
            if printed < 1e12 {
                holds(&name("time"), found, printed, 3);
                assert!((found / printed - 1.0).abs() < 5e-4, "{} {found}", name("time"));
            }
        }
    }
}

#[test]
fn without_alpha_it_is_the_plain_queue() {
    let model = Metafor { alpha: 0.0, ..single(9.5, 3.0, 4.0) };
    let chain = model.chain().unwrap();
    let law = chain.stationary().unwrap();
    let summary = model.summary(&law);
    holds("E[q]", summary.mean_queue, 18.404, 5);
    holds("P(empty)", summary.empty, 0.0503, 3);
    holds("drain", seconds(model.time_to_drain().unwrap()), 180.3, 4);
    // The drain starts with 19 in orbit, and so takes longer than the 160.2 s of the queue alone.
    // M/M/1/99 itself: (1 - ρ) / (1 - ρ^100).
    let expected = 0.05 / (1.0 - 0.95_f64.powi(100));
    assert!((summary.empty / expected - 1.0).abs() < 1e-12);
    assert!(summary.mean_orbit.abs() < 1e-300, "nobody enters the orbit");
}

#[test]
fn retries_when_full_hold_the_storm_longer() {
    let model = Metafor { retry_when_full: true, ..single(8.0, 3.0, 4.0) };
    let summary = model.summary(&model.chain().unwrap().stationary().unwrap());
    holds("E[q]", summary.mean_queue, 96.429, 5);
    holds("E[n]", summary.mean_orbit, 17.984, 5);
    holds("drain", seconds(model.time_to_drain().unwrap()), 3.52e11, 3);
}

#[test]
fn the_bound_is_certain_where_the_slack_is_gone() {
    let model = single(9.5, 3.0, 4.0);
    assert_eq!(model.tail(0).to_bits(), 0.0_f64.to_bits());
    // q = 9: mean 0.9, spread 0.3, slack 2.1.
    assert!((model.tail(9) - 1.0 / 49.0).abs() < 1e-15);
    assert!(model.tail(24) < 1.0);
    assert_eq!(model.tail(25).to_bits(), 1.0_f64.to_bits());
}

#[test]
fn rates_leave_as_the_rules_say() {
    let model = single(9.5, 3.0, 4.0);
    let (chain, grid) = (model.chain().unwrap(), model.grid());
    // Inside: the arrival that times out is added on top.
    let tail = model.tail(9);
    let expected = 9.5 * (1.0 + 0.25 * tail) + 5.0 / 3.0 + 10.0;
    assert!((chain.exit(grid.state(9, 5)) - expected).abs() < 1e-12);
    // Full: only services and leaving the orbit.
    assert!((chain.exit(grid.state(99, 6)) - (10.0 + 6.0 / 3.0)).abs() < 1e-12);
    let full: Vec<_> = chain.moves_of(grid.state(99, 0)).collect();
    assert_eq!(full, [(grid.state(98, 0), 10.0)]);
}

#[test]
fn classes_are_averaged_by_their_arrivals() {
    let class = |arrival_rate, service_rate, timeout| MetaforClass {
        arrival_rate,
        service_rate,
        timeout,
        retries: 1.0,
    };
    // The storage node of the tool.
    let classes = [class(2.0, 10.0, 3.0), class(2.0, 20.0, 5.0), class(2.0, 2.0, 5.0)];
    let model = Metafor::of_classes(&classes, 32, 300, 5).unwrap();
    assert!((model.arrival_rate - 6.0).abs() < 1e-15);
    assert!((model.service_rate - 32.0 / 3.0).abs() < 1e-14);
    assert!((model.timeout - 13.0 / 3.0).abs() < 1e-14);
    let summary = model.summary(&model.chain().unwrap().stationary().unwrap());
    assert!(summary.mean_queue > 0.5 && summary.mean_queue < 0.6, "{}", summary.mean_queue);
    assert!(Metafor::of_classes(&[], 1, 100, 20).is_err());
}

#[test]
fn the_field_rests_where_it_is_weakest() {
    let model = single(9.5, 9.0, 3.0);
    let (q, n) = model.equilibrium().unwrap();
    let (dq, dn) = model.field(q, n);
    for (other_q, other_n) in [(0, 0), (50, 10), (99, 19), (q + 1, n), (q, n + 1)] {
        let (x, y) = model.field(other_q, other_n);
        assert!(dq * dq + dn * dn <= x * x + y * y);
    }
    // By hand, at (50, 12): retry 1/12, drop 1/36; mean 5, spread 0.5 sqrt 2, slack 4.
    let (x, y) = model.field(50, 12);
    let tail = 0.5 / 16.0;
    assert!((x - 0.5).abs() < 1e-12);
    assert!((y - (9.5 * tail - (1.0 - tail) - 1.0 / 3.0)).abs() < 1e-12);
}

#[test]
fn what_cannot_be_solved_is_said() {
    let good = single(9.5, 3.0, 4.0);
    for bad in [
        Metafor { arrival_rate: f64::NAN, ..good },
        Metafor { service_rate: 0.0, ..good },
        Metafor { timeout: -1.0, ..good },
        Metafor { retries: f64::INFINITY, ..good },
        Metafor { threads: 0, ..good },
        Metafor { queue: 1, ..good },
        Metafor { orbit: 0, ..good },
        Metafor { alpha: -0.1, ..good },
    ] {
        assert!(matches!(bad.chain(), Err(ChainError::Parameter { .. })), "{bad:?}");
    }
    // The largest set of the tool, Service52.
    let class =
        MetaforClass { arrival_rate: 6200.0, service_rate: 62.5, timeout: 3.0, retries: 4.0 };
    let large = Metafor::new(class, 100, 20_000, 1000);
    assert!(matches!(large.chain(), Err(ChainError::TooLarge { .. })));
}

#[test]
fn the_largest_times_keep_their_digits() {
    // The set with reduced threads, by plain elimination with 300 decimal digits.
    let class =
        MetaforClass { arrival_rate: 6200.0, service_rate: 62.5, timeout: 3.0, retries: 4.0 };
    let drain = Metafor::new(class, 20, 300, 5).time_to_drain().unwrap();
    assert!((seconds(drain) / 8.015_424_811_531e211 - 1.0).abs() < 1e-11, "{drain:?}");
    let twice = Metafor { queue: 2000, ..single(20.0, 3.0, 4.0) };
    assert_eq!(twice.time_to_drain().unwrap(), Expected::BeyondReach);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_model_has_numbers_for_answers(
        load in -3.0_f64..3.0, time in -3.0_f64..3.0, threads in 1_usize..5,
        retries in 0.0_f64..8.0, queue in 2_usize..40, orbit in 1_usize..12,
        alpha in 0.0_f64..2.0, retry_when_full in any::<bool>()
    ) {
        let model = Metafor {
            arrival_rate: 10_f64.powf(load), service_rate: 1.0, threads,
            timeout: 10_f64.powf(time), retries, queue, orbit, alpha, retry_when_full,
        };
        let chain = model.chain().unwrap();
        let law = chain.stationary().unwrap();
        prop_assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        prop_assert!(chain.imbalance(&law) < 1e-12);
        let summary = model.summary(&law);
        prop_assert!(summary.mean_queue.is_finite() && summary.mean_orbit.is_finite());
        prop_assert!(summary.variance_queue >= 0.0);
        let drain = model.time_to_drain().unwrap();
        prop_assert!(drain.value().is_none_or(|time| time > 0.0));
        // A mode that does not settle is said, not made up.
        match chain.slow_mode() {
            Ok(mode) => prop_assert!(mode.rate < 0.0 && mode.mixing_time() > 0.0),
            Err(error) => {
                let unsettled = matches!(error, ChainError::NotSettled { .. });
                prop_assert!(unsettled, "{}", error);
            }
        }
    }
}
