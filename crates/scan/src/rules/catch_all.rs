//! Retries of whatever happens.

use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{From, Policy};

pub(super) static RULE: Rule = Rule {
    id: "catch-all",
    severity: Severity::Warning,
    summary: "Everything is retried, also what fails for good",
    fix: "retry what passes by itself: connection lost, 502, 504, UNAVAILABLE; not bugs, not 4xx",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if !policy.catches_all {
        return;
    }
    let message = match policy.retries_on.from {
        From::Default => "nothing says what is retried, and the default is everything".to_owned(),
        _ => "everything is retried: a bug, a bad request and a refusal cost as many attempts as \
              a lost packet"
            .to_owned(),
    };
    hits.push(Hit::at(policy, Severity::Warning, message));
}
