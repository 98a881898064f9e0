//! Layers that nothing bounds across requests.

use damper_config::layer::Seat;

use super::layers;
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "layer-without-budget",
    severity: Severity::Note,
    summary: "A proxy, a gateway or a framework retries without a budget",
    fix: "add the format's retry budget (10 to 20 % of requests), or one attempt where it has none",
    check: Check::All(check),
};

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for seen in layers(scan) {
        let layer = seen.layer;
        let most = layer.attempts.value.high();
        if layer.budget.is_some() || layer.seat == Seat::Workflow || most.is_some_and(|n| n < 3) {
            continue;
        }
        let times = most.map_or("without a bound".to_owned(), |most| format!("up to {most} times"));
        let message = format!(
            "{} and no budget: while everything fails, the load is multiplied {times}; a budget of \
             20 % makes it 1.2 times",
            seen.words()
        );
        findings.push(seen.finding(&RULE, Severity::Note, message));
    }
}
