//! `damper scan`, for people.

use damper_report::result::scan::Scan;

use super::line;

pub(crate) fn scan(scan: &Scan) {
    for policy in &scan.policies {
        let attempts = match (&policy.attempts.total, policy.attempts.kind.as_str()) {
            (Some(total), _) => total.to_string(),
            (None, kind) => kind.to_owned(),
        };
        line(&format!(
            "{}:{}: {} {}: {attempts} attempts, {} delay",
            policy.path, policy.line, policy.by, policy.name, policy.delay.kind
        ));
    }
    line(&format!(
        "{} policies in {} files, {} lines",
        scan.policies.len(),
        scan.coverage.files,
        scan.coverage.lines
    ));
}
