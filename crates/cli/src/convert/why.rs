//! Why a finding matters, in one line.

const WHY: &[(&str, &str)] = &[
    (
        "no-backoff",
        "a service that is down for a moment is asked again within that moment, by everybody",
    ),
    (
        "missing-jitter",
        "callers that failed together return together, and each wave fails as the last",
    ),
    ("aggressive-retry", "retries that all fall into the same outage only add load to it"),
    (
        "unbounded-retry",
        "while the cause lasts the work piles up, and it never gives back what it holds",
    ),
    ("stacked-retries", "attempts multiply from layer to layer: five layers of three are 243"),
    ("catch-all", "a bug or a refusal fails the same way each time: all of its retries are waste"),
    ("not-idempotent", "an attempt that timed out may have been done, and its retry does it again"),
    ("no-timeout", "a call that hangs is never retried and never ends: it holds its caller"),
    ("beyond-deadline", "the last attempts are made for a caller that has already gone"),
    (
        "pushback-ignored",
        "the server knows when it can serve again, and the client asks before that",
    ),
    (
        "overload-retried",
        "each refusal brings another request, so that refusing no longer sheds load",
    ),
    (
        "budget-absent",
        "when everything fails each request is sent as often as allowed, and that holds it down",
    ),
    ("budget-inert", "it looks protected and is not: nothing stops retries when everything fails"),
    ("expensive-error", "when failures cost more than successes, failing makes the service slower"),
    (
        "blocking-sleep",
        "every other task of that thread waits too, and then times out and is retried",
    ),
    ("mru-pool", "the slow instance gets its connection back last and keeps the most load"),
    ("fixed-numbers", "in an outage the way to less load is then a new release"),
    (
        "no-coordination",
        "each tier decides alone, and together they multiply the load on the lowest",
    ),
    (
        "layer-without-budget",
        "a limit of attempts bounds one request; only a budget bounds the load while everything fails",
    ),
    (
        "budget-tighter",
        "retries that wait hold their places, and the requests behind them do not count as active: the share shrinks just when much fails",
    ),
    (
        "fixed-retry-limit",
        "a fixed number is too much for a quiet client and too little for a busy one; a share follows the load",
    ),
    (
        "unlimited-retries",
        "Envoy's 3 retries at once are the last thing that bounds an overload; raised, nothing does",
    ),
    (
        "retries-beyond-timeout",
        "the attempts on paper are not those that can be made, and slow ends are what an overload makes",
    ),
    (
        "unsafe-methods-retried",
        "a failure after the request was sent does not say whether it was carried out",
    ),
    (
        "mesh-on-library",
        "attempts of layers multiply, and the mesh's are often defaults that nobody wrote",
    ),
    (
        "setting-without-effect",
        "what is not read protects nobody, and nobody notices until the outage",
    ),
    (
        "slow-instances-removed",
        "under overload every instance is slow; restarting the slowest gives the rest its load",
    ),
    (
        "queue-outlives-caller",
        "what waits longer than its caller is served for nobody, and all behind it wait for that",
    ),
    (
        "ejection-without-panic",
        "under overload all instances fail, and each that is taken out leaves its load to the rest",
    ),
];

/// One line; empty for a rule that is not known.
pub(crate) fn of(rule: &str) -> &'static str {
    WHY.iter().find(|(id, _)| *id == rule).map_or("", |(_, why)| why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_matters() {
        for rule in damper_scan::rules::RULES {
            assert!(!of(rule.id).is_empty(), "{} has no line here", rule.id);
        }
    }
}
