//! What attempts say about the policy behind them.

use crate::learnt::{Backoff, Number, Policy};
use crate::span::End;
use crate::stats::quantile;
use crate::tally::Edge;

/// Delays behind a statement about them, and about how they grow.
const FEWEST: u64 = 5;
const FEWEST_OF_A_NUMBER: u64 = 20;
/// Failures without a retry after which there is none.
const ENOUGH_FAILURES: u64 = 20;
/// A shorter mean delay is none: what a client needs to try again.
const AT_ONCE: f64 = 0.000_5;

/// The policy of a call.
pub(super) fn policy(caller: String, callee: String, edge: &Edge) -> Policy {
    let most = edge.most_retries();
    let failed_first: u64 = edge.given_up.iter().map(|by| by[0]).sum();
    let limit = match most {
        0 if failed_first >= ENOUGH_FAILURES => Some(0),
        0 => None,
        n => Some(n as u32),
    };
    let (mut on, mut not_on, mut never_seen) = (Vec::new(), Vec::new(), Vec::new());
    let mut held_back = 0;
    for (n, end) in End::BAD.iter().enumerate() {
        let below: u64 = edge.given_up[n][..most].iter().sum();
        let name = end.name().to_owned();
        if edge.retried[n] > 0 {
            on.push(name);
            held_back += below;
        } else if below > 0 {
            not_on.push(name);
        } else {
            never_seen.push(name);
        }
    }
    Policy {
        caller,
        callee,
        calls: edge.calls,
        attempts: edge.attempts,
        by_number: edge.by_number[..=most].to_vec(),
        evidence: edge.evidence,
        failed: edge.failed_calls,
        retried: edge.retried_calls,
        rescued: edge.rescued,
        limit,
        backoff: backoff(edge),
        short_delays: at_once(edge),
        on,
        not_on,
        never_seen,
        held_back,
        timeout_s: timeout(edge),
        longest_s: edge.longest,
        messages: edge.messages > 0,
    }
}

/// A timeout shows in attempts that were given up after the same time.
fn timeout(edge: &Edge) -> Option<Number> {
    let sorted = edge.timeout_sample.sorted();
    if sorted.len() < 5 {
        return None;
    }
    let (low, middle, high) =
        (quantile(&sorted, 0.1), quantile(&sorted, 0.5), quantile(&sorted, 0.9));
    // A deadline cuts attempts at any length; only a timeout gives most of them the same.
    let alike = middle > 0.0 && (high - low) <= 0.05 * middle;
    alike.then_some(Number { value: middle, count: edge.timeouts.count, ci95: [low, high] })
}

/// Retries follow at once.
fn at_once(edge: &Edge) -> bool {
    let seen: u64 = edge.delays.iter().map(|d| d.moments.count).sum();
    seen >= FEWEST && edge.delays.iter().all(|d| d.moments.mean < AT_ONCE)
}

fn backoff(edge: &Edge) -> Option<Backoff> {
    let delays: Vec<_> = edge.delays.iter().filter(|d| d.moments.count > 0).collect();
    let first = delays.first()?;
    let count: u64 = delays.iter().map(|d| d.moments.count).sum();
    if count < FEWEST || at_once(edge) {
        return None;
    }
    let enough: Vec<f64> = delays
        .iter()
        .take_while(|d| d.moments.count >= FEWEST_OF_A_NUMBER)
        .map(|d| d.moments.mean)
        .collect();
    let ratios: Vec<f64> = enough.windows(2).map(|w| w[1] / w[0].max(1e-9)).collect();
    let second = delays.get(1).filter(|d| d.moments.count >= FEWEST_OF_A_NUMBER);
    let jitter = match second {
        Some(second) if decorrelated(&first.sample.sorted(), &second.sample.sorted()) => {
            "decorrelated"
        }
        _ => jitter(&first.sample.sorted(), first.moments.cv()),
    };
    let scale = match jitter {
        "full" => 2.0,
        "equal" => 4.0 / 3.0,
        "decorrelated" => 0.5,
        _ => 1.0,
    };
    let base_s = first.moments.mean * scale;
    let (mut factor, mut max_s) = (None, None);
    // Decorrelated delays grow by chance alone, three halves of the one before and half the base.
    if jitter == "decorrelated" {
        max_s = bound_of_decorrelated(&delays);
    } else if let Some(growth) = ratios.first().filter(|r| **r > 1.25) {
        // Rounded to a quarter: what people write, and what a sample can tell.
        let growth = (growth * 4.0).round() / 4.0;
        factor = Some(growth);
        // It grew, and then no more: it has reached its bound.
        let flat = ratios.iter().position(|r| *r < 1.0 + (growth - 1.0) / 2.0);
        max_s = flat.and_then(|n| enough.get(n + 1)).map(|mean| mean * scale);
    }
    Some(Backoff {
        kind: if factor.is_some() || jitter == "decorrelated" { "exponential" } else { "constant" }
            .to_owned(),
        base_s,
        factor,
        max_s,
        jitter: jitter.to_owned(),
        count,
        means_s: delays.iter().map(|d| d.moments.mean).collect(),
    })
}

/// Whether each delay is anything from the base to three times the one before: the first delays
/// reach from the base to three times it, and the second begin at the same base, but reach further.
/// No other form keeps its lower end while it grows.
fn decorrelated(first: &[f64], second: &[f64]) -> bool {
    let ends = |sorted: &[f64]| (quantile(sorted, 0.02), quantile(sorted, 0.98));
    let ((low, high), (low_2, high_2)) = (ends(first), ends(second));
    first.len() as u64 >= FEWEST_OF_A_NUMBER
        && low > 0.0
        && (2.3..3.6).contains(&(high / low))
        && (0.75..1.5).contains(&(low_2 / low))
        && high_2 > 1.15 * high
}

/// Delays that come to the very same length again and again have come to their bound.
fn bound_of_decorrelated(delays: &[&crate::tally::Delay]) -> Option<f64> {
    let last = delays.iter().rev().find(|d| d.moments.count >= FEWEST_OF_A_NUMBER)?;
    let sorted = last.sample.sorted();
    let (high, longest) = (quantile(&sorted, 0.85), quantile(&sorted, 1.0));
    (high >= 0.98 * longest).then_some(longest)
}

/// What spreads the delays: nothing, the upper half of the delay, all of it, or more than it.
fn jitter(sorted: &[f64], cv: f64) -> &'static str {
    let (low, high) = (quantile(sorted, 0.02), quantile(sorted, 0.98));
    // Uniform from 0: 1/√3 = 0.58. Uniform over the upper half: 0.19.
    match cv {
        cv if cv < 0.08 => "none",
        cv if cv < 0.35 => "equal",
        // Exponentially distributed: 1.
        cv if cv > 0.85 => "exponential",
        _ if low < 0.2 * high => "full",
        _ => "equal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Attempt, Call, Evidence};
    use crate::tree::NONE;

    fn attempt(start: u64, end: u64, end_as: End) -> Attempt {
        Attempt {
            start,
            end,
            end_as,
            entry: NONE,
            evidence: Evidence::Likeness,
            resends: None,
            transparent: false,
            seen_by_caller: true,
        }
    }

    /// Calls whose attempts all time out after 100 ms, with these delays in ms between them.
    fn edge(delays: impl Fn(u64) -> Vec<u64>) -> Edge {
        let mut edge = Edge::new();
        for n in 0..200 {
            let mut at = 0;
            let mut attempts = vec![attempt(at, at + 100_000_000, End::TimedOut)];
            for delay in delays(n) {
                at += 100_000_000 + delay * 1_000_000;
                attempts.push(attempt(at, at + 100_000_000, End::TimedOut));
            }
            edge.call(&Call {
                service: 1,
                peer: 0,
                name: 0,
                attempts,
                message: false,
                around: None,
            });
        }
        edge
    }

    fn of(edge: &Edge) -> Policy {
        policy("a".into(), "b".into(), edge)
    }

    #[test]
    fn constant_and_growing_delays() {
        let constant = of(&edge(|_| vec![50, 50, 50])).backoff.unwrap();
        assert_eq!((constant.kind.as_str(), constant.jitter.as_str()), ("constant", "none"));
        assert!((constant.base_s - 0.05).abs() < 1e-9);
        let growing = of(&edge(|_| vec![50, 100, 200, 200])).backoff.unwrap();
        assert_eq!((growing.kind.as_str(), growing.factor), ("exponential", Some(2.0)));
        assert!((growing.max_s.unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(of(&edge(|_| vec![0, 0])).backoff, None);
    }

    #[test]
    fn chance_is_taken_out_of_the_base() {
        let full = of(&edge(|n| vec![n % 100, 2 * (n % 100)])).backoff.unwrap();
        assert_eq!(full.jitter, "full");
        assert!((full.base_s - 0.099).abs() < 0.002, "{}", full.base_s);
        assert_eq!(full.factor, Some(2.0));
        let equal = of(&edge(|n| vec![50 + n % 50])).backoff.unwrap();
        assert_eq!(equal.jitter, "equal");
        assert!((equal.base_s - 0.1).abs() < 0.002, "{}", equal.base_s);
    }

    /// Numbers between 0 and 1 that look like chance.
    fn chance(n: u64, salt: u64) -> f64 {
        let mut x =
            (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt.wrapping_mul(0xD1B5_4A32_D192_ED03);
        x ^= x >> 31;
        x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^= x >> 29;
        (x >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn decorrelated_delays_are_told_from_others() {
        let draw = |n: u64, cap: f64| {
            let mut delay = 50.0_f64;
            let mut all = Vec::new();
            for retry in 0..3 {
                delay = (50.0 + chance(n, retry) * (3.0 * delay - 50.0)).min(cap);
                all.push(delay.round() as u64);
            }
            all
        };
        let found = of(&edge(|n| draw(n, f64::INFINITY))).backoff.unwrap();
        assert_eq!((found.jitter.as_str(), found.kind.as_str()), ("decorrelated", "exponential"));
        assert!((found.base_s - 0.05).abs() < 0.004, "{}", found.base_s);
        assert_eq!((found.factor, found.max_s), (None, None));
        let bounded = of(&edge(|n| draw(n, 200.0))).backoff.unwrap();
        assert_eq!(bounded.jitter, "decorrelated");
        assert!((bounded.max_s.unwrap() - 0.2).abs() < 0.002, "{:?}", bounded.max_s);
        // Equal jitter doubles its lower end, too.
        let equal = |n: u64| {
            let of = |retry: i32| {
                (50.0 * f64::from(1 << retry) * (1.0 + chance(n, retry as u64))) as u64
            };
            vec![of(0), of(1), of(2)]
        };
        assert_eq!(of(&edge(equal)).backoff.unwrap().jitter, "equal");
        let exponential = |n: u64| vec![(-100.0 * (1.0 - chance(n, 7)).ln()).round() as u64];
        assert_eq!(of(&edge(exponential)).backoff.unwrap().jitter, "exponential");
    }

    #[test]
    fn timeouts_limits_and_ends() {
        let policy = of(&edge(|_| vec![50, 50]));
        assert!((policy.timeout_s.unwrap().value - 0.1).abs() < 1e-9);
        assert_eq!(policy.limit, Some(2));
        assert_eq!((policy.on, policy.held_back), (vec!["timeout".to_owned()], 0));
        assert_eq!(policy.by_number, [200, 200, 200]);
        let never = of(&edge(|_| vec![]));
        assert_eq!((never.limit, never.on.len()), (Some(0), 0));
        assert_eq!(of(&Edge::new()).limit, None);
    }
}
