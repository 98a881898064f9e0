//! A number where a share belongs.

use damper_config::layer::Budget;
use damper_config::reading::What;

use super::{at, facts};
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "fixed-retry-limit",
    severity: Severity::Note,
    summary: "A fixed number of retries at once, whatever the load",
    fix: "use a budget that is a share of the requests (retry_budget, retryBudget)",
    check: Check::All(check),
};

/// From here on it is no limit at all, which is for another rule.
const NEVER: u32 = 1000;

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for (file, fact, what) in facts(scan) {
        let What::Retries(Budget::Concurrent { limit: Some(limit) }) = what else { continue };
        if *limit >= NEVER {
            continue;
        }
        let message = format!(
            "{limit} retries at once, for 10 requests a second and for 10,000: too many for a small \
             client, and a client that grows loses its retries without a word; a share of the \
             requests follows the load"
        );
        findings.push(at(file, fact.lines, &RULE, Severity::Note, message));
    }
}
