//! Attempts that the caller does not live to see.

use super::deadlines;
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

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let Some(total) = usual_attempts(policy).filter(|total| (2..u32::MAX).contains(total)) else {
        return;
    };
    let Some(wait) = total_wait_ms(policy, total) else { return };
    let in_code = deadlines::find(context.tree, context.source.language, policy);
    let deadline = policy.deadline_ms.as_ref().map(|setting| setting.value).or(in_code.around_ms);
    let attempt =
        policy.attempt_timeout_ms.as_ref().map(|setting| setting.value).or(in_code.attempt_ms);
    let (Some(deadline), Some(attempt)) = (deadline, attempt) else { return };
    let longest = f64::from(total) * attempt + wait;
    if longest <= deadline {
        return;
    }
    let message = format!(
        "{total} attempts of {} and {} of waiting are {}, but the whole may take {}: the last \
         attempts are work for nobody",
        time(attempt),
        time(wait),
        time(longest),
        time(deadline)
    );
    hits.push(Hit::at(policy, Severity::Warning, message));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn attempts_and_waits_against_the_deadline() {
        let python = |whole: &str, one: &str| {
            let text = format!(
                "import asyncio\nasync def f(c):\n    async with asyncio.timeout({whole}):\n        for \
                 i in range(3):\n            try:\n                return await c.get(timeout={one})\n            \
                 except OSError:\n                if i == 2: raise\n                await \
                 asyncio.sleep(0.5)\n"
            );
            said(&RULE, &[("a.py", &text)])
        };
        // 3 × 2 s + 2 × 0.5 s = 7 s.
        assert_eq!(python("7", "2"), [""; 0]);
        assert_eq!(
            python("6.9", "2"),
            [
                "4 warning: 3 attempts of 2 s and 1 s of waiting are 7 s, but the whole may take 6.9 s: the \
              last attempts are work for nobody"
            ]
        );
        assert_eq!(python("limit", "2"), [""; 0], "not known");
    }

    #[test]
    fn a_signal_counts_where_it_is_used() {
        let script = |signal: &str| {
            let text = format!(
                "async function f(url) {{\n  const whole = AbortSignal.timeout(3000);\n  for (let i = 0; i < \
                 4; i++) {{\n    try {{\n      return await fetch(url, {{ signal: {signal} }});\n    }} \
                 catch (e) {{\n      if (i === 3) throw e;\n    }}\n  }}\n}}\n"
            );
            said(&RULE, &[("a.js", &text)]).len()
        };
        assert_eq!(script("AbortSignal.any([whole, AbortSignal.timeout(1000)])"), 1, "4 s");
        assert_eq!(script("AbortSignal.timeout(1000)"), 0, "another one's");
    }
}
