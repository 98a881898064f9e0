//! SARIF against its schema, and against what code hosts ask for beyond it.

use damper_report::result::scan::Scan;
use damper_report::scan::{RuleText, sarif};
use serde_json::Value;

use crate::scan;

fn rules() -> Vec<RuleText> {
    ["no-backoff", "unbounded-retry"]
        .map(|id| RuleText {
            id: id.into(),
            severity: "warning".into(),
            summary: "Attempts follow each other without a pause".into(),
            fix: "wait".into(),
            page: "# Wait\n".into(),
        })
        .into()
}

fn validator() -> jsonschema::Validator {
    let schema = include_str!("../data/sarif-2.1.0-rtm.5.json");
    let mut schema: Value = serde_json::from_str(schema).expect("a schema");
    // Its bracket does not close, which the errata of the standard repair; we write no language.
    for part in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][part]["properties"]["language"];
        language.as_object_mut().expect("a property").remove("pattern");
    }
    jsonschema::validator_for(&schema).expect("a schema")
}

#[track_caller]
fn assert_valid(log: &Value) {
    let validator = validator();
    let errors: Vec<_> =
        validator.iter_errors(log).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn a_log_keeps_to_the_schema() {
    assert_valid(&sarif::log(&scan::hostile(), &rules()));
    assert_valid(&sarif::log(&Scan { partial: true, ..scan::hostile() }, &[]));
    assert_valid(&sarif::log(&Scan { version: "1.0.0".into(), ..Scan::default() }, &rules()));
}

/// The test of the test: the schema refuses what is wrong.
#[test]
fn a_wrong_log_is_refused() {
    let validator = validator();
    let good = sarif::log(&scan::hostile(), &rules());
    for (pointer, wrong) in [
        ("/version", serde_json::json!("2.0.0")),
        ("/runs/0/results/0/level", serde_json::json!("bad")),
        ("/runs/0/results/0/locations/0/physicalLocation/region/startLine", serde_json::json!(0)),
    ] {
        let mut log = good.clone();
        *log.pointer_mut(pointer).expect(pointer) = wrong;
        assert!(!validator.is_valid(&log), "{pointer}");
    }
}

/// Code hosts want relative addresses, a rule for each result, and fingerprints that differ.
#[test]
fn a_log_has_what_code_hosts_ask_for() {
    let log = sarif::log(&scan::hostile(), &rules());
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let mut prints = Vec::new();
    for result in run["results"].as_array().expect("results") {
        let location = &result["locations"][0]["physicalLocation"]["artifactLocation"];
        let uri = location["uri"].as_str().expect("an address");
        assert!(!uri.starts_with('/') && !uri.contains([' ', '<', ':', '|', '"']), "{uri}");
        assert_eq!(location["uriBaseId"], "%SRCROOT%");
        if let Some(index) = result["ruleIndex"].as_u64() {
            assert_eq!(rules[index as usize]["id"], result["ruleId"]);
        }
        prints.push(result["partialFingerprints"]["primaryLocationLineHash"].to_string());
    }
    let all = prints.len();
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), all, "one of its own for each result");
    assert!(rules.iter().all(|rule| rule["help"]["markdown"].is_string()));
    let states = |state: &str| {
        let results = run["results"].as_array().expect("results");
        results.iter().filter(|result| result["baselineState"] == state).count()
    };
    assert_eq!((states("unchanged"), states("new")), (1, 4));
    assert!(!log.to_string().contains("helpUri"), "an address that nobody has given");
}
