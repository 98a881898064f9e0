//! More load as the answer to "too much load".

use super::words::{OVERLOAD, attempts, retried};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::Policy;

pub(super) static RULE: Rule = Rule {
    id: "overload-retried",
    severity: Severity::Warning,
    summary: "The very answer that means overload is retried, without a budget",
    fix: "do not retry overload, or only under a budget and when the server says when",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if policy.budget.is_some() || policy.pushback {
        return;
    }
    let Some(on) = retried(policy, OVERLOAD) else { return };
    let message =
        format!("{} on {on}, which says that the server has too much to do", attempts(policy));
    hits.push(Hit::at(policy, Severity::Warning, message));
}
