//! Which files are worth parsing.
//!
//! Parsing costs a hundred times what looking for words does, and most files have no retry. A file
//! is parsed if it names a library of the catalogue, if it has a word of retries in it, or if it
//! has the form of one: a loop that may be left early beside something that fails, or the same
//! call twice near a failure.

mod again;
mod chain;
mod functions;
mod twice;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::language::Language;
use crate::library;

/// Words of hand-rolled retries.
const WORDS: &[&str] = &[
    "retr",
    "Retr",
    "RETR",
    "attempt",
    "Attempt",
    "ATTEMPT",
    "tries",
    "Tries",
    "TRIES",
    "backoff",
    "Backoff",
    "BackOff",
    "BACKOFF",
    "back_off",
    "Reconnect",
    "reconnect",
    "requeue",
    "Requeue",
    "interceptors",
    "nprocessed",
];

/// Words of waiting, or of putting something back into its queue, which is only part of a retry where
/// something fails or a loop goes round.
const WAITS: &[&str] = &[
    "sleep",
    "Sleep",
    "setTimeout",
    "time.After",
    "NewTicker",
    "NewTimer",
    "Task.Delay",
    "delay(",
    "delayedExecutor",
    "schedule(",
    "setInterval",
    "scheduleAtFixedRate",
    "scheduleWithFixedDelay",
    "goto ",
    "asyncio.wait",
    "call_later",
    "callLater",
    "AfterFunc",
    "wait.Poll",
    "postDelayed",
    "queue.put(",
    "put_nowait(",
    "queue.push(",
    "queue.add(",
    "queue.Add(",
    ".dial(",
    "redial",
    "Redial",
    "reopen",
    "\"pending\"",
    "'pending'",
    ".PENDING",
    ".Pending",
    "\"queued\"",
    "'queued'",
    ".QUEUED",
    ".Queued",
];

/// A wait of [`WAITS`] is no longer, in bytes.
const LONGEST_WAIT: usize = 32;

/// How far a failure or the head of a loop stands from a wait that belongs to it, in bytes.
const NEAR: usize = 2000;

/// What makes of `attempt` the other meaning: to try something for the first time.
const ONCE: &[&str] = &[" to ", "ed to ", "ing to ", "s to "];

/// What may stand right before `tries` in lower case.
const TRIES: &[&str] = &["", "max", "num", "n", "nr", "no", "of", "re", "total"];

/// Heads of loops that may be left early, and the languages that have them; none: all.
const LOOPS: &[(&str, &[Language])] = {
    use Language::{
        CSharp, Go, Java, JavaScript, Kotlin, Php, Python, Ruby, Rust, Tsx, TypeScript,
    };
    const BRACES: &[Language] = &[CSharp, Java, JavaScript, Kotlin, Php, Tsx, TypeScript];
    const COUNTED: &[Language] = &[CSharp, Go, Java, JavaScript, Php, Tsx, TypeScript];
    &[
        ("while ", &[]),
        ("while(", &[]),
        ("for (;;)", BRACES),
        ("for(;;)", BRACES),
        ("loop {", &[Rust, Ruby]),
        ("loop do", &[Ruby]),
        ("for {", &[Go]),
        ("do {", BRACES),
        ("do{", BRACES),
        ("in range(", &[Python]),
        ("in count(", &[Python]),
        ("itertools.count(", &[Python]),
        ("itertools.repeat(", &[Python]),
        ("in 0..", &[Rust, Kotlin, Ruby]),
        ("in 1..", &[Rust, Kotlin, Ruby]),
        ("repeat(", &[Kotlin]),
        (".times", &[Ruby]),
        ("= 0; ", COUNTED),
        ("= 1; ", COUNTED),
        ("for range ", &[Go]),
        (":= range 2", &[Go]),
        (":= range 3", &[Go]),
        (":= range 4", &[Go]),
        (":= range 5", &[Go]),
        (":= range 6", &[Go]),
        (":= range 7", &[Go]),
        (":= range 8", &[Go]),
        (":= range 9", &[Go]),
        (":= range 1", &[Go]),
    ]
};

/// What may follow `while`, behind a parenthesis or not: what may be left early.
const WHILES: &[&str] = &["True", "1", "true", "let Err", "!", "not "];
/// What a head says that goes through all of something, so that its rounds are others.
const THROUGH: &[&str] = &["len(", ".length", ".len()", ".size()", ".Length", ".Count", ".count()"];
/// What counts down in a condition.
const DOWN: &[&str] = &["> 0", ">= 0", "--"];

/// Words of failures, near a wait.
const FAILURES: &[&str] = &[
    "except", "catch", "err", "Err(", "rescue", "status", "Status", ".ok", "false", "False",
    "suppress", "onFail", "onError",
];

/// Words of failures in a loop, where nothing else speaks of a retry, and the languages in which
/// they may say so; none: all.
const FAILURES_IN_LOOPS: &[(&str, &[Language])] = {
    use Language::{Go, JavaScript, Python, Ruby, Rust, Tsx, TypeScript};
    &[
        ("except", &[Python]),
        ("suppress", &[Python]),
        ("rescue", &[Ruby]),
        ("catch", &[]),
        ("err", &[Go, Rust, JavaScript, Tsx, TypeScript]),
        ("Err(", &[Rust]),
        ("status", &[]),
        ("Status", &[]),
        (".ok", &[]),
        ("\"error", &[]),
        ("'error", &[]),
        ("onFail", &[]),
        ("onError", &[]),
    ]
};

/// How files end that only declare what others do.
const DECLARATIONS: &[&str] = &[".d.ts", ".d.mts", ".d.cts", ".pyi"];

/// Whether a file with this path has anything in it that runs.
#[must_use]
pub fn runs(path: &str) -> bool {
    !DECLARATIONS.iter().any(|end| path.ends_with(end))
}

/// Whether a file may have a policy in it, or something that a rule of files looks for.
#[must_use]
pub fn worth(language: Language, text: &str) -> bool {
    let library = || library::Seek::of(language).is_some_and(|seek| seek.in_text(text));
    // The quicker ones first.
    speaks(text)
        || loops(language, text)
        || chain::again(text)
        || library()
        || twice::twice(language, text)
}

/// Whether a word of retries is in a text, and not only in a longer one: `retrieve`, `entries`; or
/// a wait near a failure or a loop.
fn speaks(text: &str) -> bool {
    // Up to here nothing waits: what is near to two comments is looked at once.
    let mut silent = 0_usize;
    words().find_iter(text).any(|found| {
        let after = &text[found.end()..];
        let (from, to) = (found.start().saturating_sub(NEAR), found.end() + NEAR);
        let (from, to) = (floor(text, from), floor(text, to));
        // What only a comment speaks of is told by its form, if it is one and does not wait.
        let line = text[..found.start()].rsplit('\n').next().unwrap_or_default().trim_start();
        let comment = line.starts_with(['*', '#']) && !line.starts_with("#[");
        if comment || line.starts_with("//") || line.starts_with("/*") {
            let rest = floor(text, silent.saturating_sub(LONGEST_WAIT));
            silent = to;
            return waits().is_match(&text[from.max(rest)..to]);
        }
        match &text[found.range()] {
            "retr" | "Retr" => !after.starts_with("iev"),
            "attempt" | "Attempt" => !ONCE.iter().any(|once| after.starts_with(once)),
            "tries" | "TRIES" => {
                TRIES.contains(&crate::loops::word_before(text, found.start()).as_str())
            }
            wait if WAITS.contains(&wait) => {
                let near = &text[from..to];
                failed().is_match(near) || heads().is_match(near)
            }
            _ => true,
        }
    })
}

/// The last place at or before this one where a character begins.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn words() -> &'static AhoCorasick {
    static WANTED: OnceLock<AhoCorasick> = OnceLock::new();
    // What rules of files look for is in it, too.
    let more = ["lifo", "Lifo", "LIFO", "fifo", "retryThrottling"];
    WANTED.get_or_init(|| automaton(WORDS.iter().chain(WAITS).chain(&more).copied().collect()))
}

/// Finds any of these.
fn automaton(words: BTreeSet<&str>) -> AhoCorasick {
    let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words);
    // Words of a table cannot be too many; if they were, everything would be parsed.
    built.unwrap_or_else(|_| AhoCorasick::new([""]).unwrap_or_else(|_| unreachable!()))
}

fn waits() -> &'static AhoCorasick {
    static FOUND: OnceLock<AhoCorasick> = OnceLock::new();
    FOUND.get_or_init(|| automaton(WAITS.iter().copied().collect()))
}

fn heads() -> &'static AhoCorasick {
    static HEADS: OnceLock<AhoCorasick> = OnceLock::new();
    HEADS.get_or_init(|| automaton(LOOPS.iter().map(|(head, _)| *head).collect()))
}

fn failed() -> &'static AhoCorasick {
    static FAILED: OnceLock<AhoCorasick> = OnceLock::new();
    FAILED.get_or_init(|| automaton(FAILURES.iter().copied().collect()))
}

fn failed_in_loops() -> &'static AhoCorasick {
    static FAILED: OnceLock<AhoCorasick> = OnceLock::new();
    FAILED.get_or_init(|| automaton(FAILURES_IN_LOOPS.iter().map(|(word, _)| *word).collect()))
}

/// Whether a language has a word of a table.
fn has(table: &[(&str, &[Language])], word: &str, language: Language) -> bool {
    table.iter().any(|(known, of)| *known == word && (of.is_empty() || of.contains(&language)))
}

/// Whether the head of a loop ends after a few rounds: `i < 3; i++`.
fn few(rest: &str) -> bool {
    let limit = rest.split_once("< ").map(|(_, limit)| limit.as_bytes());
    matches!(limit, Some([b'2'..=b'9', b';', ..]))
}

fn loops(language: Language, text: &str) -> bool {
    let may_be_left = |head: &str, rest: &str| {
        if head.starts_with("while") {
            let bare = rest.trim_start_matches([' ', '(']);
            return WHILES.iter().any(|start| bare.starts_with(start))
                || DOWN.iter().any(|down| rest.contains(down));
        }
        let counted = matches!(head, "= 0; " | "= 1; " | "in range(" | "in 0.." | "in 1..");
        !(counted && THROUGH.iter().any(|all| rest.contains(all)))
    };
    // Near each other, as a long file has some of both anyway.
    heads().find_iter(text).any(|head| {
        let rest = text[head.end()..].lines().next().unwrap_or_default();
        let word = &text[head.range()];
        if !has(LOOPS, word, language) || !may_be_left(word, rest) {
            return false;
        }
        let near = &text[head.end()..floor(text, head.end() + NEAR)];
        if few(rest) && near.contains("return true") {
            return true;
        }
        let mut failures = failed_in_loops().find_iter(near);
        failures.any(|found| has(FAILURES_IN_LOOPS, &near[found.range()], language))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_as_long_as_is_said() {
        assert!(WAITS.iter().all(|wait| wait.len() <= LONGEST_WAIT));
    }

    #[test]
    fn a_comment_counts_beside_a_wait() {
        let far = "// nothing else\n".repeat(2 * NEAR / 15);
        let many = "// retry it\n".repeat(500);
        for wait in ["later(load);\n", "sleep(5);\n"] {
            let text = format!("{many}{far}{wait}{far}{many}");
            assert!(!speaks(&text), "too far away: {wait}");
            let text = format!("{many}{far}{many}{wait}{far}");
            assert_eq!(speaks(&text), wait.starts_with("sleep"), "{wait}");
        }
    }

    #[test]
    fn declarations_do_nothing() {
        assert!(!runs("types/client.d.ts") && !runs("client.pyi"));
        assert!(runs("src/client.ts") && runs("d.ts"));
    }

    #[test]
    fn what_has_neither_words_nor_forms_is_left_out() {
        let plain = "import os\n\ndef add(a, b):\n    return a + b\n\nprint(add(1, 2))\n";
        assert!(!worth(Language::Python, plain));
        assert!(!worth(Language::Python, "# retries are made elsewhere\nload(url)\n"));
        assert!(worth(Language::Python, "retries = 3  # see below\nload(url)\n"));
        assert!(worth(Language::Python, "for i in range(3):\n    try: f()\n    except: pass\n"));
        assert!(!worth(Language::Python, "s = f\"for {x}\"\nif x: raise E()\nexcept E: pass\n"));
        assert!(worth(Language::Go, "for {\n\tif err := f(); err == nil {\n\t\treturn\n\t}\n}\n"));
        assert!(worth(Language::Python, "import tenacity\n@tenacity.retry\ndef f(): ..."));
        let again = "try:\n    load.all(url)\nexcept E:\n    load.all(url)\n";
        assert!(worth(Language::Python, again), "the same call twice");
    }
}
