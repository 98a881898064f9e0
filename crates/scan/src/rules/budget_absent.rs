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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;
    /// A loop of Python with these attempts and this wait.
    fn python(attempts: &str, wait: &str) -> Vec<String> {
        let text = format!(
            "import time\ndef f(c):\n    for i in {attempts}:\n        try:\n            return c.fetch_user()\n        \
             except OSError:\n            {wait}\n"
        );
        said(&RULE, &[("a.py", &text)])
    }

    #[test]
    fn three_attempts_and_no_limit_across_requests() {
        let found = python("range(3)", "time.sleep(1)");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("3 note: 3 attempts and no budget"), "{found:?}");
        assert_eq!(python("range(2)", "time.sleep(1)"), [""; 0]);
        assert_eq!(python("range(3)", "budget.take() or fail()"), [""; 0]);
        assert_eq!(python("range(3)", "self.circuit_breaker.check()"), [""; 0]);
    }
}
