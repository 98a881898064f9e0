//! Attempts that follow each other without a pause.

use super::answers::hears;
use super::words::{attempts, usual_attempts};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{DelayKind, Policy};

pub(super) static RULE: Rule = Rule {
    id: "no-backoff",
    severity: Severity::Warning,
    summary: "Attempts follow each other without a pause",
    fix: "wait between attempts: exponential from about the usual latency, capped, full jitter",
    check: Check::Policy(check),
};

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if policy.delay.kind.value != DelayKind::None || policy.pushback {
        return;
    }
    let total = usual_attempts(policy);
    if matches!(total, Some(0 | 1)) {
        return;
    }
    if hears(context.tree, policy) {
        return;
    }
    let severity = match total {
        // One repetition at once hides a lost packet, and doubles the load at worst.
        Some(2) => Severity::Note,
        Some(u32::MAX) => Severity::Error,
        _ => Severity::Warning,
    };
    let message = format!(
        "{} without a pause: while the callee is down, each caller sends them as fast as they fail",
        attempts(policy)
    );
    hits.push(Hit::at(policy, severity, message));
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
    fn two_attempts_are_a_note_and_no_end_is_an_error() {
        let end = "without a pause: while the callee is down, each caller sends them as fast as they \
                   fail";
        assert_eq!(python("range(2)", "pass"), [format!("3 note: 2 attempts {end}")]);
        assert_eq!(python("range(3)", "pass"), [format!("3 warning: 3 attempts {end}")]);
        let endless = "def f(c):\n    while True:\n        try:\n            return c.fetch_user()\n        \
                       except OSError:\n            pass\n";
        assert_eq!(said(&RULE, &[("a.py", endless)]), [format!("2 error: endless attempts {end}")]);
    }

    #[test]
    fn a_wait_is_a_wait() {
        assert_eq!(python("range(3)", "time.sleep(1)"), [""; 0]);
    }
}
