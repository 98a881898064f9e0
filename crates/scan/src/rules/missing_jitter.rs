//! Waits that are the same for every caller.

use super::words::{attempts, time, usual_attempts, waits};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{Jitter, Policy};

pub(super) static RULE: Rule = Rule {
    id: "missing-jitter",
    severity: Severity::Warning,
    summary: "Every caller waits equally long, so that all come back at once",
    fix: "draw each wait between 0 and its length (full jitter)",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if !waits(policy)
        || policy.delay.jitter.value != Jitter::None
        || usual_attempts(policy) == Some(1)
    {
        return;
    }
    let first =
        policy.delay.base_ms.as_ref().map_or(String::new(), |base| {
            format!(", the first after exactly {}", time(base.value))
        });
    let message =
        format!("{}{first}: callers that fail together come back together", attempts(policy));
    hits.push(Hit::at(policy, Severity::Warning, message));
}
