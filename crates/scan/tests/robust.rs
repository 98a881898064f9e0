//! What nobody would write: the samples of every language cut off and torn, through everything.
#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

use std::fs;
use std::path::Path;

use damper_scan::language::Language;
use damper_scan::lower;
use damper_scan::policy::Scope;
use damper_scan::rules::{self, Context, Links};
use damper_scan::scan::{Known, Source, policies};
use damper_scan::value::{Constants, Project};
use damper_scan::{prefilter, suppress};

/// Everything that happens to a text, but reading it.
fn through(language: Language, text: &str) {
    let Some(tree) = lower::tree(language, text) else { return };
    let _ = prefilter::worth(language, text);
    let source = Source { path: "a", language, text, scope: Scope::Production };
    let mut project = Project::new();
    project.add("a", Constants::of(&tree));
    // The name of another file: what is looked up next door is found here.
    project.add("b", Constants::of(&tree));
    let lines = u32::try_from(text.lines().count()).expect("few lines") + 1;
    for project in [None, Some(&project)] {
        let found = policies(&tree, &source, Known { project, ..Known::default() }).all;
        for policy in &found {
            assert!(policy.line >= 1 && policy.line <= policy.end_line, "{policy:?}");
            assert!(policy.end_line <= lines, "{policy:?} of {lines} lines");
            assert!(policy.delay.schedule_ms.iter().all(|wait| wait.is_finite()), "{policy:?}");
        }
        let context = Context { tree: &tree, source: &source, policies: &found };
        for finding in rules::of_file(&context) {
            // What is quoted may say so; what is computed may not.
            let quoted = text.contains("NaN");
            assert!(quoted || !finding.hit.message.contains("NaN"), "{finding:?}");
            assert!(finding.hit.line >= 1 && finding.hit.line <= lines, "{finding:?}");
        }
        let _ = Links::of(&tree, &found);
    }
    let _ = suppress::of(text);
}

fn samples() -> Vec<(Language, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loops");
    let files = fs::read_dir(folder).expect("samples").filter_map(Result::ok);
    files
        .filter_map(|entry| {
            let path = entry.path();
            let language = Language::of_extension(path.extension()?.to_str()?)?;
            Some((language, fs::read_to_string(&path).ok()?))
        })
        .collect()
}

/// Numbers that are the same at every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end.max(1)
    }
}

#[test]
fn samples_that_are_cut_off() {
    for (language, text) in samples() {
        for cut in (0..text.len()).step_by(41).filter(|cut| text.is_char_boundary(*cut)) {
            through(language, &text[..cut]);
            through(language, &text[cut..]);
        }
    }
}

#[test]
fn samples_that_are_torn() {
    let mut numbers = Numbers(7);
    let pieces = [
        "(",
        ")",
        "{",
        "}",
        "\"",
        "while True:\n",
        "for {",
        " 9e999 ",
        "-1",
        "\u{0}",
        "'",
        "=>",
        "retry",
        ";",
    ];
    for (language, text) in samples() {
        for _ in 0..150 {
            let mut torn = text.clone();
            for _ in 0..6 {
                let mut at = numbers.below(torn.len());
                while !torn.is_char_boundary(at) {
                    at -= 1;
                }
                torn.insert_str(at, pieces[numbers.below(pieces.len())]);
            }
            through(language, &torn);
        }
    }
}

/// The examples on the pages of the rules.
fn pages() -> Vec<(Language, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("pages").filter_map(Result::ok) {
        let page = fs::read_to_string(entry.path()).expect("a page");
        let mut lines = page.lines();
        while let Some(line) = lines.next() {
            let Some(words) = line.strip_prefix("```") else { continue };
            let text: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            let name = words.split_whitespace().next().unwrap_or_default();
            let language = Language::all().find(|language| language.name() == name);
            all.extend(language.map(|language| (language, text.join("\n"))));
        }
    }
    all
}

/// A text that somebody may have typed with the elbow: pieces of two, put together and torn.
fn mixed(numbers: &mut Numbers, one: &str, other: &str) -> String {
    const SIGNS: &str = " \n\r\t(){}[]\"'`=<>:;,.*+-/0123456789eE_$#@!?&|%^~\\\0\u{e9}\u{1f4a5}";
    let signs: Vec<char> = SIGNS.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let mut text: Vec<char> = one.chars().collect();
    for _ in 0..=numbers.below(6) {
        let from = numbers.below(text.len() + 1);
        let until = (from + numbers.below(60)).min(text.len());
        match numbers.below(5) {
            0 => drop(text.drain(from..until)),
            1 => {
                let piece = text[from..until].to_vec();
                text.splice(from..from, piece);
            }
            2 => {
                let start = numbers.below(other.len() + 1);
                let end = (start + numbers.below(200)).min(other.len());
                text.splice(from..until, other[start..end].iter().copied());
            }
            3 => text.truncate(text.len() - numbers.below(text.len() / 2 + 1)),
            _ => text.insert(from, signs[numbers.below(signs.len())]),
        }
    }
    text.into_iter().collect()
}

#[test]
#[ignore = "slow: looks for a text that breaks it, in thousands; the fuzz target goes on"]
fn texts_of_pieces() {
    let all = || {
        let seeds: Vec<_> = samples().into_iter().chain(pages()).collect();
        let mut numbers = Numbers(41);
        for round in 0..6_000 {
            let (language, one) = &seeds[numbers.below(seeds.len())];
            let (_, other) = &seeds[numbers.below(seeds.len())];
            let text = mixed(&mut numbers, one, other);
            let went = std::panic::catch_unwind(|| through(*language, &text));
            assert!(went.is_ok(), "round {round}, {language}:\n{text}");
        }
    };
    // As a scan does: its threads have room for the deepest tree.
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(all).expect("a thread");
    thread.join().expect("no panic");
}

#[test]
fn a_language_that_is_another() {
    let samples = samples();
    for language in Language::all() {
        for (_, text) in &samples {
            let mut end = text.len().min(1500);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            through(language, &text[..end]);
        }
    }
}

#[test]
fn what_is_nested_without_an_end() {
    let deep = || {
        for language in Language::all() {
            for (open, close) in
                [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("if (x) {", "}")]
            {
                through(language, &format!("{}x{}", open.repeat(5_000), close.repeat(5_000)));
                through(language, &open.repeat(5_000));
            }
            let lambdas = "while (true) { try { f(() => ".repeat(800);
            through(language, &lambdas);
        }
    };
    // As a scan does: its threads have room for the deepest tree.
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(deep).expect("a thread");
    thread.join().expect("no panic");
}

/// Numbers that are none, and numbers that no clock can count.
#[test]
fn numbers_without_a_measure() {
    let waits = ["float('nan')", "2 ** 9999 ** n", "1e308 * 1e308", "1e-320", "-1e300", "'nan'"];
    for wait in waits {
        through(
            Language::Python,
            &format!(
                "import asyncio, time\nasync def f(c, retries=-1e300):\n    async with \
                 asyncio.timeout({wait}):\n        n = 1\n        while n < retries:\n            try:\n                \
                 return await c.fetch(timeout={wait})\n            except OSError:\n                \
                 time.sleep({wait})\n                n += 1\n"
            ),
        );
        through(
            Language::Python,
            &format!(
                "from tenacity import *\n@retry(stop=stop_after_delay({wait}), wait=wait_exponential({wait}))\n\
                 def f(): ...\n"
            ),
        );
    }
}

/// Options that spread themselves, or each other.
#[test]
fn objects_that_hold_themselves() {
    let itself = "import fetch from 'npm-registry-fetch';\nasync function f(spec, opts) {\n  opts = { ...opts, spec };\n  return fetch.json(spec, { ...opts, query: {} });\n}\n";
    let other = "import got from 'got';\nlet a = { ...b };\nlet b = { ...a, retry: 3 };\ngot(url, { ...a });\n";
    let or_each_other =
        "import got from 'got';\na = a || b;\nb = b || a;\ngot(url, a);\ngot(url, a || b);\n";
    // Two to the power of 60 ways, of which each object needs to be looked into once.
    let mut in_two_ways = "import got from 'got';\n".to_owned();
    for at in 0..60 {
        let next = at + 1;
        let line = format!("const o{at} = {{ ...(x || o{next}), ...(y || o{next}) }};\n");
        in_two_ways.push_str(&line);
    }
    in_two_ways.push_str("got(url, o0);\n");
    for text in [itself, other, or_each_other, &in_two_ways] {
        through(Language::JavaScript, text);
        through(Language::TypeScript, text);
    }
}

/// A file that was made to have a policy on each line.
#[test]
fn more_policies_than_anyone_writes() {
    let text = format!(
        "from tenacity import retry, stop_after_attempt\n{}",
        "@retry(stop=stop_after_attempt(3))\ndef f(): pass\n".repeat(2_010)
    );
    let tree = lower::tree(Language::Python, &text).unwrap();
    let source = Source {
        path: "many.py",
        language: Language::Python,
        text: &text,
        scope: Scope::Production,
    };
    let found = policies(&tree, &source, Known::default());
    assert_eq!((found.all.len(), found.left_out), (2_000, 10));
    assert_eq!(found.all[1_999].line, 4_000, "the first by line stay");
}
