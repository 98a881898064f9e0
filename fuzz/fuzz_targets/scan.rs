//! Any text in any language, through everything that a scan does with one file: the first byte is
//! the language, the rest is the text. The prefilter is asked and not obeyed, so that what follows
//! it sees every text.
#![no_main]

use std::sync::OnceLock;

use damper_scan::language::Language;
use damper_scan::rules::{self, Context, Links};
use damper_scan::scan::{Known, Source, policies};
use damper_scan::value::{Constants, Project};
use damper_scan::{lower, prefilter, scope, suppress};
use libfuzzer_sys::fuzz_target;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// As large as a scan's: every walk is recursive.
const STACK_BYTES: usize = 64 << 20;

fuzz_target!(|data: &[u8]| {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    let pool = POOL.get_or_init(|| {
        let threads = ThreadPoolBuilder::new().num_threads(1).stack_size(STACK_BYTES);
        threads.build().expect("a thread")
    });
    let Some((first, text)) = data.split_first() else { return };
    let all: Vec<_> = Language::all().collect();
    let language = all[usize::from(*first) % all.len()];
    let text = String::from_utf8_lossy(text);
    pool.install(|| through(language, &text));
});

fn through(language: Language, text: &str) {
    let _ = prefilter::worth(language, text);
    let scope = scope::of("src/a", text);
    let source = Source { path: "src/a", language, text, scope };
    let Some(tree) = lower::tree(language, text) else { return };
    let mut project = Project::new();
    project.add("src/a", Constants::of(&tree));
    // The name of another file: what is looked up next door is found here.
    project.add("src/b", Constants::of(&tree));
    let lines = u32::try_from(text.lines().count()).expect("few lines") + 1;
    for known in [Known::default(), Known { project: Some(&project), ..Known::default() }] {
        let found = policies(&tree, &source, known).all;
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
