//! Requests that must not be done twice, retried after they were sent.

use damper_config::Failures;
use damper_config::layer::{Methods, Seat};

use super::layers;
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "unsafe-methods-retried",
    severity: Severity::Warning,
    summary: "A proxy repeats requests that must not be done twice, after they were sent",
    fix: "retry these methods only on connect failures and refused streams, or match the route by \
          method",
    check: Check::All(check),
};

/// Methods of HTTP that must not be done twice.
const UNSAFE: &[&str] = &["POST", "PATCH", "LOCK"];

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for seen in layers(scan) {
        let layer = seen.layer;
        // What a method of gRPC or of code does, its configuration does not say.
        let proxy = matches!(layer.seat, Seat::Sidecar | Seat::Gateway | Seat::Inbound);
        if !proxy || layer.format.starts_with("grpc") {
            continue;
        }
        let methods = match &layer.methods {
            Methods::All => "every method, POST too".to_owned(),
            Methods::Listed(methods) => {
                let bad: Vec<_> = methods
                    .iter()
                    .filter(|method| UNSAFE.contains(&method.to_ascii_uppercase().as_str()))
                    .map(String::as_str)
                    .collect();
                if bad.is_empty() {
                    continue;
                }
                bad.join(", ")
            }
            Methods::Idempotent => continue,
        };
        let before = Failures::BEFORE;
        let after: Vec<_> = layer.on.value.iter().filter(|kind| !before.contains(*kind)).collect();
        let Some(first) = after.first() else { continue };
        let more = if after.len() > 1 { " and others" } else { "" };
        let message = format!(
            "{} for {methods}, also after {}{more}: the first attempt may have done its work",
            seen.words(),
            first.name()
        );
        findings.push(seen.finding(&RULE, Severity::Warning, message));
    }
}
