//! What is written and can never act.

use damper_config::reading::What;

use super::{at, facts};
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "setting-without-effect",
    severity: Severity::Warning,
    summary: "A retry, a limit or a throttle is written where it can never act",
    fix: "write it where the software reads it, or take it out",
    check: Check::All(check),
};

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for (file, fact, what) in facts(scan) {
        if let What::Inert { why } = what {
            findings.push(at(file, fact.lines, &RULE, Severity::Warning, why.clone()));
        }
    }
}
