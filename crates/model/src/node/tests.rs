//! The published values, and what must hold for any load.

mod properties;

use super::*;

/// `value` rounds to `expected` at the digits that `expected` is printed with.
#[track_caller]
pub(super) fn reads(value: f64, expected: f64, digits: i32) {
    let off = (value - expected).abs();
    assert!(off <= 0.5 * libm::pow(10.0, f64::from(-digits)) * 1.000_001, "{value} for {expected}");
}

#[test]
fn the_fluid_model_gives_the_published_values() {
    // Rates, limits, capacity, s̄, rejection by class, successes by class.
    type Row<'a> = (&'a [f64], &'a [u32], f64, f64, &'a [f64], &'a [f64]);
    let rows: [Row<'_>; 6] = [
        (&[60.0, 60.0], &[3, 3], 100.0, 0.638943, &[0.166667, 0.166667], &[50.0, 50.0]),
        (&[60.0, 60.0], &[3, 0], 100.0, 0.322514, &[0.010819, 0.322514], &[59.3508, 40.6492]),
        (&[50.0, 250.0], &[5, 5], 150.0, 0.890899, &[0.5, 0.5], &[25.0, 125.0]),
        (&[50.0, 250.0], &[5, 1], 150.0, 0.751066, &[0.179501, 0.564100], &[41.0249, 108.9751]),
        (
            &[10.0, 20.0, 70.0],
            &[8, 3, 0],
            50.0,
            0.657579,
            &[0.022990, 0.186979, 0.657579],
            &[9.7701, 16.2604, 23.9695],
        ),
        (&[0.5, 0.5], &[11, 0], 0.5, 0.852551, &[0.147449, 0.852551], &[0.4263, 0.0737]),
    ];
    for (rates, limits, capacity, s, rejected, served) in rows {
        let node = Fluid::try_new(capacity).unwrap();
        let at = node.rejection(rates, limits);
        reads(at.probability(), s, 6);
        for p in 0..rates.len() {
            reads(at.failed(limits[p]), rejected[p], 6);
            reads(rates[p] * at.served(limits[p]), served[p], 4);
        }
    }
}

#[test]
fn priorities_give_the_favoured_half_70_percent_more_at_twice_capacity() {
    let node = Fluid::try_new(0.5).unwrap();
    let with = node.rejection(&[0.5, 0.5], &[11, 0]).served(11);
    let without = node.rejection(&[0.5, 0.5], &[11, 11]).served(11);
    reads(with / without, 1.7, 1);
    reads(with, 0.85, 2);
}

#[test]
fn a_short_queue_differs_from_the_fluid_as_published() {
    // Places, Σλ/μ, s̄ of the queue, s̄ of the fluid.
    let rows = [
        (5, 0.95, 0.275683, 0.0),
        (5, 1.05, 0.402124, 0.307241),
        (20, 0.95, 0.044440, 0.0),
        (20, 1.00, 0.134207, 0.0),
        (20, 1.20, 0.552240, 0.552240),
        (100, 1.00, 0.039281, 0.0),
    ];
    for (places, load, exact, fluid) in rows {
        let rates = [load / 2.0, load / 2.0];
        let queue = Finite::single(1.0, places).unwrap();
        reads(queue.rejection(&rates, &[5, 1]).probability(), exact, 6);
        let flow = Fluid::try_new(1.0).unwrap();
        reads(flow.rejection(&rates, &[5, 1]).probability(), fluid, 6);
    }
}

#[test]
fn blocking_agrees_with_the_formula_and_with_erlang() {
    for (rho, m) in [(0.3_f64, 4_i32), (0.9, 20), (1.7, 20), (3.0, 1)] {
        let direct = (1.0 - rho) * rho.powi(m) / (1.0 - rho.powi(m + 1));
        let queue = Finite::single(2.0, m.unsigned_abs().into()).unwrap();
        assert!((queue.blocking(2.0 * rho).probability() / direct - 1.0).abs() < 1e-13);
    }
    for m in [1_u64, 5, 7, 8, 9, 10, 1000, 1 << 40] {
        #[allow(clippy::cast_precision_loss)]
        let expected = 1.0 / (m as f64 + 1.0);
        let at = Finite::single(7.0, m).unwrap().blocking(7.0);
        assert!((at.probability() / expected - 1.0).abs() < 1e-13, "{m}");
    }
    // Erlang B of 2 Erlangs on 3 workers: (8/6) / (1 + 2 + 2 + 8/6) = 4/19.
    let loss = Finite::try_new(3.0, 3, 3).unwrap();
    assert!((loss.blocking(2.0).probability() - 4.0 / 19.0).abs() < 1e-15);
    // One place to wait more: states 1, 2, 2, 4/3, 8/9, of which the last blocks: 8/65.
    let wait = Finite::try_new(3.0, 3, 4).unwrap();
    assert!((wait.blocking(2.0).probability() - 8.0 / 65.0).abs() < 1e-15);
    // What is blocked and what is not stay exact where they are small.
    let idle = Finite::single(1.0, 50).unwrap().blocking(1e-4).probability();
    assert!((idle / 0.9999e-200 - 1.0).abs() < 1e-12, "{idle}");
    let swamped = Finite::single(1.0, 50).unwrap().blocking(1e12).accepted();
    assert!((swamped / 1e-12 - 1.0).abs() < 1e-12, "{swamped}");
}

/// Erlang's recursion upwards, which costs all workers, beside the sum that stops where it may.
#[test]
fn many_workers_block_as_the_recursion_says() {
    for workers in [1_u32, 2, 30, 1_000, 1_000_000] {
        for load in [0.9, 0.99, 1.0, 1.01, 3.0] {
            let c = f64::from(workers);
            let (mut before, mut full) = (1.0, 1.0);
            for n in 1..=workers {
                (before, full) = (full, 1.0 + f64::from(n) / (c * load) * full);
            }
            let at = Finite::try_new(c, workers, workers.into()).unwrap().blocking(load * c);
            assert!((at.probability() * full - 1.0).abs() < 1e-9 || full == f64::INFINITY);
            if full < f64::INFINITY {
                assert!((at.accepted() * load * full / before - 1.0).abs() < 1e-9);
            } else {
                assert_eq!(at, Rejection::NONE);
            }
        }
    }
    // So many that the recursion would take seconds.
    let many = Finite::try_new(4e9, 4_000_000_000, 4_000_000_000).unwrap().blocking(4e9);
    let expected = 1.0 / ((2e9 * std::f64::consts::PI).sqrt() + 2.0 / 3.0);
    assert!((many.probability() / expected - 1.0).abs() < 1e-7);
}

/// The slopes that Newton's steps take, beside differences.
#[test]
fn slopes_are_those_of_the_curves() {
    for (workers, places) in [(1, 1), (1, 20), (7, 7), (7, 30), (64, 90)] {
        let queue = Finite::try_new(5.0, workers, places).unwrap();
        for load in [1.0, 4.0, 4.999, 5.0, 5.001, 6.0, 50.0] {
            let by = 1e-6 * load;
            let (up, down) = (queue.blocking(load + by), queue.blocking(load - by));
            let slope = (up.probability() - down.probability()) / (2.0 * by);
            let found = queue.blocked(load).1;
            assert!((found - slope).abs() <= 1e-4 * slope + 1e-9, "{found} for {slope}");
        }
    }
    for s in [0.001, 0.3, 0.9, 0.999] {
        for limit in [1, 2, 5, 40] {
            let at = |s: f64| Rejection::from_rejected(s).attempts(limit);
            let slope = (at(s + 1e-7) - at(s - 1e-7)) / 2e-7;
            let found = Rejection::from_rejected(s).attempts_and_slope(limit).1;
            assert!((found / slope - 1.0).abs() < 1e-5, "{found} for {slope}");
        }
    }
}

#[test]
fn the_fluid_error_is_largest_at_capacity_and_at_most_one_over_places_plus_one() {
    for m in [1_u64, 5, 20, 100] {
        let queue = Finite::single(1.0, m).unwrap();
        #[allow(clippy::cast_precision_loss)]
        let bound = 1.0 / (m as f64 + 1.0);
        let error = |rho: f64| queue.blocking(rho).probability() - (1.0 - 1.0 / rho).max(0.0);
        let at_capacity = error(1.0);
        assert!((at_capacity - bound).abs() < 1e-14);
        for rho in [0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 9.0] {
            assert!((0.0..at_capacity).contains(&error(rho)), "m = {m}, ρ = {rho}");
        }
    }
}

#[test]
fn the_mixed_model_takes_over_at_capacity_without_a_step() {
    let (rates, limits) = ([0.5, 0.5], [5, 1]);
    let mixed = Mixed::try_new(1.0, 1, 20).unwrap();
    let at = |load: f64| mixed.rejection(&rates.map(|r| r * load), &limits).probability();
    reads(at(0.95), 0.044440, 6);
    reads(at(1.0), 0.134207, 6);
    // Just above, the queue at ρ = 1 is still the larger; further up, the fluid is.
    reads(at(1.0 + 1e-9), 0.134207, 6);
    reads(at(1.2), 0.552240, 6);
    let mut last = 0.0;
    for step in 0..400 {
        let now = at(f64::from(step) * 0.005);
        assert!(now >= last - 1e-15, "at {step}: {now} after {last}");
        last = now;
    }
}

#[test]
fn the_mixed_model_is_monotone_only_while_the_shares_stay() {
    let mixed = Mixed::try_new(1.0, 1, 3).unwrap();
    let queue = Finite::single(1.0, 3).unwrap();
    let at = |model: &dyn NodeModel, added| model.rejection(&[1.01, added], &[1, 0]).probability();
    assert!(at(&mixed, 0.1) < at(&mixed, 0.0));
    assert!(at(&queue, 0.1) > at(&queue, 0.0));
}

#[test]
fn the_residual_model_gives_the_values_of_its_table() {
    // Squared coefficient of variation, delay in mean service times, rejection by class.
    let rows = [
        (1.0, 10.0, [0.3177, 0.6823]),
        (1.0, 1.0, [0.3459, 0.6541]),
        (1.0, 0.2, [0.4281, 0.5719]),
        (10.0, 10.0, [0.3375, 0.6625]),
        (10.0, 1.0, [0.4302, 0.5698]),
        (10.0, 0.2, [0.4514, 0.5486]),
    ];
    // Simulated, to about 0.003; ours is off by at most 0.036, independence by up to 0.137.
    let simulated = [
        [0.328, 0.666],
        [0.337, 0.657],
        [0.392, 0.602],
        [0.340, 0.661],
        [0.404, 0.596],
        [0.455, 0.545],
    ];
    let independent = Fluid::try_new(1.0).unwrap().rejection(&[1.0, 1.0], &[5, 1]);
    reads(independent.failed(5), 0.3177, 4);
    reads(independent.failed(1), 0.6823, 4);
    let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
    for ((scv, delay, expected), simulated) in rows.into_iter().zip(simulated) {
        let service =
            if scv == 1.0 { Service::Exponential } else { Service::Hyperexponential { scv } };
        let delays = Delays::constant(delay).unwrap();
        let node = Residual::try_new(1.0, 1.0, service, delays).unwrap();
        let at = node.rejection(&[1.0, 1.0], &[5, 1]);
        for (p, limit) in [5, 1].into_iter().enumerate() {
            reads(node.failed(at, limit), expected[p], 4);
            ours = ours.max((node.failed(at, limit) - simulated[p]).abs());
            theirs = theirs.max((independent.failed(limit) - simulated[p]).abs());
        }
    }
    assert!(ours < 0.0365, "{ours}");
    reads(theirs, 0.137, 3);
}

#[test]
fn the_phase_of_a_blocker_says_what_its_age_says() {
    let (scv, d, s, k) = (10.0_f64, 0.7, 0.8, 6_usize);
    let p = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
    let stays = |t: f64| 0.5 * (-2.0 * p * t).exp() + 0.5 * (-2.0 * (1.0 - p) * t).exp();
    // f(n, a) with the age a as a number of delays.
    let mut all_fail = vec![1.0; k + 1];
    for n in 1..=k {
        let before = all_fail.clone();
        for age in 0..=k - n {
            let (now, next) = (age as f64 * d, (age + 1) as f64 * d);
            let q = stays(next) / stays(now);
            all_fail[age] = q * before[age + 1] + (1.0 - q) * s * before[0];
        }
    }
    let delays = Delays::constant(d).unwrap();
    let service = Service::Hyperexponential { scv };
    let node = Residual::try_new(1.0, 1.0, service, delays).unwrap();
    let found = node.failed(Rejection::from_rejected(s), 6);
    assert!((found - s * all_fail[0]).abs() < 1e-14, "{found}");
}

#[test]
fn long_delays_make_the_residual_model_the_fluid_and_none_make_retries_useless() {
    let (rates, limits) = ([1.0, 1.0], [5, 1]);
    let fluid = Fluid::try_new(1.0).unwrap().rejection(&rates, &limits);
    let with = |delays| Residual::try_new(1.0, 1.0, Service::Exponential, delays).unwrap();
    let far = with(Delays::constant(1e6).unwrap());
    assert_eq!(far.alpha(), 1.0);
    let at = far.rejection(&rates, &limits);
    assert!((at.probability() - fluid.probability()).abs() < 1e-12);
    assert!((far.attempts(at, 5) - fluid.attempts(5)).abs() < 1e-12);
    let none = with(Delays::constant(0.0).unwrap());
    assert_eq!(none.alpha(), 0.0);
    let at = none.rejection(&rates, &limits);
    reads(none.failed(at, 5), 0.5, 12);
    reads(none.failed(at, 1), 0.5, 12);
    // At a given s̄, waits that grow lie between those of their first and of their last.
    let by = |delays| with(delays).failed(Rejection::from_rejected(0.7), 5);
    let grown = by(Delays::growing(0.2, 2.0, 1.0).unwrap());
    assert!(grown < by(Delays::constant(0.2).unwrap()));
    assert!(grown > by(Delays::constant(1.0).unwrap()));
}

#[test]
fn constructors_refuse_what_is_no_service() {
    for bad in [f64::NAN, -1.0, f64::NEG_INFINITY] {
        assert!(Fluid::try_new(bad).is_none());
        assert!(Finite::single(bad, 5).is_none());
        assert!(Mixed::try_new(bad, 1, 5).is_none());
        assert!(Delays::constant(bad).is_none());
        let delays = Delays::constant(1.0).unwrap();
        assert!(Residual::try_new(bad, 1.0, Service::Exponential, delays).is_none());
        assert!(Residual::try_new(1.0, bad, Service::Exponential, delays).is_none());
        let service = Service::Hyperexponential { scv: bad };
        assert!(Residual::try_new(1.0, 1.0, service, delays).is_none());
    }
    assert!(Finite::try_new(1.0, 0, 5).is_none());
    assert!(Finite::try_new(1.0, 6, 5).is_none());
    assert!(Delays::growing(1.0, 0.5, 2.0).is_none());
    assert!(Delays::growing(1.0, 2.0, 0.5).is_none());
}
