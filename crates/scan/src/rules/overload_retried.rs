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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn which_answers_are_retried() {
        let python = |test: &str| {
            let text = format!(
                "import time\ndef f(c):\n    for i in range(4):\n        r = c.get()\n        if {test}\n        \
                 time.sleep(1)\n"
            );
            said(&RULE, &[("a.py", &text)])
        };
        assert_eq!(
            python("r.status_code != 503: return r"),
            ["3 warning: 4 attempts on `503`, the answer of a server that has too much to do"]
        );
        assert_eq!(python("r.status_code != 503 or not budget.take(): return r"), [""; 0]);
        assert_eq!(python("r.status_code != 502: return r"), [""; 0]);
    }
}
