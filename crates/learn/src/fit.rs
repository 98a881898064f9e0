//! Which distribution a sample looks like, among those that the system file knows.

use crate::stats::quantile;

/// A distribution of the system file. Times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Family {
    Deterministic,
    Exponential,
    Erlang {
        stages: u32,
    },
    Lognormal {
        cv: f64,
    },
    Hyperexponential {
        cv: f64,
    },
    /// Values in seconds, all as often.
    Empirical(Vec<f64>),
}

/// What fits best.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub(crate) family: Family,
    /// The largest difference between the shares below a time, of the sample and of the fit.
    pub(crate) distance: f64,
}

/// A family with a parameter more has to be nearer by this much, or by what chance alone does to
/// so few values.
const BETTER_BY: f64 = 0.01;
const BETTER_BY_CHANCE: f64 = 0.5;
/// What is no nearer than this is not that family, unless so few values would be as far by chance.
const TOO_FAR: f64 = 0.08;
/// Kolmogorov's bound at 1 %, times the root of the number of values.
const BY_CHANCE: f64 = 1.63;
/// Values of an empirical distribution.
const EMPIRICAL: usize = 32;
/// Fewer values than this have no shape.
const FEWEST: usize = 30;

/// Fits sorted values with this mean and coefficient of variation.
pub(crate) fn fit(sorted: &[f64], mean: f64, cv: f64) -> Fit {
    let count = sorted.len();
    let simple = |family| Fit { family, distance: 0.0 };
    if mean <= 0.0 || cv < 0.02 {
        return simple(Family::Deterministic);
    }
    // A few that were held up by something else make no shape.
    let middle = quantile(sorted, 0.5);
    if quantile(sorted, 0.95) - quantile(sorted, 0.05) <= 0.02 * middle && mean <= 1.05 * middle {
        return simple(Family::Deterministic);
    }
    if count < FEWEST {
        // Nothing is known of its shape: what queues are made of, unless it hardly varies.
        let family = if cv < 0.2 { Family::Deterministic } else { Family::Exponential };
        return simple(family);
    }
    // The sample's own mean, since it is a part of all there were.
    let own = sorted.iter().sum::<f64>() / count as f64;
    let logs: Vec<f64> = sorted.iter().map(|x| libm::log(x.max(own * 1e-9))).collect();
    let log_mean = logs.iter().sum::<f64>() / count as f64;
    let log_var = logs.iter().map(|l| (l - log_mean).powi(2)).sum::<f64>() / count as f64;
    let by_logs = (libm::exp(log_var.min(14.0)) - 1.0).max(0.0).sqrt().min(1_000.0);
    let mut candidates = vec![Family::Exponential];
    let stages = (1.0 / (cv * cv)).round();
    if (2.0..=400.0).contains(&stages) {
        candidates.push(Family::Erlang { stages: stages as u32 });
    }
    candidates.push(Family::Lognormal { cv: round(by_logs.max(0.01)) });
    if cv > 1.05 {
        candidates.push(Family::Hyperexponential { cv: round(cv) });
    }
    let better_by = BETTER_BY.max(BETTER_BY_CHANCE / (count as f64).sqrt());
    let mut best: Option<Fit> = None;
    for family in candidates {
        let distance = distance(sorted, &family, own);
        let nearer = best.as_ref().is_none_or(|b| distance + better_by < b.distance);
        if nearer {
            best = Some(Fit { family, distance });
        }
    }
    let too_far = TOO_FAR.max(BY_CHANCE / (count as f64).sqrt());
    match best {
        Some(best) if best.distance <= too_far => best,
        _ => Fit { family: Family::Empirical(values(sorted, mean)), distance: 0.0 },
    }
}

/// Two decimals are more than a sample knows.
fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// Equally likely values: the mean of each part of the sample, so that the mean of all is kept.
fn values(sorted: &[f64], mean: f64) -> Vec<f64> {
    let parts = EMPIRICAL.min(sorted.len());
    let own = sorted.iter().sum::<f64>() / sorted.len() as f64;
    (0..parts)
        .map(|n| {
            let from = n * sorted.len() / parts;
            let to = ((n + 1) * sorted.len() / parts).max(from + 1);
            let part = &sorted[from..to.min(sorted.len())];
            part.iter().sum::<f64>() / part.len() as f64 * mean / own
        })
        .collect()
}

/// Kolmogorov's distance.
fn distance(sorted: &[f64], family: &Family, mean: f64) -> f64 {
    let n = sorted.len() as f64;
    sorted.iter().enumerate().fold(0.0, |most: f64, (i, x)| {
        let below = share_below(family, mean, *x);
        most.max((below - i as f64 / n).abs()).max(((i + 1) as f64 / n - below).abs())
    })
}

fn share_below(family: &Family, mean: f64, x: f64) -> f64 {
    let u = x / mean;
    match family {
        Family::Deterministic => f64::from(u8::from(u >= 1.0)),
        Family::Exponential => 1.0 - libm::exp(-u),
        Family::Erlang { stages } => {
            // 1 - Σ (k u)^i e^(-k u) / i!, from the largest term down so that nothing overflows.
            let k = f64::from(*stages);
            let rate = k * u;
            let mut term = libm::exp(-rate);
            if term == 0.0 {
                // So far out, or so many stages, that the normal distribution is as good.
                return 0.5 * libm::erfc(-(u - 1.0) * k.sqrt() / std::f64::consts::SQRT_2);
            }
            let mut sum = term;
            for i in 1..*stages {
                term *= rate / f64::from(i);
                sum += term;
            }
            (1.0 - sum).clamp(0.0, 1.0)
        }
        Family::Lognormal { cv } => {
            if u <= 0.0 {
                return 0.0;
            }
            let variance = libm::log(1.0 + cv * cv);
            let z = (libm::log(u) + variance / 2.0) / variance.sqrt();
            0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
        }
        Family::Hyperexponential { cv } => {
            let c2 = cv * cv;
            let p = 0.5 * (1.0 + ((c2 - 1.0) / (c2 + 1.0)).max(0.0).sqrt());
            1.0 - p * libm::exp(-2.0 * p * u) - (1.0 - p) * libm::exp(-2.0 * (1.0 - p) * u)
        }
        Family::Empirical(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Moments;

    fn fitted(values: impl Iterator<Item = f64>) -> Fit {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let mut m = Moments::default();
        sorted.iter().for_each(|x| m.add(*x));
        fit(&sorted, m.mean, m.cv())
    }

    /// Evenly spread shares, as if drawn without chance.
    fn shares() -> impl Iterator<Item = f64> {
        (0..5_000).map(|n| (f64::from(n) + 0.5) / 5_000.0)
    }

    #[test]
    fn each_family_is_known_again() {
        assert_eq!(fitted(shares().map(|_| 0.1)).family, Family::Deterministic);
        assert_eq!(fitted(shares().map(|u| -0.1 * (1.0 - u).ln())).family, Family::Exponential);
        // A sum of two quantiles at all pairs of a coarse grid is a sum of two exponentials.
        let grid = || (0..80).map(|n| -(1.0 - (f64::from(n) + 0.5) / 80.0_f64).ln());
        let erlang = grid().flat_map(|a| grid().map(move |b| a + b));
        assert_eq!(fitted(erlang).family, Family::Erlang { stages: 2 });
        // The logistic is near enough to the normal distribution for a lognormal of cv 1.
        let normal = |u: f64| (u / (1.0 - u)).ln() / 1.702;
        let Family::Lognormal { cv } = fitted(shares().map(|u| (0.83 * normal(u)).exp())).family
        else {
            panic!("not lognormal");
        };
        assert!((0.9..1.2).contains(&cv), "{cv}");
        let two = shares().map(|u| {
            if u < 0.9 { -(1.0 - u / 0.9).ln() } else { -20.0 * (1.0 - (u - 0.9) * 10.0).ln() }
        });
        let Fit { family, .. } = fitted(two);
        assert!(
            matches!(family, Family::Hyperexponential { .. } | Family::Empirical(_)),
            "{family:?}"
        );
    }

    #[test]
    fn what_is_none_of_them_is_kept_as_it_is() {
        let fit = fitted(shares().map(|u| if u < 0.5 { 0.001 } else { 0.1 }));
        let Family::Empirical(values) = fit.family else { panic!("{:?}", fit.family) };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean - 0.0505).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn few_values_have_no_shape() {
        assert_eq!(fitted([0.1, 0.5, 0.9].into_iter()).family, Family::Exponential);
        assert_eq!(fitted([0.1, 0.101].into_iter()).family, Family::Deterministic);
    }
}
