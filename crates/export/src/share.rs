//! A retry budget in the shapes that formats have.

use damper_control::{Backoff, Budget};
use damper_system::model::Spec;

/// What a budget bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Share {
    /// No bound.
    None,
    /// Retries at once, as a share of the requests at once.
    Active {
        /// Percent.
        percent: f64,
        /// Retries at once that are always allowed.
        least: u32,
    },
    /// Retries of a window, as a share of its first attempts.
    Rate {
        /// Percent.
        percent: f64,
        /// Retries per second that are always allowed.
        least_per_s: f64,
        /// The window, in seconds.
        window_s: f64,
    },
    /// Tokens that failures take and successes give.
    Tokens {
        /// The bucket.
        max: f64,
        /// What a success gives.
        ratio: f64,
    },
    /// A share that failures and OVERLOADED take away.
    Adaptive {
        /// Percent when nothing fails.
        most: f64,
        /// Percent when everything fails.
        least: f64,
        /// Time constant, in seconds.
        memory_s: f64,
        /// How long OVERLOADED counts, in seconds.
        hold_s: f64,
    },
    /// So many in a window, whatever the load.
    Fixed {
        /// Retries.
        retries: f64,
        /// The window, in seconds.
        window_s: f64,
    },
    /// Another rule that no format has.
    Other,
}

/// What a budget is.
pub(crate) fn of(budget: &Spec<Budget>) -> Share {
    let number = |at: usize| budget.parameters.get(at).copied().unwrap_or(0.0);
    match budget.kind {
        "none" => Share::None,
        "envoy" | "ratio" | "failsafe" => {
            Share::Active { percent: number(0), least: whole(number(1)) }
        }
        "finagle" | "tower" | "linkerd" | "deposit" => {
            Share::Rate { percent: number(0), least_per_s: number(1), window_s: number(2) }
        }
        "google" => Share::Rate { percent: number(0), least_per_s: 0.0, window_s: number(1) },
        "token-bucket" => Share::Tokens { max: number(0), ratio: number(1) },
        "arb" => Share::Adaptive {
            most: number(0),
            least: number(1),
            memory_s: number(2),
            hold_s: number(4),
        },
        "per-minute" => Share::Fixed { retries: number(0), window_s: number(1) },
        _ => Share::Other,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u32 {
    number.clamp(0.0, f64::from(u32::MAX)) as u32
}

/// A number rounded down to hundredths.
pub(crate) fn down(number: f64) -> f64 {
    (number * 100.0 + 1e-9).floor() / 100.0
}

/// A rate in words: one that is less than one in a minute as how long one takes.
pub(crate) fn per_s(rate: f64) -> String {
    if rate > 0.0 && rate < 1.0 / 60.0 {
        format!("1 in {} s", (1.0 / rate).round())
    } else {
        format!("{rate}/s")
    }
}

/// What was asked, in words.
pub(crate) fn words(budget: &Spec<Budget>) -> String {
    let kind = budget.kind;
    match of(budget) {
        Share::None => "no budget".to_owned(),
        Share::Active { percent, least } => {
            format!("`{kind}`: {percent} % of the requests at once, at least {least}")
        }
        Share::Rate { percent, least_per_s, window_s } => {
            let least = per_s(least_per_s);
            format!("`{kind}`: {percent} % of {window_s} s, at least {least}")
        }
        Share::Tokens { max, ratio } => format!("`{kind}`: {max} tokens, {ratio} for a success"),
        Share::Adaptive { most, least, .. } => format!("`{kind}`: {most} % down to {least} %"),
        Share::Fixed { retries, window_s } => format!("`{kind}`: {retries} in {window_s} s"),
        Share::Other => format!("`{kind}`"),
    }
}

/// The share of retries at once that allows no more in the long run; `None`: there is no such
/// share.
///
/// Envoy counts a running retry among the requests, too: of p % of all, p / (100 - p) of the first
/// attempts are retries, so that the share is made smaller by that. A slot is held from the
/// decision on, through the wait, so that a minimum per second is a minimum at once of that many
/// times the mean wait.
pub(crate) fn at_once(share: Share, backoff: &Backoff) -> Option<(f64, u32)> {
    let of_first = |percent: f64| down(100.0 * percent / (100.0 + percent));
    let held = |per_s: f64| whole((per_s * super::wait::first_mean_s(backoff)).floor());
    match share {
        Share::None | Share::Other => None,
        Share::Active { percent, least } => Some((down(percent), least)),
        Share::Rate { percent, least_per_s, .. } => Some((of_first(percent), held(least_per_s))),
        Share::Tokens { ratio, .. } => Some((of_first(100.0 * ratio.min(1.0)), 0)),
        Share::Adaptive { least, .. } => Some((of_first(least), 0)),
        Share::Fixed { retries, window_s } => {
            Some((0.0, held(retries / window_s.max(f64::MIN_POSITIVE))))
        }
    }
}

/// The share of a window's requests; `None`: there is no such share.
pub(crate) fn of_window(share: Share, backoff: &Backoff) -> Option<(f64, f64, f64)> {
    match share {
        Share::Rate { percent, least_per_s, window_s } => Some((percent, least_per_s, window_s)),
        Share::Active { percent, least } => {
            // A slot may serve one retry after another, so no minimum is safe.
            let _ = (least, backoff);
            Some((down(percent), 0.0, 10.0))
        }
        Share::Tokens { ratio, .. } => Some((100.0 * ratio.min(1.0), 0.0, 10.0)),
        Share::Adaptive { least, memory_s, .. } => Some((least, 0.0, memory_s.max(1.0))),
        Share::Fixed { retries, window_s } => {
            Some((0.0, retries / window_s.max(f64::MIN_POSITIVE), window_s))
        }
        Share::None | Share::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_first_attempts_is_a_smaller_share_of_all() {
        let rate = Share::Rate { percent: 25.0, least_per_s: 10.0, window_s: 10.0 };
        assert_eq!(at_once(rate, &Backoff::NONE), Some((20.0, 0)));
        let slow = Backoff::constant(
            damper_control::Nanos::from_millis(250),
            damper_control::backoff::Jitter::None,
        );
        assert_eq!(at_once(rate, &slow), Some((20.0, 2)));
        assert_eq!(
            of_window(Share::Tokens { max: 10.0, ratio: 0.1 }, &slow),
            Some((10.0, 0.0, 10.0))
        );
    }

    #[test]
    fn every_budget_of_the_registry_is_known_or_other() {
        for entry in damper_control::registry::all() {
            if let Some(spec) = Spec::<Budget>::named(entry.name) {
                let share = of(&spec);
                let other = ["aws-standard", "aws-2026", "retry-guard"].contains(&entry.name);
                assert_eq!(share == Share::Other, other, "{}", entry.name);
            }
        }
    }
}
