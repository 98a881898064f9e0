//! Retries of what must not be done twice.

use super::words::attempts;
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::Policy;

pub(super) static RULE: Rule = Rule {
    id: "not-idempotent",
    severity: Severity::Warning,
    summary: "A call that may not be done twice is retried",
    fix: "send an idempotency key that the callee honours, or retry only what never left",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let Some(call) = policy.call.as_ref().filter(|call| call.idempotent == Some(false)) else {
        return;
    };
    let what = call.method.as_deref().unwrap_or(&call.text);
    let message = format!(
        "{} of {what}: after a timeout nobody knows whether the first one was done",
        attempts(policy)
    );
    hits.push(Hit::at(policy, Severity::Warning, message));
}
