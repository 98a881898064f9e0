//! More load as the answer to "too much load".

use super::answers::{hears, overload};
use super::sites::limited;
use super::words::attempts;
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::Policy;

pub(super) static RULE: Rule = Rule {
    id: "overload-retried",
    severity: Severity::Warning,
    summary: "The very answer that means overload is retried, without a budget",
    fix: "do not retry overload, or only under a budget and when the server says when",
    check: Check::Policy(check),
};

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if policy.budget.is_some() || policy.pushback {
        return;
    }
    let Some(on) = overload(context.tree, policy) else { return };
    if limited(context.tree, policy) || hears(context.tree, policy) {
        return;
    }
    let message =
        format!("{} on `{on}`, the answer of a server that has too much to do", attempts(policy));
    hits.push(Hit::at(policy, Severity::Warning, message));
}
