//! Limits of retries at once that are no limits.

use damper_config::layer::Budget;
use damper_config::reading::What;

use super::{at, facts, layers};
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "unlimited-retries",
    severity: Severity::Warning,
    summary: "So many retries may run at once that the limit never acts",
    fix: "use a retry budget, or a limit that is a small part of the requests at once",
    check: Check::All(check),
};

/// No client has so many requests open that a tenth of them are so many.
const NEVER: u32 = 1000;

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    let words = |limit: Option<u32>| {
        limit.map_or("no limit".to_owned(), |limit| format!("a limit of {limit}"))
    };
    let never = |limit: &Option<u32>| limit.is_none_or(|limit| limit >= NEVER);
    for seen in layers(scan) {
        let Some(Budget::Concurrent { limit }) = seen.layer.budget.as_ref().map(|one| &one.value)
        else {
            continue;
        };
        if never(limit) && seen.layer.attempts.value.high() != Some(2) {
            let message = format!(
                "{}, and {} of retries at once: it never acts, so that nothing bounds them while \
                 everything fails",
                seen.words(),
                words(*limit)
            );
            findings.push(seen.finding(&RULE, Severity::Note, message));
        }
    }
    for (file, fact, what) in facts(scan) {
        let What::Retries(Budget::Concurrent { limit }) = what else { continue };
        if never(limit) {
            let message = format!("{} of retries at once never acts", words(*limit));
            findings.push(at(file, fact.lines, &RULE, Severity::Warning, message));
        }
    }
}
