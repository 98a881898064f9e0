//! The contention experiment of 2015 against an independent run of it.

#[path = "jitter_experiment/contention.rs"]
mod contention;

use contention::{Row, TRIALS, kinds, rows, table};

/// Means of an independent run of the article's experiment, 100 trials: clients, kind, time
/// with the standard deviation of one trial, calls.
const REFERENCE: [(usize, &str, f64, f64, f64); 15] = [
    (10, "none", 383.0, 35.0, 51.0),
    (10, "exponential", 3415.0, 1385.0, 50.0),
    (10, "equal", 715.0, 204.0, 42.0),
    (10, "full", 479.0, 111.0, 39.0),
    (10, "decorrelated", 444.0, 78.0, 38.0),
    (50, "none", 1143.0, 42.0, 693.0),
    (50, "exponential", 36_237.0, 3443.0, 627.0),
    (50, "equal", 4308.0, 605.0, 347.0),
    (50, "full", 2859.0, 528.0, 333.0),
    (50, "decorrelated", 2254.0, 583.0, 377.0),
    (100, "none", 2031.0, 51.0, 2420.0),
    (100, "exponential", 63_963.0, 3909.0, 1856.0),
    (100, "equal", 6581.0, 618.0, 811.0),
    (100, "full", 4964.0, 580.0, 796.0),
    (100, "decorrelated", 4646.0, 684.0, 1003.0),
];

#[test]
fn the_experiment_of_2015_comes_out_again() {
    let all: Vec<Row> = [10, 50, 100].into_iter().flat_map(rows).collect();
    println!("{}", table(&all));
    let of = |clients, kind| *all.iter().find(|r| r.clients == clients && r.kind == kind).unwrap();

    for (clients, kind, time, deviation, calls) in REFERENCE {
        let row = of(clients, kind);
        // Two means of 100 trials differ by 1.41 tenths of the deviation of one trial; four times
        // that leaves one false alarm in 16 000.
        let tolerance = 4.0 * (2.0f64 / TRIALS as f64).sqrt() * deviation;
        assert!((row.time - time).abs() < tolerance, "{row:?}, not {time} ± {tolerance:.0}");
        // The deviation of the calls is not known; the table is rounded to one call.
        assert!((row.calls - calls).abs() < 0.5 + 0.03 * calls, "{row:?}, not {calls}");
    }

    let [none, exponential, equal, full, decorrelated] = kinds().map(|(kind, _)| of(100, kind));
    assert!(
        2.0 * full.calls < none.calls.min(exponential.calls),
        "the calls fall by more than half"
    );
    for other in [none, equal, full, decorrelated] {
        assert!(exponential.time > 5.0 * other.time, "without jitter it is slowest: {other:?}");
    }
    assert!(equal.time > 1.2 * full.time, "equal jitter is slower");
    assert!((equal.calls / full.calls - 1.0).abs() < 0.05, "for the same calls");
    assert!(decorrelated.calls > 1.15 * full.calls, "decorrelated jitter makes more calls");
    assert!(none.time < full.time, "conflicts cost this server nothing, so no backoff is fastest");
}
