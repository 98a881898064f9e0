//! Every shape of hand-rolled retries, and what only looks like one, as small samples in
//! `tests/loops/`. The comment before each says what must be found:
//! `expect NAME: KIND[|KIND] attempts=… delay=… base=… …`. What has no such comment is no retry.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

use std::fmt::Write;
use std::path::Path;

use damper_scan::language::Language;
use damper_scan::loops::{self, Finding};
use damper_scan::lower;
use damper_scan::policy::{Attempts, Delay};
use damper_scan::value::{Imports, Values};

/// One expectation: from which line on, under which name, and what.
struct Expectation {
    line: u32,
    name: String,
    kinds: Vec<String>,
    rest: Vec<String>,
}

fn expectations(text: &str) -> Vec<Expectation> {
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((_, rest)) = line.split_once("expect ") else { continue };
        let Some((name, rest)) = rest.split_once(": ") else { continue };
        let mut words = rest.split_whitespace().map(str::to_owned);
        let kinds = words.next().expect("a kind").split('|').map(str::to_owned).collect();
        let line = u32::try_from(at + 1).expect("few lines");
        all.push(Expectation { line, name: name.to_owned(), kinds, rest: words.collect() });
    }
    all
}

fn name_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("serialises").trim_matches('"').to_owned()
}

fn numbers(all: &[f64]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// What is wrong with a finding.
fn differences(expected: &Expectation, finding: &Finding) -> Vec<String> {
    let policy = &finding.policy;
    let delay: &Delay = &policy.delay;
    let mut wrong = Vec::new();
    let mut check = |what: &str, found: String, want: &str| {
        if found != want {
            wrong.push(format!("{what}: found {found}, expected {want}"));
        }
    };
    let kind = name_of(&policy.kind);
    if !expected.kinds.contains(&kind) {
        check("kind", kind, &expected.kinds.join("|"));
    }
    let (count, usual, expression) = match &policy.attempts_total.value {
        Attempts::Count(count) => (count.to_string(), None, None),
        Attempts::Infinite => ("infinite".to_owned(), None, None),
        Attempts::Dynamic { expression, usual, .. } => {
            ("dynamic".to_owned(), *usual, Some(expression.replace(' ', "")))
        }
    };
    let plain = |setting: &Option<damper_scan::policy::Setting<f64>>| {
        setting.as_ref().map_or("none".to_owned(), |setting| setting.value.to_string())
    };
    for word in &expected.rest {
        let (key, want) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "attempts" => check(key, count.clone(), want),
            "usual" => check(key, usual.map_or("none".to_owned(), |usual| usual.to_string()), want),
            "expression" => check(key, expression.clone().unwrap_or_default(), want),
            "delay" => check(key, name_of(&delay.kind.value), want),
            "base" => check(key, plain(&delay.base_ms), want),
            "cap" => check(key, plain(&delay.cap_ms), want),
            "timeout" => check(key, plain(&policy.attempt_timeout_ms), want),
            "deadline" => check(key, plain(&policy.deadline_ms), want),
            "jitter" => check(key, name_of(&delay.jitter.value), want),
            "schedule" => check(key, numbers(&delay.schedule_ms), want),
            "pushback" => check(key, policy.pushback.to_string(), "true"),
            "wasted" => check(
                key,
                policy.notes.iter().any(|note| note.contains("after the last")).to_string(),
                "true",
            ),
            _ => panic!("{}: unknown word {word}", expected.name),
        }
    }
    wrong
}

#[test]
fn every_shape_and_every_near_miss() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loops");
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder of samples")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let (mut report, mut checked) = (String::new(), 0);
    for path in paths {
        let extension = path.extension().and_then(|e| e.to_str()).expect("an extension");
        let language = Language::of_extension(extension).expect("a language");
        let text = std::fs::read_to_string(&path).expect("a sample");
        let tree = lower::tree(language, &text).expect("a tree");
        let file = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if tree.broken() {
            writeln!(report, "{file}: does not parse").expect("writes");
        }
        let expected = expectations(&text);
        let imports = Imports::of(&tree);
        let values = Values::new(&tree, &imports);
        let findings = loops::find_with(&tree, language, Some(&values));
        let mut used = vec![false; findings.len()];
        for (at, expectation) in expected.iter().enumerate() {
            checked += 1;
            let until = expected.get(at + 1).map_or(u32::MAX, |next| next.line);
            let mut here = findings.iter().enumerate().filter(|(_, finding)| {
                finding.policy.line > expectation.line && finding.policy.line < until
            });
            let Some((first, finding)) = here.next() else {
                writeln!(report, "{file} {}: not found", expectation.name).expect("writes");
                continue;
            };
            used[first] = true;
            for wrong in differences(expectation, finding) {
                writeln!(report, "{file} {}: {wrong}", expectation.name).expect("writes");
            }
        }
        for (finding, _) in findings.iter().zip(&used).filter(|(_, used)| !**used) {
            let policy = &finding.policy;
            let call = policy.call.as_ref().map_or("", |call| &call.text);
            writeln!(report, "{file}:{}: {:?} of {call} that is none", policy.line, policy.kind)
                .expect("writes");
        }
    }
    assert!(report.is_empty(), "of {checked} expectations:\n{report}");
}
