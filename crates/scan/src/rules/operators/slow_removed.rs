//! Slow instances that are started anew while the service is overloaded.

use damper_config::reading::What;

use super::{at, facts, time};
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "slow-instances-removed",
    severity: Severity::Warning,
    summary: "A health check restarts slow instances of a service that scales by load",
    fix: "give the liveness probe a long timeout and an answer that needs no work, and let admission \
          control refuse what is too much",
    check: Check::All(check),
};

/// An overloaded service takes longer than this for any answer.
const SHORT_MS: f64 = 5000.0;

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for (file, fact, what) in facts(scan) {
        let What::HealthCheck { kind: "liveness", timeout_ms: Some(timeout) } = what else {
            continue;
        };
        let Some(about) = fact.about.as_ref().filter(|_| *timeout < SHORT_MS) else { continue };
        let scaled = facts(scan).find_map(|(other, scaling, what)| match what {
            What::Autoscaling { metric } if other.scope == file.scope => {
                let same = scaling.about.as_ref().is_some_and(|name| name.matches(about));
                same.then(|| metric.clone().unwrap_or_else(|| "load".to_owned()))
            }
            _ => None,
        });
        let Some(metric) = scaled else { continue };
        let message = format!(
            "an instance of {about} that needs more than {} for its health check is started anew, \
             and the service scales by {metric}: under overload all are slow, capacity goes down, \
             and the rest gets more",
            time(*timeout)
        );
        findings.push(at(file, fact.lines, &RULE, Severity::Warning, message));
    }
}
