//! Waits that are the same for every caller.

use super::words::{attempts, time, usual_attempts, waits};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{Jitter, Policy};

pub(super) static RULE: Rule = Rule {
    id: "missing-jitter",
    severity: Severity::Warning,
    summary: "Every caller waits equally long, so that all come back at once",
    fix: "draw each wait between 0 and its length (full jitter)",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if !waits(policy)
        || policy.delay.jitter.value != Jitter::None
        || usual_attempts(policy) == Some(1)
    {
        return;
    }
    let first =
        policy.delay.base_ms.as_ref().map_or(String::new(), |base| {
            format!(", the first after exactly {}", time(base.value))
        });
    let message =
        format!("{}{first}: callers that fail together come back together", attempts(policy));
    hits.push(Hit::at(policy, Severity::Warning, message));
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
    fn a_wait_without_chance() {
        assert_eq!(
            python("range(2)", "time.sleep(0.25)"),
            [
                "3 warning: 2 attempts, the first after exactly 250 ms: callers that fail together come \
              back together"
            ]
        );
        assert_eq!(python("range(2)", "pass"), [""; 0], "no wait at all is another rule's");
        assert_eq!(python("range(2)", "time.sleep(random.random())"), [""; 0]);
    }
}
