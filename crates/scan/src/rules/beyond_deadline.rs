//! Attempts that the caller does not live to see.

use super::words::{time, total_wait_ms, usual_attempts};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::Policy;

pub(super) static RULE: Rule = Rule {
    id: "beyond-deadline",
    severity: Severity::Warning,
    summary: "The attempts and their waits take longer than the whole may",
    fix: "make attempts × timeout + waits fit below the deadline: fewer attempts or shorter ones",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let (Some(deadline), Some(attempt)) = (&policy.deadline_ms, &policy.attempt_timeout_ms) else {
        return;
    };
    let Some(total) = usual_attempts(policy).filter(|total| *total < u32::MAX) else { return };
    let Some(wait) = total_wait_ms(policy, total) else { return };
    let longest = f64::from(total) * attempt.value + wait;
    if longest <= deadline.value {
        return;
    }
    let message = format!(
        "{total} attempts of {} and {} of waiting are {}, but the whole may take {}: the last \
         attempts are work for nobody",
        time(attempt.value),
        time(wait),
        time(longest),
        time(deadline.value)
    );
    hits.push(Hit::at(policy, Severity::Warning, message));
}
