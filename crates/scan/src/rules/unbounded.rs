//! Attempts without an end.

use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{Attempts, From, Kind, Policy};

pub(super) static RULE: Rule = Rule {
    id: "unbounded-retry",
    severity: Severity::Error,
    summary: "Attempts have no end",
    fix: "limit the attempts, or the time they may take, below the caller's own timeout",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    // A long-lived stream is connected again for as long as the process lives.
    if policy.attempts_total.value != Attempts::Infinite
        || policy.deadline_ms.is_some()
        || policy.kind == Kind::Reconnect
    {
        return;
    }
    let who = match policy.attempts_total.from {
        From::Default => "nobody set a limit, and the library's default has none",
        _ => "nothing ends them but success",
    };
    let message = format!("endless attempts: {who}; callers that gave up are retried for, too");
    hits.push(Hit::at(policy, Severity::Error, message));
}
