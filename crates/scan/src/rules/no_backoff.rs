//! Attempts that follow each other without a pause.

use super::answers::hears;
use super::words::{attempts, usual_attempts};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{DelayKind, Policy};

pub(super) static RULE: Rule = Rule {
    id: "no-backoff",
    severity: Severity::Warning,
    summary: "Attempts follow each other without a pause",
    fix: "wait between attempts: exponential from about the usual latency, capped, full jitter",
    check: Check::Policy(check),
};

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if policy.delay.kind.value != DelayKind::None || policy.pushback {
        return;
    }
    let total = usual_attempts(policy);
    if matches!(total, Some(0 | 1)) {
        return;
    }
    if hears(context.tree, policy) {
        return;
    }
    let severity = match total {
        // One repetition at once hides a lost packet, and doubles the load at worst.
        Some(2) => Severity::Note,
        Some(u32::MAX) => Severity::Error,
        _ => Severity::Warning,
    };
    let message = format!(
        "{} without a pause: while the callee is down, each caller sends them as fast as they fail",
        attempts(policy)
    );
    hits.push(Hit::at(policy, severity, message));
}
