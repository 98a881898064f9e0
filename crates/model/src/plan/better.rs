//! Which of two settings is better.

use std::cmp::Ordering;

use super::{Measures, Solution, Target};

/// Sum of misses: 0 if all are met.
pub(super) fn missed(measures: &Measures, targets: &[Target]) -> f64 {
    targets.iter().map(|target| target.miss(measures)).sum()
}

/// `Less`: the first is better. The targets come first, then amplification at worst and under the
/// conditions, then how few calls retry and how often (where a budget bounds amplification, more
/// retries cost nothing at worst and are still more than was asked for), then the transient faults
/// that are not hidden. The last comparison is of the limits themselves, so that there is one
/// answer.
pub(super) fn compare(a: &Solution, b: &Solution, targets: &[Target]) -> Ordering {
    let (x, y) = (&a.measures, &b.measures);
    let limits = |s: &Solution| s.setting.limits.iter().flatten().sum::<u32>();
    let retrying =
        |s: &Solution| s.setting.limits.iter().filter(|v| v.iter().any(|k| *k > 0)).count();
    number(missed(x, targets), missed(y, targets))
        .then_with(|| number(x.worst_amplification, y.worst_amplification))
        .then_with(|| number(x.amplification, y.amplification))
        .then_with(|| number(x.calls_per_request, y.calls_per_request))
        .then_with(|| retrying(a).cmp(&retrying(b)))
        .then_with(|| limits(a).cmp(&limits(b)))
        .then_with(|| number(y.availability.unwrap_or(0.0), x.availability.unwrap_or(0.0)))
        .then_with(|| a.setting.cmp(&b.setting))
}

/// Numbers that differ by no more than rounding are equal.
pub(super) fn number(a: f64, b: f64) -> Ordering {
    const STEP: f64 = 1e9;
    let round = |x: f64| if x.is_finite() { (x * STEP).round() } else { x };
    round(a).total_cmp(&round(b))
}
