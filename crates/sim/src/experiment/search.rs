//! Where a yes turns into a no: bisection over replicated runs.
//!
//! Every replication bisects for itself, on its own random numbers; the spread of their answers
//! is the interval. The first replication searches wide; the others begin around its answer.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::estimate::Estimate;
use crate::experiment::Control;

/// What to look for.
pub(crate) struct Search<'a> {
    /// Whether the answer at this value, in this replication, is yes. Yes below, no above.
    pub(crate) holds: &'a (dyn Fn(f64, u32) -> bool + Sync),
    /// A guess to start from.
    pub(crate) guess: f64,
    /// No value above is tried.
    pub(crate) ceiling: f64,
    /// Relative resolution.
    pub(crate) resolution: f64,
    pub(crate) replications: u32,
    /// What is said about it while it goes on.
    pub(crate) name: &'a str,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) estimate: Estimate,
    /// Yes up to the ceiling in every replication.
    pub(crate) at_ceiling: bool,
}

/// The lowest value that is tried, as a share of the ceiling.
const FLOOR: f64 = 1e-4;

/// Finds the turning point. `None`: interrupted before the first answer, or the answer is no
/// however low the value.
pub(crate) fn search(s: &Search<'_>, control: &Control<'_>) -> Option<Found> {
    let total = u64::from(s.replications);
    (control.progress)(s.name, 0, total);
    let first = bisect(s, 0, s.guess, 1.25, control);
    if first.is_none() && control.stopped() {
        return None;
    }
    // Wide enough not to tie the others to the first: within 3 % their spread, and with it the
    // interval, comes out too small where the turning point is blurred.
    let spread = (1.0 + 6.0 * s.resolution).max(1.1);
    let done = AtomicU64::new(1);
    (control.progress)(s.name, 1, total);
    let rest: Vec<Option<f64>> = (1..s.replications)
        .into_par_iter()
        .map(|replication| {
            let found = match first {
                Some(first) => bisect(s, replication, first, spread, control),
                None => bisect(s, replication, s.guess, 1.25, control),
            };
            // Interrupted replications are missing; those without a yes are not.
            let found = found.or_else(|| (!control.stopped()).then_some(s.ceiling * FLOOR));
            (control.progress)(s.name, done.fetch_add(1, Ordering::Relaxed) + 1, total);
            found
        })
        .collect();
    let mut values = vec![first.unwrap_or(s.ceiling * FLOOR)];
    values.extend(rest.into_iter().flatten());
    if values.iter().all(|v| *v <= s.ceiling * FLOOR) {
        return None;
    }
    let at_ceiling = values.iter().all(|v| *v >= s.ceiling);
    Some(Found { estimate: Estimate::of(&values).widened(s.resolution / 2.0), at_ceiling })
}

/// One replication: brackets the turning point around `guess`, then halves.
fn bisect(
    s: &Search<'_>,
    replication: u32,
    guess: f64,
    spread: f64,
    control: &Control<'_>,
) -> Option<f64> {
    let lowest = s.ceiling * FLOOR;
    let guess = guess.clamp(lowest, s.ceiling);
    let (mut low, mut high) = (guess / spread, (guess * spread).min(s.ceiling));
    let mut step = spread;
    let mut known = false;
    while !(s.holds)(low, replication) {
        known = true;
        if control.stopped() || low <= lowest {
            return None;
        }
        high = low;
        step *= step.min(2.0);
        low = (low / step).max(lowest);
    }
    step = spread;
    while !known {
        if (s.holds)(high, replication) {
            if high >= s.ceiling {
                return Some(s.ceiling);
            }
            low = high;
            step *= step.min(2.0);
            high = (high * step).min(s.ceiling);
        } else {
            known = true;
        }
        if control.stopped() {
            return None;
        }
    }
    while high / low > 1.0 + s.resolution {
        let middle = (low * high).sqrt();
        if (s.holds)(middle, replication) {
            low = middle;
        } else {
            high = middle;
        }
        if control.stopped() {
            return None;
        }
    }
    Some((low * high).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn find(turn: f64, guess: f64, ceiling: f64) -> Option<Found> {
        let holds = |x: f64, replication: u32| x <= turn * (1.0 + 0.001 * f64::from(replication));
        let search_ =
            Search { holds: &holds, guess, ceiling, resolution: 0.01, replications: 5, name: "" };
        let stop = AtomicBool::new(false);
        search(&search_, &Control { stop: &stop, progress: &|_, _, _| {} })
    }

    #[test]
    fn finds_it_from_any_guess() {
        for turn in [0.5, 12.0, 150.0, 290.0] {
            for guess in [0.1, 12.0, 150.0, 1000.0] {
                let found = find(turn, guess, 300.0).unwrap();
                assert!(
                    (found.estimate.mean / turn - 1.0).abs() < 0.011,
                    "{turn} from {guess}: {found:?}"
                );
                assert!(found.estimate.ci95[0] <= turn && turn <= found.estimate.ci95[1]);
                assert!(!found.at_ceiling);
            }
        }
    }

    /// A replication in which the answer is no however low the value pulls the estimate down; to
    /// leave it out would be to report the lucky ones.
    #[test]
    fn a_replication_without_a_yes_counts() {
        for bad in [0, 3] {
            let holds = |x: f64, replication: u32| replication != bad && x <= 100.0;
            let stop = AtomicBool::new(false);
            let found = search(
                &Search {
                    holds: &holds,
                    guess: 90.0,
                    ceiling: 300.0,
                    resolution: 0.01,
                    replications: 5,
                    name: "",
                },
                &Control { stop: &stop, progress: &|_, _, _| {} },
            );
            let e = found.unwrap().estimate;
            assert!((e.mean - 80.0).abs() < 1.0 && e.ci95[0] < 60.0, "{bad}: {e:?}");
        }
    }

    #[test]
    fn says_when_there_is_no_turning_point() {
        assert!(find(1000.0, 10.0, 300.0).unwrap().at_ceiling);
        assert_eq!(find(0.001, 10.0, 300.0), None, "no however low");
    }
}
