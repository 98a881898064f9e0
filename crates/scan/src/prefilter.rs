//! Which files are worth parsing.
//!
//! Parsing costs a hundred times what looking for words does, and most files have no retry. A file
//! is parsed if it names a library of the catalogue, if it has a word of retries in it, or if it
//! has the form of one: a loop that may be left early beside something that fails, or the same
//! call twice near a failure.

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
    "goto ",
    "asyncio.wait",
    "Reconnect",
    "reconnect",
    "retryLater",
    "requeue",
    "Requeue",
];

/// Heads of loops that may be left early.
const LOOPS: &[&str] = &[
    "while True",
    "while 1",
    "while(true",
    "while (true",
    "while true",
    "for (;;)",
    "for(;;)",
    "loop {",
    "loop do",
    "for {",
    "do {",
    "do{",
    "in range(",
    "in 0..",
    "in 1..",
    "repeat(",
    ".times",
    "= 0; ",
    "= 1; ",
    "for range ",
    "while let Err",
    "while (!",
    "while !",
    "while not ",
];

/// Words of failures.
const FAILURES: &[&str] =
    &["except", "catch", "err", "Err(", "rescue", "status", "Status", ".ok", "false", "False"];

/// How near two equal calls are, in lines.
const NEAR: usize = 25;
/// A shorter call says nothing: `get()`.
const SHORTEST: usize = 10;

/// Whether a file may have a policy in it, or something that a rule of files looks for.
#[must_use]
pub fn worth(language: Language, text: &str) -> bool {
    let names = library::words(language);
    names.is_match(text) || words().is_match(text) || loops(text) || twice(text)
}

fn words() -> &'static AhoCorasick {
    static WANTED: OnceLock<AhoCorasick> = OnceLock::new();
    // What rules of files look for is in it, too.
    let more = ["lifo", "Lifo", "LIFO", "fifo", "retryThrottling"];
    WANTED.get_or_init(|| automaton(WORDS.iter().chain(&more).copied().collect()))
}

/// Finds any of these.
pub(crate) fn automaton(words: BTreeSet<&str>) -> AhoCorasick {
    let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words);
    // Words of a table cannot be too many; if they were, everything would be parsed.
    built.unwrap_or_else(|_| AhoCorasick::new([""]).unwrap_or_else(|_| unreachable!()))
}

fn loops(text: &str) -> bool {
    static HEADS: OnceLock<AhoCorasick> = OnceLock::new();
    static FAILED: OnceLock<AhoCorasick> = OnceLock::new();
    let heads = HEADS.get_or_init(|| automaton(LOOPS.iter().copied().collect()));
    let failed = FAILED.get_or_init(|| automaton(FAILURES.iter().copied().collect()));
    // Near each other, as a long file has some of both anyway.
    heads.find_iter(text).any(|head| {
        let mut end = (head.end() + 2000).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        failed.is_match(&text[head.end()..end])
    })
}

/// Whether the same call stands twice within a few lines.
fn twice(text: &str) -> bool {
    let mut last = [""; NEAR];
    let mut at = 0;
    for line in text.lines() {
        let Some(call) = call_of(line) else { continue };
        if last.contains(&call) {
            return true;
        }
        last[at % NEAR] = call;
        at += 1;
    }
    false
}

/// From the name of the first call of a line to the end of the line.
fn call_of(line: &str) -> Option<&str> {
    let open = line.find('(')?;
    let name = line[..open].rfind(|c: char| !(c.is_alphanumeric() || "._:$>?-".contains(c)));
    let start = name.map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
    let call = line[start..].trim_end_matches([' ', ';', '{', '}', ':', ',', '\r']);
    (call.len() >= SHORTEST && open > start).then_some(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_neither_words_nor_forms_is_left_out() {
        let plain = "import os\n\ndef add(a, b):\n    return a + b\n\nprint(add(1, 2))\n";
        assert!(!worth(Language::Python, plain));
        assert!(worth(Language::Python, "for i in range(3):\n    try: f()\n    except: pass\n"));
        assert!(worth(Language::Python, "from tenacity import stamina\n"));
        let again = "try:\n    load.all(url)\nexcept E:\n    load.all(url)\n";
        assert!(worth(Language::Python, again), "the same call twice");
    }

    #[test]
    fn a_call_is_the_same_whatever_stands_before_it() {
        assert_eq!(call_of("    r = self.fetch(url, 1);"), Some("self.fetch(url, 1)"));
        assert_eq!(call_of("    return self.fetch(url, 1)"), Some("self.fetch(url, 1)"));
        assert_eq!(call_of("x = 1"), None);
        assert_eq!(call_of("f()"), None);
    }
}
