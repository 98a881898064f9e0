//! Numbers of a policy in words.

use crate::policy::{Attempts, DelayKind, Policy};

/// `5 attempts`, `endless attempts`, `as many attempts as max_tries says`.
pub(super) fn attempts(policy: &Policy) -> String {
    match &policy.attempts_total.value {
        Attempts::Count(total) => format!("{total} attempts"),
        Attempts::Infinite => "endless attempts".to_owned(),
        Attempts::Dynamic { expression, usual, .. } => match usual {
            Some(usual) => format!("{usual} attempts unless `{expression}` says otherwise"),
            None => format!("as many attempts as `{expression}` says"),
        },
    }
}

/// Attempts that it makes if nobody says otherwise; `None`: not known. Endless is [`u32::MAX`].
pub(super) fn usual_attempts(policy: &Policy) -> Option<u32> {
    match &policy.attempts_total.value {
        Attempts::Count(total) => Some(*total),
        Attempts::Infinite => Some(u32::MAX),
        Attempts::Dynamic { usual, low, .. } => usual.or(*low),
    }
}

/// Whether it waits by a rule of its own.
pub(super) fn waits(policy: &Policy) -> bool {
    matches!(
        policy.delay.kind.value,
        DelayKind::Constant | DelayKind::Linear | DelayKind::Exponential | DelayKind::Polynomial
    )
}

/// All waits of this many attempts in milliseconds, as far as the schedule tells; the last wait
/// repeats.
pub(super) fn total_wait_ms(policy: &Policy, attempts: u32) -> Option<f64> {
    let delay = &policy.delay;
    if delay.kind.value == DelayKind::None {
        return Some(0.0);
    }
    let waits = attempts.saturating_sub(1) as usize;
    if delay.schedule_ms.is_empty() {
        let base = delay.base_ms.as_ref()?.value;
        let factor = delay.factor.as_ref().map_or(1.0, |factor| factor.value);
        let cap = delay.cap_ms.as_ref().map_or(f64::INFINITY, |cap| cap.value);
        return match delay.kind.value {
            DelayKind::Constant => Some(base * waits as f64),
            DelayKind::Exponential => {
                Some((0..waits.min(64)).map(|n| (base * factor.powi(n as i32)).min(cap)).sum())
            }
            _ => None,
        };
    }
    let known = delay.schedule_ms.len().min(waits);
    let last = delay.schedule_ms[..known].last().copied().unwrap_or(0.0);
    Some(delay.schedule_ms[..known].iter().sum::<f64>() + last * (waits - known) as f64)
}

/// `250 ms`, `2.5 s`, `3 min`.
pub(super) fn time(ms: f64) -> String {
    let shown = |value: f64| {
        let text = format!("{value:.1}");
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    };
    match ms {
        ms if ms < 1000.0 => format!("{} ms", shown(ms)),
        ms if ms < 120_000.0 => format!("{} s", shown(ms / 1000.0)),
        ms => format!("{} min", shown(ms / 60_000.0)),
    }
}

/// Whether something that is retried is one of these: whole words, case and `_` do not matter.
pub(super) fn retried<'p>(policy: &'p Policy, words: &[&str]) -> Option<&'p str> {
    policy.retries_on.value.iter().map(String::as_str).find(|on| is_one_of(on, words))
}

/// Whether one of these words is in a text. `StatusTooManyRequests` of Go and
/// `SC_SERVICE_UNAVAILABLE` of Java are the words behind their prefix.
pub(super) fn is_one_of(text: &str, words: &[&str]) -> bool {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['_', '-', ' '], "");
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').map(plain).any(|word| {
        let short = ["status", "sc", "http"].iter().find_map(|prefix| word.strip_prefix(prefix));
        words.contains(&word.as_str()) || short.is_some_and(|short| words.contains(&short))
    })
}

/// Names of a server that says it is overloaded, as [`retried`] wants them.
pub(super) const OVERLOAD: &[&str] = &[
    "429",
    "503",
    "toomanyrequests",
    "serviceunavailable",
    "resourceexhausted",
    "overloaded",
    "throttled",
    "throttling",
    "throttlingexception",
    "ratelimited",
    "ratelimiterror",
    "ratelimitexceeded",
    "slowdown",
];
