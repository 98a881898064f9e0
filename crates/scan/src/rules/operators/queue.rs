//! Queues in which requests outlive their callers.

use damper_config::reading::What;

use super::{at, facts, time};
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "queue-outlives-caller",
    severity: Severity::Warning,
    summary: "A queue without a limit, or one in which requests wait longer than their callers",
    fix: "limit the queue to what is served within the caller's timeout, and refuse the rest at once",
    check: Check::All(check),
};

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for (file, fact, what) in facts(scan) {
        let What::Queue { places, wait_ms, timeout_ms } = what else { continue };
        let message = match (places, wait_ms, timeout_ms) {
            (_, Some(wait), Some(timeout)) if wait > timeout => format!(
                "a request may wait {} in this queue, and its caller waits {}: what is served then \
                 is served for nobody",
                time(*wait),
                time(*timeout)
            ),
            (None, None, _) => "a queue without a limit in places or time: under overload every \
                                request in it waits until its caller has gone"
                .to_owned(),
            _ => continue,
        };
        findings.push(at(file, fact.lines, &RULE, Severity::Warning, message));
    }
}
