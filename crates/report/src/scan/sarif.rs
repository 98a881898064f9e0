//! SARIF 2.1.0, as code hosts read it.

use serde_json::{Value, json};

use super::RuleText;
use crate::result::scan::{Finding, FoundPolicy, Scan};

/// The schema that it keeps to.
pub const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Where the pages of the rules are.
const PAGES: &str = "https://github.com/damper-rs/damper/blob/main/docs/rules";

/// A log with one run. Silenced and known findings are in it, marked as such.
#[must_use]
pub fn log(scan: &Scan, rules: &[RuleText]) -> Value {
    let index = |id: &str| rules.iter().position(|rule| rule.id == id);
    let results: Vec<_> =
        scan.findings.iter().map(|finding| result(finding, index(&finding.rule))).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "damper",
                "semanticVersion": scan.version,
                "informationUri": "https://github.com/damper-rs/damper",
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "the folder that was scanned"}}},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": !scan.partial,
                "toolExecutionNotifications": scan.notes.iter().map(|note| json!({
                    "level": "note",
                    "message": {"text": note},
                })).collect::<Vec<_>>(),
            }],
            "results": results,
            "properties": {"policies": scan.policies.iter().map(policy).collect::<Vec<_>>()},
        }],
    })
}

fn rule(rule: &RuleText) -> Value {
    json!({
        "id": rule.id,
        "name": pascal(&rule.id),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": format!("{}. To fix: {}.", rule.summary, rule.fix)},
        "helpUri": format!("{PAGES}/{}.md", rule.id),
        "help": {"text": format!("To fix: {}", rule.fix), "markdown": rule.page},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": ["reliability", "retry"], "precision": "high"},
    })
}

fn result(finding: &Finding, index: Option<usize>) -> Value {
    let mut result = json!({
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": format!("{}. To fix: {}.", finding.message, finding.fix)},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(&finding.path), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": finding.line.max(1), "endLine": finding.end_line.max(1)},
        }}],
        "partialFingerprints": {"damperLines/v1": finding.fingerprint},
        "properties": {"scope": finding.scope},
    });
    if let Some(index) = index {
        result["ruleIndex"] = json!(index);
    }
    if let Some(reason) = &finding.silenced {
        result["suppressions"] = json!([{"kind": "inSource", "justification": reason}]);
    }
    if finding.known {
        result["baselineState"] = json!("unchanged");
    }
    result
}

fn policy(policy: &FoundPolicy) -> Value {
    json!({
        "uri": uri(&policy.path),
        "line": policy.line,
        "by": policy.by,
        "name": policy.name,
        "attempts": policy.attempts,
        "delay": policy.delay.kind,
    })
}

/// A path as a relative reference: what may not stand in one is percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// `no-backoff` as `NoBackoff`.
fn pascal(id: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars
            .next()
            .map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + chars.as_str())
    };
    id.split('-').map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_names() {
        assert_eq!(uri("a b/c#d.py"), "a%20b/c%23d.py");
        assert_eq!(pascal("no-backoff"), "NoBackoff");
    }
}
