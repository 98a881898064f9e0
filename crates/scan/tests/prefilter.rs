//! What is left out before it is parsed has nothing in it: every policy that is found in a text
//! makes the text worth parsing. The samples of the catalogue are looked at where they are tested.
#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

use std::fs;
use std::path::Path;

use damper_scan::language::Language;
use damper_scan::lower;
use damper_scan::policy::Scope;
use damper_scan::prefilter;
use damper_scan::scan::{Known, Source, policies};

/// The policies of a text that is left out; how many are found in one that is not.
fn lost(language: Language, text: &str) -> Result<usize, String> {
    let Some(tree) = lower::tree(language, text) else { return Ok(0) };
    let source = Source { path: "a", language, text, scope: Scope::Production };
    let found = policies(&tree, &source, Known::default()).all;
    let worth = prefilter::worth(language, text);
    if found.is_empty() || worth {
        return Ok(found.len());
    }
    Err(format!("{language}, {:?}:\n{text}", found.iter().map(|one| &one.by).collect::<Vec<_>>()))
}

fn check(texts: impl Iterator<Item = (Language, String)>) -> usize {
    let all: Vec<_> = texts.map(|(language, text)| lost(language, &text)).collect();
    let wrong: Vec<_> = all.iter().filter_map(|one| one.as_ref().err().cloned()).collect();
    assert!(wrong.is_empty(), "{} left out:\n{}", wrong.len(), wrong.join("\n\n"));
    all.into_iter().flatten().sum()
}

/// The functions of a file of samples, each alone: what stands between lines that begin at the
/// left after an empty one.
fn alone(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut empty = false;
    // What is expected is said in words that the prefilter looks for.
    let expects = |line: &str| line.trim_start_matches(['#', '/', ' ']).starts_with("expect ");
    for line in text.lines().filter(|line| !expects(line)) {
        if empty && line.starts_with(|c: char| !c.is_whitespace() && c != '}') {
            all.push(String::new());
        }
        empty = line.is_empty();
        if let Some(last) = all.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    all
}

#[test]
fn loops_are_not_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loops");
    let files = fs::read_dir(folder).expect("samples").filter_map(Result::ok);
    let texts = files.filter_map(|entry| {
        let path = entry.path();
        let language = Language::of_extension(path.extension()?.to_str()?)?;
        Some((language, fs::read_to_string(&path).ok()?))
    });
    let found = check(
        texts.flat_map(|(language, text)| alone(&text).into_iter().map(move |one| (language, one))),
    );
    assert!(found > 40, "{found}");
}

#[test]
fn examples_of_rules_are_not_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("pages").filter_map(Result::ok) {
        let page = fs::read_to_string(entry.path()).expect("a page");
        let mut lines = page.lines();
        while let Some(line) = lines.next() {
            let Some(words) = line.strip_prefix("```") else { continue };
            let text: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            let name = words.split_whitespace().next().unwrap_or_default();
            let language = Language::all().find(|language| language.name() == name);
            texts.extend(language.map(|language| (language, text.join("\n"))));
        }
    }
    let found = check(texts.into_iter());
    assert!(found > 30, "{found}");
}
