//! What nobody would write: the samples of every language cut off and torn, through everything.
#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

use std::fs;
use std::path::Path;

use damper_scan::language::Language;
use damper_scan::lower;
use damper_scan::policy::Scope;
use damper_scan::rules::{self, Context};
use damper_scan::scan::{Known, Source, policies};

/// Everything that happens to a text, but reading it.
fn through(language: Language, text: &str) {
    let Some(tree) = lower::tree(language, text) else { return };
    let source = Source { path: "a", language, text, scope: Scope::Production };
    let (found, _) = policies(&tree, &source, Known::default());
    let lines = u32::try_from(text.lines().count()).expect("few lines") + 1;
    for policy in &found {
        assert!(policy.line >= 1 && policy.line <= policy.end_line, "{policy:?}");
        assert!(policy.end_line <= lines, "{policy:?} of {lines} lines");
        assert!(policy.delay.schedule_ms.iter().all(|wait| wait.is_finite()), "{policy:?}");
    }
    let context = Context { tree: &tree, source: &source, policies: &found };
    for finding in rules::of_file(&context) {
        assert!(!finding.hit.message.contains("NaN"), "{finding:?}");
    }
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
