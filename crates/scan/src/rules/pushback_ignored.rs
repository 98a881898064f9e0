//! A server's word that nobody hears.

use super::answers::{hears, overload};
use super::words::waits;
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{DelayKind, Policy};

pub(super) static RULE: Rule = Rule {
    id: "pushback-ignored",
    severity: Severity::Warning,
    summary: "An overloaded server is retried on the client's own schedule",
    fix: "read Retry-After (gRPC: grpc-retry-pushback-ms) and wait at least as long",
    check: Check::Policy(check),
};

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let own = waits(policy) || policy.delay.kind.value == DelayKind::None;
    if policy.pushback || !own || hears(context.tree, policy) {
        return;
    }
    let Some(on) = overload(context.tree, policy) else { return };
    let message = format!(
        "`{on}` is retried on a schedule of its own: what the server says in Retry-After is not read"
    );
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
        let end =
            "is retried on a schedule of its own: what the server says in Retry-After is not read";
        assert_eq!(
            python("r.status_code < 500: return r"),
            [format!("3 warning: `500 and above` {end}")]
        );
        assert_eq!(
            python("r.status_code not in (429, 503): return r"),
            [format!("3 warning: `(429, 503)` {end}")]
        );
        assert_eq!(python("r.status_code != 502: return r"), [""; 0]);
        assert_eq!(python("r.ok or r.status_code == 429: return r"), [""; 0], "it is let out");
    }
}
