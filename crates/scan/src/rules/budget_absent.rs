//! Retries that nothing bounds across requests.

use super::sites::limited;
use super::words::{attempts, usual_attempts};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{Kind, Policy};

pub(super) static RULE: Rule = Rule {
    id: "budget-absent",
    severity: Severity::Note,
    summary: "Nothing limits retries across requests",
    fix: "add a retry budget: at most 10 to 20 % of requests may be retries",
    check: Check::Policy(check),
};

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    // What connects a stream again is no request.
    if policy.budget.is_some() || policy.breaker || policy.kind == Kind::Reconnect {
        return;
    }
    if limited(context.tree, policy) {
        return;
    }
    let Some(total @ 3..) = usual_attempts(policy) else { return };
    let most = match total {
        u32::MAX => "without a bound".to_owned(),
        total => format!("up to {total} times"),
    };
    let message = format!(
        "{} and no budget: while everything fails, the load is multiplied {most}; a budget of 20 % \
         makes it 1.2 times",
        attempts(policy)
    );
    hits.push(Hit::at(policy, Severity::Note, message));
}
