//! Callers that know nothing of each other.

use super::{Check, Finding, Hit, Rule, Severity};
use crate::policy::{Kind, Scope};
use crate::scan::Scan;

pub(super) static RULE: Rule = Rule {
    id: "no-coordination",
    severity: Severity::Note,
    summary: "No policy knows what the tiers around it do",
    fix: "let one tier retry; pass a priority, a deadline and the attempt's number along",
    check: Check::All(check),
};

/// Once for a scan, as it is so nearly everywhere.
fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    let retries = || {
        let files = scan.files.iter().filter(|file| file.scope == Scope::Production);
        files.flat_map(|file| {
            let retries = file.policies.iter().filter(|policy| policy.kind == Kind::Retry);
            retries.map(move |policy| (file, policy))
        })
    };
    if retries().any(|(_, policy)| policy.budget.is_some() || policy.pushback) {
        return;
    }
    let Some((file, policy)) = retries().next() else { return };
    let message = format!(
        "none of {} policies has a budget or hears the server: tiers that retry multiply, five of \
         three attempts to 243 times the load",
        retries().count()
    );
    let hit = Hit::at(policy, Severity::Note, message);
    findings.push(Finding::new(RULE.id, &file.path, file.scope, file.print_of(policy), hit));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn one_that_hears_is_enough() {
        let deaf = "import time\ndef f(c):\n    for i in range(3):\n        try:\n            return \
                    c.fetch_user()\n        except OSError:\n            time.sleep(1)\n";
        let hears = "import time\ndef f(c):\n    for i in range(3):\n        r = c.get()\n        if \
                     r.status_code != 429: return r\n        \
                     time.sleep(float(r.headers['Retry-After']))\n";
        assert_eq!(
            said(&RULE, &[("a.py", deaf), ("b.py", deaf)]),
            [
                "3 note: none of 2 policies has a budget or hears the server: tiers that retry multiply, \
              five of three attempts to 243 times the load"
            ]
        );
        assert_eq!(said(&RULE, &[("a.py", deaf), ("b.py", hears)]), [""; 0]);
    }
}
