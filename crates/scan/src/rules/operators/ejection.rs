//! Instances that are taken out while all of them fail.

use damper_config::reading::What;

use super::{at, facts};
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ejection-without-panic",
    severity: Severity::Warning,
    summary: "Most instances may be taken out while all of them are overloaded",
    fix: "take out at most 10 to 30 %, or set a panic threshold (minHealthPercent, \
          healthy_panic_threshold) of 50 %",
    check: Check::All(check),
};

/// Below this share of instances the rest can carry the load in most systems.
const MOST_PERCENT: f64 = 50.0;

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for (file, fact, what) in facts(scan) {
        let What::Ejection { max_percent: Some(most), panic_percent } = what else { continue };
        let panics = panic_percent.is_none_or(|percent| percent > 0.0);
        if *most < MOST_PERCENT || panics {
            continue;
        }
        let left = 100.0 - most;
        let message = format!(
            "up to {most} % of the instances are taken out when they fail, and no share of healthy \
             ones ends that: under overload all fail, and {left} % get the whole load"
        );
        findings.push(at(file, fact.lines, &RULE, Severity::Warning, message));
    }
}
