//! More than five attempts within seconds.

use super::words::{attempts, time, total_wait_ms, usual_attempts};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::Policy;

/// The study of retry policies calls more than so many attempts aggressive where they hardly wait.
const ATTEMPTS: u32 = 5;
/// "Hardly": less than this on average between two attempts.
const MEAN_WAIT_MS: f64 = 1000.0;

pub(super) static RULE: Rule = Rule {
    id: "aggressive-retry",
    severity: Severity::Warning,
    summary: "More than five attempts with hardly a wait between them",
    fix: "at most 3 attempts, and a budget across requests; more attempts need longer waits",
    check: Check::Policy(check),
};

fn check(_: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let Some(total) = usual_attempts(policy).filter(|total| *total > ATTEMPTS && *total < u32::MAX)
    else {
        return;
    };
    let Some(wait) = total_wait_ms(policy, total) else { return };
    let mean = wait / f64::from(total - 1);
    if mean >= MEAN_WAIT_MS {
        return;
    }
    let within = if wait > 0.0 {
        format!("within {} of waiting", time(wait))
    } else {
        "without a wait".to_owned()
    };
    let message =
        format!("{} {within}: up to {total} times the load on whatever fails", attempts(policy));
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
    fn six_attempts_within_a_second_each() {
        // 5 waits of 0.9 s are 4.5 s; of 1 s they are the limit.
        assert_eq!(
            python("range(6)", "time.sleep(0.9)"),
            [
                "3 warning: 6 attempts within 4.5 s of waiting: up to 6 times the load on whatever fails"
            ]
        );
        assert_eq!(python("range(6)", "time.sleep(1)"), [""; 0]);
        assert_eq!(python("range(5)", "pass"), [""; 0]);
    }
}
