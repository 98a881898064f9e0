//! Attempts for which the whole timeout leaves no room.

use damper_config::layer::Attempts;

use super::{layers, time};
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "retries-beyond-timeout",
    severity: Severity::Warning,
    summary: "The timeout over all attempts ends before they can be made",
    fix: "make attempts x (timeout of one attempt + wait) fit into the whole timeout",
    check: Check::All(check),
};

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for seen in layers(scan) {
        let layer = seen.layer;
        let (Some(all), Some(one)) = (&layer.timeout_ms, &layer.attempt_timeout_ms) else {
            continue;
        };
        let (all, one) = (all.value, one.value);
        let Attempts::Count(attempts) = layer.attempts.value else { continue };
        if all <= 0.0 || one <= 0.0 {
            continue;
        }
        if one >= all {
            let message = format!(
                "one attempt may take {} and all together {}: the timeout of an attempt can never \
                 end it, so that a slow one is never retried",
                time(one),
                time(all)
            );
            findings.push(seen.finding(&RULE, Severity::Warning, message));
            continue;
        }
        let wait = layer.delay.base_ms.as_ref().map_or(0.0, |base| base.value);
        let wait = if layer.delay.jitter { 0.0 } else { wait };
        let room = (all / (one + wait)).ceil();
        if room < f64::from(attempts) {
            let message = format!(
                "{} of {} each do not fit into {}: of slow ones only {room} can begin",
                seen.words(),
                time(one),
                time(all)
            );
            findings.push(seen.finding(&RULE, Severity::Warning, message));
        }
    }
}
