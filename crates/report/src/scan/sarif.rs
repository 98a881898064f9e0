//! SARIF 2.1.0, as code hosts read it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::RuleText;
use crate::result::scan::{Finding, FoundPolicy, Scan, rank};

/// The schema that it keeps to.
pub const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Where Damper's source is, if its manifest says so.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Code hosts refuse a run with more results.
pub const RESULTS: usize = 25_000;
/// Policies that go along as properties of the run.
const POLICIES: usize = 5_000;

/// A log with one run. Silenced and known findings are in it, marked as such; of more than
/// [`RESULTS`] the worst are kept, and a notification says so.
#[must_use]
pub fn log(scan: &Scan, rules: &[RuleText]) -> Value {
    let mut findings: Vec<_> = scan.findings.iter().collect();
    findings.sort_by_key(|finding| (!finding.counts(), rank(&finding.severity)));
    let mut notes = scan.notes.clone();
    if findings.len() > RESULTS {
        notes.push(format!(
            "{} findings, of which the worst {RESULTS} are listed: code hosts take no more",
            findings.len()
        ));
        findings.truncate(RESULTS);
    }
    let compared = findings.iter().any(|finding| finding.known);
    let mut same = BTreeMap::<&str, u32>::new();
    let results: Vec<_> = findings
        .into_iter()
        .map(|finding| {
            let count = same.entry(&finding.fingerprint).or_default();
            *count += 1;
            let index = rules.iter().position(|rule| rule.id == finding.rule);
            result(finding, index, *count, compared)
        })
        .collect();
    let mut driver = json!({
        "name": "damper",
        "semanticVersion": scan.version,
        "rules": rules.iter().map(rule).collect::<Vec<_>>(),
    });
    if !REPOSITORY.is_empty() {
        driver["informationUri"] = json!(REPOSITORY);
    }
    let base = "the folder in which damper was run";
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver},
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": base}}},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": !scan.partial,
                "toolExecutionNotifications": notifications(scan, &notes),
            }],
            "results": results,
            "properties": {
                "policies": scan.policies.iter().take(POLICIES).map(policy).collect::<Vec<_>>(),
            },
        }],
    })
}

/// Notes, and what of configuration could not be read with its places.
fn notifications(scan: &Scan, notes: &[String]) -> Vec<Value> {
    let plain = |level: &str, text: &str| json!({"level": level, "message": {"text": text}});
    let summary = scan.unread.sentence().map(|text| plain("note", &text));
    let places = scan.unread.telling().map(|place| {
        let level = if place.kind == "broken" { "warning" } else { "note" };
        let mut one = plain(level, &place.sentence());
        one["locations"] = json!([{"physicalLocation": {
            "artifactLocation": artifact(&place.path),
            "region": {"startLine": place.line.max(1)},
        }}]);
        one
    });
    notes.iter().map(|note| plain("note", note)).chain(summary).chain(places).collect()
}

fn rule(rule: &RuleText) -> Value {
    let mut help = json!({"text": format!("To fix: {}", rule.fix)});
    if !rule.page.is_empty() {
        help["markdown"] = json!(rule.page);
    }
    let mut out = json!({
        "id": rule.id,
        "name": pascal(&rule.id),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": format!("{}. To fix: {}.", rule.summary, rule.fix)},
        "help": help,
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": ["reliability", "retry"], "precision": "high"},
    });
    if !REPOSITORY.is_empty() {
        let repository = REPOSITORY.trim_end_matches('/');
        out["helpUri"] = json!(format!("{repository}/blob/main/docs/rules/{}.md", rule.id));
    }
    out
}

/// `same` counts findings with the same fingerprint: code hosts want them apart.
fn result(finding: &Finding, index: Option<usize>, same: u32, compared: bool) -> Value {
    let mut result = json!({
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": format!("{}. To fix: {}.", finding.message, finding.fix)},
        "locations": [{"physicalLocation": {
            "artifactLocation": artifact(&finding.path),
            "region": {
                "startLine": finding.line.max(1),
                "endLine": finding.end_line.max(finding.line).max(1),
            },
        }}],
        "partialFingerprints": {
            "damperLines/v1": finding.fingerprint,
            "primaryLocationLineHash": format!("{}:{same}", finding.fingerprint),
        },
        "properties": {"scope": finding.scope},
    });
    if let Some(index) = index {
        result["ruleIndex"] = json!(index);
    }
    if let Some(reason) = &finding.silenced {
        result["suppressions"] = json!([{"kind": "inSource", "justification": reason}]);
    }
    if compared {
        result["baselineState"] = json!(if finding.known { "unchanged" } else { "new" });
    }
    result
}

/// A file below the folder of the run, or one elsewhere by its whole path.
fn artifact(path: &str) -> Value {
    if path.starts_with('/') {
        return json!({"uri": format!("file://{}", uri(path))});
    }
    json!({"uri": uri(path), "uriBaseId": "%SRCROOT%"})
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
        assert_eq!(artifact("/x y.py"), json!({"uri": "file:///x%20y.py"}));
    }

    #[test]
    fn the_worst_are_kept_where_there_are_too_many() {
        let finding = |severity: &str| Finding {
            rule: "no-backoff".to_owned(),
            severity: severity.to_owned(),
            ..Finding::default()
        };
        let mut findings = vec![finding("note"); RESULTS];
        findings.push(finding("error"));
        let log = log(&Scan { findings, ..Scan::default() }, &[]);
        let run = &log["runs"][0];
        assert_eq!(run["results"].as_array().map(Vec::len), Some(RESULTS));
        assert_eq!(run["results"][0]["level"], "error");
        let said = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
        assert!(said.as_str().is_some_and(|text| text.starts_with("25001 findings")), "{said}");
    }
}
