//! An attempt that may hang for ever.

use super::words::attempts;
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::Policy;

pub(super) static RULE: Rule = Rule {
    id: "no-timeout",
    severity: Severity::Warning,
    summary: "The call that is retried has no timeout of its own",
    fix: "give the call a timeout a little above its slowest good answer",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let Some(call) = policy.call.as_ref().filter(|call| call.timeout == Some(false)) else {
        return;
    };
    if policy.attempt_timeout_ms.is_some() {
        return;
    }
    let message = format!(
        "{} of `{}`, which has no timeout: one that hangs is never tried again, and holds its \
         connection",
        attempts(policy),
        call.text
    );
    hits.push(Hit::at(policy, Severity::Warning, message));
}
