//! A budget whose accounting makes it tighter than it says.

use damper_config::layer::{Budget, Growth};

use super::{layers, time};
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "budget-tighter",
    severity: Severity::Warning,
    summary: "A share of active requests is much less than it says once retries wait in backoff",
    fix: "shorten the backoff, raise min_retry_concurrency to the retries you want at once, and \
          watch upstream_rq_retry_overflow",
    check: Check::All(check),
};

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for seen in layers(scan) {
        let layer = seen.layer;
        let Some(Budget::ActiveShare { percent, min_concurrent }) =
            layer.budget.as_ref().map(|budget| &budget.value)
        else {
            continue;
        };
        let base = layer.delay.base_ms.as_ref().map_or(0.0, |base| base.value);
        // Only a wait that is long against an attempt keeps slots that no request stands for.
        if layer.delay.growth == Growth::None || base < LONG_MS {
            continue;
        }
        let message = format!(
            "{percent} % of active requests, with a backoff from {} on: a retry that waits holds \
             its place, and the request that it belongs to is not counted as active; while many \
             fail at once only {min_concurrent} retries may run, whatever the percentage (Envoy \
             issue 30205)",
            time(base)
        );
        findings.push(seen.finding(&RULE, Severity::Warning, message));
    }
}

/// Envoy's own base; a longer one was chosen.
const LONG_MS: f64 = 25.0;
