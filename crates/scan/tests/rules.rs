//! The pages of the rules are their tests: each `bad` example must be found, each `good` one not.
#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use damper_scan::language::Language;
use damper_scan::lower;
use damper_scan::policy::Scope;
use damper_scan::rules::{self, Check, Context, Finding, RULES, Rule};
use damper_scan::scan::{self, Control, Known, Options, Source};

/// The parts of every page, in this order.
const HEADINGS: &[&str] =
    &["## What it finds", "## Why", "## How to fix it", "## How to silence it", "## Examples"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules")
}

fn page(id: &str) -> String {
    fs::read_to_string(folder().join(format!("{id}.md"))).expect("the page of a rule")
}

/// A block of code with the words after its fence.
struct Example {
    /// The language; `None`: a file of configuration.
    language: Option<Language>,
    /// What stands after the fence.
    word: String,
    bad: bool,
    line: usize,
    text: String,
}

fn examples(page: &str) -> Vec<Example> {
    let mut all = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(words) = line.strip_prefix("```") else { continue };
        let text: String = lines
            .by_ref()
            .take_while(|(_, line)| *line != "```")
            .map(|(_, l)| format!("{l}\n"))
            .collect();
        let Some((word, kind)) = words.split_once(' ') else { continue };
        let language = Language::all().find(|one| one.name() == word);
        let known = language.is_some() || SETTINGS.iter().any(|(one, _)| *one == word);
        assert!(known, "line {}: no language {word}", at + 1);
        let word = word.to_owned();
        assert!(matches!(kind, "bad" | "good"), "line {}: {kind}", at + 1);
        all.push(Example { language, word, bad: kind == "bad", line: at + 2, text });
    }
    all
}

/// What the rule says of an example.
fn said(rule: &Rule, example: &Example) -> (Vec<Finding>, usize) {
    let Example { language, text, .. } = example;
    let Some(language) = language else {
        let mut findings = of_folder(example);
        findings.retain(|finding| finding.rule == rule.id);
        return (findings, 0);
    };
    let tree = lower::tree(*language, text).expect("a tree");
    assert!(!tree.broken(), "does not parse:\n{text}");
    let source = Source { path: "a", language: *language, text, scope: Scope::Production };
    let policies = scan::policies(&tree, &source, Known::default()).all;
    let mut findings = match rule.check {
        Check::All(_) => of_folder(example),
        _ => rules::of_file(&Context { tree: &tree, source: &source, policies: &policies }),
    };
    findings.retain(|finding| finding.rule == rule.id);
    (findings, policies.len())
}

/// The same through a whole scan.
fn of_folder(example: &Example) -> Vec<Finding> {
    let folder = tempfile::tempdir().expect("a folder");
    let name = match example.language {
        Some(language) => format!("client.{}", extension(language)),
        None => {
            let of = SETTINGS.iter().find(|(word, _)| *word == example.word);
            of.expect("a syntax").1.to_owned()
        }
    };
    fs::write(folder.path().join(name), &example.text).expect("writes");
    let options =
        Options { roots: vec![folder.path().to_owned()], threads: 1, ..Options::default() };
    let control = Control { stop: &AtomicBool::new(false), progress: &|_, _| {} };
    scan::scan(&options, control).expect("a scan").findings
}

/// The end of a file's name in a language.
fn extension(language: Language) -> &'static str {
    let extensions = ["py", "go", "java", "kt", "js", "ts", "rs", "cs", "rb", "php"];
    let mut extensions = extensions.into_iter();
    extensions
        .find(|extension| Language::of_extension(extension) == Some(language))
        .expect("an extension")
}

/// Words after a fence that mean a file of configuration, and its name.
const SETTINGS: &[(&str, &str)] = &[
    ("yaml", "deploy.yaml"),
    ("json", "service_config.json"),
    ("nginx", "nginx.conf"),
    ("haproxy", "haproxy.cfg"),
];

#[test]
fn every_bad_example_is_found_and_no_good_one() {
    let (mut wrong, mut shown) = (String::new(), String::new());
    for rule in RULES {
        let all = examples(&page(rule.id));
        for kind in [true, false] {
            if !all.iter().any(|example| example.bad == kind) {
                writeln!(wrong, "{}: no example that is bad={kind}", rule.id).expect("writes");
            }
        }
        for example in &all {
            let (findings, policies) = said(rule, example);
            let language = &example.word;
            let place = format!("{}.md:{} {language}", rule.id, example.line);
            if example.bad == findings.is_empty() {
                let kind = if example.bad { "bad, not found" } else { "good, but found" };
                writeln!(wrong, "{place}: {kind} ({policies} policies)").expect("writes");
            }
            // Where nothing is found to judge, a rule is silent for the wrong reason.
            if !example.bad && policies == 0 && matches!(rule.check, Check::Policy(_)) {
                writeln!(wrong, "{place}: good, but no policy in it").expect("writes");
            }
            for finding in &findings {
                let hit = &finding.hit;
                let severity = hit.severity.name();
                writeln!(shown, "{} {language}: {severity} {}: {}", rule.id, hit.line, hit.message)
                    .expect("writes");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}\n{shown}");
    insta::assert_snapshot!("said", shown);
}

#[test]
fn every_page_says_what_its_rule_says() {
    for rule in RULES {
        let page = page(rule.id);
        assert_eq!(rules::pages::page(rule.id), Some(page.as_str()), "{}", rule.id);
        let start = format!("# {}\n\n**{}**: {}.\n", rule.id, rule.severity.name(), rule.summary);
        assert!(page.starts_with(&start), "{}: expected at its start:\n{start}", rule.id);
        let headings: Vec<_> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, HEADINGS, "{}", rule.id);
        assert!(page.contains(&format!("damper: ignore[{}]", rule.id)), "{}", rule.id);
    }
}

#[test]
fn every_page_has_a_rule_and_a_line_in_the_table() {
    let table = fs::read_to_string(folder().join("README.md")).expect("the table");
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| [")).collect();
    let expected: Vec<_> = RULES
        .iter()
        .map(|rule| {
            let Rule { id, severity, summary, .. } = rule;
            format!("| [{id}]({id}.md) | {} | {summary} |", severity.name())
        })
        .collect();
    assert_eq!(rows, expected);
    let pages: BTreeSet<_> = fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name != "README.md")
        .collect();
    let named: BTreeSet<_> = RULES.iter().map(|rule| format!("{}.md", rule.id)).collect();
    assert_eq!(pages, named);
}
