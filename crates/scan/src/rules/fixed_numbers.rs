//! Numbers that nobody can change while it burns.

use super::{Check, Finding, Hit, Rule, Severity};
use crate::policy::{Attempts, Kind, Scope};
use crate::scan::Scan;

pub(super) static RULE: Rule = Rule {
    id: "fixed-numbers",
    severity: Severity::Note,
    summary: "Limits are written into the code, so that nobody can turn them down in an outage",
    fix: "read limits from configuration that can change at run time, or adapt them to failures",
    check: Check::All(check),
};

/// Once for a scan: it is so nearly everywhere, and a list of all would hide the rest.
fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    let mut fixed = 0_u32;
    let mut all = 0_u32;
    let mut first = None;
    for file in scan.files.iter().filter(|file| file.scope == Scope::Production) {
        for policy in file.policies.iter().filter(|policy| policy.kind == Kind::Retry) {
            all += 1;
            // A constant of another file is fixed, too; what the environment says is `Dynamic`.
            if matches!(policy.attempts_total.value, Attempts::Count(_) | Attempts::Infinite) {
                fixed += 1;
                first = first.or(Some((file, policy)));
            }
        }
    }
    let Some((file, policy)) = first else { return };
    let message = format!("{fixed} of {all} policies have fixed limits; this is the first");
    let hit = Hit::at(policy, Severity::Note, message);
    findings.push(Finding::new(RULE.id, &file.path, file.scope, file.print_of(policy), hit));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn once_with_how_many() {
        let one = "import time\ndef f(c):\n    for i in range(3):\n        try:\n            return \
                   c.fetch_user()\n        except OSError:\n            time.sleep(1)\n";
        let free = one.replace("range(3)", "range(int(os.environ['N']))");
        assert_eq!(
            said(&RULE, &[("a.py", one), ("b.py", &free), ("c.py", one)]),
            ["3 note: 2 of 3 policies have fixed limits; this is the first"]
        );
        assert_eq!(said(&RULE, &[("b.py", &free)]), [""; 0]);
    }
}
