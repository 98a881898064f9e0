//! The pages of the rules, as they are in `docs/rules/`.

/// Rule and page.
const PAGES: &[(&str, &str)] = &[
    ("no-backoff", include_str!("../../../../docs/rules/no-backoff.md")),
    ("missing-jitter", include_str!("../../../../docs/rules/missing-jitter.md")),
    ("aggressive-retry", include_str!("../../../../docs/rules/aggressive-retry.md")),
    ("unbounded-retry", include_str!("../../../../docs/rules/unbounded-retry.md")),
    ("stacked-retries", include_str!("../../../../docs/rules/stacked-retries.md")),
    ("catch-all", include_str!("../../../../docs/rules/catch-all.md")),
    ("not-idempotent", include_str!("../../../../docs/rules/not-idempotent.md")),
    ("no-timeout", include_str!("../../../../docs/rules/no-timeout.md")),
    ("beyond-deadline", include_str!("../../../../docs/rules/beyond-deadline.md")),
    ("pushback-ignored", include_str!("../../../../docs/rules/pushback-ignored.md")),
    ("overload-retried", include_str!("../../../../docs/rules/overload-retried.md")),
    ("budget-absent", include_str!("../../../../docs/rules/budget-absent.md")),
    ("budget-inert", include_str!("../../../../docs/rules/budget-inert.md")),
    ("expensive-error", include_str!("../../../../docs/rules/expensive-error.md")),
    ("blocking-sleep", include_str!("../../../../docs/rules/blocking-sleep.md")),
    ("mru-pool", include_str!("../../../../docs/rules/mru-pool.md")),
    ("fixed-numbers", include_str!("../../../../docs/rules/fixed-numbers.md")),
    ("no-coordination", include_str!("../../../../docs/rules/no-coordination.md")),
    ("layer-without-budget", include_str!("../../../../docs/rules/layer-without-budget.md")),
    ("budget-tighter", include_str!("../../../../docs/rules/budget-tighter.md")),
    ("fixed-retry-limit", include_str!("../../../../docs/rules/fixed-retry-limit.md")),
    ("unlimited-retries", include_str!("../../../../docs/rules/unlimited-retries.md")),
    ("retries-beyond-timeout", include_str!("../../../../docs/rules/retries-beyond-timeout.md")),
    ("unsafe-methods-retried", include_str!("../../../../docs/rules/unsafe-methods-retried.md")),
    ("mesh-on-library", include_str!("../../../../docs/rules/mesh-on-library.md")),
    ("setting-without-effect", include_str!("../../../../docs/rules/setting-without-effect.md")),
    ("slow-instances-removed", include_str!("../../../../docs/rules/slow-instances-removed.md")),
    ("queue-outlives-caller", include_str!("../../../../docs/rules/queue-outlives-caller.md")),
    ("ejection-without-panic", include_str!("../../../../docs/rules/ejection-without-panic.md")),
];

/// The page of a rule, in Markdown.
#[must_use]
pub fn page(rule: &str) -> Option<&'static str> {
    PAGES.iter().find(|(id, _)| *id == rule).map(|(_, page)| *page)
}
